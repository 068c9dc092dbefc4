public import CoderHost
import ImageProcessing
import Synchronization

// MARK: Where it is

extension ImageCache {
    private static let directory = Mutex<String?>(nil)

    /// The directory with one folder for every namespace: ``DiskCache/standardDirectory`` unless it is set; nil where
    /// there is none, so that nothing is kept on disk.
    ///
    /// Setting it concerns caches that are made later.
    public static var defaultDirectory: String? {
        get { directory.withLock { $0 } ?? DiskCache.standardDirectory }
        set { directory.withLock { $0 = newValue } }
    }

    /// The cache of an application that needs no second one; made when it is first asked for.
    public static let shared = ImageCache(coders: CoderHost().manager)

    /// A cache with a folder of its own.
    ///
    /// - Parameters:
    ///   - namespace: the name of the folder; caches of one namespace share their entries on disk.
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
    public func deleteOldFiles() { prune() }
}
