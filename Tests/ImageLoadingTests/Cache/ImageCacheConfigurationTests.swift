import CoderHost
import ImageModel
import ImageProcessing
import TestSupport
import Testing

@testable import ImageLoading

extension `Image cache` {
    @Test func `keeps no image in memory, not even weakly, when that is disabled`() async throws {
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

    @Test func `applies changed limits while it is used (S-46)`() async throws {
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

    @Test func `stores each namespace in its own folder (S-43)`() async throws {
        let (first, second) = (cache("first"), cache("second"))
        try await first.store(CachedData(png), for: "a.png")

        #expect(await first.contains("a.png") == .disk)
        #expect(await second.contains("a.png") == [])
        #expect((first.disk as? DiskCache)?.directory == folder.file("first"))
        #expect(await cache("first").contains("a.png") == .disk)
    }

    @Test func `uses the default directory, which can be changed (S-43)`() async throws {
        let former = ImageCache.defaultDirectory
        #expect(former == DiskCache.standardDirectory)
        ImageCache.defaultDirectory = folder.path
        defer { ImageCache.defaultDirectory = former }

        let cache = ImageCache("somewhere", coders: coders)

        #expect((cache.disk as? DiskCache)?.directory == folder.file("somewhere"))
    }

    private final class DeafMemory: MemoryCaching {
        func image(for key: String) -> LoadedImage? { nil }
        func store(_ image: LoadedImage, for key: String, timeToLive: Duration?) {}
        func remove(_ key: String) {}
        func removeAll() {}
        func contains(_ key: String) -> Bool { false }
        func configure(_ configuration: MemoryCacheConfiguration) {}
        func relieve(_ shortage: MemoryShortage) {}
    }

    @Test func `accepts custom memory and disk caches (S-43)`() async throws {
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

    @Test func `reports the error of a custom disk, and keeps the image in memory (S-41)`() async throws {
        let full = CoderError(.inputOutput, "no space is left")
        let cache = ImageCache(disk: ScriptedDisk(failure: full), coders: coders)
        let image = try CacheBench.still()

        await #expect(throws: full) { try await cache.store(image, data: png, for: "a.png") }

        #expect(cache.image(for: "a.png") === image)
        #expect(try await cache.query("a.png")?.tier == .memory)
    }

    @Test func `creates no files without a disk tier (S-58)`() async throws {
        let cache = ImageCache(disk: nil, coders: coders)
        try await cache.store(try CacheBench.still(), data: png, for: "a.png")
        try await cache.store(CachedData(png), for: "b.png")

        #expect(await cache.contains("a.png") == .memory)
        #expect(await cache.contains("b.png") == [])
        #expect(await cache.calculateSize() == (0, 0))
        await cache.deleteOldFiles()
        await cache.close()
        // No file is created before the first store, either.
        _ = self.cache("unused")
        #expect(try directoryEntries(folder.path).isEmpty)
    }

    @Test func `reads additional files and never changes them`() async throws {
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

    @Test func `implements the image caching protocol (S-50 to S-54)`() async throws {
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

    @Test func `does not store partial images`() async throws {
        let cache = cache()
        let part = LoadedImage(try CacheBench.still().content, format: "png", isPartial: true)

        cache.store(part, for: "a.png")
        try await cache.store(part, data: png, for: "a.png")

        #expect(await cache.contains("a.png") == [])
    }

    @Test func `returns extended data`() async throws {
        let cache = cache()
        try await cache.store(try CacheBench.still(extended: [7, 8]), data: png, for: "a.png")

        await cache.clear(.memory)

        #expect(try await cache.query("a.png")?.image.extendedData == [7, 8])
    }
}
