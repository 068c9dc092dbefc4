/// How much a disk cache keeps, for how long, and how sure it is of it.
public struct DiskCacheConfiguration: Sendable {
    /// The date that an entry's age is counted from.
    public enum Expiry: Sendable, Hashable, CaseIterable {
        /// When it was read last, or stored.
        case accessed
        /// When it was stored.
        case modified
        /// When it was stored, too, unless another program has changed the file since.
        case created
        /// When anything of it changed: its bytes, what is stored beside them, its name.
        case changed
    }

    /// The age at which an entry goes; zero lets all of them go, a negative one none.
    public var maxAge = Duration.seconds(7 * 24 * 3600)
    /// Bytes on the disk, whole blocks counted, above which the oldest entries go until less than half is left; 0 is
    /// without limit.
    public var maxSize = 0
    public var expiry = Expiry.accessed
    /// Whether an entry is sure to survive a loss of power when it is stored; without it only whole entries are seen
    /// after that, but the last ones may be missing.
    public var isDurable = false
    /// Bytes of one entry, above which it is neither stored nor read.
    public var maxEntrySize = 512 << 20
    /// How long the cache is used between two sweeps in the background; nil leaves them to the application.
    public var sweepInterval: Duration? = .seconds(30 * 60)
    /// Bytes after which such a sweep comes earlier; nil is an eighth of ``maxSize``.
    public var sweepBytes: Int?
    /// Folders that are looked into after the cache's own, and never written to: other caches, or files of an
    /// application under the names that ``DiskCache/path(for:)`` ends with. Files under names of their own are what
    /// ``ImageCacheConfiguration/additionalPaths`` is for. Whose they are and who may write to them is not looked at:
    /// whoever names a folder here trusts it.
    public var extraDirectories: [String] = []

    public init() {}
}
