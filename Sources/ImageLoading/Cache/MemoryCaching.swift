/// Keeps images in memory; the memory tier of an ``ImageCache``.
///
/// - Concurrency: any thread; calls must not block.
public protocol MemoryCaching: Sendable {
    /// Returns the image of a key, and marks it as used.
    func image(for key: String) -> LoadedImage?
    /// Stores an image.
    ///
    /// - Parameter timeToLive: the time that the image is kept; nil for the default of the configuration.
    func store(_ image: LoadedImage, for key: String, timeToLive: Duration?)
    /// Removes the image of a key.
    func remove(_ key: String)
    /// Removes all images.
    func removeAll()
    /// Whether ``image(for:)`` would return an image; does not mark it as used.
    func contains(_ key: String) -> Bool
    /// Applies new limits; the cache calls it when its configuration changes.
    func configure(_ configuration: MemoryCacheConfiguration)
    /// Releases images because the system runs out of memory.
    func relieve(_ shortage: MemoryShortage)
}

/// The severity of a memory shortage.
public enum MemoryShortage: Sendable, Hashable {
    /// Memory is short; a cache should release about half of its images.
    case moderate
    /// Memory is still short after a cache released images; it should release all.
    case critical
}

/// The limits of a ``MemoryCache``.
public struct MemoryCacheConfiguration: Sendable, Hashable {
    /// Limit for the bytes of all pixels; nil for no limit.
    ///
    /// The default is 15 % of the memory that this process may use, at most 768 MiB. Without a limit, a server would keep images until it runs out of memory.
    public var maxCost: Int?
    /// Limit for the number of images; nil, the default, for no limit, because the cost matters more.
    public var maxCount: Int?
    /// The share of ``maxCost``, 0…1, that one image may use; larger images are not kept.
    ///
    /// The default is a tenth: a single huge image would otherwise evict all others.
    package var maxEntryShare = 0.1
    /// The time that an image is kept after it was stored; nil for no time limit.
    public var timeToLive: Duration?
    /// Whether an evicted image can still be found while the application holds it.
    ///
    /// On by default: it costs a few words per image and avoids a second copy of the same pixels.
    public var usesWeakTable = true
    /// Whether an ``ImageCache`` asks its memory tier to release images when the system runs out of memory.
    public var respondsToPressure = true

    package init() { self.init(maxCost: Self.standardMaxCost) }

    init(maxCost: Int?, maxCount: Int? = nil) {
        self.maxCost = maxCost
        self.maxCount = maxCount
    }

    /// 15 % of the memory that this process may use, at most 768 MiB.
    ///
    /// That memory is the machine's, or the limit of the control group if it is lower. It is read once.
    static let standardMaxCost = standardMaxCost(ofMemory: MemoryAllowance.bytes)

    static func standardMaxCost(ofMemory bytes: Int) -> Int { min(bytes / 100 * 15, 768 << 20) }
}

/// Counters and current usage of a ``MemoryCache``.
package struct MemoryCacheStatistics: Sendable, Hashable {
    /// Lookups that found an image, including the weak table.
    package var hits = 0
    /// Lookups that found an image only in the weak table.
    package var weakHits = 0
    /// Lookups that found no image.
    package var misses = 0
    /// Calls that stored an image.
    package var stores = 0
    /// Images that were not kept because they exceed the share of one image.
    package var refusals = 0
    /// Images that were removed because of a limit or of memory pressure.
    package var evictions = 0
    /// Images that were removed because of their age.
    package var expirations = 0
    /// Images that are currently kept.
    package var count = 0
    /// Bytes of the currently kept images.
    package var cost = 0
    /// Entries of the weak table, including released images that were not yet removed.
    package var weakCount = 0

    /// Creates counters of zero.
    package init() {}
}
