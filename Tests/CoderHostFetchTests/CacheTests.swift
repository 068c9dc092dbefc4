import CoderHost
import LoadingTestSupport
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `The cache on disk, by command` {
    /// The file of an entry, and its bytes.
    private func entry(_ bench: Bench, _ url: String) async throws -> (path: String, bytes: [UInt8]) {
        let path = String(try await bench.cache("path", url).stdout.dropLast())
        return (path, try #require(readFile(path)))
    }

    @Test func `is warmed, listed and counted`() async throws {
        try await Bench.run { bench in
            let bytes = try bench.serve("photo.jpg")
            let url = bench.server.url("/photo.jpg")

            let warm = try await bench.cache("warm", "--allow-private", "--json", url)
            let again = try await bench.cache("warm", "--allow-private", url)
            let list = try await bench.cache("ls", "--json")
            let stats = try await bench.cache("stats", "--json")

            #expect(warm.status == 0 && warm.documents.first?["format"].text == "jpeg")
            #expect(again.stdout.contains("was there"))
            #expect(bench.server.requests.count == 1)
            #expect(bench.outputs.isEmpty)
            #expect(list.documents.map { $0["url"].text } == [url])
            #expect(list.documents.first?["bytes"].integer == bytes.count)
            #expect(stats.documents.first?["entries"].integer == 1)
            #expect(stats.documents.first?["bytes"].integer == bytes.count)
        }
    }

    @Test func `is empty before anything was fetched, and nothing is made`() async throws {
        try await Bench.run { bench in
            for verb in ["ls", "stats", "prune", "verify", "clear", "path"] {
                let result = try await bench.cache(verb)
                #expect(result.status == 0, "\(verb)")
            }
            #expect(bench.entries.isEmpty)
        }
    }

    @Test func `tells where a picture is`() async throws {
        try await Bench.run { bench in
            let bytes = try bench.serve("photo.png")
            let url = bench.server.url("/photo.png")

            let before = try await bench.cache("path", url)
            _ = try await bench.cache("warm", "--allow-private", url)
            let (path, content) = try await entry(bench, url)

            #expect(before.status == 66)
            #expect(path.hasPrefix(bench.cache.path) && path.hasSuffix(".png"))
            #expect(content.starts(with: bytes))
        }
    }

    @Test func `is found to be damaged, never served so, and repaired`() async throws {
        try await Bench.run { bench in
            let bytes = try bench.serve("photo.png")
            _ = try bench.serve("photo.jpg")
            let urls = [bench.server.url("/photo.png"), bench.server.url("/photo.jpg")]
            _ = try await bench.cache("warm", "--allow-private", urls[0], urls[1])
            let (path, content) = try await entry(bench, urls[0])
            var damaged = content
            damaged[bytes.count / 2] ^= 1
            #expect(writeFile(path, damaged))

            let found = try await bench.cache("verify", "--json")
            let repaired = try await bench.cache("verify", "--repair")
            let after = try await bench.cache("verify", "--json")
            let fetched = try await bench.fetch(urls[0])

            #expect(found.status == 1)
            #expect(found.documents.first?["damaged"].list.compactMap(\.text) == [path])
            #expect(found.documents.first?["sound"].integer == 1)
            #expect(repaired.status == 0 && repaired.stdout.contains(path))
            #expect(after.status == 0 && after.documents.first?["damaged"].list.isEmpty == true)
            #expect(fetched.status == 0)
            #expect(bench.output("photo.png") == bytes)
            #expect(bench.server.requests(to: "/photo.png").count == 2)
        }
    }

    @Test func `is not believed when an entry was damaged behind its back`() async throws {
        try await Bench.run { bench in
            let bytes = try bench.serve("photo.png")
            let url = bench.server.url("/photo.png")
            _ = try await bench.cache("warm", "--allow-private", url)
            let (path, content) = try await entry(bench, url)
            #expect(writeFile(path, Array(content.dropLast(9))))

            #expect(try await bench.fetch(url).status == 0)

            #expect(bench.output("photo.png") == bytes)
            #expect(bench.server.requests.count == 2)
        }
    }

    @Test func `is pruned by age and by size, and cleared`() async throws {
        try await Bench.run { bench in
            for name in ["photo.jpg", "photo.png", "rgba.png"] { _ = try bench.serve(name) }
            let urls = ["/photo.jpg", "/photo.png", "/rgba.png"].map { bench.server.url($0) }
            _ = try await bench.cache("warm", "--allow-private", urls[0], urls[1], urls[2])

            let young = try await bench.cache("prune", "--max-age", "1h", "--json")
            let small = try await bench.cache("prune", "--max-size", "1", "--json")
            _ = try await bench.cache("warm", "--allow-private", urls[0])
            let cleared = try await bench.cache("clear", "--json")

            #expect(young.documents.first?["removed"].integer == 0 && young.documents.first?["kept"].integer == 3)
            #expect(small.documents.first?["kept"].integer == 0)
            #expect(cleared.documents.first?["removed"].integer == 1)
            #expect(try await bench.cache("ls").stdout.isEmpty)
        }
    }

    @Test func `keeps namespaces and folders apart`() async throws {
        try await Bench.run { bench in
            _ = try bench.serve("photo.jpg")
            let url = bench.server.url("/photo.jpg")
            let other = bench.place.folder("other")

            _ = try await bench.cache("warm", "--allow-private", "--namespace", "a", url)
            _ = try await bench.cache("warm", "--allow-private", "--cache-dir", other, url)

            #expect(bench.server.requests.count == 2)
            #expect(try await bench.cache("ls").stdout.isEmpty)
            #expect(try await bench.cache("ls", "--namespace", "a").stdout.contains(url))
            #expect(try await bench.cache("path", "--cache-dir", other).stdout == "\(other)/default\n")
        }
    }

    @Test func `costs nobody a picture when it cannot be written`() async throws {
        try await Bench.run { bench in
            let bytes = try bench.serve("photo.jpg")
            let blocked = bench.place.write([], to: "file")

            let result = try await bench.fetch("--cache-dir", "\(blocked)/below", bench.server.url("/photo.jpg"))

            #expect(result.status == 0)
            #expect(result.stderr.contains("the cache keeps nothing"))
            #expect(bench.output("photo.jpg") == bytes)
        }
    }
}
