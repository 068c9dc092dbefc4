public import ImageModel

/// Keeps bytes where they survive the process; what stands behind an ``ImageCache``.
///
/// - Concurrency: any thread; every call may wait for storage, so an ``ImageCache`` makes them on threads of its own.
public protocol DiskCaching: Sendable {
    /// What is stored; whatever is wrong with it is a miss.
    func data(for key: String) -> CachedData?
    /// Stores bytes in the place of others of the same key, as a whole or not at all.
    ///
    /// - Throws: `.inputOutput` when they could not be kept.
    func store(_ data: CachedData, for key: String) throws(CoderError)
    func remove(_ key: String)
    /// Whether something is stored; does not count as a use of it.
    func contains(_ key: String) -> Bool
    func clear()
    /// Removes what is too old, then what was not used for longest while it is too much.
    func deleteOldFiles()
    /// How many entries there are, and the bytes that they take.
    var totals: (count: Int, size: Int) { get }
}
