public import ImageModel
import ImageProcessing
import Synchronization

/// Several caches that look like one.
///
/// The cache that was added last is the highest, and is asked first.
/// - Concurrency: any thread. Every call works on the list as it is then; no cache is called while a lock is held.
public final class CachesManager: ImageCaching {
    /// Whom an operation concerns.
    public enum Policy: Sendable, Hashable, CaseIterable {
        /// One after the other, from the highest; a question ends with the first that has an answer.
        case serial
        /// All at the same time; of several answers to a question that of the highest counts.
        case concurrent
        case highestOnly
        case lowestOnly
    }

    /// A policy for every operation.
    public struct Policies: Sendable, Hashable {
        public var query = Policy.serial
        public var store = Policy.highestOnly
        public var remove = Policy.concurrent
        public var contains = Policy.serial
        public var clear = Policy.concurrent

        public init() {}
    }

    private struct State {
        var caches: [any ImageCaching]
        var policies: Policies
    }

    private let state: Mutex<State>

    /// - Parameter caches: the highest is the last.
    public init(_ caches: [any ImageCaching] = [], policies: Policies = Policies()) {
        state = Mutex(State(caches: caches, policies: policies))
    }

    /// The highest is the last.
    public var caches: [any ImageCaching] {
        get { state.withLock { $0.caches } }
        set { state.withLock { $0.caches = newValue } }
    }

    public var policies: Policies {
        get { state.withLock { $0.policies } }
        set { state.withLock { $0.policies = newValue } }
    }

    /// Adds a cache above all others.
    public func addCache(_ cache: any ImageCaching) { state.withLock { $0.caches.append(cache) } }

    /// Removes a cache that is an object.
    public func removeCache(_ cache: any ImageCaching & AnyObject) {
        state.withLock { state in
            state.caches.removeAll { ($0 as AnyObject) === cache }
        }
    }

    /// Whom an operation concerns now, the highest first.
    private func concerned(_ operation: KeyPath<Policies, Policy>) -> (caches: [any ImageCaching], isConcurrent: Bool) {
        let (caches, policy) = state.withLock { ($0.caches, $0.policies[keyPath: operation]) }
        switch policy {
        case .serial: return (caches.reversed(), false)
        case .concurrent: return (caches.reversed(), true)
        case .highestOnly: return (Array(caches.suffix(1)), false)
        case .lowestOnly: return (Array(caches.prefix(1)), false)
        }
    }

    // MARK: Questions

    /// Memory waits for nothing, so there is no use in asking all at the same time.
    public func image(for key: String) -> LoadedImage? {
        for cache in concerned(\.query).caches {
            if let image = cache.image(for: key) { return image }
        }
        return nil
    }

    public func data(for key: String) async -> CachedData? {
        let (caches, isConcurrent) = concerned(\.query)
        return await first(caches, isConcurrent) { await $0.data(for: key) }
    }

    public func contains(_ key: String, in tiers: CacheTiers) async -> CacheTiers {
        let (caches, isConcurrent) = concerned(\.contains)
        return await first(caches, isConcurrent) { cache in
            let found = await cache.contains(key, in: tiers)
            return found.isEmpty ? nil : found
        } ?? []
    }

    /// The answer of the highest cache that has one.
    private func first<Answer: Sendable>(
        _ caches: [any ImageCaching], _ isConcurrent: Bool,
        _ ask: @escaping @Sendable (any ImageCaching) async -> Answer?
    ) async -> Answer? {
        if !isConcurrent {
            for cache in caches {
                if let answer = await ask(cache) { return answer }
            }
            return nil
        }
        return await withTaskGroup(of: (Int, Answer?).self) { group in
            for (rank, cache) in caches.enumerated() { group.addTask { (rank, await ask(cache)) } }
            var pending = Set(caches.indices)
            var best: (rank: Int, answer: Answer)?
            for await (rank, answer) in group {
                pending.remove(rank)
                if let answer, rank < (best?.rank ?? .max) { best = (rank, answer) }
                // Nobody who is still at it could say anything that counts more.
                if let best, pending.allSatisfy({ $0 > best.rank }) { group.cancelAll() }
            }
            return best?.answer
        }
    }

    // MARK: Changes

    public func store(_ image: LoadedImage, for key: String) {
        for cache in concerned(\.store).caches { cache.store(image, for: key) }
    }

    /// Stores with everybody concerned, and throws what the highest of those says that could not.
    public func store(_ data: CachedData, for key: String) async throws(CoderError) {
        let (caches, isConcurrent) = concerned(\.store)
        let failures = await all(caches, isConcurrent) { cache -> CoderError? in
            do throws(CoderError) {
                try await cache.store(data, for: key)
                return nil
            } catch {
                return error
            }
        }
        for case let failure? in failures { throw failure }
    }

    public func remove(_ key: String, from tiers: CacheTiers) async {
        let (caches, isConcurrent) = concerned(\.remove)
        _ = await all(caches, isConcurrent) { await $0.remove(key, from: tiers) }
    }

    public func clear(_ tiers: CacheTiers) async {
        let (caches, isConcurrent) = concerned(\.clear)
        _ = await all(caches, isConcurrent) { await $0.clear(tiers) }
    }

    /// What everybody says, in the order of the caches.
    private func all<Answer: Sendable>(
        _ caches: [any ImageCaching], _ isConcurrent: Bool,
        _ call: @escaping @Sendable (any ImageCaching) async -> Answer
    ) async -> [Answer] {
        var answers: [(rank: Int, answer: Answer)] = []
        if isConcurrent {
            answers = await withTaskGroup(of: (Int, Answer).self) { group in
                for (rank, cache) in caches.enumerated() { group.addTask { (rank, await call(cache)) } }
                var collected: [(Int, Answer)] = []
                for await answer in group { collected.append(answer) }
                return collected
            }
        } else {
            for (rank, cache) in caches.enumerated() { answers.append((rank, await call(cache))) }
        }
        return answers.sorted { $0.rank < $1.rank }.map(\.answer)
    }
}
