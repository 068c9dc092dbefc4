import CoderHost
import ImageModel
import ImageProcessing
import TestSupport
import Testing

@testable import ImageLoading

@Suite struct `Entries with their own time to live` {
    private let folder = TemporaryDirectory()
    private let png = CacheBench.bytes("images/f.png")

    /// A memory tier that records the time to live of each image.
    private final class RecordingMemory: MemoryCaching {
        let times = Mutex<[String: Duration?]>([:])

        func image(for key: String) -> LoadedImage? { nil }
        func store(_ image: LoadedImage, for key: String, timeToLive: Duration?) {
            times.withLock { $0[key] = timeToLive }
        }
        func remove(_ key: String) {}
        func removeAll() {}
        func contains(_ key: String) -> Bool { false }
        func configure(_ configuration: MemoryCacheConfiguration) {}
        func relieve(_ shortage: MemoryShortage) {}
    }

    @Test func `expire on disk, and are removed by the lookup`() throws {
        let disk = ModelDisk(seed: 1)
        let cache = DiskCache(
            directory: "/var/cache/images", configuration: DiskCacheConfiguration(), system: disk)
        var short = CachedData(png)
        short.expiry = Int(disk.now() / 1_000_000_000) + 60
        try cache.store(short, for: "short")
        try cache.store(CachedData(png), for: "long")

        disk.wait(59)
        #expect(cache.data(for: "short")?.bytes == png)
        disk.wait(1)
        #expect(cache.contains("short"))
        #expect(cache.data(for: "short") == nil)

        #expect(!cache.contains("short"))
        #expect(cache.data(for: "long")?.expiry == nil && cache.data(for: "long")?.bytes == png)
    }

    @Test func `expire in memory`() throws {
        let clock = Mutex<UInt64>(0)
        let memory = MemoryCache(MemoryCacheConfiguration(), now: { clock.withLock { $0 } })
        try memory.store(CacheBench.still(), for: "short", timeToLive: .seconds(60))
        try memory.store(CacheBench.still(), for: "long", timeToLive: nil)

        clock.withLock { $0 = 59_999_999_999 }
        #expect(memory.image(for: "short") != nil)
        clock.withLock { $0 = 60_000_000_000 }

        #expect(memory.image(for: "short") == nil && memory.image(for: "long") != nil)
    }

    @Test func `have the same time in both tiers, also after a lookup on disk`() async throws {
        let memory = RecordingMemory()
        let disk = DiskCache(directory: folder.path)
        let cache = ImageCache(memory: memory, disk: disk, coders: CacheBench.coders)

        try await cache.store(CacheBench.still(), data: png, for: "a.png", timeToLive: .seconds(3600))
        try await cache.store(CacheBench.still(), data: png, for: "b.png")

        #expect(memory.times.withLock { $0["a.png"] } == .some(.seconds(3600)))
        #expect(memory.times.withLock { $0["b.png"] } == .some(nil))
        #expect(disk.data(for: "b.png")?.expiry == nil)
        memory.times.withLock { $0 = [:] }
        #expect(try await cache.query("a.png")?.tier == .disk)
        let rest = try #require(memory.times.withLock { $0["a.png"] } ?? nil)
        #expect(rest <= .seconds(3600) && rest > .seconds(1800))
    }

    @Test func `may end at once or never`() async throws {
        let disk = DiskCache(directory: folder.path)
        let cache = ImageCache(memory: RecordingMemory(), disk: disk, coders: CacheBench.coders)
        try await cache.store(CacheBench.still(), data: png, for: "now.png", timeToLive: .zero)
        try await cache.store(CacheBench.still(), data: png, for: "past.png", timeToLive: .seconds(-5))
        try await cache.store(CacheBench.still(), data: png, for: "ever.png", timeToLive: .seconds(Int64.max))

        #expect(disk.data(for: "now.png") == nil && disk.data(for: "past.png") == nil)
        #expect(disk.data(for: "ever.png")?.bytes == png)
    }
}
