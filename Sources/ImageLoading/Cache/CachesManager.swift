import HostSystem
public import ImageModel
import ImageProcessing

/// Combines several caches into one.
///
/// The cache that was added last is the highest and is queried first.
/// - Concurrency: any thread. Every call uses the list of caches at the time of the call, and no lock is held while a
///   cache is called.
public final class CachesManager: ImageCaching {
    /// The caches that an operation uses.
    public enum Policy: Sendable, Hashable, CaseIterable {
        /// One cache after the other, from the highest; a query ends at the first cache that has an answer.
        case serial
        /// All caches at the same time; if several answer a query, the answer of the highest counts.
        case concurrent
        /// The cache that was added last.
        case highestOnly
        /// The cache that was added first.
        case lowestOnly
    }

    /// The policy of each operation.
    public struct Policies: Sendable, Hashable {
        /// Policy for reading images and bytes.
        public var query = Policy.serial
        /// Policy for storing.
        public var store = Policy.highestOnly
        /// Policy for removing one key.
        public var remove = Policy.concurrent
        /// Policy for ``CachesManager/contains(_:in:)``.
        package var contains = Policy.serial
        /// Policy for removing all entries.
        package var clear = Policy.concurrent

        /// Creates the default policies.
        package init() {}
    }

    private struct State {
        var caches: [any ImageCaching]
        var policies: Policies
    }

    private let state: Mutex<State>

    /// Creates a combination of caches.
    ///
    /// - Parameter caches: the highest is the last.
    public init(_ caches: [any ImageCaching] = []) {
        state = Mutex(State(caches: caches, policies: Policies()))
    }

    /// The caches; the highest is the last.
    public var caches: [any ImageCaching] {
        get { state.withLock { $0.caches } }
        set { state.withLock { $0.caches = newValue } }
    }

    /// The policy of each operation.
    public var policies: Policies {
        get { state.withLock { $0.policies } }
        set { state.withLock { $0.policies = newValue } }
    }

    /// Adds a cache above all others.
    package func addCache(_ cache: any ImageCaching) { state.withLock { $0.caches.append(cache) } }

    /// Removes a cache, compared by identity.
    package func removeCache(_ cache: any ImageCaching & AnyObject) {
        state.withLock { state in
            state.caches.removeAll { ($0 as AnyObject) === cache }
        }
    }

    /// Returns the caches that an operation uses, the highest first.
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

    /// Returns the image of the highest cache that has it in memory.
    ///
    /// Memory lookups do not wait, so the concurrent policy runs them one after the other, too.
    public func image(for key: String) -> LoadedImage? {
        for cache in concerned(\.query).caches {
            if let image = cache.image(for: key) { return image }
        }
        return nil
    }

    /// Returns the bytes of the highest queried cache that has them.
    public func data(for key: String) async -> CachedData? {
        let (caches, isConcurrent) = concerned(\.query)
        return await first(caches, isConcurrent) { await $0.data(for: key) }
    }

    /// Returns the tiers of the highest queried cache that has the key.
    public func contains(_ key: String, in tiers: CacheTiers) async -> CacheTiers {
        let (caches, isConcurrent) = concerned(\.contains)
        return await first(caches, isConcurrent) { cache in
            let found = await cache.contains(key, in: tiers)
            return found.isEmpty ? nil : found
        } ?? []
    }

    /// Returns the answer of the highest cache that has one.
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
                // All caches that are still running rank below the best answer.
                if let best, pending.allSatisfy({ $0 > best.rank }) { group.cancelAll() }
            }
            return best?.answer
        }
    }

    // MARK: Changes

    /// Stores an image in memory, in every cache that the policy selects.
    public func store(_ image: LoadedImage, for key: String) {
        for cache in concerned(\.store).caches { cache.store(image, for: key) }
    }

    /// Stores bytes in every cache that the policy selects.
    ///
    /// - Throws: the error of the highest cache that failed.
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

    /// Removes a key from every cache that the policy selects.
    public func remove(_ key: String, from tiers: CacheTiers) async {
        let (caches, isConcurrent) = concerned(\.remove)
        _ = await all(caches, isConcurrent) { await $0.remove(key, from: tiers) }
    }

    /// Removes all entries from every cache that the policy selects.
    public func clear(_ tiers: CacheTiers) async {
        let (caches, isConcurrent) = concerned(\.clear)
        _ = await all(caches, isConcurrent) { await $0.clear(tiers) }
    }

    /// Calls all caches and returns their answers in the order of the caches.
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
