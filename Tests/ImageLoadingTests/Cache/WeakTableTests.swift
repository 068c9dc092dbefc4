import CoderHost
import ImageModel
import TestSupport
import Testing

@testable import ImageLoading

@Suite struct `Images that the application still holds` {
    private func cache(_ maxCost: Int? = nil, _ maxCount: Int? = nil, isWeak: Bool = true) -> MemoryCache {
        var configuration = MemoryCacheConfiguration(maxCost: maxCost, maxCount: maxCount)
        configuration.usesWeakTable = isWeak
        configuration.maxEntryShare = 1
        return MemoryCache(configuration)
    }

    @Test func `are found after eviction, trimming, refusal and memory pressure`() throws {
        let cache = cache(nil, 1)
        let held = try CacheBench.still()

        cache.store(held, for: "held")
        cache.store(try CacheBench.still(), for: "other")
        #expect(cache.keys == ["other"])
        #expect(cache.image(for: "held") === held)
        #expect(cache.keys == ["held"])

        cache.trim(toCost: 0)
        cache.trim(toCount: 0)
        #expect(cache.keys.isEmpty && cache.contains("held") && cache.image(for: "held") === held)

        cache.relieve(.critical)
        #expect(cache.image(for: "held") === held)

        cache.configuration.maxCost = 1
        #expect(cache.keys.isEmpty && cache.image(for: "held") === held && cache.keys.isEmpty)
        #expect(cache.statistics.weakHits == 4)
    }

    @Test func `are found through a copy with another scale factor`() throws {
        let cache = cache()
        cache.store(try CacheBench.still(scaleFactor: 1), for: "a")

        let held = cache.image(for: "a")?.withScaleFactor(2).withScaleFactor(3)
        cache.trim(toCount: 0)

        let found = cache.image(for: "a")
        #expect(found?.scaleFactor == 1 && found?.still?.pixels === held?.still?.pixels)
        #expect(held?.withScaleFactor(1) === found)
    }

    @Test func `are gone when they are released (S-46)`() throws {
        let cache = cache()
        cache.store(try CacheBench.still(), for: "a")

        cache.relieve(.critical)

        #expect(!cache.contains("a") && cache.image(for: "a") == nil)
        #expect(cache.statistics.weakCount == 0)
    }

    @Test func `are not found while the weak table is disabled (S-46)`() throws {
        let cache = cache(isWeak: false)
        let held = try CacheBench.still()
        cache.store(held, for: "a")
        cache.relieve(.critical)
        #expect(cache.image(for: "a") == nil && cache.statistics.weakCount == 0)

        cache.configuration.usesWeakTable = true
        cache.store(held, for: "a")
        cache.relieve(.critical)
        #expect(cache.image(for: "a") === held)

        cache.configuration.usesWeakTable = false
        cache.relieve(.critical)
        #expect(cache.image(for: "a") == nil && cache.statistics.weakCount == 0)
    }

    @Test func `are not found after removal, and a newer image replaces an older one`() throws {
        let cache = cache()
        let (former, latter) = (try CacheBench.still(), try CacheBench.still())
        cache.store(former, for: "a")
        cache.store(latter, for: "a")
        cache.trim(toCount: 0)
        #expect(cache.image(for: "a") === latter)

        cache.remove("a")
        #expect(cache.image(for: "a") == nil)

        cache.store(former, for: "a")
        cache.removeAll()
        #expect(cache.image(for: "a") == nil && cache.statistics.weakCount == 0)
    }

    @Test func `leave a bounded weak table when they are released`() throws {
        let cache = cache(nil, 10)
        let base = try CacheBench.still()

        var most = 0
        for number in 0..<20_000 {
            cache.store(LoadedImage(base.content, format: "test"), for: "\(number)")
            most = max(most, cache.statistics.weakCount)
        }

        // Twice the ten live images, or the smallest size at which the table is cleared.
        #expect(most <= 64)
    }

    @Test func `are found by each thread while other threads store, trim and remove`() async throws {
        let cache = cache(nil, 20)
        let base = try CacheBench.still()

        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    var random = SeededRandom(UInt64(task))
                    let mine = LoadedImage(base.content, format: "test")
                    cache.store(mine, for: "mine \(task)")
                    var some: [LoadedImage] = []
                    for step in 0..<3000 {
                        let key = "shared \(Int.random(in: 0..<60, using: &random))"
                        switch Int.random(in: 0..<10, using: &random) {
                        case 0...3: cache.store(LoadedImage(base.content, format: "test"), for: key)
                        case 4...6: if let image = cache.image(for: key) { some.append(image) }
                        case 7: cache.remove(key)
                        case 8: cache.trim(toCount: 5)
                        default: if some.count > 10 { some.removeAll() }
                        }
                        if step % 10 == 0, cache.image(for: "mine \(task)") !== mine {
                            Issue.record("task \(task) lost its image in step \(step)")
                            return
                        }
                    }
                }
            }
        }

        cache.trim(toCount: 0)
        #expect(cache.statistics.count == 0 && cache.statistics.cost == 0)
    }
}
