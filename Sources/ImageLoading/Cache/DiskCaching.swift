public import ImageModel

/// Keeps bytes where they survive the process; what stands behind an ``ImageCache``.
///
/// - Concurrency: any thread; every call may wait for storage.
public protocol DiskCaching: Sendable {
    /// What is stored; whatever is wrong with it is a miss.
    func data(for key: String) async -> CachedData?
    /// Stores bytes in the place of others of the same key, as a whole or not at all.
    ///
    /// - Throws: `.inputOutput` when they could not be kept.
    func store(_ data: CachedData, for key: String) async throws(CoderError)
    func remove(_ key: String) async
    /// Whether something is stored; does not count as a use of it.
    func contains(_ key: String) async -> Bool
    func clear() async
    /// Removes what is too old, then what was not used for longest while it is too much.
    func prune() async
    /// Entries that are stored.
    func totalCount() async -> Int
    /// Bytes that the stored entries have together.
    func totalSize() async -> Int
}
