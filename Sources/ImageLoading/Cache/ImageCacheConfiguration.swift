package import ImageModel

/// The configuration of an ``ImageCache``.
///
/// It covers the settings of SDWebImage's cache, with these exceptions. `shouldDisableiCloud` exists on Apple systems
/// only. `shouldRemoveExpiredDataWhenEnterBackground` has no equivalent; ``prunesWhenClosed`` covers the end of use.
/// `diskCacheReadingOptions` (mapped files) would crash the process when another process truncates a file.
/// `diskCacheWritingOptions` is not needed, because writes are always atomic. ``makeDiskCache`` and ``maxDiskAccesses``
/// replace `fileManager` and `ioQueueAttributes`.
public struct ImageCacheConfiguration: Sendable {
    // MARK: Memory

    /// Whether the memory tier is used, including its weak table.
    package var keepsImagesInMemory = true
    /// Limits of the memory tier: cost, count, time to live, weak table.
    public var memory = MemoryCacheConfiguration()

    // MARK: Disk

    /// Limits of the disk tier: ``DiskCacheConfiguration/maxAge``, `maxSize`, `expiry`, `isDurable`, and the interval
    /// of sweeps.
    public var disk = DiskCacheConfiguration()
    /// Whether ``ImageCache/close()`` removes old entries; during use, background sweeps do.
    package var prunesWhenClosed = true
    /// The number of concurrent disk reads and writes; 1 makes them sequential.
    ///
    /// With the default of 4, one slow access does not block all others, and more would not make a disk faster.
    package var maxDiskAccesses = 4

    // MARK: Images

    /// The number of concurrent decodes and encodes; nil for the number of processors.
    package var maxDecodes: Int?
    /// The format for animations that have no file and whose own format cannot be written; nil for the best installed
    /// one.
    package var animationFormat: ImageFormat?

    // MARK: Other parts

    /// Creates a custom memory tier.
    package var makeMemoryCache: (@Sendable (_ configuration: ImageCacheConfiguration) -> any MemoryCaching)?
    /// Creates a custom disk tier for a namespace in a directory, which need not exist yet.
    package var makeDiskCache:
        (
            @Sendable (_ directory: String, _ namespace: String, _ configuration: ImageCacheConfiguration)
                -> any DiskCaching
        )?
    /// Functions that return paths of files outside the cache, called in order when the disk tier has no entry.
    ///
    /// The files are read and never changed. Their owner and permissions are not checked, so return only trusted paths.
    public var additionalPaths: [@Sendable (_ key: String) -> String?] = []

    /// Creates the default configuration.
    public init() {}
}
