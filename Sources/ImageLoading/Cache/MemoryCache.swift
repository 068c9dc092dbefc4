import CoderHost
import ImageProcessing
import Synchronization

/// Keeps pictures in memory, the least recently used make room first.
///
/// Limits hold at every moment, exactly. Behind them stands a table of what was stored and somebody else still holds.
/// - Concurrency: any thread. Pictures are let go outside the lock, so nobody waits for large memory to be freed.
public final class MemoryCache: MemoryCaching {
    fileprivate struct Entry {
        var image: LoadedImage
        var cost: Int
        /// Nanoseconds of the cache's clock; nil for never.
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
        /// The size of the weak table at which it is cleared of what is gone.
        var sweepAt = Self.smallestSweep
        var statistics = MemoryCacheStatistics()

        static let smallestSweep = 64
    }

    private let state: Mutex<State>
    /// Nanoseconds on a clock that never goes back.
    private let now: @Sendable () -> UInt64
    private let pressure: MemoryPressure?
    private let observation = Mutex<MemoryPressure.Observation?>(nil)

    public convenience init(_ configuration: MemoryCacheConfiguration = MemoryCacheConfiguration()) {
        self.init(configuration, pressure: .shared)
    }

    /// - Parameter pressure: says when the system runs out of memory; nil for nobody.
    public convenience init(_ configuration: MemoryCacheConfiguration, pressure: MemoryPressure?) {
        self.init(configuration, pressure: pressure, now: { monotonicNow() })
    }

    init(
        _ configuration: MemoryCacheConfiguration, pressure: MemoryPressure?, now: @escaping @Sendable () -> UInt64
    ) {
        state = Mutex(State(configuration: configuration))
        self.now = now
        self.pressure = pressure
        observePressure(configuration.respondsToPressure)
    }

    // MARK: Configuration

    /// May be changed at any time: what is then too much is let go at once.
    public var configuration: MemoryCacheConfiguration {
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
            observePressure(newValue.respondsToPressure)
        }
    }

    private func observePressure(_ wanted: Bool) {
        let former = observation.withLock { observation -> MemoryPressure.Observation? in
            if wanted == (observation != nil) { return nil }
            let former = observation
            observation =
                wanted ? pressure?.observe { [weak self] level in self?.relieve(level) } : nil
            return former
        }
        former?.cancel()
    }

    /// Lets half of the pictures go, by their cost, or all; what somebody else holds can still be found.
    func relieve(_ level: MemoryPressure.Level) {
        switch level {
        case .moderate: trim(toCost: statistics.cost / 2)
        case .critical: trim(toCost: 0, count: 0)
        }
    }

    // MARK: Pictures

    public func image(for key: String) -> LoadedImage? {
        let key = ExactKey(key)
        let (image, removed) = state.withLock { $0.image(for: key, now) }
        _ = removed
        return image
    }

    public func contains(_ key: String) -> Bool {
        let key = ExactKey(key)
        return state.withLock { state in
            if let entry = state.strong.peek(key) { return !isOver(entry.deadline) }
            guard let entry = state.weak[key] else { return false }
            return entry.image != nil && !isOver(entry.deadline)
        }
    }

    private func isOver(_ deadline: UInt64?) -> Bool { deadline.map { now() >= $0 } ?? false }

    public func store(_ image: LoadedImage, for key: String) { store(image, for: key, cost: nil) }

    /// Keeps a picture in the place of another one of the same key.
    ///
    /// - Parameters:
    ///   - cost: nil for that of its pixels.
    ///   - timeToLive: nil for that of all others.
    public func store(_ image: LoadedImage, for key: String, cost: Int?, timeToLive: Duration? = nil) {
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

    /// A terabyte: the sum of many cannot overflow, and no picture is larger.
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

    public func remove(_ key: String) {
        let key = ExactKey(key)
        let removed = state.withLock { state -> Entry? in
            state.weak[key] = nil
            guard let entry = state.strong.remove(key) else { return nil }
            state.cost -= entry.cost
            return entry
        }
        _ = removed
    }

    /// Forgets everything, also what somebody else holds.
    public func removeAll() {
        let removed = state.withLock { state in
            state.weak = [:]
            state.sweepAt = State.smallestSweep
            state.cost = 0
            return state.strong.removeAll()
        }
        _ = removed
    }

    // MARK: Room

    /// Lets pictures go, the least recently used first, until they cost no more than `cost`.
    public func trim(toCost cost: Int) { trim(toCost: cost, count: nil) }

    /// Lets pictures go, the least recently used first, until there are no more than `count`.
    public func trim(toCount count: Int) { trim(toCost: nil, count: count) }

    private func trim(toCost cost: Int?, count: Int?) {
        let removed = state.withLock { $0.trim(toCost: cost, count: count) }
        _ = removed
    }

    /// Lets go what is too old; otherwise that happens when it is asked for, or when room is needed.
    ///
    /// - Complexity: O(n).
    public func removeExpired() {
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

    public var statistics: MemoryCacheStatistics {
        state.withLock { state in
            var statistics = state.statistics
            statistics.count = state.strong.count
            statistics.cost = state.cost
            statistics.weakCount = state.weak.count
            return statistics
        }
    }

    /// The keys of what is kept, the most recently used first.
    var keys: [String] { state.withLock { $0.strong.keys } }
}

extension MemoryCache.State {
    /// What is found, and what had to go for it.
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
        // Somebody wants it again, so it is kept again.
        return (image, keep(MemoryCache.Entry(image: image, cost: entry.cost, deadline: entry.deadline), for: key))
    }

    /// Keeps a picture as far as the limits allow, and answers what had to go for it.
    fileprivate mutating func keep(_ entry: MemoryCache.Entry, for key: ExactKey) -> [MemoryCache.Entry] {
        if let maxCost = configuration.maxCost, !Self.allows(entry.cost, maxCost, configuration.maxEntryShare) {
            statistics.refusals += 1
            // The former one is out of date.
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

    /// Clears the table of pictures that are gone.
    ///
    /// It doubles between two sweeps, so they cost each store the same on average, and it has at most twice as many
    /// entries as there are pictures.
    fileprivate mutating func sweep(alsoIf isOver: (MemoryCache.WeakEntry) -> Bool) {
        weak = weak.filter { $0.value.image != nil && !isOver($0.value) }
        sweepAt = max(Self.smallestSweep, 2 * weak.count)
    }
}
