public import ImageModel

/// Stores bytes that survive the process; the disk tier of an ``ImageCache``.
///
/// - Concurrency: any thread; every call may block on storage, so an ``ImageCache`` uses separate threads.
public protocol DiskCaching: Sendable {
    /// Returns the stored bytes; nil if there are none or they are damaged.
    func data(for key: String) -> CachedData?
    /// Stores bytes atomically, replacing older ones of the same key.
    ///
    /// - Throws: `.inputOutput` when the bytes cannot be stored.
    func store(_ data: CachedData, for key: String) throws(CoderError)
    /// Removes the bytes of a key.
    func remove(_ key: String)
    /// Whether bytes are stored; does not count as a use.
    func contains(_ key: String) -> Bool
    /// Removes all bytes.
    func clear()
    /// Removes expired entries, then the least recently used ones above the size limit.
    func deleteOldFiles()
    /// The number of entries and the bytes that they occupy.
    var totals: (count: Int, size: Int) { get }
    /// Applies new limits; the cache calls it when its configuration changes.
    func configure(_ configuration: DiskCacheConfiguration)
}
