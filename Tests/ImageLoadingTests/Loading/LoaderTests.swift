import CoderHost
import Glibc
import ImageModel
import TestSupport
import Testing

@testable import ImageLoading

@Suite(.timeLimit(.minutes(40))) struct `Local files` {
    let place = TemporaryDirectory()

    @Test func `are loaded by path and by URL, and not stored in a cache`() async throws {
        let path = place.write([1, 2, 3], to: "a b#c.png")
        let loader = FileLoader()
        for url in [path, "file://\(path)", "file:\(path)", "FILE://localhost\(path)"] {
            let escaped = url == path ? url : url.replacing(" ", with: "%20").replacing("#", with: "%23")
            let data = try await loader.outcome(escaped).get()
            #expect(data.bytes == [1, 2, 3])
            #expect(!data.isWorthStoring)
            guard case .source(let source) = data.content else { continue }
            #expect(source.origin == .local)
        }
    }

    @Test func `are refused without blocking if they are not regular files`() async throws {
        let pipe = place.file("pipe")
        #expect(unsafe mkfifo(pipe, 0o600) == 0)
        for path in [pipe, place.path, "/dev/zero"] {
            #expect(await FileLoader().failure(path)?.code == .inputOutput)
        }
    }

    @Test func `are not found if they are missing`() async throws {
        let error = await FileLoader().failure(place.file("none"))
        #expect(error?.code == .notFound)
        #expect(FileLoader().shouldBlock("", after: try #require(error)) == false)
    }

    @Test(arguments: ["file:", "file://other.example/a", "file:relative", "file:///a%00b"])
    func `are refused with another host or without a path`(url: String) async {
        #expect(await FileLoader().failure(url)?.code == .invalidURL)
    }

    @Test(arguments: [
        ("http://a/", false), ("data:,a", false), ("/a", true), ("a/b.png", true), ("", false), ("./a:b", true),
        ("file:///a", true),
    ])
    func `are distinguished from URLs of other schemes`(url: String, isFile: Bool) {
        #expect(FileLoader().canLoad(ImageRequest(url)) == isFile)
    }

    @Test func `are refused above the size limit`() async {
        let path = place.write([1, 2, 3], to: "a")
        var limits = DecodeLimits()
        limits.maxInputBytes = 2
        #expect(await FileLoader(limits: limits).failure(path)?.code == .limitExceeded)
    }
}

@Suite struct `Data URLs` {
    @Test(arguments: [
        ("data:image/png;base64,aGVsbG8=", "hello"), ("data:;base64,aGVsbG8", "hello"), ("DATA:,a%20b", "a b"),
        ("data:text/plain;charset=utf-8;BASE64, aGVs bG8= ", "hello"), ("data:,a,b#c", "a,b"),
        ("data:image/png;base64,aGVsbG8%3D", "hello"), ("data:image/svg+xml,%3Csvg/%3E", "<svg/>"),
    ])
    func `are decoded`(url: String, text: String) async throws {
        let data = try await DataLoader().outcome(url).get()
        #expect(data.bytes == Array(text.utf8))
        #expect(!data.isWorthStoring)
    }

    @Test(arguments: ["data:", "data:image/png;base64", "data:,", "data:;base64,a*b=", "data:;base64,"])
    func `are refused if they are invalid`(url: String) async {
        #expect(await DataLoader().failure(url)?.code == .invalidURL)
    }
}

@Suite(.timeLimit(.minutes(40))) struct `Combined loaders` {
    /// Returns one byte, or fails.
    struct Fixed: ImageLoading {
        var prefix: String
        var byte: UInt8?

        func canLoad(_ request: ImageRequest) -> Bool { request.url.hasPrefix(prefix) }
        func load(
            _ request: ImageRequest, cached: CachedData?, _ urgency: LoadUrgency,
            onProgress: @escaping @Sendable (LoadProgress) -> Void
        ) async throws(CoderError) -> LoadedData {
            guard let byte else { throw CoderError(.notFound, "\(request.url) is not there") }
            return LoadedData(.source(ImageSource([byte])))
        }
        func shouldBlock(_ url: String, after error: CoderError) -> Bool { byte == nil }
    }

    @Test func `use the last added loader that supports the URL`() async throws {
        let manager = LoadersManager([Fixed(prefix: "a", byte: 1), Fixed(prefix: "ab", byte: 2)])

        #expect(try await manager.bytes("abc") == [2])
        #expect(try await manager.bytes("acc") == [1])
        manager.add(Fixed(prefix: "", byte: 3))
        #expect(try await manager.bytes("abc") == [3])
        #expect(manager.loaders.count == 3)
        manager.loaders = []
        #expect(await manager.failure("abc")?.code == .invalidURL)
        #expect(!manager.canLoad(ImageRequest("abc")))
    }

    @Test func `ask the responsible loader whether to block a URL`() {
        let manager = LoadersManager([Fixed(prefix: "a", byte: nil), Fixed(prefix: "b", byte: 2)])
        let error = CoderError(.corrupt, "")
        #expect(manager.shouldBlock("a", after: error))
        #expect(!manager.shouldBlock("b", after: error))
        #expect(!manager.shouldBlock("c", after: error))
    }

    @Test func `try alternatives in their order`() async throws {
        let manager = LoadersManager([Fixed(prefix: "bad", byte: nil), Fixed(prefix: "good", byte: 2)])

        #expect(try await manager.bytes("bad1") { $0.request.alternatives = ["none", "bad2", "good", "bad3"] } == [2])
        let error = await manager.failure("bad1") { $0.request.alternatives = ["bad2"] }
        #expect(error?.message == "bad1 is not there")
    }

    @Test(arguments: [("https://a.test/x", true), ("https://b.test/x", false), ("http://a.test/x", false)])
    func `send secrets only to the first server`(other: String, isHome: Bool) async throws {
        let seen = Collected<ImageRequest>()
        let manager = LoadersManager([Fixed(prefix: "https://a.test/1", byte: nil), Telling(seen: seen)])
        _ = await manager.failure("https://a.test/1") {
            $0.request.alternatives = [other]
            $0.request.headers = ["Authorization": "secret", "Accept": "image/*"]
            $0.request.credential = Credential(user: "joe", password: "secret")
        }
        let request = try #require(seen.values.last)
        #expect(request.url == other && request.options.request.headers["Accept"] == "image/*")
        #expect((request.options.request.headers["Authorization"] != nil) == isHome)
        #expect((request.options.request.credential != nil) == isHome)
    }

    /// Fails, and records the request.
    private struct Telling: ImageLoading {
        let seen: Collected<ImageRequest>
        func canLoad(_ request: ImageRequest) -> Bool { true }
        func load(
            _ request: ImageRequest, cached: CachedData?, _ urgency: LoadUrgency,
            onProgress: @escaping @Sendable (LoadProgress) -> Void
        ) async throws(CoderError) -> LoadedData {
            seen.add(request)
            throw CoderError(.notFound, "nothing")
        }
    }

    @Test func `load files, data and the web`() async throws {
        let place = TemporaryDirectory()
        let path = place.write([5], to: "a")
        try await withServer { server, downloader async throws in
            server.on("/a") { _ in .bytes([6]) }
            let manager = LoadersManager(downloader)

            #expect(try await manager.bytes(path) == [5])
            #expect(try await manager.bytes("data:,A") == [65])
            #expect(try await manager.bytes(server.url("/a")) == [6])
        }
    }

    @Test func `load application bytes by name`() async throws {
        let bytes = BytesLoader(["one": [1]])
        bytes["two"] = [2]
        let manager = LoadersManager([FileLoader(), bytes])

        #expect(try await manager.bytes("one") == [1])
        #expect(try await manager.bytes("two") == [2])
        bytes["two"] = nil
        #expect(await manager.failure("two")?.code == .notFound)
        #expect(await bytes.failure("two")?.code == .notFound)
    }
}

@Suite struct `Failed images` {
    @Test(arguments: [
        (CoderError.Code.invalidURL, true), (.corrupt, true), (.unrecognizedFormat, true), (.addressDenied, true),
        (.badResponse, true), (.cancelled, false), (.deadlineExceeded, false), (.badStatus, false),
        (.badContentType, false), (.outOfMemory, false), (.limitExceeded, false),
    ])
    func `are blocked after permanent failures`(code: CoderError.Code, isBlocked: Bool) throws {
        let downloader = try makeDownloader()
        #expect(downloader.shouldBlock("http://a/", after: CoderError(code, "")) == isBlocked)
    }
}
