public import ImageModel

/// The bytes of a cache entry with their metadata.
public struct CachedData: Sendable, Hashable {
    /// Bytes of the image.
    public var bytes: [UInt8]
    /// Data of the application, stored with the bytes.
    public var extended: [UInt8]?
    /// Facts that loaders and the manager store, for example `etag`, `last-modified`, `url`, `coder`.
    public var attributes: [String: String]

    /// When the entry expires, in seconds since 1970; nil if only the limits of the cache end it.
    ///
    /// A cache returns no expired entry.
    public var expiry: Int? {
        get { attributes[Self.expiryName].flatMap { Int($0) } }
        set { attributes[Self.expiryName] = newValue.map { "\($0)" } }
    }

    private static let expiryName = "expires-at"

    /// Creates the content of a cache entry.
    public init(_ bytes: [UInt8], extended: [UInt8]? = nil, attributes: [String: String] = [:]) {
        self.bytes = bytes
        self.extended = extended
        self.attributes = attributes
    }
}

/// A cache for images in memory and their bytes on disk or in another store.
///
/// - Concurrency: any thread. Calls with `async` may wait for storage; the others must not block.
public protocol ImageCaching: Sendable {
    /// Returns the image in memory; nil if there is none.
    func image(for key: String) -> LoadedImage?
    /// Returns the bytes on disk; nil if there are none or they are damaged.
    func data(for key: String) async -> CachedData?
    /// Stores an image in memory.
    func store(_ image: LoadedImage, for key: String)
    /// Stores bytes on disk.
    ///
    /// - Throws: `.inputOutput` when the bytes cannot be stored; a load does not fail because of it.
    func store(_ data: CachedData, for key: String) async throws(CoderError)
    /// Removes a key from the given tiers.
    func remove(_ key: String, from tiers: CacheTiers) async
    /// Returns the tiers that have the key.
    func contains(_ key: String, in tiers: CacheTiers) async -> CacheTiers
    /// Removes all entries from the given tiers.
    func clear(_ tiers: CacheTiers) async
}
