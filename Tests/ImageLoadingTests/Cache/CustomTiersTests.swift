import CoderHost
import ImageModel
import TestSupport
import Testing

@testable import ImageLoading

/// An image cache with memory and disk tiers of an application.
@Suite struct `Custom tiers of a cache` {
    private final class DictionaryMemory: MemoryCaching {
        let images = Mutex<[String: LoadedImage]>([:])
        let log = Mutex<[String]>([])

        func image(for key: String) -> LoadedImage? { images.withLock { $0[key] } }
        func store(_ image: LoadedImage, for key: String, timeToLive: Duration?) { images.withLock { $0[key] = image } }
        func remove(_ key: String) { images.withLock { $0[key] = nil } }
        func removeAll() { images.withLock { $0 = [:] } }
        func contains(_ key: String) -> Bool { images.withLock { $0[key] != nil } }
        func configure(_ configuration: MemoryCacheConfiguration) {
            log.withLock { $0.append("count \(configuration.maxCount ?? -1)") }
        }
        func relieve(_ shortage: MemoryShortage) { log.withLock { $0.append("\(shortage)") } }
    }

    private let url = "https://example.org/photo.ppm"
    private let memory = DictionaryMemory()
    private let disk = ScriptedDisk()
    private let pressure = MemoryPressure { nil }

    private func cache(_ coders: CodersManager = CacheBench.coders) -> ImageCache {
        ImageCache(
            memory: memory, disk: disk, coders: coders, configuration: ImageCacheConfiguration(), pressure: pressure)
    }

    @Test func `serve a manager, its prefetcher and direct queries`() async throws {
        let coders = builtHost().manager
        let cache = cache(coders)
        let loader = ScriptedLoader([url: .bytes(testImage(8, 6))])
        let manager = manager(loader, cache) { $0.coders = coders }

        await ImagePrefetcher(manager).prefetch([url]).value()
        #expect(memory.contains(url) && disk.contains(url))
        #expect(try await manager.image(url).tier == .memory)
        memory.removeAll()
        #expect(try await manager.image(url).tier == .disk)
        memory.removeAll()
        #expect(try await cache.query(url)?.tier == .disk)
        #expect(try await cache.query(url)?.tier == .memory)
        await cache.clear()
        #expect(!memory.contains(url) && !disk.contains(url) && loader.loads.count == 1)
    }

    @Test func `receive changed limits`() {
        let cache = cache()

        cache.configuration.memory.maxCount = 5
        cache.configuration.disk.maxSize = 700

        #expect(memory.log.withLock { $0 } == ["count 5", "count 5"])
        #expect(disk.log == ["configure 0", "configure 700"])
    }

    @Test func `release images when memory is short, unless that is disabled`() {
        let cache = cache()

        pressure.raise()
        pressure.raise()
        #expect(memory.log.withLock { $0 } == ["moderate", "critical"])
        cache.configuration.memory.respondsToPressure = false
        memory.log.withLock { $0 = [] }
        pressure.raise()
        #expect(memory.log.withLock { $0 } == [])
    }

    @Test func `are pruned when the cache is closed, or on request`() async {
        let cache = cache()

        await cache.deleteOldFiles()
        await cache.close()

        #expect(disk.log == ["deleteOldFiles", "deleteOldFiles"])
    }
}
