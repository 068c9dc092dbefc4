import CoderHost
import ImageModel
import LoadingTestSupport
import TestSupport
import Testing

@testable import ImageLoading

/// The lifetime that a server declares for a response.
@Suite struct `The lifetime of a response` {
    private func lifetime(_ fields: [String: String], now: Int = 784_111_777) -> HTTPFreshness? {
        HTTPFreshness(ResponseFacts(url: "http://h/a", status: 200, headers: fields), now: now)
    }

    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"

    @Test(
        arguments: [
            (["cache-control": "max-age=60"], 60), (["cache-control": "Public, MAX-AGE=\"60\""], 60),
            (["cache-control": "max-age=60, s-maxage=5"], 60), (["cache-control": "no-cache, max-age=60"], 0),
            (["cache-control": "no-cache=\"a, max-age=9\", max-age=60"], 0), (["cache-control": "max-age=x"], 0),
            (["cache-control": "max-age=-1"], 0), (["cache-control": "max-age=99999999999999999999"], 1 << 31),
            (["cache-control": "max-age=60", "age": "20"], 40), (["cache-control": "max-age=60", "age": "90"], 0),
            (["cache-control": "max-age=60", "date": "Sun, 06 Nov 1994 08:49:07 GMT"], 30),
            (["expires": "Sun, 06 Nov 1994 08:50:37 GMT", "date": date], 60),
            (["expires": "Sun, 06 Nov 1994 08:50:37 GMT"], 60), (["expires": "0"], 0),
            (["expires": "Sun, 06 Nov 1994 08:50:37 GMT", "cache-control": "max-age=5"], 5),
        ] as [([String: String], Int)])
    func `follows from its header fields`(fields: [String: String], seconds: Int) throws {
        let now = 784_111_777
        let freshness = try #require(lifetime(fields))

        #expect(freshness.state(at: now + seconds) == .stale)
        if seconds > 0 { #expect(freshness.state(at: now + seconds - 1) == .fresh) }
        #expect(HTTPFreshness(freshness.attributes) == freshness)
    }

    @Test func `is unknown without a declaration`() {
        #expect(lifetime([:]) == nil && lifetime(["cache-control": "public", "last-modified": Self.date]) == nil)
        #expect(HTTPFreshness(["etag": "x"]) == nil && HTTPFreshness(["response-time": "-1", "fresh-for": "1"]) == nil)
    }

    @Test func `may be exceeded only if the server permits it`() throws {
        let now = 784_111_777
        let lenient = try #require(
            lifetime(["cache-control": "max-age=9, stale-while-revalidate=5, stale-if-error=7"]))
        let states = [8, 9, 13, 14].map { lenient.state(at: now + $0) }
        #expect(states == [.fresh, .usableWhileRevalidated, .usableWhileRevalidated, .stale])
        #expect(lenient.isUsableAfterError(at: now + 15) && !lenient.isUsableAfterError(at: now + 16))
        let strict = try #require(
            lifetime(["cache-control": "max-age=9, must-revalidate, stale-while-revalidate=5, stale-if-error=7"]))
        #expect(strict.state(at: now + 9) == .stale && !strict.isUsableAfterError(at: now + 9))
        #expect(lenient.state(at: now - 1) == .stale, "the clock was set back")
    }
}

/// A manager that obeys the lifetime of responses.
@Suite struct `HTTP freshness` {
    private final class Clock: Sendable {
        private let seconds = Mutex(1_000_000)
        var now: Int { seconds.withLock { $0 } }
        func advance(_ count: Int) { seconds.withLock { $0 += count } }
    }

    private let clock = Clock()
    private let http = {
        var options = LoadOptions()
        options.cache = .http
        return options
    }()

    private func manager(_ loader: any ImageLoading, _ cache: any ImageCaching) -> ImageManager {
        let configuration = ImageManagerConfiguration(coders: builtHost().manager, cache: cache, loader: loader)
        return ImageManager(configuration, ManagerClock(seconds: { [clock] in clock.now }))
    }

    /// Answers with an image 8 pixels wide first, and 304 or a wider image later.
    private func serve(
        _ server: TestServer, _ control: String, later: Reply = .status(304)
    ) -> (url: String, requests: Collected<String?>) {
        let requests = Collected<String?>()
        server.on("/a.ppm") { request in
            requests.add(request.header("If-None-Match"))
            let reply = request.number == 1 ? Reply.bytes(testImage(8, 6)).with("ETag", "\"1\"") : later
            return control.isEmpty ? reply : reply.with("Cache-Control", control)
        }
        return (server.url("/a.ppm"), requests)
    }

    @Test(arguments: [false, true])
    func `asks for an image only after its lifetime, and starts a new lifetime on 304`(fromDisk: Bool) async throws {
        try await withServer { server, downloader async throws in
            // The duration of a request counts as age, so the lifetimes are longer than any delay of a test.
            let (url, requests) = serve(server, "max-age=6000")
            let cache = PlainCache()
            let manager = manager(downloader, cache)
            for (delay, count) in [(0, 1), (5000, 1), (1000, 2), (5000, 2), (1000, 3)] {
                clock.advance(delay)
                if fromDisk { await cache.clear(.memory) }
                let result = try await manager.image(url, http)
                await manager.finishStoring()
                #expect(requests.values.count == count && result.image.size == PixelSize(8, 6))
                #expect((result.response != nil) == (requests.values.count == count && [0, 1000].contains(delay)))
            }
            #expect(requests.values == [nil, "\"1\"", "\"1\""])
        }
    }

    @Test func `is ignored by default`() async throws {
        try await withServer { server, downloader async throws in
            let (url, requests) = serve(server, "max-age=0")
            let cache = PlainCache()
            let manager = manager(downloader, cache)
            for _ in 0..<2 {
                _ = try await manager.image(url)
                await manager.finishStoring()
                await cache.clear(.memory)
                clock.advance(1000)
            }
            #expect(requests.values.count == 1)
        }
    }

    @Test func `treats an entry without lifetime as stale, but never asks offline`() async throws {
        try await withServer { server, downloader async throws in
            let (url, requests) = serve(server, "")
            let cache = PlainCache()
            try await cache.store(CachedData(testImage(8, 6), attributes: ["etag": "\"0\""]), for: url)
            let manager = manager(downloader, cache)
            var offline = http
            offline.cache.usesLoader = false
            #expect(try await manager.image(url, offline).tier == .disk && requests.values.isEmpty)
            await cache.clear(.memory)
            _ = try await manager.image(url, http)
            #expect(requests.values == ["\"0\""])
        }
    }

    @Test(arguments: [false, true])
    func `returns a stored image at once, and revalidates it in the background`(fromDisk: Bool) async throws {
        try await withServer { server, downloader async throws in
            let newer = Reply.bytes(testImage(20, 6)).with("ETag", "\"2\"")
            let (url, requests) = serve(server, "max-age=6000, stale-while-revalidate=3000", later: newer)
            let cache = PlainCache()
            let manager = manager(downloader, cache)
            _ = try await manager.image(url, http)
            await manager.finishStoring()
            clock.advance(8000)
            if fromDisk { await cache.clear(.memory) }
            #expect(try await manager.image(url, http).image.size.width == 8)
            await manager.finishStoring()
            #expect(requests.values.count == 2)
            #expect(try await manager.image(url, http).image.size.width == 20)
            #expect(manager.cachedImage(url, http)?.size.width == 20 && requests.values.count == 2)
            clock.advance(9000)
            #expect(manager.cachedImage(url, http) == nil)
            #expect(try await manager.image(url, http).response?.status == 200)
        }
    }

    @Test func `revalidates a file in the background, too`() async throws {
        try await withServer { server, downloader async throws in
            let (url, requests) = serve(server, "max-age=6000, stale-while-revalidate=3000")
            let manager = manager(downloader, PlainCache())
            _ = try await manager.file(ImageRequest(url, http))
            await manager.finishStoring()
            clock.advance(6000)
            for _ in 0..<2 {
                #expect(try await manager.file(ImageRequest(url, http)).response == nil)
                await manager.finishStoring()
            }
            #expect(requests.values.count == 2)
        }
    }

    @Test(arguments: [("max-age=6000, stale-if-error=3000", true), ("max-age=6000", false)])
    func `returns a stale image instead of a server error only if permitted`(control: String, isUsed: Bool) async throws
    {
        try await withServer { server, downloader async throws in
            let (url, requests) = serve(server, control, later: .status(503))
            let manager = manager(downloader, PlainCache())
            _ = try await manager.image(url, http)
            await manager.finishStoring()
            clock.advance(6000)
            let result = try? await manager.image(url, http)
            #expect((result != nil) == isUsed && requests.values.count == 2)
            clock.advance(3000)
            await #expect(throws: CoderError.self) { try await manager.image(url, http) }
        }
    }

    @Test func `survives the process, for files and for results`() async throws {
        try await withServer { server, downloader async throws in
            let (url, requests) = serve(server, "max-age=6000")
            let folder = TemporaryDirectory()
            func open() -> ImageCache {
                ImageCache(disk: DiskCache(directory: folder.path), coders: builtHost().manager)
            }
            var small = thumbnail(4)
            (small.cache, small.cache.waitsForStore) = (.http, true)
            _ = try await manager(downloader, open()).image(url, small)
            clock.advance(5000)
            for options in [http, small] {
                #expect(try await manager(downloader, open()).image(url, options).tier == .disk)
            }
            #expect(requests.values.count == 1)
            clock.advance(1000)
            #expect(try await manager(downloader, open()).image(url, small).response?.status == 304)
            #expect(try await manager(downloader, open()).image(url, http).response == nil)
            #expect(requests.values.count == 2)
        }
    }
}
