import CoderHost
import LoadingTestSupport
import TestSupport
import Testing

/// Calls on a system that lacks resources.
@Suite(.timeLimit(.minutes(40))) struct `A system with too few resources` {
    /// Closes the descriptors of the test runner first, so that the limit has the same effect everywhere.
    private static let closing = "for i in $(seq 3 254); do eval \"exec $i>&-\"; done\n"

    @Test(arguments: 4...20)
    func `of descriptors causes an error, not a crash`(count: Int) async throws {
        try await Bench.run { bench in
            _ = try bench.serve("photo.png")

            let result = try await bench.shell(
                Self.closing + "ulimit -n \(count)\nexec \"$0\" fetch --allow-private \"$1\"",
                [bench.server.url("/photo.png")])

            // 127: the dynamic loader could not open a library; it opens one at a time.
            if count < 8, result.status == 127 { return #expect(bench.server.connections == 0) }
            #expect(result.status == 71, "\(result.stderr)")
            #expect(result.stderr.contains("ulimit -n "), "\(result.stderr)")
            #expect(bench.server.connections == 0)
        }
    }

    /// Whether the dynamic loader finds the libraries without /proc, where it may look up the folder of the program.
    private static let startsWithoutProc: Bool = {
        let script = "mount -t tmpfs none /proc && exec \"$0\" --version"
        let program = "\(Repository.products)/coderhost-fetch"
        let result = try? TestSupport.run(["unshare", "-m", "sh", "-c", script, program])
        return [0, 69].contains(result?.status)
    }()

    @Test(
        .enabled(if: startsWithoutProc, "nothing can be mounted over /proc, or the program does not start without it"))
    func `without proc causes an error before any request`() async throws {
        try await Bench.run { bench in
            _ = try bench.serve("photo.png")
            let script = """
                unshare -m sh -c 'mount -t tmpfs none /proc && exec "$0" fetch --allow-private "$1"' "$0-fetch" "$1"
                """

            let result = try await bench.shell(script, [bench.server.url("/photo.png")])

            #expect(result.status == 69, "\(result.stderr)")
            #expect(result.stderr.contains("cannot read /proc/self"))
            #expect(bench.server.connections == 0)
        }
    }

    @Test(arguments: [85, 105])
    func `reduces parallel downloads and still downloads all images`(count: Int) async throws {
        try await Bench.run { bench in
            let bytes = try bench.serve("photo.png")
            let urls = (0..<7).map { bench.server.url("/photo.png?\($0)") }

            let result = try await bench.shell(
                Self.closing + "ulimit -n \(count + 3 * Machine.processorCount)\n"
                    + "exec \"$0\" fetch --allow-private -j 100 -o '{n}.png' \"$@\"",
                urls)

            #expect(result.status == 0, "\(result.stderr)")
            #expect(
                result.stderr.contains("parallel downloads: too few file descriptors")
                    && result.stderr.contains("ulimit -n"))
            #expect(bench.outputs.count == 7 && bench.output("6.png") == bytes)
        }
    }
}

@Suite(.timeLimit(.minutes(40))) struct `A cache that cannot store` {
    @Test func `is reported for every URL`() async throws {
        try await Bench.run { bench in
            for name in ["photo.jpg", "photo.png"] { _ = try bench.serve(name) }
            let urls = [bench.server.url("/photo.jpg"), bench.server.url("/photo.png")]
            // A file blocks every folder of entries.
            let blocked = bench.place.folder("blocked")
            bench.place.folder("blocked/default")
            for number in 0..<256 {
                let digits = String(number + 256, radix: 16).dropFirst()
                bench.place.write([], to: "blocked/default/\(digits)")
            }

            let fetched = try await bench.fetch("--json", "--cache-dir", blocked, urls[0], urls[1])
            let warmed = try await bench.cache("warm", "--allow-private", "--json", "--cache-dir", blocked, urls[0])
            let many = try await bench.cache("warm", "--allow-private", "--cache-dir", blocked, urls[0], urls[1])

            #expect(fetched.status == 0)
            for document in fetched.documents {
                #expect(document["warnings"][0].text?.hasPrefix("not cached: ") == true)
            }
            #expect(warmed.status == 74)
            #expect(warmed.documents.first?["url"].text == urls[0])
            #expect(warmed.documents.first?["error"]["code"].text == "inputOutput", "\(warmed.stdout)")
            #expect(many.status == 1)
            #expect(many.stderr.split(separator: "\n").last == "coderhost: 2 of 2 inputs failed", "\(many.stderr)")
        }
    }

    @Test func `is no failure for local files, but is reported`() async throws {
        try await Bench.run { bench in
            let url = "file://\(Repository.fixture("images/photo.png"))"

            let told = try await bench.cache("warm", "--allow-private", "--json", url)
            let said = try await bench.cache("warm", "--allow-private", url)

            #expect(told.documents.first?["kept"].bool == false)
            #expect(said.status == 0 && said.stdout.contains("downloaded, not cached"))
        }
    }
}

@Suite(.timeLimit(.minutes(40))) struct `Messages of fetch` {
    @Test(arguments: ["--no-cache", "--refresh", "--refresh-stale"])
    func `report contradicting options`(other: String) async throws {
        try await Bench.run { bench in
            let result = try await bench.coderhost("fetch", "--offline", other, "http://example.invalid/a.png")

            #expect(result.status == 64)
            #expect(result.stderr.contains("--offline") && result.stderr.contains(other))
        }
    }

    @Test func `name a URL once, and the option to remove`() async throws {
        try await Bench.run { bench in
            let offline = try await bench.coderhost("fetch", "--offline", "http://example.invalid/a.png")
            let scheme = try await bench.coderhost("fetch", "ftp://z")

            #expect(offline.status == 66 && offline.stderr.contains("omit --offline"), "\(offline.stderr)")
            #expect(offline.stderr.split(separator: "example.invalid").count == 2, "\(offline.stderr)")
            #expect(scheme.status == 64)
            #expect(scheme.stderr.split(separator: "ftp://z").count == 2, "\(scheme.stderr)")
        }
    }

    @Test func `have a hint for a damaged data URL, and the complete URL in JSON`() async throws {
        try await Bench.run { bench in
            let url = "data:image/png;base64," + String(repeating: "AAAA", count: 200) + "*"

            let told = try await bench.coderhost("fetch", "--json", url)
            let said = try await bench.coderhost("fetch", url)

            #expect(told.status == 64 && told.documents.first?["url"].text == url)
            #expect(said.stderr.contains("URL is complete") && !said.stderr.contains("https://"), "\(said.stderr)")
            #expect(said.stderr.utf8.count < 600)
        }
    }

    @Test func `do not repeat a header without colon`() async throws {
        try await Bench.run { bench in
            let result = try await bench.coderhost(
                "fetch", "--header", "Accept: */*", "--header", "Authorization Bearer hunter2",
                "http://example.invalid/")

            #expect(result.status == 64)
            #expect(!result.stderr.contains("hunter2") && result.stderr.contains("--header value number 2"))
        }
    }

    @Test func `report a revalidated file`() async throws {
        try await Bench.run { bench in
            let bytes = try #require(readFile(Repository.fixture("images/photo.png")))
            bench.server.on("/p.png") { request in
                request.header("If-None-Match") == "\"7\"" ? .status(304) : .bytes(bytes).with("ETag", "\"7\"")
            }
            let url = bench.server.url("/p.png")

            _ = try await bench.fetch(url, "-o", "a.png")
            let asked = try await bench.fetch(url, "--refresh", "-o", "b.png")
            let plain = try await bench.fetch(url, "-o", "c.png")

            #expect(asked.stdout.contains("from the cache, revalidated"))
            #expect(plain.stdout.contains("from the cache") && !plain.stdout.contains("revalidated"))
        }
    }

    @Test(arguments: [("max-age=3600", false), ("max-age=0", true)])
    func `report a file that was revalidated because it is stale`(control: String, isStale: Bool) async throws {
        try await Bench.run { bench in
            let bytes = try #require(readFile(Repository.fixture("images/photo.png")))
            bench.server.on("/p.png") { request in
                let isKnown = request.header("If-None-Match") == "\"7\""
                let reply = isKnown ? .status(304) : Reply.bytes(bytes).with("ETag", "\"7\"")
                return reply.with("Cache-Control", control)
            }
            let url = bench.server.url("/p.png")

            _ = try await bench.fetch(url, "-o", "a.png")
            let asked = try await bench.fetch(url, "--refresh-stale", "-o", "b.png")

            #expect(asked.stdout.contains("from the cache"))
            #expect(asked.stdout.contains("revalidated") == isStale && bench.server.requests.count == (isStale ? 2 : 1))
        }
    }

    @Test func `report a cached file above the size limit`() async throws {
        try await Bench.run { bench in
            _ = try bench.serve("photo.png")
            let url = bench.server.url("/photo.png")
            _ = try await bench.fetch(url, "-o", "a.png")

            let result = try await bench.fetch(url, "-o", "b.png", "--max-bytes", "1k")

            #expect(result.status == 77 && result.stderr.contains("--max-bytes"), "\(result.stderr)")
            #expect(bench.outputs == ["a.png"])
        }
    }
}
