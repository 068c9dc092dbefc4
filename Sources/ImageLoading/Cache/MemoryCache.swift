import CoderHost
import ImageProcessing

/// Keeps images in memory and evicts the least recently used ones first.
///
/// Every call enforces the limits exactly. A weak table also finds evicted images that the application still holds.
/// - Concurrency: any thread. Images are released outside the lock, so no caller waits while large memory is freed.
package final class MemoryCache: MemoryCaching {
    fileprivate struct Entry {
        var image: LoadedImage
        var cost: Int
        /// Nanoseconds of the cache's clock; nil if the image never expires.
        var deadline: UInt64?
    }

    fileprivate struct WeakEntry {
        weak var image: LoadedImage?
        var cost: Int
        var deadline: UInt64?
    }

    fileprivate struct State {
        var configuration: MemoryCacheConfiguration
        var strong = RecencyList<Entry>()
        var cost = 0
        var weak: [ExactKey: WeakEntry] = [:]
        /// The size of the weak table at which released images are removed from it.
        var sweepAt = Self.smallestSweep
        var statistics = MemoryCacheStatistics()

        static let smallestSweep = 64
    }

    private let state: Mutex<State>
    /// Nanoseconds on a monotonic clock.
    private let now: @Sendable () -> UInt64

    /// Creates a cache.
    package convenience init(_ configuration: MemoryCacheConfiguration = MemoryCacheConfiguration()) {
        self.init(configuration, now: { monotonicNow() })
    }

    init(_ configuration: MemoryCacheConfiguration, now: @escaping @Sendable () -> UInt64) {
        state = Mutex(State(configuration: configuration))
        self.now = now
    }

    // MARK: Configuration

    /// The configuration; it may be changed at any time, and new limits are enforced at once.
    package var configuration: MemoryCacheConfiguration {
        get { state.withLock { $0.configuration } }
        set {
            let removed = state.withLock { state in
                state.configuration = newValue
                if !newValue.usesWeakTable {
                    state.weak = [:]
                    state.sweepAt = State.smallestSweep
                }
                return state.enforceLimits()
            }
            _ = removed
        }
    }

    /// Replaces ``configuration``.
    package func configure(_ configuration: MemoryCacheConfiguration) { self.configuration = configuration }

    /// Releases half of the images by cost, or all; images that the application holds can still be found.
    package func relieve(_ shortage: MemoryShortage) {
        switch shortage {
        case .moderate: trim(toCost: statistics.cost / 2)
        case .critical: trim(toCost: 0, count: 0)
        }
    }

    // MARK: Images

    /// Returns the image of a key, and marks it as used.
    package func image(for key: String) -> LoadedImage? {
        let key = ExactKey(key)
        let (image, removed) = state.withLock { $0.image(for: key, now) }
        _ = removed
        return image
    }

    /// Whether an image is kept for a key; does not mark it as used.
    package func contains(_ key: String) -> Bool {
        let key = ExactKey(key)
        return state.withLock { state in
            if let entry = state.strong.peek(key) { return !isOver(entry.deadline) }
            guard let entry = state.weak[key] else { return false }
            return entry.image != nil && !isOver(entry.deadline)
        }
    }

    private func isOver(_ deadline: UInt64?) -> Bool { deadline.map { now() >= $0 } ?? false }

    /// Stores an image with the cost of its pixels and the default time to live.
    package func store(_ image: LoadedImage, for key: String) { store(image, for: key, cost: nil) }

    /// Stores an image with the cost of its pixels.
    package func store(_ image: LoadedImage, for key: String, timeToLive: Duration?) {
        store(image, for: key, cost: nil, timeToLive: timeToLive)
    }

    /// Stores an image, replacing an older one of the same key.
    ///
    /// - Parameters:
    ///   - cost: bytes; nil for the bytes of its pixels.
    ///   - timeToLive: nil for the default of the configuration.
    package func store(_ image: LoadedImage, for key: String, cost: Int?, timeToLive: Duration? = nil) {
        let key = ExactKey(key)
        let cost = min(max(0, cost ?? image.memoryCost), Self.highestCost)
        let removed = state.withLock { state -> [Entry] in
            let deadline = (timeToLive ?? state.configuration.timeToLive).map { Self.deadline(now(), $0) }
            state.statistics.stores += 1
            if state.configuration.usesWeakTable { state.remember(image, for: key, cost, deadline) }
            return state.keep(Entry(image: image, cost: cost, deadline: deadline), for: key)
        }
        _ = removed
    }

    /// A terabyte: no image is larger, and the sum of many costs cannot overflow.
    private static let highestCost = 1 << 40

    private static func deadline(_ now: UInt64, _ duration: Duration) -> UInt64 {
        let (seconds, attoseconds) = duration.components
        if seconds < 0 || attoseconds < 0 { return now }
        let whole = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        if whole.overflow { return .max }
        let end = now.addingReportingOverflow(whole.partialValue)
        if end.overflow { return .max }
        return end.partialValue.addingReportingOverflow(UInt64(attoseconds) / 1_000_000_000).overflow
            ? .max : end.partialValue + UInt64(attoseconds) / 1_000_000_000
    }

    /// Removes the image of a key.
    package func remove(_ key: String) {
        let key = ExactKey(key)
        let removed = state.withLock { state -> Entry? in
            state.weak[key] = nil
            guard let entry = state.strong.remove(key) else { return nil }
            state.cost -= entry.cost
            return entry
        }
        _ = removed
    }

    /// Removes all images, including images that the application still holds.
    package func removeAll() {
        let removed = state.withLock { state in
            state.weak = [:]
            state.sweepAt = State.smallestSweep
            state.cost = 0
            return state.strong.removeAll()
        }
        _ = removed
    }

    // MARK: Limits

    /// Evicts the least recently used images until the total cost is at most `cost`.
    package func trim(toCost cost: Int) { trim(toCost: cost, count: nil) }

    /// Evicts the least recently used images until at most `count` are left.
    package func trim(toCount count: Int) { trim(toCost: nil, count: count) }

    private func trim(toCost cost: Int?, count: Int?) {
        let removed = state.withLock { $0.trim(toCost: cost, count: count) }
        _ = removed
    }

    /// Removes expired images at once; otherwise they are removed when they are read or when room is needed.
    ///
    /// - Complexity: O(n).
    package func removeExpired() {
        let removed = state.withLock { state in
            let time = now()
            let removed = state.strong.removeAll { $0.deadline.map { time >= $0 } ?? false }
            for entry in removed { state.cost -= entry.cost }
            state.statistics.expirations += removed.count
            state.sweep { $0.deadline.map { time >= $0 } ?? false }
            return removed
        }
        _ = removed
    }

    /// Counters and current usage.
    package var statistics: MemoryCacheStatistics {
        state.withLock { state in
            var statistics = state.statistics
            statistics.count = state.strong.count
            statistics.cost = state.cost
            statistics.weakCount = state.weak.count
            return statistics
        }
    }

    /// The keys of the kept images, the most recently used first.
    var keys: [String] { state.withLock { $0.strong.keys } }
}

extension MemoryCache.State {
    /// Returns the image of a key, and the entries that had to be removed.
    fileprivate mutating func image(
        for key: ExactKey, _ now: () -> UInt64
    ) -> (image: LoadedImage?, removed: [MemoryCache.Entry]) {
        if let entry = strong.use(key) {
            guard let deadline = entry.deadline, now() >= deadline else {
                statistics.hits += 1
                return (entry.image, [])
            }
            statistics.misses += 1
            statistics.expirations += 1
            cost -= entry.cost
            weak[key] = nil
            return (nil, strong.remove(key).map { [$0] } ?? [])
        }
        guard let entry = weak[key] else {
            statistics.misses += 1
            return (nil, [])
        }
        guard let image = entry.image, entry.deadline.map({ now() < $0 }) ?? true else {
            weak[key] = nil
            statistics.misses += 1
            return (nil, [])
        }
        statistics.hits += 1
        statistics.weakHits += 1
        // The image is in use again, so it is kept again.
        return (image, keep(MemoryCache.Entry(image: image, cost: entry.cost, deadline: entry.deadline), for: key))
    }

    /// Keeps an image within the limits, and returns the removed entries.
    fileprivate mutating func keep(_ entry: MemoryCache.Entry, for key: ExactKey) -> [MemoryCache.Entry] {
        if let maxCost = configuration.maxCost, !Self.allows(entry.cost, maxCost, configuration.maxEntryShare) {
            statistics.refusals += 1
            // The older image of this key is outdated.
            guard let former = strong.remove(key) else { return [] }
            cost -= former.cost
            return [former]
        }
        var removed: [MemoryCache.Entry] = []
        if let former = strong.insert(entry, for: key) {
            cost -= former.cost
            removed.append(former)
        }
        cost += entry.cost
        return removed + enforceLimits()
    }

    private static func allows(_ cost: Int, _ maxCost: Int, _ share: Double) -> Bool {
        Double(cost) <= Double(maxCost) * min(max(0, share), 1)
    }

    fileprivate mutating func enforceLimits() -> [MemoryCache.Entry] {
        trim(toCost: configuration.maxCost, count: configuration.maxCount)
    }

    fileprivate mutating func trim(toCost maxCost: Int?, count maxCount: Int?) -> [MemoryCache.Entry] {
        var removed: [MemoryCache.Entry] = []
        while cost > max(0, maxCost ?? .max) || strong.count > max(0, maxCount ?? .max) {
            guard let entry = strong.removeOldest() else { break }
            cost -= entry.cost
            removed.append(entry)
        }
        statistics.evictions += removed.count
        return removed
    }

    // MARK: The weak table

    fileprivate mutating func remember(
        _ image: LoadedImage, for key: ExactKey, _ cost: Int, _ deadline: UInt64?
    ) {
        if weak.count >= sweepAt, weak[key] == nil { sweep { _ in false } }
        weak[key] = MemoryCache.WeakEntry(image: image, cost: cost, deadline: deadline)
    }

    /// Removes released images from the weak table.
    ///
    /// The table doubles in size between two sweeps. So the average cost per store is constant, and the table has at
    /// most twice as many entries as live images.
    fileprivate mutating func sweep(alsoIf isOver: (MemoryCache.WeakEntry) -> Bool) {
        weak = weak.filter { $0.value.image != nil && !isOver($0.value) }
        sweepAt = max(Self.smallestSweep, 2 * weak.count)
    }
}
