public import CoderHost
public import ImageModel

/// The caches that a load reads and writes, and the age at which it asks the server again.
///
///     options.cache = .cacheOnly              // never ask the server
///     options.cache = .reload                 // read nothing, store the new file
///     options.cache.freshness = .http         // obey Cache-Control and Expires
///     options.cache.results.writes = .memory  // store no thumbnails on disk
public struct CachePolicy: Sendable {
    /// The tiers to read and to write.
    public struct Access: Sendable, Hashable {
        /// The tiers to read, in the order memory, disk.
        public var reads: CacheTiers
        /// The tiers to write.
        public var writes: CacheTiers
    }

    /// The time for which a cached image is used without a request to its server.
    public enum Freshness: Sendable, Hashable {
        /// Until the cache removes it.
        case ignored
        /// For the time that its response permits; after that, the server must confirm it.
        ///
        /// - Source: RFC 9111, and RFC 5861 for `stale-while-revalidate` and `stale-if-error`.
        case http
        /// Never: the server must confirm every use. An unchanged file is not downloaded again (304).
        case revalidate
    }

    /// The tiers for results: decoded, reduced and transformed images.
    public var results = Access(reads: .all, writes: .all)
    /// The tiers for originals: the file on disk, and the untransformed image in memory.
    public var originals = Access(reads: .disk, writes: .disk)
    /// Whether the loader is used if no cache has the image.
    public var usesLoader = true
    /// The time for which a cached image is used without a request to its server.
    public var freshness = Freshness.ignored
    /// Whether to return the file's bytes with a memory hit.
    public var returnsDataOfMemoryHits = false
    /// Whether to return the result only after it was stored.
    public var waitsForStore = false
    /// The format of results on disk; nil for the file's format if it can be written, else the default format.
    public var format: ImageFormat?
    /// Options for encoding results for the disk.
    public var encode = EncodeOptions()

    /// Creates the standard policy.
    public init() {}

    /// Reads and writes all caches; a cached image is used until the cache removes it.
    public static let standard = CachePolicy()
    /// Reads the caches and never asks the server.
    public static let cacheOnly = CachePolicy { $0.usesLoader = false }
    /// Ignores cached images, and stores the loaded one.
    public static let reload = CachePolicy { ($0.results.reads, $0.originals.reads) = ([], []) }
    /// Reads the caches and stores nothing.
    public static let noStore = CachePolicy { ($0.results.writes, $0.originals.writes) = ([], []) }
    /// Neither reads nor writes caches.
    public static let disabled = CachePolicy {
        let none = Access(reads: [], writes: [])
        ($0.results, $0.originals) = (none, none)
    }
    /// Reads and writes all caches, and obeys the lifetime that the server declares; see ``Freshness/http``.
    public static let http = CachePolicy { $0.freshness = .http }
    /// Reads and writes all caches, and asks the server before every use.
    public static let revalidate = CachePolicy { $0.freshness = .revalidate }

    private init(_ change: (inout CachePolicy) -> Void) { change(&self) }
}
