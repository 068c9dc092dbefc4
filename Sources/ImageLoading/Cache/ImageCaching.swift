public import ImageModel

/// Bytes in a cache, with what was stored beside them.
public struct CachedData: Sendable, Hashable {
    public var bytes: [UInt8]
    /// Anything the application wants to have back with the bytes.
    public var extended: [UInt8]?
    /// Facts that loaders and the manager keep: `etag`, `last-modified`, `url`, `coder` …
    public var attributes: [String: String]

    public init(_ bytes: [UInt8], extended: [UInt8]? = nil, attributes: [String: String] = [:]) {
        self.bytes = bytes
        self.extended = extended
        self.attributes = attributes
    }
}

/// Keeps pictures in memory and their bytes on disk, or wherever it likes.
///
/// - Concurrency: any thread. Calls with `async` may wait for storage; the others may not.
public protocol ImageCaching: Sendable {
    /// The picture in memory, if there is one.
    func image(for key: String) -> LoadedImage?
    /// The bytes on disk, if there are any; whatever is wrong with them is a miss.
    func data(for key: String) async -> CachedData?
    /// Keeps a picture in memory.
    func store(_ image: LoadedImage, for key: String)
    /// Keeps bytes on disk.
    ///
    /// - Throws: `.inputOutput` when they could not be kept; nobody's request fails for that.
    func store(_ data: CachedData, for key: String) async throws(CoderError)
    func remove(_ key: String, from tiers: CacheTiers) async
    /// The tiers that have something.
    func contains(_ key: String, in tiers: CacheTiers) async -> CacheTiers
    func clear(_ tiers: CacheTiers) async
}
