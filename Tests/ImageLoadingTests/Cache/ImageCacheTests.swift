import CoderHost
import ImageModel
import ImageProcessing
import TestSupport
import Testing

@testable import ImageLoading

@Suite(.timeLimit(.minutes(40))) struct `Image cache` {
    let folder = TemporaryDirectory()
    var coders: CodersManager { CacheBench.coders }

    func cache(
        _ namespace: String = "test", _ change: (inout ImageCacheConfiguration) -> Void = { _ in }
    ) -> ImageCache {
        var configuration = ImageCacheConfiguration()
        configuration.memory.respondsToPressure = false
        change(&configuration)
        return ImageCache(namespace, in: folder.path, coders: coders, configuration: configuration)
    }

    let png = CacheBench.bytes("images/f.png")

    // MARK: S-01 to S-12

    @Test func `has a shared instance and allows others (S-01, S-02, S-03)`() throws {
        #expect(ImageCache.shared === ImageCache.shared)
        let (first, second) = (cache(), cache())
        #expect(first !== second && first !== ImageCache.shared)
        first.store(try CacheBench.still(), for: "a")
        #expect(first.image(for: "a") != nil && second.image(for: "a") == nil)
    }

    @Test func `clears the disk and leaves memory (S-04)`() async throws {
        let cache = cache()
        try await cache.store(try CacheBench.still(), data: png, for: "a.png")

        await cache.clear(.disk)

        #expect(await cache.contains("a.png") == .memory)
        #expect(await cache.calculateSize() == (0, 0))
    }

    @Test func `clears memory and leaves the disk (S-05)`() async throws {
        let cache = cache()
        try await cache.store(try CacheBench.still(), data: png, for: "a.png")

        await cache.clear(.memory)

        #expect(cache.image(for: "a.png") == nil)
        #expect(await cache.contains("a.png") == .disk)
    }

    @Test func `stores in both tiers and reports count and size (S-06, S-07, S-20, S-21)`() async throws {
        let cache = cache()
        #expect(await cache.calculateSize() == (0, 0))
        let image = try CacheBench.still()

        try await cache.store(image, data: png, for: "a.png")

        #expect(cache.image(for: "a.png") === image)
        #expect(await cache.data(for: "a.png")?.bytes == png)
        let size = await cache.calculateSize()
        #expect(size.count == 1 && size.size >= png.count)
    }

    @Test func `can store in memory only, or on disk only (S-08)`() async throws {
        let cache = cache()
        let image = try CacheBench.still()

        try await cache.store(image, data: png, for: "memory", in: .memory)
        try await cache.store(image, data: png, for: "disk", in: .disk)

        #expect(await cache.contains("memory") == .memory)
        #expect(await cache.contains("disk") == .disk)
        #expect(cache.image(for: "disk") == nil)
    }

    @Test func `finds images in memory, and then on disk (S-09)`() async throws {
        let cache = cache()
        let image = try CacheBench.still()
        try await cache.store(image, data: png, for: "a.png")

        let inMemory = try #require(try await cache.query("a.png"))
        #expect(inMemory.tier == .memory && inMemory.image === image && inMemory.data == nil)
        var options = LoadOptions()
        options.cache.returnsDataOfMemoryHits = true
        #expect(try await cache.query("a.png", options)?.data == png)

        await cache.clear(.memory)
        #expect(try await cache.query("a.png", in: .memory) == nil)
        let onDisk = try #require(try await cache.query("a.png"))
        #expect(onDisk.tier == .disk && onDisk.data == png && onDisk.image.size == PixelSize(31, 17))
        #expect(onDisk.image.format == "png")
        // The query has stored it in memory.
        #expect(try await cache.query("a.png")?.tier == .memory)
        #expect(try await cache.query("b.png") == nil)
    }

    @Test func `does not store decoded images in memory if the options exclude it`() async throws {
        let cache = cache()
        try await cache.store(CachedData(png), for: "a.png")
        var options = LoadOptions()
        options.cache.results.writes = .disk

        #expect(try await cache.query("a.png", options)?.tier == .disk)
        #expect(try await cache.query("a.png", in: .disk)?.tier == .disk)

        #expect(cache.image(for: "a.png") == nil)
    }

    @Test(arguments: [CacheTiers.all, .memory, .disk])
    func `removes from the given tiers (S-10, S-11, S-12)`(_ tiers: CacheTiers) async throws {
        let cache = cache()
        try await cache.store(try CacheBench.still(), data: png, for: "a.png")

        await cache.remove("a.png", from: tiers)

        #expect(await cache.contains("a.png") == CacheTiers.all.subtracting(tiers))
    }

    // MARK: Kinds

    @Test func `returns the first frame of an animation in memory when only that is wanted (S-14)`() async throws {
        let cache = cache()
        let animation = try CacheBench.animation("images/three-frames.gif")
        cache.store(animation, for: "a.gif")
        var options = LoadOptions()
        options.decode.firstFrameOnly = true

        let hit = try #require(try await cache.query("a.gif", options))

        #expect(hit.tier == .memory && hit.image.still != nil && hit.image.frameCount == 1)
        #expect(hit.image.still?.pixels.packed == (try animation.animation?.frame(at: 0).pixels.packed))
        #expect(try await cache.query("a.gif")?.image === animation)
        // The second query reuses the still.
        #expect(try await cache.query("a.gif", options)?.image === hit.image)
    }

    @Test func `ignores an image of the wrong kind in memory and decodes it from disk (S-41)`() async throws {
        let cache = cache()
        let still = try CacheBench.still()
        cache.store(still, for: "a.gif")
        var options = LoadOptions()
        options.kind = .animated
        #expect(try await cache.query("a.gif", options) == nil)

        try await cache.store(CachedData(CacheBench.bytes("images/three-frames.gif")), for: "a.gif")
        let hit = try #require(try await cache.query("a.gif", options))
        #expect(hit.tier == .disk && hit.image.animation?.frameCount == 3)
        #expect(try await cache.query("a.gif", options)?.tier == .memory)
        #expect(try await cache.query("a.gif")?.image === still)

        // An animation in memory is found, even if the application has stored it.
        let animation = try CacheBench.animation("images/three-frames.gif")
        cache.store(animation, for: "b.gif")
        #expect(try await cache.query("b.gif", options)?.image === animation)
    }

    @Test func `decodes animations as animations, and single frames as stills`() async throws {
        let cache = cache()
        for name in ["images/three-frames.gif", "images/f.gif", "images/f.jpg", "apng/three-frames.png"] {
            try await cache.store(CachedData(CacheBench.bytes(name)), for: name)
        }

        #expect(try await cache.query("images/three-frames.gif")?.image.frameCount == 3)
        #expect(try await cache.query("apng/three-frames.png")?.image.isAnimated == true)
        #expect(try await cache.query("images/f.gif")?.image.still != nil)
        #expect(try await cache.query("images/f.jpg")?.image.still != nil)

        var options = LoadOptions()
        options.animation.preloadsFrames = true
        options.kind = .animated
        let loaded = try await cache.query("images/three-frames.gif", options)
        #expect(loaded?.image.animation?.areAllFramesLoaded == true)
        let one = try await cache.query("images/f.jpg", options)
        #expect(one?.image.animation?.frameCount == 1)
    }

    // MARK: Thumbnails and scale factors

    @Test func `decodes a thumbnail from the whole file and keeps it under its own key (M-17)`() async throws {
        let cache = cache()
        try await cache.store(CachedData(CacheBench.bytes("images/photo.jpg")), for: "http://x/photo.jpg")

        let hit = try #require(try await cache.query("http://x/photo.jpg", .thumbnail(PixelSize(40, 40))))

        #expect(hit.tier == .disk && hit.image.size == PixelSize(40, 30) && hit.data == nil && hit.image.isThumbnail)
        #expect(cache.image(for: "http://x/photo.jpg") == nil)
        #expect(cache.image(for: "http://x/photo-Thumbnail(40x40,aspect).jpg") === hit.image)
        #expect(await cache.contains("http://x/photo-Thumbnail(40x40,aspect).jpg") == .memory)
    }

    @Test func `never confuses ten sizes of one image, in any order`() async throws {
        let cache = cache()
        try await cache.store(CachedData(CacheBench.bytes("images/photo.jpg")), for: "photo.jpg")
        var random = SeededRandom(3)

        for _ in 0..<3 {
            for side in (90...99).shuffled(using: &random) {
                let hit = try await cache.query("photo.jpg", .thumbnail(PixelSize(side, side)))
                #expect(hit?.image.size.width == side)
            }
        }
        #expect(try await cache.query("photo.jpg")?.image.size == PixelSize(160, 120))
    }

    @Test func `reads a stored thumbnail rather than decoding the whole file`() async throws {
        let cache = cache()
        let key = "photo-Thumbnail(40x40,aspect).jpg"
        try await cache.store(CachedData(CacheBench.bytes("images/photo.jpg")), for: "photo.jpg")
        try await cache.store(try CacheBench.still(PixelSize(40, 30)), data: nil, for: key, in: .disk)

        let hit = try #require(try await cache.query("photo.jpg", .thumbnail(PixelSize(40, 40))))

        #expect(hit.tier == .disk && hit.data == nil && hit.image.isThumbnail)
        #expect(hit.image.still?.pixels.packed.prefix(3) == [10, 20, 30])
    }

    @Test func `uses the scale factor of the key, or of the options`() async throws {
        let cache = cache()
        for name in ["f@2x.png", "three@3x.gif"] {
            let file = name.hasSuffix("gif") ? "images/three-frames.gif" : "images/f.png"
            try await cache.store(CachedData(CacheBench.bytes(file)), for: name)
        }
        var options = LoadOptions()
        options.scaleFactor = 1

        for _ in 0..<2 {
            #expect(try await cache.query("f@2x.png")?.image.scaleFactor == 2)
            #expect(try await cache.query("f@2x.png", options)?.image.scaleFactor == 1)
            #expect(try await cache.query("three@3x.gif")?.image.scaleFactor == 3)
            #expect(try await cache.query("three@3x.gif")?.image.animation != nil)
        }
    }

    // MARK: Shared work and cancellation

    @Test func `reads and decodes once for many concurrent queries`() async throws {
        let gate = Turnstile()
        let disk = ScriptedDisk(gate: gate)
        let cache = ImageCache(disk: disk, coders: coders)
        try await cache.store(CachedData(png), for: "f.png")

        let images = await withTaskGroup(of: LoadedImage?.self) { group in
            for _ in 0..<100 { group.addTask { try? await cache.query("f.png")?.image } }
            await gate.arrival()
            // All tasks are waiting, or will find the image in memory.
            gate.open()
            return await group.reduce(into: [ObjectIdentifier?]()) { $0.append($1.map { ObjectIdentifier($0) }) }
        }

        #expect(images.count == 100 && !images.contains(nil) && Set(images).count == 1)
        #expect(disk.log.filter { $0 == "data f.png" }.count == 1)
    }

    @Test func `checks the memory again before it decodes`() async throws {
        let gate = Turnstile()
        let cache = ImageCache(disk: ScriptedDisk(gate: gate), coders: coders)
        try await cache.store(CachedData(png), for: "f.png")
        async let query = cache.query("f.png")
        await gate.arrival()

        let other = try CacheBench.still()
        cache.store(other, for: "f.png")
        gate.open()

        let hit = try await query
        #expect(hit?.image === other && hit?.tier == .memory)
    }

    @Test func `answers a cancelled query exactly once and immediately (S-15)`() async throws {
        let gate = Turnstile()
        let cache = ImageCache(disk: ScriptedDisk(gate: gate), coders: coders)
        try await cache.store(CachedData(png), for: "f.png")
        let answers = Mutex(0)
        let task = Task {
            defer { answers.withLock { $0 += 1 } }
            return try await cache.query("f.png")
        }
        await gate.arrival()

        task.cancel()
        // The disk is still blocked; the cancelled query does not wait for it.
        await #expect { try await task.value } throws: { ($0 as? CoderError)?.code == .cancelled }

        gate.open()
        #expect(answers.withLock { $0 } == 1)
        #expect(try await cache.query("f.png")?.image.size == PixelSize(31, 17))
        #expect(cache.lookups.count == 0)
    }

    @Test func `answers the other query when one of two is cancelled`() async throws {
        let gate = Turnstile()
        let cache = ImageCache(disk: ScriptedDisk(gate: gate), coders: coders)
        try await cache.store(CachedData(png), for: "f.png")
        let first = Task { try await cache.query("f.png") }
        await gate.arrival()
        let second = Task { try await cache.query("f.png") }

        first.cancel()
        await #expect(throws: CoderError.self) { try await first.value }
        gate.open()

        #expect(try await second.value?.image.size == PixelSize(31, 17))
    }

    @Test func `completes a removal in a cancelled task`() async throws {
        let cache = cache()
        for name in ["a.png", "b.png"] { try await cache.store(try CacheBench.still(), data: png, for: name) }

        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            await cache.remove("a.png")
            return await (cache.contains("a.png"), cache.contains("b.png"))
        }
        task.cancel()

        let found = await task.value
        #expect(found.0 == [] && found.1 == .all)
    }

    @Test func `treats undecodable bytes as a miss`() async throws {
        let cache = cache()
        try await cache.store(CachedData(Array("no image".utf8)), for: "a.png")
        try await cache.store(CachedData(Array(png.prefix(60))), for: "b.png")

        #expect(try await cache.query("a.png") == nil)
        #expect(try await cache.query("b.png") == nil)
    }
}
