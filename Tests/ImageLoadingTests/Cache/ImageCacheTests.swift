import CoderHost
import ImageModel
import ImageProcessing
import Synchronization
import TestSupport
import Testing

@testable import ImageLoading

@Suite(.timeLimit(.minutes(40))) struct `Image cache` {
    private let folder = TemporaryDirectory()
    private var coders: CodersManager { CacheBench.coders }

    private func cache(
        _ namespace: String = "test", _ change: (inout ImageCacheConfiguration) -> Void = { _ in }
    ) -> ImageCache {
        var configuration = ImageCacheConfiguration()
        configuration.memory.respondsToPressure = false
        change(&configuration)
        return ImageCache(namespace, in: folder.path, coders: coders, configuration: configuration)
    }

    private let png = CacheBench.bytes("pictures/f.png")

    // MARK: S-01 to S-12

    @Test func `is one for all, or as many as somebody makes (S-01, S-02, S-03)`() throws {
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

    @Test func `stores in both, counted and sized (S-06, S-07, S-20, S-21)`() async throws {
        let cache = cache()
        #expect(await cache.calculateSize() == (0, 0))
        let image = try CacheBench.still()

        try await cache.store(image, data: png, for: "a.png")

        #expect(cache.image(for: "a.png") === image)
        #expect(await cache.data(for: "a.png")?.bytes == png)
        let size = await cache.calculateSize()
        #expect(size.count == 1 && size.size >= png.count)
    }

    @Test func `stores in memory alone, or on disk alone (S-08)`() async throws {
        let cache = cache()
        let image = try CacheBench.still()

        try await cache.store(image, data: png, for: "memory", in: .memory)
        try await cache.store(image, data: png, for: "disk", in: .disk)

        #expect(await cache.contains("memory") == .memory)
        #expect(await cache.contains("disk") == .disk)
        #expect(cache.image(for: "disk") == nil)
    }

    @Test func `finds pictures in memory, and then on disk (S-09)`() async throws {
        let cache = cache()
        let image = try CacheBench.still()
        try await cache.store(image, data: png, for: "a.png")

        let inMemory = try #require(try await cache.query("a.png"))
        #expect(inMemory.tier == .memory && inMemory.image === image && inMemory.data == nil)
        var options = LoadOptions()
        options.queriesDataOfMemoryHits = true
        #expect(try await cache.query("a.png", options)?.data == png)

        await cache.clear(.memory)
        #expect(try await cache.query("a.png", in: .memory) == nil)
        let onDisk = try #require(try await cache.query("a.png"))
        #expect(onDisk.tier == .disk && onDisk.data == png && onDisk.image.size == PixelSize(31, 17))
        #expect(onDisk.image.format == "png")
        // It is in memory from now on.
        #expect(try await cache.query("a.png")?.tier == .memory)
        #expect(try await cache.query("b.png") == nil)
    }

    @Test func `keeps what it decodes out of memory when it is told so`() async throws {
        let cache = cache()
        try await cache.store(CachedData(png), for: "a.png")
        var options = LoadOptions()
        options.stores = .disk

        #expect(try await cache.query("a.png", options)?.tier == .disk)
        #expect(try await cache.query("a.png", in: .disk)?.tier == .disk)

        #expect(cache.image(for: "a.png") == nil)
    }

    @Test(arguments: [CacheTiers.all, .memory, .disk])
    func `removes from where it is told to (S-10, S-11, S-12)`(_ tiers: CacheTiers) async throws {
        let cache = cache()
        try await cache.store(try CacheBench.still(), data: png, for: "a.png")

        await cache.remove("a.png", from: tiers)

        #expect(await cache.contains("a.png") == CacheTiers.all.subtracting(tiers))
    }

    // MARK: Kinds

    @Test func `makes a still of an animation in memory when only the first frame is wanted (S-14)`() async throws {
        let cache = cache()
        let animation = try CacheBench.animation("pictures/three-frames.gif")
        cache.store(animation, for: "a.gif")
        var options = LoadOptions()
        options.decode.firstFrameOnly = true

        let hit = try #require(try await cache.query("a.gif", options))

        #expect(hit.tier == .memory && hit.image.still != nil && hit.image.frameCount == 1)
        #expect(hit.image.still?.pixels.packed == (try animation.animation?.frame(at: 0).pixels.packed))
        #expect(try await cache.query("a.gif")?.image === animation)
        // Done once.
        #expect(try await cache.query("a.gif", options)?.image === hit.image)
    }

    @Test func `misses what is of the wrong kind in memory, and decodes it from disk (S-41)`() async throws {
        let cache = cache()
        let still = try CacheBench.still()
        cache.store(still, for: "a.gif")
        var options = LoadOptions()
        options.kind = .animated
        #expect(try await cache.query("a.gif", options) == nil)

        try await cache.store(CachedData(CacheBench.bytes("pictures/three-frames.gif")), for: "a.gif")
        let hit = try #require(try await cache.query("a.gif", options))
        #expect(hit.tier == .disk && hit.image.animation?.frameCount == 3)
        #expect(try await cache.query("a.gif", options)?.tier == .memory)
        #expect(try await cache.query("a.gif")?.image === still)

        // An animation in memory is one, whoever stored it.
        let animation = try CacheBench.animation("pictures/three-frames.gif")
        cache.store(animation, for: "b.gif")
        #expect(try await cache.query("b.gif", options)?.image === animation)
    }

    @Test func `decodes animations as such, and single frames as stills`() async throws {
        let cache = cache()
        for name in ["pictures/three-frames.gif", "pictures/f.gif", "pictures/f.jpg", "apng/three-frames.png"] {
            try await cache.store(CachedData(CacheBench.bytes(name)), for: name)
        }

        #expect(try await cache.query("pictures/three-frames.gif")?.image.frameCount == 3)
        #expect(try await cache.query("apng/three-frames.png")?.image.isAnimated == true)
        #expect(try await cache.query("pictures/f.gif")?.image.still != nil)
        #expect(try await cache.query("pictures/f.jpg")?.image.still != nil)

        var options = LoadOptions()
        options.preloadsAllFrames = true
        options.kind = .animated
        let loaded = try await cache.query("pictures/three-frames.gif", options)
        #expect(loaded?.image.animation?.areAllFramesLoaded == true)
        let one = try await cache.query("pictures/f.jpg", options)
        #expect(one?.image.animation?.frameCount == 1)
    }

    // MARK: Thumbnails and density

    @Test func `decodes a thumbnail from the whole file and keeps it under its own key (M-17)`() async throws {
        let cache = cache()
        try await cache.store(CachedData(CacheBench.bytes("pictures/photo.jpg")), for: "http://x/photo.jpg")

        let hit = try #require(try await cache.query("http://x/photo.jpg", .thumbnail(PixelSize(40, 40))))

        #expect(hit.tier == .disk && hit.image.size == PixelSize(40, 30) && hit.data == nil && hit.image.isThumbnail)
        #expect(cache.image(for: "http://x/photo.jpg") == nil)
        #expect(cache.image(for: "http://x/photo-Thumbnail(40x40,aspect).jpg") === hit.image)
        #expect(await cache.contains("http://x/photo-Thumbnail(40x40,aspect).jpg") == .memory)
    }

    @Test func `holds ten sizes of one picture apart, in every order`() async throws {
        let cache = cache()
        try await cache.store(CachedData(CacheBench.bytes("pictures/photo.jpg")), for: "photo.jpg")
        var random = SeededRandom(3)

        for _ in 0..<3 {
            for side in (90...99).shuffled(using: &random) {
                let hit = try await cache.query("photo.jpg", .thumbnail(PixelSize(side, side)))
                #expect(hit?.image.size.width == side)
            }
        }
        #expect(try await cache.query("photo.jpg")?.image.size == PixelSize(160, 120))
    }

    @Test func `reads a thumbnail that was stored as such, before the whole file`() async throws {
        let cache = cache()
        let key = "photo-Thumbnail(40x40,aspect).jpg"
        try await cache.store(CachedData(CacheBench.bytes("pictures/photo.jpg")), for: "photo.jpg")
        try await cache.store(try CacheBench.still(PixelSize(40, 30)), data: nil, for: key, in: .disk)

        let hit = try #require(try await cache.query("photo.jpg", .thumbnail(PixelSize(40, 40))))

        #expect(hit.tier == .disk && hit.data == nil && hit.image.isThumbnail)
        #expect(hit.image.still?.pixels.packed.prefix(3) == [10, 20, 30])
    }

    @Test func `gives pictures the density of their key, or the one that is asked for`() async throws {
        let cache = cache()
        for name in ["f@2x.png", "three@3x.gif"] {
            let file = name.hasSuffix("gif") ? "pictures/three-frames.gif" : "pictures/f.png"
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

    // MARK: Coalescing and cancelling

    @Test func `reads and decodes once what many want at the same time`() async throws {
        let gate = Turnstile()
        let disk = ScriptedDisk(gate: gate)
        let cache = ImageCache(disk: disk, coders: coders)
        try await cache.store(CachedData(png), for: "f.png")

        let images = await withTaskGroup(of: LoadedImage?.self) { group in
            for _ in 0..<100 { group.addTask { try? await cache.query("f.png")?.image } }
            await gate.arrival()
            // All of them are waiting, or will find it in memory.
            gate.open()
            return await group.reduce(into: [ObjectIdentifier?]()) { $0.append($1.map { ObjectIdentifier($0) }) }
        }

        #expect(images.count == 100 && !images.contains(nil) && Set(images).count == 1)
        #expect(disk.log.filter { $0 == "data f.png" }.count == 1)
    }

    @Test func `looks into memory once more before it decodes`() async throws {
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

    @Test func `answers a query that is cancelled, once and at once (S-15)`() async throws {
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
        // The disk is still held up: nobody waits for it.
        await #expect { try await task.value } throws: { ($0 as? CoderError)?.code == .cancelled }

        gate.open()
        #expect(answers.withLock { $0 } == 1)
        #expect(try await cache.query("f.png")?.image.size == PixelSize(31, 17))
        #expect(cache.lookups.count == 0)
    }

    @Test func `answers the others when one of two cancels`() async throws {
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

    @Test func `removes what a cancelled task wants to be removed`() async throws {
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

    @Test func `takes what cannot be decoded for a miss`() async throws {
        let cache = cache()
        try await cache.store(CachedData(Array("no picture".utf8)), for: "a.png")
        try await cache.store(CachedData(Array(png.prefix(60))), for: "b.png")

        #expect(try await cache.query("a.png") == nil)
        #expect(try await cache.query("b.png") == nil)
    }

    // MARK: Parts and switches

    @Test func `keeps nothing in memory when that is switched off, not even weakly`() async throws {
        let cache = cache { $0.keepsImagesInMemory = false }
        let held = try CacheBench.still()
        try await cache.store(held, data: png, for: "a.png")

        #expect(cache.image(for: "a.png") == nil)
        #expect(await cache.contains("a.png") == .disk)
        #expect(try await cache.query("a.png")?.tier == .disk)
        #expect(try await cache.query("a.png")?.tier == .disk)

        cache.configuration.keepsImagesInMemory = true
        cache.store(held, for: "a.png")
        #expect(cache.image(for: "a.png") === held)
        cache.configuration.keepsImagesInMemory = false
        cache.configuration.keepsImagesInMemory = true
        #expect(cache.image(for: "a.png") == nil)
    }

    @Test func `passes its limits on while it is used (S-46)`() async throws {
        let cache = cache { $0.memory.maxEntryShare = 1 }
        let held = try (0..<4).map { _ in try CacheBench.still() }
        for (number, image) in held.enumerated() { cache.store(image, for: "\(number)") }
        let memory = try #require(cache.memory as? MemoryCache)

        cache.configuration.memory.maxCount = 2
        cache.configuration.disk.maxSize = 10

        #expect(memory.statistics.count == 2)
        #expect((cache.disk as? DiskCache)?.configuration.maxSize == 10)
        cache.configuration.memory.maxCost = 5
        #expect(memory.statistics.count == 0)
        withExtendedLifetime(held) {}
    }

    @Test func `keeps every namespace in a folder of its own (S-43)`() async throws {
        let (first, second) = (cache("first"), cache("second"))
        try await first.store(CachedData(png), for: "a.png")

        #expect(await first.contains("a.png") == .disk)
        #expect(await second.contains("a.png") == [])
        #expect((first.disk as? DiskCache)?.directory == folder.file("first"))
        #expect(await cache("first").contains("a.png") == .disk)
    }

    @Test func `uses the default directory, which can be another one (S-43)`() async throws {
        let former = ImageCache.defaultDirectory
        #expect(former == DiskCache.standardDirectory)
        ImageCache.defaultDirectory = folder.path
        defer { ImageCache.defaultDirectory = former }

        let cache = ImageCache("somewhere", coders: coders)

        #expect((cache.disk as? DiskCache)?.directory == folder.file("somewhere"))
    }

    private final class DeafMemory: MemoryCaching {
        func image(for key: String) -> LoadedImage? { nil }
        func store(_ image: LoadedImage, for key: String) {}
        func remove(_ key: String) {}
        func removeAll() {}
        func contains(_ key: String) -> Bool { false }
    }

    @Test func `takes memory and disk caches of other kinds (S-43)`() async throws {
        let disk = ScriptedDisk()
        let cache = cache("other") { configuration in
            configuration.makeMemoryCache = { _ in DeafMemory() }
            configuration.makeDiskCache = { directory, namespace, _ in
                #expect(directory.hasPrefix("/") && namespace == "other")
                return disk
            }
        }

        try await cache.store(try CacheBench.still(), data: png, for: "a.png")
        await cache.close()

        #expect(cache.memory is DeafMemory && cache.image(for: "a.png") == nil)
        #expect(await cache.data(for: "a.png")?.bytes == png)
        #expect(disk.log == ["store a.png", "deleteOldFiles", "data a.png"])
    }

    @Test func `says what a disk of another kind says, with the picture in memory all the same (S-41)`() async throws {
        let full = CoderError(.inputOutput, "no space is left")
        let cache = ImageCache(disk: ScriptedDisk(failure: full), coders: coders)
        let image = try CacheBench.still()

        await #expect(throws: full) { try await cache.store(image, data: png, for: "a.png") }

        #expect(cache.image(for: "a.png") === image)
        #expect(try await cache.query("a.png")?.tier == .memory)
    }

    @Test func `leaves no file when it has no disk (S-58)`() async throws {
        let cache = ImageCache(disk: nil, coders: coders)
        try await cache.store(try CacheBench.still(), data: png, for: "a.png")
        try await cache.store(CachedData(png), for: "b.png")

        #expect(await cache.contains("a.png") == .memory)
        #expect(await cache.contains("b.png") == [])
        #expect(await cache.calculateSize() == (0, 0))
        await cache.deleteOldFiles()
        await cache.close()
        // Nor is anything made before something is stored.
        _ = self.cache("unused")
        #expect(try directoryEntries(folder.path).isEmpty)
    }

    @Test func `reads files that the application names, and never changes them`() async throws {
        let path = folder.write(png, to: "bundled.png")
        let cache = cache("c") { configuration in
            configuration.additionalPaths = [
                { _ in nil }, { $0 == "b.png" ? "/nowhere/f.png" : nil }, { $0 == "b.png" ? path : nil },
            ]
        }

        #expect(await cache.contains("b.png") == .disk)
        #expect(await cache.contains("c.png") == [])
        #expect(await cache.data(for: "b.png")?.bytes == png)
        #expect(try await cache.query("b.png")?.image.size == PixelSize(31, 17))
        await cache.remove("b.png")
        await cache.clear()
        #expect(readFile(path) == png)
    }

    @Test func `is a cache like any other (S-50 to S-54)`() async throws {
        let cache: any ImageCaching = cache()
        let image = try CacheBench.still()

        cache.store(image, for: "a.png")
        try await cache.store(CachedData(png, extended: [1, 2], attributes: ["etag": "x"]), for: "a.png")
        #expect(cache.image(for: "a.png") === image)
        #expect(await cache.data(for: "a.png") == CachedData(png, extended: [1, 2], attributes: ["etag": "x"]))
        #expect(await cache.contains("a.png", in: .all) == .all)
        #expect(await cache.contains("a.png", in: .memory) == .memory)
        await cache.remove("a.png", from: .memory)
        #expect(await cache.contains("a.png", in: .all) == .disk)
        await cache.clear(.all)
        #expect(await cache.contains("a.png", in: .all) == [])
    }

    @Test func `stores no part of a picture as if it were all of it`() async throws {
        let cache = cache()
        let part = LoadedImage(try CacheBench.still().content, format: "png", isPartial: true)

        cache.store(part, for: "a.png")
        try await cache.store(part, data: png, for: "a.png")

        #expect(await cache.contains("a.png") == [])
    }

    @Test func `gives back what was stored beside the bytes`() async throws {
        let cache = cache()
        try await cache.store(try CacheBench.still(extended: [7, 8]), data: png, for: "a.png")

        await cache.clear(.memory)

        #expect(try await cache.query("a.png")?.image.extendedData == [7, 8])
    }
}
