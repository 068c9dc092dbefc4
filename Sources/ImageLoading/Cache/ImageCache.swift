public import CoderHost
public import ImageModel
import ImageProcessing
import Synchronization

/// The usual cache: pictures in memory, their bytes on disk.
///
/// A manager uses it through ``ImageCaching``; without one there are ``query(_:_:in:)`` and
/// ``store(_:data:for:in:_:)``.
///
///     let cache = ImageCache("faces", coders: CoderHost().manager)
///     try await cache.store(image, data: bytes, for: url)
///     let hit = try await cache.query(url, .thumbnail(PixelSize(64, 64)))
///
/// - Concurrency: any thread.
public final class ImageCache: ImageCaching {
    /// Where the pictures are, whatever the configuration says of using them.
    public let memory: any MemoryCaching
    /// Nil for a cache in memory alone.
    public let disk: (any DiskCaching)?
    let coders: CodersManager
    private let settings: Mutex<ImageCacheConfiguration>
    /// Pictures that are read and decoded; done once for all who want the same one at the same time.
    let lookups = SharedWork<Lookup, Never, CacheHit?>()
    let diskLine: AdmissionQueue
    let decodeLine: AdmissionQueue

    /// What one piece of work is shared by: everything that its outcome depends on.
    struct Lookup: Hashable, Sendable {
        var key: ExactKey
        var variant: ExactKey
        var preloads: Bool
        var usesMemory: Bool
    }

    /// A cache of given parts.
    ///
    /// - Parameters:
    ///   - memory: nil makes one as the configuration says.
    ///   - disk: nil keeps nothing on disk, and leaves no file.
    public init(
        memory: (any MemoryCaching)? = nil, disk: (any DiskCaching)?, coders: CodersManager,
        configuration: ImageCacheConfiguration = ImageCacheConfiguration()
    ) {
        self.memory =
            memory ?? configuration.makeMemoryCache?(configuration) ?? MemoryCache(configuration.memory)
        self.disk = disk
        self.coders = coders
        settings = Mutex(configuration)
        diskLine = AdmissionQueue(limit: configuration.maxDiskAccesses)
        decodeLine = AdmissionQueue(limit: configuration.maxDecodes ?? processorCount)
    }

    /// May be changed at any time; what the two caches may keep counts at once, parts that were made stay.
    public var configuration: ImageCacheConfiguration {
        get { settings.withLock { $0 } }
        set {
            settings.withLock { $0 = newValue }
            diskLine.limit = newValue.maxDiskAccesses
            (disk as? DiskCache)?.configuration = newValue.disk
            decodeLine.limit = newValue.maxDecodes ?? processorCount
            (memory as? MemoryCache)?.configuration = newValue.memory
            if !newValue.keepsImagesInMemory { memory.removeAll() }
        }
    }

    // MARK: What a manager asks

    public func image(for key: String) -> LoadedImage? {
        settings.withLock { $0.keepsImagesInMemory } ? memory.image(for: key) : nil
    }

    public func data(for key: String) async -> CachedData? { await bytes(for: key)?.data }

    public func store(_ image: LoadedImage, for key: String) {
        // What is not all there would be taken for the whole.
        if image.isPartial { return }
        if settings.withLock({ $0.keepsImagesInMemory }) { memory.store(image, for: key) }
    }

    public func store(_ data: CachedData, for key: String) async throws(CoderError) {
        _ = try await inLine { disk throws(CoderError) in try disk.store(data, for: key) }
    }

    public func remove(_ key: String, from tiers: CacheTiers = .all) async {
        if tiers.contains(.memory) { memory.remove(key) }
        if tiers.contains(.disk) { await onDisk { $0.remove(key) } }
    }

    public func contains(_ key: String, in tiers: CacheTiers = .all) async -> CacheTiers {
        var found: CacheTiers = []
        if tiers.contains(.memory), configuration.keepsImagesInMemory, memory.contains(key) { found.insert(.memory) }
        if tiers.contains(.disk) {
            let isThere = await onDisk { $0.contains(key) } ?? false
            if isThere || additionalPath(for: key) != nil { found.insert(.disk) }
        }
        return found
    }

    public func clear(_ tiers: CacheTiers = .all) async {
        if tiers.contains(.memory) { memory.removeAll() }
        if tiers.contains(.disk) { await onDisk { $0.clear() } }
    }

    // MARK: The disk as a whole

    /// How many entries there are on disk, and the bytes that they take.
    public func calculateSize() async -> (count: Int, size: Int) { await onDisk { $0.totals } ?? (0, 0) }

    /// Removes from the disk what is too old or too much.
    public func deleteOldFiles() async { await onDisk { $0.deleteOldFiles() } }

    /// Ends the use of the cache: old files are removed, if the configuration says so.
    public func close() async {
        if configuration.prunesWhenClosed { await deleteOldFiles() }
    }

    /// Does something that waits for storage, nil without a disk; also for a task that was cancelled: what is to be
    /// removed must not stay because nobody is interested any more.
    @discardableResult
    private func onDisk<R: Sendable>(_ body: @escaping @Sendable (any DiskCaching) -> R) async -> R? {
        guard let disk else { return nil }
        return try? await BlockingWork.run { () throws(CoderError) -> R in body(disk) }
    }

    /// The same for reading and writing whole pictures, when its turn comes.
    ///
    /// - Throws: what `body` throws; `.cancelled` when the task is cancelled before.
    private func inLine<R: Sendable>(
        _ body: @escaping @Sendable (any DiskCaching) throws(CoderError) -> R
    ) async throws(CoderError) -> R? {
        guard let disk else { return nil }
        return try await diskLine.run(LoadUrgency()) { () async throws(CoderError) -> R in
            try await BlockingWork.run { () throws(CoderError) -> R in try body(disk) }
        }
    }

    // MARK: Files outside of the cache

    /// The bytes, and whether anybody could have sent them.
    func bytes(for key: String) async -> (data: CachedData, origin: ImageSource.Origin)? {
        let stored = try? await inLine { disk throws(CoderError) in disk.data(for: key) }
        if let stored, let stored { return (stored, .network) }
        guard let path = additionalPath(for: key) else { return nil }
        let limits = coders.limits
        let bytes = try? await BlockingWork.run { () throws(CoderError) -> [UInt8] in
            let source = try ImageSource(path: path, limits: limits)
            return source.bytes(0..<source.count)
        }
        return bytes.map { (CachedData($0), .local) }
    }

    private func additionalPath(for key: String) -> String? {
        for path in configuration.additionalPaths {
            if let path = path(key), FileStatus.of(path)?.isRegular == true { return path }
        }
        return nil
    }
}
