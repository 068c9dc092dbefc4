import CoderHost
import ImageModel
import ImageProcessing
import TestSupport
import Testing

@testable import ImageLoading

@Suite(.timeLimit(.minutes(40))) struct `Caches manager` {
    private final class SimpleCache: ImageCaching {
        let images = Mutex<[String: LoadedImage]>([:])
        let entries = Mutex<[String: CachedData]>([:])
        private let gate: Turnstile?
        private let failure: CoderError?

        init(gate: Turnstile? = nil, failure: CoderError? = nil) {
            self.gate = gate
            self.failure = failure
        }

        func image(for key: String) -> LoadedImage? { images.withLock { $0[key] } }
        func data(for key: String) async -> CachedData? {
            if let gate { try? await BlockingWork.run { () throws(CoderError) in gate.pass() } }
            return entries.withLock { $0[key] }
        }
        func store(_ image: LoadedImage, for key: String) { images.withLock { $0[key] = image } }
        func store(_ data: CachedData, for key: String) async throws(CoderError) {
            if let failure { throw failure }
            entries.withLock { $0[key] = data }
        }
        func remove(_ key: String, from tiers: CacheTiers) async {
            if tiers.contains(.memory) { images.withLock { $0[key] = nil } }
            if tiers.contains(.disk) { entries.withLock { $0[key] = nil } }
        }
        func contains(_ key: String, in tiers: CacheTiers) async -> CacheTiers {
            var found: CacheTiers = []
            if image(for: key) != nil { found.insert(.memory) }
            if entries.withLock({ $0[key] != nil }) { found.insert(.disk) }
            return found.intersection(tiers)
        }
        func clear(_ tiers: CacheTiers) async {
            if tiers.contains(.memory) { images.withLock { $0 = [:] } }
            if tiers.contains(.disk) { entries.withLock { $0 = [:] } }
        }
    }

    private let low = SimpleCache()
    private let high = SimpleCache()

    private func manager(_ change: (inout CachesManager.Policies) -> Void = { _ in }) -> CachesManager {
        var policies = CachesManager.Policies()
        change(&policies)
        let caches = CachesManager([low, high])
        caches.policies = policies
        return caches
    }

    private let data = CachedData([1])

    @Test func `queries serially, stores in the highest and removes from all by default`() {
        let policies = CachesManager().policies
        #expect(policies.query == .serial && policies.store == .highestOnly && policies.remove == .concurrent)
        #expect(policies.contains == .serial && policies.clear == .concurrent)
    }

    @Test func `can query and store only the lowest or the highest cache (S-55)`() async throws {
        let image = try CacheBench.still()
        for (policy, chosen, other) in [
            (CachesManager.Policy.lowestOnly, low, high), (.highestOnly, high, low),
        ] {
            let manager = manager {
                ($0.query, $0.store, $0.remove, $0.contains, $0.clear) = (policy, policy, policy, policy, policy)
            }

            manager.store(image, for: "a")
            try await manager.store(data, for: "a")
            #expect(chosen.image(for: "a") === image && other.image(for: "a") == nil)
            #expect(await other.data(for: "a") == nil)
            other.store(try CacheBench.still(), for: "b")
            #expect(manager.image(for: "a") === image && manager.image(for: "b") == nil)
            #expect(await manager.data(for: "a") == data)
            #expect(await manager.contains("b", in: .all) == [])
            await manager.remove("b", from: .all)
            await manager.clear(.memory)
            #expect(other.image(for: "b") != nil && chosen.image(for: "a") == nil)
            #expect(await manager.contains("a", in: .all) == .disk)
            await low.clear(.all)
            await high.clear(.all)
        }
    }

    @Test func `can use all caches concurrently (S-56)`() async throws {
        let manager = manager {
            ($0.query, $0.store, $0.remove, $0.contains, $0.clear) =
                (.concurrent, .concurrent, .concurrent, .concurrent, .concurrent)
        }
        let image = try CacheBench.still()

        manager.store(image, for: "a")
        try await manager.store(data, for: "a")
        for cache in [low, high] { #expect(await cache.contains("a", in: .all) == .all) }
        await high.remove("a", from: .memory)
        #expect(manager.image(for: "a") === image)
        // The highest has it on disk; the lowest has it in memory, too.
        #expect(await manager.contains("a", in: .all) == .disk)
        await high.remove("a", from: .all)
        #expect(await manager.contains("a", in: .memory) == .memory)
        #expect(await manager.data(for: "a") == data)

        await manager.remove("a", from: .disk)
        #expect(await low.contains("a", in: .all) == .memory)
        await manager.clear(.all)
        #expect(await manager.contains("a", in: .all) == [])
        #expect(await manager.data(for: "a") == nil)
    }

    @Test func `queries caches one after the other, the highest first (S-57)`() async throws {
        let manager = manager { ($0.store, $0.remove, $0.clear) = (.serial, .serial, .serial) }
        low.store(try CacheBench.still(), for: "a")
        try await high.store(data, for: "a")

        #expect(await manager.contains("a", in: .all) == .disk)
        await high.remove("a", from: .all)
        #expect(await manager.contains("a", in: .all) == .memory)
        try await low.store(CachedData([2]), for: "a")
        #expect(await manager.data(for: "a") == CachedData([2]))
        try await high.store(data, for: "a")
        #expect(await manager.data(for: "a") == data)

        try await manager.store(CachedData([3]), for: "a")
        for cache in [low, high] { #expect(await cache.data(for: "a") == CachedData([3])) }
        await manager.remove("a", from: .all)
        for cache in [low, high] { #expect(await cache.contains("a", in: .all) == []) }
    }

    @Test func `does not wait for a lower cache when a higher one has answered`() async throws {
        let gate = Turnstile()
        let slow = SimpleCache(gate: gate)
        let manager = CachesManager([slow, high])
        manager.policies.query = .concurrent
        try await slow.store(CachedData([9]), for: "a")
        try await high.store(data, for: "a")

        // The slow cache is queried at the same time; it answers when the test opens it.
        async let answer = manager.data(for: "a")
        await gate.arrival()
        gate.open()

        #expect(await answer == data)
    }

    @Test func `stores in all caches and throws the error of the highest that failed`() async throws {
        let (first, second) = (CoderError(.inputOutput, "first"), CoderError(.inputOutput, "second"))
        let (worse, bad) = (SimpleCache(failure: first), SimpleCache(failure: second))
        for policy in [CachesManager.Policy.serial, .concurrent] {
            let manager = CachesManager([low, worse, bad, high])
            manager.policies.store = policy

            await #expect(throws: second) { try await manager.store(data, for: "a") }

            for cache in [low, high] {
                #expect(await cache.data(for: "a") == data)
                await cache.clear(.all)
            }
        }
    }

    @Test func `adds caches above all others, and removes them`() async throws {
        let manager = CachesManager()
        #expect(manager.image(for: "a") == nil)
        #expect(await manager.data(for: "a") == nil)
        try await manager.store(data, for: "a")
        manager.addCache(low)
        manager.addCache(high)

        try await manager.store(data, for: "a")
        #expect(await high.data(for: "a") == data)
        manager.removeCache(high)
        try await manager.store(data, for: "b")

        #expect(await low.data(for: "b") == data)
        #expect(manager.caches.count == 1)
    }

    @Test func `can be a member of another caches manager`() async throws {
        let inner = manager()
        let outer = CachesManager([inner])

        try await outer.store(data, for: "a")

        #expect(await high.data(for: "a") == data)
    }
}
