public import ImageModel

/// How an ``ImageCache`` keeps pictures.
///
/// Everything that other caches let one set is here, or is left out for a reason. `shouldDisableiCloud` is Apple's alone.
/// `shouldRemoveExpiredDataWhenEnterBackground` has nothing to enter; leaving is ``prunesWhenClosed``.
/// `diskCacheReadingOptions` (mapped files) would end the process when somebody else shortens a file.
/// `diskCacheWritingOptions` leaves no choice: an entry is written as a whole or not at all. Instead of `fileManager` and
/// `ioQueueAttributes` there are ``makeDiskCache`` and ``maxDiskAccesses``.
public struct ImageCacheConfiguration: Sendable {
    // MARK: Memory

    /// Whether pictures are kept in memory at all; off also disables the table of what somebody still holds.
    public var keepsImagesInMemory = true
    /// How much is kept in memory: cost, count, time to live, the weak table.
    public var memory = MemoryCacheConfiguration()

    // MARK: Disk

    /// How much is kept on disk, and for how long: ``DiskCacheConfiguration/maxAge``, `maxSize`, `expiry`, `isDurable`,
    /// and how often it is swept.
    public var disk = DiskCacheConfiguration()
    /// Whether ``ImageCache/close()`` removes old entries; while the cache is used it does that by itself.
    public var prunesWhenClosed = true
    /// Reads and writes at the same time; 1 for one after the other.
    ///
    /// Four: a slow one does not hold up all others, and a disk gets no faster by more.
    public var maxDiskAccesses = 4

    // MARK: Pictures

    /// Pictures that are decoded or encoded at the same time; nil for as many as there are processors.
    public var maxDecodes: Int?
    /// What an animation is stored as that has no file, and whose own format cannot be written.
    public var animationFormat: ImageFormat = "gif"

    // MARK: Other parts

    /// Makes a memory cache of another kind.
    public var makeMemoryCache: (@Sendable (_ configuration: ImageCacheConfiguration) -> any MemoryCaching)?
    /// Makes a disk cache of another kind.
    public var makeDiskCache: DiskCacheFactory?
    /// Asked for files outside of the cache, in this order, when it has none; they are read and never changed. Who else
    /// may write to them is not looked at: whoever names a file here trusts it.
    public var additionalPaths: [@Sendable (_ key: String) -> String?] = []

    public init() {}
}

/// Makes a disk cache for a namespace in a directory, which need not exist yet.
public typealias DiskCacheFactory =
    @Sendable (_ directory: String, _ namespace: String, _ configuration: ImageCacheConfiguration) -> any DiskCaching
