import CoderHost
import ImageModel
import Synchronization
import TestSupport
import Testing

@testable import ImageLoading

@Suite struct `Memory cache` {
    /// A reference implementation: an array with the newest entry at the end.
    private struct NaiveCache {
        var entries: [(key: Int, cost: Int, image: ObjectIdentifier)] = []
        var maxCost: Int?
        var maxCount: Int?
        var maxEntryShare: Double
        var cost: Int { entries.reduce(0) { $0 + $1.cost } }

        mutating func image(_ key: Int) -> ObjectIdentifier? {
            guard let index = entries.firstIndex(where: { $0.key == key }) else { return nil }
            let entry = entries.remove(at: index)
            entries.append(entry)
            return entry.image
        }
        mutating func store(_ key: Int, _ cost: Int, _ image: LoadedImage) {
            remove(key)
            if let maxCost, Double(cost) > Double(maxCost) * maxEntryShare { return }
            entries.append((key, cost, ObjectIdentifier(image)))
            enforce()
        }
        mutating func remove(_ key: Int) { entries.removeAll { $0.key == key } }
        mutating func trim(_ mostCost: Int?, _ mostCount: Int?) {
            while !entries.isEmpty, cost > mostCost ?? .max || entries.count > mostCount ?? .max {
                entries.removeFirst()
            }
        }
        mutating func enforce() { trim(maxCost, maxCount) }
    }

    /// Creates a cache without a weak table, so that it finds only kept images.
    private func strongCache(_ maxCost: Int?, _ maxCount: Int? = nil, share: Double = 1) -> MemoryCache {
        var configuration = MemoryCacheConfiguration(maxCost: maxCost, maxCount: maxCount)
        configuration.usesWeakTable = false
        configuration.maxEntryShare = share
        return MemoryCache(configuration)
    }

    @Test func `equals a reference implementation over a hundred thousand operations`() throws {
        var random = SeededRandom(1)
        let cache = strongCache(500, 20)
        var model = NaiveCache(maxCost: 500, maxCount: 20, maxEntryShare: 1)
        let base = try CacheBench.still()
        var images: [LoadedImage] = []
        for step in 0..<100_000 {
            let key = Int.random(in: 0..<40, using: &random)
            switch Int.random(in: 0..<1000, using: &random) {
            case 0..<450:
                let found = cache.image(for: "key \(key)").map { ObjectIdentifier($0) }
                let expected = model.image(key)
                if found != expected { Issue.record("step \(step): key \(key) is another image") }
            case 450..<850:
                // Keep the image alive, so that its identity is not reused.
                let image = LoadedImage(base.content, format: "test")
                images.append(image)
                let cost = Int.random(in: 0..<120, using: &random)
                cache.store(image, for: "key \(key)", cost: cost)
                model.store(key, cost, image)
            case 850..<930:
                cache.remove("key \(key)")
                model.remove(key)
            case 930..<950:
                let cost = Int.random(in: 0..<600, using: &random)
                cache.trim(toCost: cost)
                model.trim(cost, nil)
            case 950..<970:
                let count = Int.random(in: 0..<25, using: &random)
                cache.trim(toCount: count)
                model.trim(nil, count)
            case 970..<998:
                let cost = Bool.random(using: &random) ? Int.random(in: 0..<800, using: &random) : nil
                let count = Bool.random(using: &random) ? Int.random(in: 0..<30, using: &random) : nil
                let share = Double.random(in: 0...1, using: &random)
                cache.configuration.maxCost = cost
                cache.configuration.maxCount = count
                cache.configuration.maxEntryShare = share
                (model.maxCost, model.maxCount, model.maxEntryShare) = (cost, count, share)
                // Three changes in sequence, because the first two limits together would not be reached.
                model.enforce()
                let known = Set(cache.keys)
                model.entries.removeAll { !known.contains("key \($0.key)") }
            default:
                cache.removeAll()
                model.entries = []
            }
            let statistics = cache.statistics
            if statistics.cost != model.cost || statistics.count != model.entries.count {
                Issue.record("step \(step): \(statistics) instead of \(model.entries)")
                return
            }
            if step % 16 == 0, cache.keys != model.entries.reversed().map({ "key \($0.key)" }) {
                Issue.record("step \(step): \(cache.keys) instead of \(model.entries)")
                return
            }
        }
        #expect(cache.statistics.evictions > 1000)
    }

    @Test func `evicts the least recently used images at once when a limit is lowered`() throws {
        let cache = strongCache(nil)
        for name in ["a", "b", "c", "d"] { cache.store(try CacheBench.still(), for: name, cost: 10) }
        _ = cache.image(for: "a")

        cache.configuration.maxCost = 25
        #expect(cache.keys == ["a", "d"])
        cache.configuration.maxCount = 1
        #expect(cache.keys == ["a"])
        cache.configuration.maxCost = 9
        #expect(cache.keys.isEmpty && cache.statistics.cost == 0)
        cache.configuration.maxCount = nil
        cache.configuration.maxCost = nil
        for name in ["a", "b", "c"] { cache.store(try CacheBench.still(), for: name, cost: 1000) }
        #expect(cache.keys == ["c", "b", "a"])
    }

    @Test func `applies the limits of its configuration (S-46)`() throws {
        let cache = strongCache(10, 5)

        for number in 0..<8 { cache.store(try CacheBench.still(), for: "\(number)", cost: 1) }
        #expect(cache.statistics.count == 5)
        for number in 0..<8 { cache.store(try CacheBench.still(), for: "\(number)", cost: 4) }
        #expect(cache.statistics.count == 2 && cache.statistics.cost == 8)
        #expect(cache.configuration.maxCost == 10 && cache.configuration.maxCount == 5)
    }

    @Test func `does not keep an image above its share, and removes the older one of its key`() throws {
        let cache = strongCache(1000, share: 0.1)
        cache.store(try CacheBench.still(), for: "a", cost: 100)
        cache.store(try CacheBench.still(), for: "b", cost: 50)

        cache.store(try CacheBench.still(), for: "c", cost: 101)
        cache.store(try CacheBench.still(), for: "a", cost: 101)

        #expect(cache.keys == ["b"])
        #expect(cache.statistics.refusals == 2 && cache.statistics.cost == 50)
        #expect(MemoryCacheConfiguration().maxEntryShare == 0.1)
    }

    @Test func `uses the bytes of all pixels as cost`() throws {
        let cache = MemoryCache(MemoryCacheConfiguration())

        cache.store(try CacheBench.still(PixelSize(10, 10)), for: "a")
        cache.store(try CacheBench.animation("images/three-frames.gif"), for: "b")

        // 31x17 pixels, four bytes each, three frames.
        #expect(cache.statistics.cost == 400 + 31 * 17 * 4 * 3)
    }

    @Test func `adds costs without overflow`() throws {
        let cache = strongCache(nil)

        for name in ["a", "b", "c"] { cache.store(try CacheBench.still(), for: name, cost: .max) }
        cache.remove("a")
        cache.store(try CacheBench.still(), for: "b", cost: -5)
        cache.remove("c")

        #expect(cache.statistics.cost == 0)
    }

    @Test func `distinguishes canonically equivalent keys`() throws {
        let (composed, decomposed) = ("caf\u{E9}.png", "cafe\u{301}.png")
        let cache = strongCache(nil)
        let (first, second) = (try CacheBench.still(), try CacheBench.still())

        cache.store(first, for: composed)
        #expect(cache.image(for: decomposed) == nil)
        cache.store(second, for: decomposed)

        #expect(composed == decomposed)
        #expect(cache.image(for: composed) === first && cache.image(for: decomposed) === second)
    }

    @Test func `limits itself to 15 percent of the memory, at most 768 MiB`() {
        #expect(MemoryCacheConfiguration.standardMaxCost(ofMemory: 1_000_000_000) == 150_000_000)
        #expect(MemoryCacheConfiguration.standardMaxCost(ofMemory: 64 << 30) == 768 << 20)
        #expect(MemoryCacheConfiguration().maxCost == MemoryCacheConfiguration.standardMaxCost)
        #expect(MemoryCacheConfiguration.standardMaxCost > 0)
    }

    @Test func `uses the memory limit of a control group if it is lower`() {
        let folder = TemporaryDirectory()
        let limit = folder.write(Array("268435456\n".utf8), to: "memory.max")
        let none = folder.write(Array("max\n".utf8), to: "unlimited")

        #expect(MemoryAllowance.bytes(machine: 1 << 33, group: limit) == 1 << 28)
        #expect(MemoryAllowance.bytes(machine: 1 << 27, group: limit) == 1 << 27)
        #expect(MemoryAllowance.bytes(machine: 1 << 33, group: none) == 1 << 33)
        #expect(MemoryAllowance.bytes(machine: 1 << 33, group: folder.file("missing")) == 1 << 33)
        #expect(MemoryAllowance.total("MemTotal:       24600276 kB\nMemFree: 1 kB\n") == 24_600_276 * 1024)
        #expect(MemoryAllowance.total("MemTotal: many kB") == nil)
        #expect(SystemText.group(in: "1:cpu:/x\n0::/user.slice/a\n", below: "/c") == "/c/user.slice/a")
        #expect(SystemText.group(in: "0::/\n", below: "/g") == "/g" && SystemText.group(in: "4:memory:/x\n") == nil)
    }

    @Test func `finds all images in a hundred thousand lookups of several threads`() async throws {
        let cache = strongCache(nil)
        let image = try CacheBench.still()
        for number in 0..<100 { cache.store(image, for: "\(number)", cost: 1) }

        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for step in 0..<12_500 where cache.image(for: "\((step * 7 + task) % 100)") == nil {
                        Issue.record("an image is missing")
                    }
                }
            }
        }

        #expect(cache.statistics.hits == 100_000 && cache.statistics.misses == 0)
    }
}

@Suite struct `Expiry of images in memory` {
    private final class Clock: Sendable {
        private let time = Atomic<UInt64>(1_000_000_000_000)
        var now: UInt64 { time.load(ordering: .relaxed) }
        func pass(_ duration: Duration) {
            let (seconds, attoseconds) = duration.components
            time.add(UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds) / 1_000_000_000, ordering: .relaxed)
        }
    }

    @Test func `removes an expired image, even if the application holds it`() throws {
        let clock = Clock()
        var configuration = MemoryCacheConfiguration()
        configuration.timeToLive = .seconds(60)
        let cache = MemoryCache(configuration, now: { clock.now })
        let held = try CacheBench.still()
        cache.store(held, for: "a")

        clock.pass(.milliseconds(59_999))
        #expect(cache.image(for: "a") === held && cache.contains("a"))
        clock.pass(.milliseconds(1))
        #expect(!cache.contains("a"))
        #expect(cache.image(for: "a") == nil)
        #expect(cache.image(for: "a") == nil)

        let statistics = cache.statistics
        #expect(statistics.expirations == 1 && statistics.count == 0 && statistics.cost == 0)
        #expect(statistics.weakCount == 0 && statistics.hits == 1 && statistics.misses == 2)
        withExtendedLifetime(held) {}
    }

    @Test func `supports a time to live per image, and none by default`() throws {
        let clock = Clock()
        let cache = MemoryCache(MemoryCacheConfiguration(), now: { clock.now })
        #expect(cache.configuration.timeToLive == nil)
        cache.store(try CacheBench.still(), for: "short", cost: nil, timeToLive: .seconds(1))
        cache.store(try CacheBench.still(), for: "none", cost: nil, timeToLive: .zero)
        cache.store(try CacheBench.still(), for: "huge", cost: nil, timeToLive: .seconds(Int64.max))
        cache.store(try CacheBench.still(), for: "always")

        #expect(cache.image(for: "none") == nil)
        clock.pass(.seconds(1))
        #expect(cache.image(for: "short") == nil)
        clock.pass(.seconds(1_000_000_000))
        #expect(cache.keys == ["always", "huge"])
        #expect(cache.image(for: "huge") != nil && cache.image(for: "always") != nil)
    }

    @Test func `restarts the time to live at a store, not at a use`() throws {
        let clock = Clock()
        var configuration = MemoryCacheConfiguration()
        configuration.timeToLive = .seconds(10)
        let cache = MemoryCache(configuration, now: { clock.now })
        for name in ["used", "stored"] { cache.store(try CacheBench.still(), for: name) }

        clock.pass(.seconds(9))
        _ = cache.image(for: "used")
        cache.store(try CacheBench.still(), for: "stored")
        clock.pass(.seconds(9))

        #expect(cache.image(for: "used") == nil && cache.image(for: "stored") != nil)
    }

    @Test func `removes all expired images on request`() throws {
        let clock = Clock()
        var configuration = MemoryCacheConfiguration()
        configuration.timeToLive = .seconds(10)
        let cache = MemoryCache(configuration, now: { clock.now })
        let held = try (0..<100).map { _ in try CacheBench.still() }
        for (number, image) in held.enumerated() {
            cache.store(image, for: "\(number)")
            clock.pass(.milliseconds(100))
        }

        clock.pass(.seconds(5))
        cache.removeExpired()

        // The first image was stored 15 s ago, and each later one 0.1 s after its predecessor.
        #expect(cache.statistics.count == 49 && cache.statistics.weakCount == 49)
        #expect(cache.statistics.expirations == 51)
        #expect(cache.contains("51") && !cache.contains("50"))
    }
}
