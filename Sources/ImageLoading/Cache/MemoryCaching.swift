/// Keeps pictures in memory; what stands in front of the disk in an ``ImageCache``.
///
/// - Concurrency: any thread; no call waits for anything slow.
public protocol MemoryCaching: Sendable {
    /// The picture, if it is there; a use of it.
    func image(for key: String) -> LoadedImage?
    func store(_ image: LoadedImage, for key: String)
    func remove(_ key: String)
    func removeAll()
    /// Whether ``image(for:)`` would answer; no use of it.
    func contains(_ key: String) -> Bool
}

/// How much a ``MemoryCache`` keeps, and for how long.
public struct MemoryCacheConfiguration: Sendable, Hashable {
    /// Bytes of pixels that are kept at most; nil for no limit.
    ///
    /// ``standardMaxCost`` unless somebody says otherwise: without a limit, as in other caches, a server would keep
    /// pictures until it has no memory.
    public var maxCost: Int?
    /// Pictures that are kept at most; nil for no limit. Their cost says more, so there is none by itself.
    public var maxCount: Int?
    /// The share of ``maxCost``, 0…1, that one picture may have; larger ones are not kept.
    ///
    /// A tenth: a single giant would push out all others, and is the first to be pushed out.
    public var maxEntryShare = 0.1
    /// How long a picture is kept after it was stored; nil for as long as there is room.
    public var timeToLive: Duration?
    /// Whether a picture that somebody still holds is found, although there was no room to keep it.
    ///
    /// On, because it costs a few words for each picture and saves a second copy of the same pixels.
    public var usesWeakTable = true
    /// Whether pictures are let go when the system runs out of memory; see ``MemoryPressure``.
    public var respondsToPressure = true

    public init(maxCost: Int? = standardMaxCost, maxCount: Int? = nil) {
        self.maxCost = maxCost
        self.maxCount = maxCount
    }

    /// 15 % of the memory that this process may have, and 768 MiB at most.
    ///
    /// That is the machine's, or what a control group leaves of it; looked up once.
    public static let standardMaxCost = standardMaxCost(ofMemory: MemoryAllowance.bytes)

    static func standardMaxCost(ofMemory bytes: Int) -> Int { min(bytes / 100 * 15, 768 << 20) }
}

/// What a ``MemoryCache`` has done, and what it has.
public struct MemoryCacheStatistics: Sendable, Hashable {
    /// Pictures that were found, those of the weak table included.
    public var hits = 0
    /// Pictures that were found only because somebody still held them.
    public var weakHits = 0
    public var misses = 0
    public var stores = 0
    /// Pictures that were stored, but are larger than one may be.
    public var refusals = 0
    /// Pictures that made room for others or for the system.
    public var evictions = 0
    public var expirations = 0
    /// Pictures that are kept now.
    public var count = 0
    /// Bytes that they have together.
    public var cost = 0
    /// Entries of the weak table, with those whose picture is gone and that were not cleared away yet.
    public var weakCount = 0

    public init() {}
}
