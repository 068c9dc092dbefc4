/// Size, age and durability limits of a disk cache.
public struct DiskCacheConfiguration: Sendable {
    /// The date from which an entry's age is counted.
    package enum Expiry: Sendable, Hashable, CaseIterable {
        /// Date of the last read or store.
        case accessed
        /// Date of the last store.
        case modified
        /// Date of the last store, or an earlier date if another program has changed the file since.
        case created
        /// Date of the last change of the bytes, the metadata or the name.
        case changed
    }

    /// The age at which an entry is removed; zero removes every entry, a negative age none.
    public var maxAge = Duration.seconds(7 * 24 * 3600)
    /// Limit for the bytes on disk, in whole blocks; 0 for no limit.
    ///
    /// Above it, a sweep removes the oldest entries until less than half of the limit is left.
    public var maxSize = 0
    /// The date from which the age is counted.
    package var expiry = Expiry.accessed
    /// Whether a stored entry survives a power loss.
    ///
    /// Without it, the last entries may be missing after a power loss, but every entry that is found is complete.
    package var isDurable = false
    /// Limit for the bytes of one entry; larger ones are neither stored nor read.
    package var maxEntrySize = 512 << 20
    /// The time between two background sweeps while the cache is used; nil for no background sweeps.
    package var sweepInterval: Duration? = .seconds(30 * 60)
    /// Bytes written since the last sweep that start the next one earlier; nil for an eighth of ``maxSize``.
    package var sweepBytes: Int?
    /// Folders that are searched after the cache's own folder and never written to.
    ///
    /// They contain other caches, or files whose names end like ``DiskCache/path(for:)``. For files with other names,
    /// use ``ImageCacheConfiguration/additionalPaths``. Owner and permissions of these folders are not checked, so name
    /// only folders that you trust.
    package var extraDirectories: [String] = []

    package init() {}
}
