import LoadingTestSupport
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `Fetching images` {
    @Test(arguments: ["photo.jpg", "photo.png", "rgba.webp", "three-frames.gif", "three-frames.webp"])
    func `writes the file byte for byte under the name of its URL`(name: String) async throws {
        try await Bench.run { bench in
            let bytes = try bench.serve(name)

            let result = try await bench.fetch(bench.server.url("/\(name)?width=3"))

            #expect(result.status == 0, "\(result.stderr)")
            #expect(result.stdout.hasPrefix("\(name): "))
            #expect(bench.outputs == [name])
            #expect(bench.output(name) == bytes)
        }
    }

    @Test func `uses the cache the second time without a request`() async throws {
        try await Bench.run { bench in
            let bytes = try bench.serve("photo.jpg")
            let url = bench.server.url("/photo.jpg")

            _ = try await bench.fetch(url, "-o", "a.jpg")
            let second = try await bench.fetch(url, "-o", "b.jpg", "--json")
            let offline = try await bench.coderhost("fetch", "--offline", url, "-o", "c.jpg")

            #expect(bench.server.requests.count == 1)
            #expect(second.documents.first?["cache"].text == "disk")
            #expect(offline.status == 0)
            #expect(bench.output("b.jpg") == bytes && bench.output("c.jpg") == bytes)
        }
    }

    @Test func `neither reads nor writes the cache with --no-cache`() async throws {
        try await Bench.run { bench in
            _ = try bench.serve("photo.jpg")
            let url = bench.server.url("/photo.jpg")

            for name in ["a.jpg", "b.jpg"] { #expect(try await bench.fetch("--no-cache", url, "-o", name).status == 0) }

            #expect(bench.server.requests.count == 2)
            #expect(bench.entries.isEmpty)
        }
    }

    @Test func `revalidates on request without downloading again`() async throws {
        try await Bench.run { bench in
            let bytes = try #require(readFile(Repository.fixture("images/photo.png")))
            bench.server.on("/p.png") { request in
                request.header("If-None-Match") == "\"7\"" ? .status(304) : .bytes(bytes).with("ETag", "\"7\"")
            }

            _ = try await bench.fetch(bench.server.url("/p.png"), "-o", "a.png")
            let again = try await bench.fetch("--refresh", "--json", bench.server.url("/p.png"), "-o", "b.png")

            #expect(bench.server.requests.count == 2)
            #expect(again.documents.first?["status"].integer == 304)
            #expect(again.documents.first?["cache"].text == "disk")
            #expect(bench.output("b.png") == bytes)
        }
    }

    @Test func `converts for a size or another format`() async throws {
        try await Bench.run { bench in
            _ = try bench.serve("photo.png")
            _ = try bench.serve("three-frames.gif")
            let urls = [bench.server.url("/photo.png"), bench.server.url("/three-frames.gif")]

            let small = try await bench.fetch("--resize", "40x", "-o", "{stem}-{n}.webp", urls[0], urls[1])
            let facts = try await bench.coderhost("info", "--json", "photo-0.webp", "three-frames-1.webp")

            #expect(small.status == 0, "\(small.stderr)")
            // Images are not enlarged.
            #expect(facts.documents.map { $0["width"].integer } == [40, 31])
            #expect(facts.documents.map { $0["frame_count"].integer } == [1, 3])
        }
    }

    @Test func `adds the file extension of the actual format`() async throws {
        try await Bench.run { bench in
            let bytes = try #require(readFile(Repository.fixture("images/photo.png")))
            bench.server.on("/show.php") { _ in .bytes(bytes, type: nil) }
            bench.server.on("/named.jpg") { _ in .bytes(bytes, type: nil) }

            #expect(try await bench.fetch(bench.server.url("/show.php"), bench.server.url("/named.jpg")).status == 0)

            #expect(bench.outputs == ["named.png", "show.png"])
            #expect(bench.output("named.png") == bytes)
        }
    }

    @Test func `replaces no file under a default name`() async throws {
        try await Bench.run { bench in
            let bytes = try bench.serve("photo.png")
            bench.place.write([1, 2, 3], to: "photo.png")
            let url = bench.server.url("/photo.png")

            let refused = try await bench.fetch(url)
            let kept = bench.output("photo.png")
            let allowed = try await bench.fetch("--overwrite", url)

            #expect(refused.status == 73 && refused.stderr.contains("--overwrite"))
            #expect(kept == [1, 2, 3])
            #expect(allowed.status == 0)
            #expect(bench.output("photo.png") == bytes)
        }
    }

    @Test func `continues after a failed URL and exits with 1`() async throws {
        try await Bench.run { bench in
            let bytes = try bench.serve("photo.jpg")
            bench.server.on("/page") { _ in .bytes(Array("<html>no image</html>".utf8), type: "text/html") }

            let result = try await bench.fetch(
                bench.server.url("/missing.jpg"), bench.server.url("/page"), bench.server.url("/photo.jpg"))

            #expect(result.status == 1)
            #expect(result.stderr.contains("404"))
            #expect(bench.outputs == ["photo.jpg"] && bench.output("photo.jpg") == bytes)
        }
    }

    @Test func `reports the error of a single URL in JSON`() async throws {
        try await Bench.run { bench in
            let missing = try await bench.fetch("--json", bench.server.url("/missing.jpg"))

            let document = try #require(missing.documents.first)
            #expect(missing.status == 69)
            #expect(document["status"].integer == 404)
            #expect(document["error"]["code"].text == "badStatus")
        }
    }

    @Test func `does not cache data that is not an image`() async throws {
        try await Bench.run { bench in
            let broken = try #require(readFile(Repository.fixture("images/photo.png"))).prefix(2000)
            bench.server.on("/broken.png") { _ in .bytes(Array(broken)) }

            for _ in 0..<2 { #expect(try await bench.fetch(bench.server.url("/broken.png")).status == 65) }

            #expect(bench.outputs.isEmpty)
            #expect(bench.server.requests.count == 2)
        }
    }

    @Test func `writes the image to standard output and JSON to standard error`() async throws {
        try await Bench.run { bench in
            let bytes = try bench.serve("photo.jpg")

            let result = try await bench.fetch("--json", bench.server.url("/photo.jpg"), "-o", "-")

            #expect(result.output == bytes)
            #expect(Document(result.stderr)["output"].text == "-")
        }
    }

    @Test func `sends the given headers`() async throws {
        try await Bench.run { bench in
            _ = try bench.serve("photo.jpg")

            _ = try await bench.fetch("--header", "X-Reason: a test: of fields", bench.server.url("/photo.jpg"))

            #expect(bench.server.requests.first?.header("x-reason") == "a test: of fields")
        }
    }

    @Test func `respects the maximum of bytes`() async throws {
        try await Bench.run { bench in
            _ = try bench.serve("photo.png")

            let result = try await bench.fetch("--max-bytes", "1k", bench.server.url("/photo.png"))

            #expect(result.status == 77)
            #expect(result.stderr.contains("--max-bytes"))
            #expect(bench.outputs.isEmpty)
        }
    }

    @Test func `retries after a busy server`() async throws {
        try await Bench.run { bench in
            let bytes = try #require(readFile(Repository.fixture("images/photo.jpg")))
            bench.server.on("/a.jpg") { $0.number == 1 ? .status(503) : .bytes(bytes) }
            bench.server.on("/b.jpg") { $0.number == 1 ? .status(503) : .bytes(bytes) }

            let patient = try await bench.fetch("--retries", "1", bench.server.url("/a.jpg"))
            let impatient = try await bench.fetch("--retries", "0", bench.server.url("/b.jpg"))

            #expect(patient.status == 0 && impatient.status == 69)
        }
    }

    @Test(arguments: ["looks", "looks/", "new/looks/"]) func `writes previews, into a new folder too`(folder: String)
        async throws
    {
        try await Bench.run { bench in
            let bytes = try #require(readFile(Repository.fixture("images/f-progressive.jpg")))
            bench.server.on("/p.jpg") { _ in .chunked(bytes, piece: max(1, bytes.count / 8), every: 150) }
            if folder == "looks" { bench.place.folder("looks") }

            let result = try await bench.fetch(
                "--json", "--progressive-to", folder, bench.server.url("/p.jpg"), "-o", "p.jpg")
            let previews = try #require(result.documents.first)["previews"].list.compactMap(\.text)
            let facts = try await bench.coderhost(["info", "--json"] + previews)

            let first = folder.hasSuffix("/") ? "\(folder)p-0000.png" : "\(folder)/p-0000.png"
            #expect(!previews.isEmpty && previews.first == first)
            #expect(facts.documents.allSatisfy { $0["format"].text == "png" && $0["width"].exists })
            #expect(bench.output("p.jpg") == bytes)
        }
    }

    @Test func `leaves no files when it is killed during a download`() async throws {
        try await Bench.run { bench in
            let bytes = try #require(readFile(Repository.fixture("images/photo.png")))
            let gate = Gate()
            bench.server.on("/photo.png") { _ in .gated(bytes, after: bytes.count / 2, gate) }
            let url = bench.server.url("/photo.png")
            let script = """
                "$0" fetch --allow-private "$1" & child=$!
                until [ -e asked ]; do sleep 0.02; done
                kill -9 $child
                wait $child
                """
            let place = bench.place
            let work = Task {
                try await apart {
                    try TestSupport.run(
                        ["bash", "-c", script, "\(Repository.products)/coderhost", url], directory: place.path,
                        environment: [
                            "HOME": place.path, "XDG_CACHE_HOME": nil,
                            "CODERHOST_PLUGIN_PATH": Repository.workerPluginPath,
                        ])
                }
            }
            while bench.server.requests.isEmpty { try await Task.sleep(for: .milliseconds(10)) }
            bench.place.write([], to: "asked")
            let result = try await work.value
            gate.open()

            #expect(result.status == 137)
            #expect(bench.outputs == ["asked"])
        }
    }
}

@Suite(.timeLimit(.minutes(40))) struct `Fetching from this machine` {
    @Test func `is refused with the address and the remedy`() async throws {
        try await Bench.run { bench in
            _ = try bench.serve("photo.jpg")

            let result = try await bench.coderhost("fetch", bench.server.url("/photo.jpg"))

            #expect(result.status == 77)
            #expect(result.stderr.contains("127.0.0.1"))
            #expect(result.stderr.contains("--allow-private") && result.stderr.contains("--allow-host"))
            #expect(bench.server.connections == 0)
        }
    }

    @Test func `is refused behind a redirect, too`() async throws {
        try await Bench.run { bench in
            _ = try bench.serve("photo.jpg")
            let target = "http://127.0.0.2:\(bench.server.port)/photo.jpg"
            bench.server.on("/away") { _ in .redirect(to: target) }

            let result = try await bench.coderhost(
                "fetch", "--allow-host", "127.0.0.1:\(bench.server.port)", bench.server.url("/away"))

            #expect(result.status == 77)
            #expect(result.stderr.contains("127.0.0.2"))
            #expect(bench.server.requests.map(\.path) == ["/away"])
        }
    }

    @Test func `is allowed for a given host`() async throws {
        try await Bench.run { bench in
            _ = try bench.serve("photo.jpg")
            let host = "127.0.0.1:\(bench.server.port)"

            #expect(
                try await bench.coderhost("fetch", "--allow-host", host, bench.server.url("/photo.jpg")).status == 0)
        }
    }

    @Test func `reads file URLs only if allowed`() async throws {
        try await Bench.run { bench in
            let url = "file://\(Repository.fixture("images/photo.png"))"

            let refused = try await bench.coderhost("fetch", url)
            let allowed = try await bench.coderhost("fetch", "--allow-private", url)

            #expect(refused.status == 77 && refused.stderr.contains("--allow-private"))
            #expect(allowed.status == 0, "\(allowed.stderr)")
            #expect(bench.entries.isEmpty)
        }
    }
}

@Suite(.timeLimit(.minutes(40))) struct `Arguments of fetch and cache` {
    private func said(_ words: String...) async throws -> CommandResult {
        let home = TemporaryDirectory()
        return try await apart {
            try TestSupport.run(
                ["\(Repository.products)/coderhost"] + words,
                environment: [
                    "HOME": home.path, "XDG_CACHE_HOME": nil, "CODERHOST_PLUGIN_PATH": Repository.workerPluginPath,
                ])
        }
    }

    @Test(arguments: [
        (["fetc", "x"], "fetch"), (["fetch", "--progresive-to", "x", "y"], "--progressive-to"),
        (["cache", "verfy"], "verify"), (["cache", "verify", "--repare"], "--repair"),
    ])
    func `have suggestions for misspelled words`(words: [String], meant: String) async throws {
        let result = try await apart { try TestSupport.run(["\(Repository.products)/coderhost"] + words) }

        #expect(result.status == 64)
        #expect(result.stderr.contains("did you mean") && result.stderr.contains(meant), "\(result.stderr)")
    }

    @Test func `are validated before any request`() async throws {
        #expect(try await said("fetch").status == 64)
        #expect(try await said("fetch", "--header", "no field", "http://example.invalid/").status == 64)
        #expect(try await said("fetch", "--timeout", "0", "http://example.invalid/").status == 64)
        #expect(try await said("fetch", "--progressive-to", "/dev/null", "http://example.invalid/").status == 64)
        #expect(
            try await said("fetch", "--no-mkdir", "--progressive-to", "/nowhere", "http://example.invalid/").status
                == 73)
        #expect(try await said("fetch", "--allow-host", "a/b", "http://example.invalid/").status == 64)
        #expect(try await said("cache", "prune", "--max-age", "soon").status == 64)
        #expect(try await said("cache", "ls", "--repair").status == 64)
        #expect(try await said("fetch", "gopher://example.invalid/a.gif").status == 64)
    }

    @Test func `name the missing program and how to install it`() async throws {
        let place = TemporaryDirectory()
        let products = Repository.products

        let result = try await apart {
            _ = try TestSupport.run(["cp", "\(products)/coderhost", place.file("coderhost")])
            return try TestSupport.run([place.file("coderhost"), "cache", "ls"])
        }

        #expect(result.status == 69)
        #expect(result.stderr.contains("coderhost-fetch") && result.stderr.contains("make install"))
    }
}
