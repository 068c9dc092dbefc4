import CoderHost
import ImageModel
import ImageProcessing
import TestSupport
import Testing

@testable import ImageLoading

/// Requests through caches and loaders; ids refer to the conformance table.
@Suite struct `An image manager` {
    private let url = "https://example.org/photo.ppm"

    @Test func `loads an image and reports that no cache had it (M-02)`() async throws {
        let result = try await manager(ScriptedLoader([url: .bytes(testImage(40, 30))])).image(url)
        #expect(result.image.size == PixelSize(40, 30))
        #expect(result.data == testImage(40, 30))
        #expect(result.tier == [] && result.url == url && result.response?.status == 200)
    }

    @Test(arguments: ["", "https://example.org/other"])
    func `refuses a URL that no loader supports (M-03)`(url: String) async {
        let error = await #expect(throws: CoderError.self) { try await manager(ScriptedLoader()).image(url) }
        #expect(error?.code == .invalidURL)
    }

    @Test func `finds an image in memory, then on disk, without another request`() async throws {
        let (loader, cache) = (ScriptedLoader([url: .bytes(testImage(40, 30))]), PlainCache())
        let first = manager(loader, cache)
        _ = try await first.image(url)
        #expect(try await first.image(url).tier == .memory)
        await cache.clear(.memory)
        let second = try await first.image(url)
        #expect(second.tier == .disk && second.data == testImage(40, 30))
        #expect(loader.loads == [url])
    }

    @Test(arguments: ["<html>Service unavailable</html>", "P6 40 30 255 too short"])
    func `does not store a file that is not an image`(answer: String) async throws {
        let (loader, cache) = (ScriptedLoader([url: .bytes(Array(answer.utf8))]), PlainCache())
        let manager = manager(loader, cache)
        var retrying = LoadOptions()
        retrying.request.retriesFailed = true
        await #expect(throws: CoderError.self) { try await manager.image(url, retrying) }
        #expect(cache.entryKeys == [])
        loader.state.withLock { $0.answers[url] = .bytes(testImage(40, 30)) }
        #expect(try await manager.image(url, retrying).image.size == PixelSize(40, 30))
    }

    @Test func `reports a page that arrives instead of an image`() async throws {
        let page = Array("<html>Please log in</html>".utf8)
        try await withServer { server, downloader async throws in
            server.on("/a.png") { _ in .bytes(page, type: "text/html; charset=utf-8") }
            server.on("/b.png") { _ in .bytes(page) }
            let manager = manager(downloader)
            let error = await #expect(throws: CoderError.self) { try await manager.image(server.url("/a.png")) }
            #expect(error?.code == .badContentType && error?.httpStatus == 200)
            #expect(error?.message == "the server sent text/html instead of an image")
            let other = await #expect(throws: CoderError.self) { try await manager.image(server.url("/b.png")) }
            #expect(other?.code == .unrecognizedFormat && other?.httpStatus == 200)
        }
    }

    @Test func `never returns an image that was loaded with other credentials`() async throws {
        try await withServer { server, downloader async throws in
            server.on("/a.ppm") { .bytes($0.header("Authorization") == nil ? testImage(4, 3) : testImage(40, 30)) }
            let manager = manager(downloader)
            var known = LoadOptions()
            known.request.headers = ["Authorization": "Bearer x"]
            #expect(try await manager.image(server.url("/a.ppm"), known).image.size == PixelSize(40, 30))
            #expect(try await manager.image(server.url("/a.ppm")).image.size == PixelSize(4, 3))
            #expect(try await manager.image(server.url("/a.ppm"), known).tier == .memory)
        }
    }

    @Test(arguments: [["no-store"], ["private, No-Store"], ["no-store", "max-age=1"]])
    func `does not store a no-store response, and removes the older entry`(fields: [String])
        async throws
    {
        try await withServer { server, downloader async throws in
            server.on("/a.ppm") { request in
                let reply = Reply.bytes(testImage(4, 3)).with("ETag", "\"\(request.number)\"")
                return request.number == 1 ? reply : fields.reduce(reply) { $0.with("Cache-Control", $1) }
            }
            let cache = PlainCache()
            let manager = manager(downloader, cache)
            var options = thumbnail(2)
            (options.cache.freshness, options.cache.waitsForStore) = (.revalidate, true)
            _ = try await manager.image(server.url("/a.ppm"), options)
            #expect(cache.entryKeys.count == 2)
            _ = try await manager.image(server.url("/a.ppm"), options)
            #expect(cache.entryKeys == [] && cache.imageKeys.count == 1)
        }
    }

    @Test func `distinguishes URLs that encode an accent differently`() async throws {
        let (composed, decomposed) = ("https://example.org/caf\u{e9}.ppm", "https://example.org/cafe\u{301}.ppm")
        #expect(composed == decomposed, "Swift compares them as equal")
        let answers = BytesLoader()
        answers[composed] = testImage(40, 30)
        answers[decomposed] = testImage(7, 5)
        let manager = manager(answers, ImageCache(disk: nil, coders: builtHost().manager))
        let tasks = [composed, decomposed].map { manager.load(ImageRequest($0)) }
        #expect(try await tasks[0].value.image.size == PixelSize(40, 30))
        #expect(try await tasks[1].value.image.size == PixelSize(7, 5))
    }

    @Test func `cancels all loads at once (M-06)`() async throws {
        let loader = ScriptedLoader([url: .bytes(testImage(4, 3)), "b": .bytes(testImage(4, 3))], isOpen: false)
        let manager = manager(loader)
        let tasks = [manager.load(ImageRequest(url)), manager.load(ImageRequest("b"))]
        while loader.loads.count < 2 { await Task.yield() }
        #expect(manager.isRunning)
        manager.cancelAll()
        for task in tasks {
            let error = await #expect(throws: CoderError.self) { try await task.value }
            #expect(error?.code == .cancelled)
        }
        while manager.isRunning || loader.state.withLock({ $0.cancelled }) < 2 { await Task.yield() }
    }

    @Test func `shares one download and one decode among a hundred callers`() async throws {
        let loader = ScriptedLoader([url: .bytes(testImage(64, 48))], isOpen: false)
        let manager = manager(loader)
        let tasks = (0..<100).map { _ in manager.load(ImageRequest(url)) }
        while loader.loads.isEmpty { await Task.yield() }
        loader.open()
        var images = Set<ObjectIdentifier>()
        for task in tasks { images.insert(ObjectIdentifier(try await task.value.image)) }
        #expect(loader.loads.count == 1)
        #expect(images.count == 1)
    }

    @Test func `loads ten thumbnail sizes with one download, also after a restart (M-19)`()
        async throws
    {
        var random = SeededRandom(19)
        let (loader, cache) = (ScriptedLoader([url: .bytes(testImage(1000, 500))], isOpen: false), PlainCache())
        let sides = Array(490...499)
        for round in 0..<4 {
            // A new manager starts with empty memory, as after a restart.
            await cache.clear(.memory)
            let manager = manager(loader, cache)
            let order = sides.map { ($0, random.next()) }.sorted { $0.1 < $1.1 }.map(\.0)
            let tasks = order.map { side in (side, manager.load(ImageRequest(url, thumbnail(side)))) }
            loader.open()
            for (side, task) in tasks {
                let result = try await task.value
                #expect(result.image.size.width == side, "round \(round)")
                #expect(result.data == nil)
                #expect(manager.cachedImage(url, thumbnail(side))?.size.width == side)
            }
            await manager.finishStoring()
        }
        #expect(loader.loads.count == 1)
        #expect(cache.state.withLock { $0.entries[url]?.bytes } == testImage(1000, 500), "byte for byte (M-21)")
    }

    @Test func `decodes a thumbnail from the file on disk, and stores it in both tiers (M-17, M-18)`() async throws {
        let (loader, cache) = (ScriptedLoader(), PlainCache())
        try await cache.store(CachedData(testImage(500, 500)), for: url)
        let manager = manager(loader, cache)
        let result = try await manager.image(url, thumbnail(100))
        #expect(result.tier == .disk && result.data == nil && result.image.size == PixelSize(100, 100))
        await manager.finishStoring()
        let key = manager.cacheKey(url, thumbnail(100)).result
        #expect(cache.imageKeys == [key], "the full image is not in memory")
        #expect(cache.entryKeys.sorted() == [key, url].sorted())
    }

    @Test func `stores a transformed image under its own key (M-08)`() async throws {
        let cache = PlainCache()
        let manager = manager(ScriptedLoader([url: .bytes(testImage(80, 60))]), cache)
        var options = LoadOptions()
        options.transformer = .custom(Resizing(PixelSize(40, 30)))
        let result = try await manager.image(url, options)
        #expect(result.image.size == PixelSize(40, 30) && result.image.isTransformed && result.data == nil)
        await manager.finishStoring()
        let stored = try #require(cache.state.withLock { $0.entries[manager.cacheKey(url, options).result] })
        let decoded = try manager.configuration.coders.decode(ImageSource(stored.bytes))
        #expect(decoded.pixels.size == PixelSize(40, 30))
        #expect(manager.cachedImage(url) == nil, "the untransformed key has no image")
    }

    @Test func `shares the common steps of several pipelines`() async throws {
        let loader = ScriptedLoader([url: .bytes(testImage(80, 60))], isOpen: false)
        let runs = CountedTransformer.Runs()
        let manager = manager(loader)
        func options(_ last: String) -> LoadOptions {
            var options = LoadOptions()
            options.transformer = .custom(Pipeline(CountedTransformer("a", runs), CountedTransformer(last, runs)))
            return options
        }
        let tasks = ["b", "c", "d"].map { manager.load(ImageRequest(url, options($0))) }
        while loader.loads.isEmpty { await Task.yield() }
        loader.open()
        for task in tasks { _ = try await task.value }
        #expect(loader.loads.count == 1)
        #expect(runs.names.sorted() == ["a", "b", "c", "d"])
    }

    @Test func `returns the untransformed image if a transformer fails, and does not store it`() async throws {
        let cache = PlainCache()
        let manager = manager(ScriptedLoader([url: .bytes(testImage(8, 6))]), cache)
        var options = LoadOptions()
        options.transformer = .custom(Cropping(PixelRect(x: 100, y: 100, width: 5, height: 5)))
        let result = try await manager.image(url, options)
        #expect(result.image.size == PixelSize(8, 6) && !result.image.isTransformed)
        await manager.finishStoring()
        #expect(cache.imageKeys.isEmpty && cache.entryKeys == [url])
    }

    @Test func `uses the cache key of a filter (M-09)`() async throws {
        let cache = PlainCache()
        let manager = manager(ScriptedLoader(["\(url)?t=1": .bytes(testImage(4, 4))]), cache) { configuration in
            configuration.requests.keyFilter = { String($0.prefix { $0 != "?" }) }
        }
        _ = try await manager.image("\(url)?t=1")
        #expect(cache.entryKeys == [url] && cache.imageKeys == [url])
    }

    @Test func `stores the bytes of a serializer (M-10)`() async throws {
        let cache = PlainCache()
        let manager = manager(ScriptedLoader([url: .bytes(testImage(4, 4))]), cache) { configuration in
            configuration.storing.serializer = { image, data, _ throws(CoderError) in Array("own".utf8) + (data ?? []) }
        }
        _ = try await manager.image(url)
        await manager.finishStoring()
        #expect(cache.state.withLock { $0.entries[url]?.bytes } == Array("own".utf8) + testImage(4, 4))
    }

    @Test func `applies an options processor (M-11) to cache key and scale factor`() async throws {
        let manager = manager(ScriptedLoader([url: .bytes(testImage(9, 9))])) { configuration in
            configuration.requests.optionsProcessor = { _, options in
                var options = options
                options.scaleFactor = 3
                return options
            }
        }
        #expect(try await manager.image(url).image.scaleFactor == 3)
    }

    @Test func `takes the scale factor from the key, and shares one image among all factors`() async throws {
        let retina = "https://example.org/photo@2x.ppm"
        let loader = ScriptedLoader([retina: .bytes(testImage(8, 8))])
        let manager = manager(loader)
        #expect(try await manager.image(retina).image.scaleFactor == 2)
        var options = LoadOptions()
        options.scaleFactor = 1.5
        let other = try await manager.image(retina, options)
        #expect(other.image.scaleFactor == 1.5 && other.tier == .memory)
        options.scaleFactor = .nan
        #expect(try await manager.image(retina, options).image.scaleFactor == 1)
        #expect(loader.loads.count == 1)
    }

    @Test func `stores the file and the result in the configured tiers (M-12, M-16)`() async throws {
        let (cache, originals) = (PlainCache(), PlainCache())
        let manager = manager(ScriptedLoader([url: .bytes(testImage(80, 60))]), cache) { $0.originalCache = originals }
        var options = thumbnail(20)
        options.cache.results.writes = .memory
        _ = try await manager.image(url, options)
        await manager.finishStoring()
        #expect(cache.entryKeys.isEmpty && cache.imageKeys.count == 1)
        #expect(originals.entryKeys == [url] && originals.imageKeys.isEmpty)
    }

    @Test func `uses only the requested sources`() async throws {
        let (loader, cache) = (ScriptedLoader([url: .bytes(testImage(8, 6))]), PlainCache())
        let manager = manager(loader, cache)
        var options = LoadOptions()
        options.cache.usesLoader = false
        let error = await #expect(throws: CoderError.self) { try await manager.image(url, options) }
        #expect(error?.code == .notFound && loader.loads.isEmpty)
        options.cache = .reload
        for _ in 0..<2 { #expect(try await manager.image(url, options).tier == []) }
        #expect(loader.loads.count == 2)
    }

    @Test func `does not retry a URL that failed recently, unless requested`() async throws {
        let loader = ScriptedLoader([url: .failure(CoderError(.badStatus, "404", httpStatus: 404))])
        let manager = manager(loader)
        for code in [CoderError.Code.badStatus, .failedBefore] {
            let error = await #expect(throws: CoderError.self) { try await manager.image(url) }
            #expect(error?.code == code)
        }
        var options = LoadOptions()
        options.request.retriesFailed = true
        loader.state.withLock { $0.answers[url] = .bytes(testImage(4, 4)) }
        #expect(try await manager.image(url, options).image.size == PixelSize(4, 4))
        #expect(!manager.hasFailed(url) && loader.loads.count == 2)
    }

    @Test func `retries after a temporary failure`() async throws {
        let loader = ScriptedLoader([url: .failure(CoderError(.transferFailed, "reset"))])
        let manager = manager(loader)
        for _ in 0..<2 {
            let error = await #expect(throws: CoderError.self) { try await manager.image(url) }
            #expect(error?.code == .transferFailed)
        }
    }

    @Test func `returns the cached image and revalidates it (M-07)`() async throws {
        let (loader, cache) = (ScriptedLoader([url: .bytes(testImage(8, 6))]), PlainCache())
        let manager = manager(loader, cache)
        _ = try await manager.image(url)
        var options = LoadOptions()
        options.cache.freshness = .revalidate
        for (answer, expected) in [(ScriptedLoader.Answer.notModified, 8), (.bytes(testImage(9, 9)), 9)] {
            loader.state.withLock { $0.answers[url] = answer }
            let task = manager.load(ImageRequest(url, options))
            var cached: [Int] = []
            for await event in task.events { if case .cached(let hit) = event { cached.append(hit.image.size.width) } }
            #expect(cached == [8])
            #expect(try await task.value.image.size.width == expected)
        }
        #expect(loader.state.withLock { $0.cached.dropFirst().allSatisfy { $0?.attributes["etag"] == "\"1\"" } })
        #expect(manager.cachedImage(url)?.size.width == 9)
        #expect(cache.state.withLock { $0.entries[url]?.bytes } == testImage(9, 9))
    }

    @Test func `answers every caller when one of them is cancelled (D-20)`() async throws {
        let loader = ScriptedLoader([url: .bytes(testImage(8, 6))], isOpen: false)
        let manager = manager(loader)
        let (leaving, staying) = (manager.load(ImageRequest(url)), manager.load(ImageRequest(url)))
        while loader.loads.isEmpty { await Task.yield() }
        leaving.cancel()
        let error = await #expect(throws: CoderError.self) { try await leaving.value }
        #expect(error?.code == .cancelled)
        loader.open()
        #expect(try await staying.value.image.size == PixelSize(8, 6))
        #expect(loader.loads.count == 1)
    }
}

/// Leaves an image unchanged, and counts its calls.
struct CountedTransformer: ImageTransformer {
    final class Runs: Sendable {
        private let all = Mutex<[String]>([])
        var names: [String] { all.withLock { $0 } }
        func add(_ name: String) { all.withLock { $0.append(name) } }
    }

    let key: String
    let runs: Runs

    init(_ key: String, _ runs: Runs) {
        self.key = key
        self.runs = runs
    }

    func outputSize(for size: PixelSize) -> PixelSize { size }
    func transform(_ buffer: PixelBuffer) throws(CoderError) -> PixelBuffer {
        runs.add(key)
        return buffer
    }
}
