import CoderHost
import LoadingTestSupport
import TestSupport
import Testing

/// What becomes of a call where the system has not what it needs.
@Suite(.timeLimit(.minutes(40))) struct `A machine in want` {
    /// Closes what a test runner has open first, so that the number means the same everywhere.
    private static let closing = "for i in $(seq 3 254); do eval \"exec $i>&-\"; done\n"

    @Test(arguments: 4...20)
    func `of descriptors is told so, and no signal ends the call`(count: Int) async throws {
        try await Bench.run { bench in
            _ = try bench.serve("photo.png")

            let result = try await bench.shell(
                Self.closing + "ulimit -n \(count)\nexec \"$0\" fetch --allow-private \"$1\"",
                [bench.server.url("/photo.png")])

            // 127: the loader itself could not open a library.
            #expect([71, 127].contains(result.status), "\(result.stderr)")
            #expect(result.status == 127 || result.stderr.contains("ulimit -n "), "\(result.stderr)")
            #expect(bench.server.connections == 0)
        }
    }

    private static let canMount =
        (try? TestSupport.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"]))?.status == 0

    @Test(.enabled(if: canMount, "nothing can be mounted over /proc"))
    func `of /proc is told so before anything is asked`() async throws {
        try await Bench.run { bench in
            _ = try bench.serve("photo.png")
            let script = """
                unshare -m sh -c 'mount -t tmpfs none /proc && exec "$0" fetch --allow-private "$1"' "$0-fetch" "$1"
                """

            let result = try await bench.shell(script, [bench.server.url("/photo.png")])

            // 127: the loader found no library of its own without it.
            #expect(result.status == 69 || result.status == 127, "\(result.stderr)")
            #expect(result.status == 127 || result.stderr.contains("/proc/self cannot be read"))
            #expect(bench.server.connections == 0)
        }
    }

    @Test(arguments: [85, 105])
    func `has fewer transfers at a time, and all of its pictures`(count: Int) async throws {
        try await Bench.run { bench in
            let bytes = try bench.serve("photo.png")
            let urls = (0..<7).map { bench.server.url("/photo.png?\($0)") }

            let result = try await bench.shell(
                Self.closing + "ulimit -n \(count + 3 * Machine.processorCount)\n"
                    + "exec \"$0\" fetch --allow-private -j 100 -o '{n}.png' \"$@\"",
                urls)

            #expect(result.status == 0, "\(result.stderr)")
            #expect(result.stderr.contains("transfers at a time: too few files") && result.stderr.contains("ulimit -n"))
            #expect(bench.outputs.count == 7 && bench.output("6.png") == bytes)
        }
    }
}

@Suite(.timeLimit(.minutes(40))) struct `A cache that keeps nothing` {
    @Test func `is told of for every URL`() async throws {
        try await Bench.run { bench in
            for name in ["photo.jpg", "photo.png"] { _ = try bench.serve(name) }
            let urls = [bench.server.url("/photo.jpg"), bench.server.url("/photo.png")]
            // Something stands in the place of every folder of entries.
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
                #expect(document["warnings"][0].text?.hasPrefix("it is not kept in the cache: ") == true)
            }
            #expect(warmed.status == 74)
            #expect(warmed.documents.first?["url"].text == urls[0])
            #expect(warmed.documents.first?["error"]["code"].text == "inputOutput", "\(warmed.stdout)")
            #expect(many.status == 1)
            #expect(many.stderr.split(separator: "\n").last == "coderhost: 2 of 2 inputs failed", "\(many.stderr)")
        }
    }

    @Test func `of this machine's own files is no failure, and said`() async throws {
        try await Bench.run { bench in
            let url = "file://\(Repository.fixture("pictures/photo.png"))"

            let told = try await bench.cache("warm", "--allow-private", "--json", url)
            let said = try await bench.cache("warm", "--allow-private", url)

            #expect(told.documents.first?["kept"].bool == false)
            #expect(said.status == 0 && said.stdout.contains("loaded, not kept"))
        }
    }
}

@Suite(.timeLimit(.minutes(40))) struct `What fetch says` {
    @Test(arguments: ["--no-cache", "--refresh"])
    func `is that two switches contradict each other`(other: String) async throws {
        try await Bench.run { bench in
            let result = try await bench.coderhost("fetch", "--offline", other, "http://example.invalid/a.png")

            #expect(result.status == 64)
            #expect(result.stderr.contains("--offline") && result.stderr.contains(other))
        }
    }

    @Test func `names no URL twice, and what to leave out`() async throws {
        try await Bench.run { bench in
            let offline = try await bench.coderhost("fetch", "--offline", "http://example.invalid/a.png")
            let scheme = try await bench.coderhost("fetch", "ftp://z")

            #expect(offline.status == 66 && offline.stderr.contains("leave out --offline"), "\(offline.stderr)")
            #expect(offline.stderr.split(separator: "example.invalid").count == 2, "\(offline.stderr)")
            #expect(scheme.status == 64)
            #expect(scheme.stderr.split(separator: "ftp://z").count == 2, "\(scheme.stderr)")
        }
    }

    @Test func `of a damaged data URL helps, and gives programs all of it`() async throws {
        try await Bench.run { bench in
            let url = "data:image/png;base64," + String(repeating: "AAAA", count: 200) + "*"

            let told = try await bench.coderhost("fetch", "--json", url)
            let said = try await bench.coderhost("fetch", url)

            #expect(told.status == 64 && told.documents.first?["url"].text == url)
            #expect(said.stderr.contains("copied whole") && !said.stderr.contains("https://"), "\(said.stderr)")
            #expect(said.stderr.utf8.count < 600)
        }
    }

    @Test func `of a field without a colon does not repeat it`() async throws {
        try await Bench.run { bench in
            let result = try await bench.coderhost(
                "fetch", "--header", "Accept: */*", "--header", "Authorization Bearer hunter2",
                "http://example.invalid/")

            #expect(result.status == 64)
            #expect(!result.stderr.contains("hunter2") && result.stderr.contains("--header number 2"))
        }
    }

    @Test func `of what is still good is that`() async throws {
        try await Bench.run { bench in
            let bytes = try #require(readFile(Repository.fixture("pictures/photo.png")))
            bench.server.on("/p.png") { request in
                request.header("If-None-Match") == "\"7\"" ? .status(304) : .bytes(bytes).with("ETag", "\"7\"")
            }
            let url = bench.server.url("/p.png")

            _ = try await bench.fetch(url, "-o", "a.png")
            let asked = try await bench.fetch(url, "--refresh", "-o", "b.png")
            let plain = try await bench.fetch(url, "-o", "c.png")

            #expect(asked.stdout.contains("still good, from the cache"))
            #expect(plain.stdout.contains("from the cache") && !plain.stdout.contains("still good"))
        }
    }

    @Test func `of a file in the cache that is larger than it may be is that`() async throws {
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
