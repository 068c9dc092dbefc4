import CoderHost
import ImageModel
import ImageProcessing
import Synchronization
import TestSupport
import Testing

@testable import ImageLoading

/// Where a manager finds images, and where it stores them.
@Suite struct `Caches of a manager` {
    private let url = "https://example.org/photo.ppm"
    private let gif = Fixture.named("images/three-frames.gif").bytes

    private func options(_ change: (inout LoadOptions) -> Void) -> LoadOptions {
        var options = LoadOptions()
        change(&options)
        return options
    }

    private func onDisk(_ bytes: [UInt8]) async throws -> PlainCache {
        let cache = PlainCache()
        try await cache.store(CachedData(bytes, attributes: ["etag": "\"1\""]), for: url)
        return cache
    }

    // MARK: A file that is only on disk

    @Test(arguments: [nil, 4])
    func `revalidates the file on disk with an empty memory (M-07)`(side: Int?) async throws {
        let (loader, cache) = (ScriptedLoader([url: .notModified]), try await onDisk(testImage(8, 8)))
        var options = side.map(thumbnail) ?? LoadOptions()
        options.cache.freshness = .revalidate
        let manager = manager(loader, cache)
        let task = manager.load(ImageRequest(url, options))
        var cached: [Int] = []
        for await event in task.events { if case .cached(let hit) = event { cached.append(hit.image.size.width) } }
        let result = try await task.value
        #expect(cached == [side ?? 8] && result.image.size.width == side ?? 8)
        #expect(result.tier == .disk && result.response?.status == 304 && !manager.hasFailed(url))
        #expect(loader.loads == [url])
    }

    @Test func `decodes a thumbnail again when the server confirms a newer file`() async throws {
        let (loader, cache) = (ScriptedLoader([url: .bytes(testImage(80, 80))]), PlainCache())
        let manager = manager(loader, cache)
        for side in [20, 40] { _ = try await manager.image(url, thumbnail(side)) }
        await manager.finishStoring()
        loader.state.withLock { $0.answers[url] = .bytes(testImage(80, 40)) }
        var (first, second) = (thumbnail(20), thumbnail(40))
        (first.cache.freshness, second.cache.freshness) = (.revalidate, .revalidate)
        #expect(try await manager.image(url, first).image.size == PixelSize(20, 10))
        loader.state.withLock { $0.answers[url] = .notModified }
        #expect(try await manager.image(url, second).image.size == PixelSize(40, 20))
        #expect(manager.cachedImage(url, thumbnail(40))?.size == PixelSize(40, 20))
    }

    @Test func `can query only the caches, all of them (M-15)`() async throws {
        let (loader, cache) = (ScriptedLoader(), try await onDisk(testImage(102, 102)))
        for side in [102, 20] {
            await cache.clear(.memory)
            var options = side == 102 ? LoadOptions() : thumbnail(side)
            options.cache.usesLoader = false
            let result = try await manager(loader, cache).image(url, options)
            #expect(result.tier == .disk && result.image.size == PixelSize(side, side))
        }
        await cache.clear(.memory)
        let nowhere = options { ($0.cache, $0.cache.usesLoader) = (.reload, false) }
        let error = await #expect(throws: CoderError.self) { try await manager(loader, cache).image(url, nowhere) }
        #expect(error?.code == .notFound && loader.loads.isEmpty)
    }

    @Test func `returns cached images if the application refuses loading, or after a failure`() async throws {
        let (loader, cache) = (ScriptedLoader([url: .failure(CoderError(.badStatus, "404"))]), PlainCache())
        let manager = manager(loader, cache) { $0.requests.shouldLoad = { $0.hasSuffix("?yes") || !$0.contains("?") } }
        await #expect(throws: CoderError.self) { try await manager.image(url) }
        #expect(manager.hasFailed(url))
        try await cache.store(CachedData(testImage(8, 8)), for: url)
        #expect(try await manager.image(url).tier == .disk)
        let error = await #expect(throws: CoderError.self) { try await manager.image("\(url)?no") }
        #expect(error?.code == .cancelled && loader.loads == [url])
        try await cache.store(CachedData(testImage(8, 8)), for: "\(url)?no")
        let asking = options { $0.cache.freshness = .revalidate }
        #expect(try await manager.image("\(url)?no", asking).tier == .disk)
    }

    @Test func `keeps a valid file when a caller forces the wrong coder`() async throws {
        let cache = try await onDisk(testImage(8, 8))
        let manager = manager(ScriptedLoader(), cache)
        let wrong = options { $0.parts.coder = "org.coderhost.png" }
        await #expect(throws: CoderError.self) { try await manager.image(url, wrong) }
        #expect(cache.entryKeys == [url] && !manager.hasFailed(url))
        #expect(try await manager.image(url).tier == .disk)
    }

    @Test func `sends validators only to the URL that issued them`() async throws {
        try await withServer { server, downloader async throws in
            server.on("/latest") { .redirect(to: $0.number == 1 ? "/one" : "/two") }
            server.on("/one") { _ in Reply.bytes(testImage(8, 6)).with("ETag", "\"1\"") }
            // Another image with the same tag.
            server.on("/two") { request in
                request.header("If-None-Match") == nil
                    ? Reply.bytes(testImage(4, 3)).with("ETag", "\"1\"") : .status(304)
            }
            let (manager, asking) = (manager(downloader), options { $0.cache.freshness = .revalidate })
            #expect(try await manager.image(server.url("/latest"), asking).image.size == PixelSize(8, 6))
            #expect(try await manager.image(server.url("/latest"), asking).image.size == PixelSize(4, 3))
            #expect(try await manager.image(server.url("/latest"), asking).response?.status == 304)
        }
    }

    @Test func `keeps its image when a page arrives instead, and removes it on no-store`() async throws {
        try await withServer { server, downloader async throws in
            server.on("/a") { request in
                switch request.number {
                case 1: Reply.bytes(testImage(8, 6)).with("ETag", "\"1\"")
                case 2: .bytes(Array("<html>log in</html>".utf8), type: "text/html")
                default: .status(304, [("Cache-Control", "no-store")])
                }
            }
            let cache = PlainCache()
            let (manager, asking) = (
                manager(downloader, cache), options { ($0.cache, $0.request.retriesFailed) = (.revalidate, true) }
            )
            let file = ImageRequest(server.url("/a"), asking)
            _ = try await manager.file(file)
            #expect(try await manager.file(file).response?.contentType == "text/html")
            #expect(cache.state.withLock { $0.entries.values.map(\.bytes) } == [testImage(8, 6)])
            #expect(try await manager.file(file).response?.status == 304)
            #expect(cache.entryKeys == [])
        }
    }

    // MARK: Memory

    @Test func `can keep the untransformed image in memory (M-16)`() async throws {
        let (loader, cache, originals) = (ScriptedLoader([url: .bytes(testImage(9, 6))]), PlainCache(), PlainCache())
        let manager = manager(loader, cache) { $0.originalCache = originals }
        func flipped(_ horizontal: Bool) -> LoadOptions {
            options {
                $0.transformer = .custom(Flipping(horizontal: horizontal, vertical: !horizontal))
                ($0.cache.originals.writes, $0.cache.originals.reads, $0.cache.results.writes) = (
                    .memory, .memory, .memory
                )
            }
        }
        #expect(try await manager.image(url, flipped(true)).tier == [])
        #expect(originals.imageKeys == [manager.cacheKey(url, flipped(true)).decoded] && originals.entryKeys == [])
        #expect(try await manager.image(url, flipped(false)).tier == .memory)
        #expect(loader.loads.count == 1 && cache.imageKeys.count == 2 && cache.entryKeys == [])
    }

    @Test func `returns the first frame of an animation in memory (S-14)`() async throws {
        let (loader, cache) = (ScriptedLoader([url: .bytes(gif)]), PlainCache())
        let manager = manager(loader, cache)
        _ = try await manager.image(url)
        await cache.clear(.disk)
        let still = try await manager.image(url, options { $0.kind = .still })
        #expect(still.tier == .memory && still.image.still != nil && loader.loads.count == 1)
    }

    @Test(arguments: [false, true])
    func `decodes all frames on request, also of images in memory`(isProgressive: Bool) async throws {
        let manager = manager(ScriptedLoader([url: .parts([Array(gif.prefix(60)), Array(gif.dropFirst(60))])]))
        let ready = options {
            ($0.animation.preloadsFrames, $0.previewPolicy) = (true, isProgressive ? .everyScan : .none)
        }
        if !isProgressive { #expect(try await manager.image(url).image.animation?.areAllFramesLoaded == false) }
        let result = try await manager.image(url, ready)
        #expect(result.image.animation?.areAllFramesLoaded == true)
        #expect(result.tier == (isProgressive ? [] : .memory))
    }

    // MARK: Several caches

    @Test func `finds the output of a serializer, with separate caches for files and results`() async throws {
        let (loader, cache, originals) = (ScriptedLoader([url: .bytes(testImage(8, 6))]), PlainCache(), PlainCache())
        let manager = manager(loader, cache) { configuration in
            configuration.originalCache = originals
            configuration.storing.serializer = { _, data, _ throws(CoderError) in data }
        }
        _ = try await manager.image(url, options { $0.cache.waitsForStore = true })
        #expect(originals.entryKeys == [url] && cache.entryKeys == [])
        await cache.clear(.memory)
        #expect(try await manager.image(url).tier == .disk && loader.loads.count == 1)
        let hit = try await manager.image(url, options { $0.cache.returnsDataOfMemoryHits = true })
        #expect(hit.tier == .memory && hit.data == testImage(8, 6))
    }

    @Test func `prefers cache, loader and other parts of a request to its own (M-14, M-16)`() async throws {
        let manager = manager(BytesLoader(), PlainCache()) { configuration in
            configuration.transformer = Flipping(horizontal: true)
            configuration.storing.serializer = { _, _, _ throws(CoderError) in nil }
        }
        let (loader, cache, originals) = (ScriptedLoader([url: .bytes(testImage(80, 60))]), PlainCache(), PlainCache())
        var own = thumbnail(20)
        (own.parts.loader, own.parts.cache, own.parts.originalCache, own.transformer) = (
            loader, cache, originals, .none
        )
        own.parts.serializer = { _, _, _ throws(CoderError) in [1] }
        own.cache.waitsForStore = true
        let result = try await manager.image(url, own)
        #expect(!result.image.isTransformed && result.image.size == PixelSize(20, 15) && loader.loads == [url])
        let key = manager.cacheKey(url, own).result
        #expect(cache.imageKeys == [key] && cache.state.withLock { $0.entries[key]?.bytes } == [1])
        #expect(originals.entryKeys == [], "with a serializer only its output is stored on disk")
        #expect(!manager.hasFailed(url) && (manager.configuration.cache as? PlainCache)?.imageKeys == [])
    }

    @Test func `uses a separate key for results that are reduced on disk only (M-08)`() async throws {
        let cache = PlainCache()
        let manager = manager(ScriptedLoader([url: .bytes(testImage(80, 60))]), cache)
        var small = thumbnail(40)
        small.cache.encode.maxPixelSize = PixelSize(20, 20)
        small.cache.waitsForStore = true
        let result = try await manager.image(url, small)
        #expect(
            result.image.size == PixelSize(40, 30) && result.image.extendedData == nil)
        let stored = try #require(cache.state.withLock { $0.entries[manager.cacheKey(url, small).result] })
        #expect(try manager.configuration.coders.decode(ImageSource(stored.bytes)).pixels.size == PixelSize(20, 15))
        await cache.clear(.memory)
        #expect(try await manager.image(url, thumbnail(40)).image.size == PixelSize(40, 30))
    }
}
