public import CoderHost
import ImageProcessing

// MARK: Location

extension ImageCache {
    private static let directory = Mutex<String?>(nil)

    /// The directory that contains a folder for every namespace; nil if nothing is kept on disk.
    ///
    /// The default is ``DiskCache/standardDirectory``. Setting it affects only caches that are created later.
    package static var defaultDirectory: String? {
        get { directory.withLock { $0 } ?? DiskCache.standardDirectory }
        set { directory.withLock { $0 = newValue } }
    }

    /// The default cache of an application, created on first use.
    public static let shared = ImageCache(coders: CoderHost().manager)

    /// Creates a cache with its own folder.
    ///
    /// - Parameters:
    ///   - namespace: the name of the folder; caches with the same namespace share their entries on disk.
    ///   - directory: nil for ``defaultDirectory``.
    public convenience init(
        _ namespace: String = "default", in directory: String? = nil, coders: CodersManager,
        configuration: ImageCacheConfiguration = ImageCacheConfiguration()
    ) {
        let directory = directory ?? Self.defaultDirectory
        self.init(
            disk: directory.map { directory in
                configuration.makeDiskCache?(directory, namespace, configuration)
                    ?? DiskCache(directory: directory, namespace: namespace, configuration: configuration.disk)
            }, coders: coders, configuration: configuration)
    }
}

extension DiskCache: DiskCaching {
    /// Replaces ``configuration``.
    package func configure(_ configuration: DiskCacheConfiguration) { self.configuration = configuration }

    /// Removes expired entries, then the oldest ones above the size limit; see ``prune()``.
    package func deleteOldFiles() { prune() }
}
