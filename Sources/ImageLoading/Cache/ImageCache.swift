public import CoderHost
public import ImageModel
import ImageProcessing

/// The standard cache: images in memory, their bytes on disk.
///
/// A manager uses it through ``ImageCaching``; an application can also call ``query(_:_:in:)`` and
/// ``store(_:data:for:in:_:)`` directly.
///
///     let cache = ImageCache("faces", coders: CoderHost().manager)
///     try await cache.store(image, data: bytes, for: url)
///     let hit = try await cache.query(url, .thumbnail(PixelSize(64, 64)))
///
/// - Concurrency: any thread.
public final class ImageCache: ImageCaching {
    /// The memory tier; it exists even if the configuration disables its use.
    package let memory: any MemoryCaching
    /// The disk tier; nil for a cache in memory only.
    package let disk: (any DiskCaching)?
    let coders: CodersManager
    private let settings: Mutex<ImageCacheConfiguration>
    private let pressure: MemoryPressure
    private let observation = Mutex<MemoryPressure.Observation?>(nil)
    /// Reads and decodes in progress; callers that want the same image share one.
    let lookups = SharedWork<Lookup, Never, LoadResult?>()
    let diskLine: AdmissionQueue
    let decodeLine: AdmissionQueue

    /// Key of a shared read: everything that its result depends on.
    struct Lookup: Hashable, Sendable {
        var key: ExactKey
        var variant: ExactKey
        var preloads: Bool
        var usesMemory: Bool
    }

    /// Creates a cache from its parts.
    ///
    /// - Parameters:
    ///   - memory: nil creates one from the configuration.
    ///   - disk: nil for a cache without files.
    public convenience init(
        memory: (any MemoryCaching)? = nil, disk: (any DiskCaching)?, coders: CodersManager,
        configuration: ImageCacheConfiguration = ImageCacheConfiguration()
    ) {
        self.init(memory: memory, disk: disk, coders: coders, configuration: configuration, pressure: .shared)
    }

    init(
        memory: (any MemoryCaching)?, disk: (any DiskCaching)?, coders: CodersManager,
        configuration: ImageCacheConfiguration, pressure: MemoryPressure
    ) {
        self.pressure = pressure
        self.memory =
            memory ?? configuration.makeMemoryCache?(configuration) ?? MemoryCache(configuration.memory)
        self.disk = disk
        self.coders = coders
        settings = Mutex(configuration)
        diskLine = AdmissionQueue(limit: configuration.maxDiskAccesses)
        decodeLine = AdmissionQueue(limit: configuration.maxDecodes ?? Machine.processorCount)
        observePressure(configuration.memory.respondsToPressure)
    }

    private func observePressure(_ wanted: Bool) {
        let former = observation.withLock { observation -> MemoryPressure.Observation? in
            if wanted == (observation != nil) { return nil }
            let former = observation
            observation = wanted ? pressure.observe { [memory] in memory.relieve($0) } : nil
            return former
        }
        former?.cancel()
    }

    /// The configuration; it may be changed at any time. New limits apply at once, but the tiers are not created again.
    public var configuration: ImageCacheConfiguration {
        get { settings.withLock { $0 } }
        set {
            settings.withLock { $0 = newValue }
            diskLine.limit = newValue.maxDiskAccesses
            decodeLine.limit = newValue.maxDecodes ?? Machine.processorCount
            disk?.configure(newValue.disk)
            memory.configure(newValue.memory)
            observePressure(newValue.memory.respondsToPressure)
            if !newValue.keepsImagesInMemory { memory.removeAll() }
        }
    }

    // MARK: ImageCaching

    /// Returns the image in memory; nil if there is none or the memory tier is disabled.
    public func image(for key: String) -> LoadedImage? {
        settings.withLock { $0.keepsImagesInMemory } ? memory.image(for: key) : nil
    }

    /// Returns the bytes on disk or in an additional file.
    public func data(for key: String) async -> CachedData? { await bytes(for: key)?.data }

    /// Stores an image in memory; a partial image is ignored.
    public func store(_ image: LoadedImage, for key: String) { store(image, for: key, timeToLive: nil) }

    func store(_ image: LoadedImage, for key: String, timeToLive: Duration?) {
        // A partial image would be taken for the complete one.
        if image.isPartial { return }
        if settings.withLock({ $0.keepsImagesInMemory }) { memory.store(image, for: key, timeToLive: timeToLive) }
    }

    /// Stores bytes on disk.
    public func store(_ data: CachedData, for key: String) async throws(CoderError) {
        _ = try await inLine { disk throws(CoderError) in try disk.store(data, for: key) }
    }

    /// Removes a key from the given tiers.
    public func remove(_ key: String, from tiers: CacheTiers = .all) async {
        if tiers.contains(.memory) { memory.remove(key) }
        if tiers.contains(.disk) { await onDisk { $0.remove(key) } }
    }

    /// Returns the tiers that have the key.
    public func contains(_ key: String, in tiers: CacheTiers = .all) async -> CacheTiers {
        var found: CacheTiers = []
        if tiers.contains(.memory), configuration.keepsImagesInMemory, memory.contains(key) { found.insert(.memory) }
        if tiers.contains(.disk) {
            let isThere = await onDisk { $0.contains(key) } ?? false
            if isThere || additionalPath(for: key) != nil { found.insert(.disk) }
        }
        return found
    }

    /// Removes all entries from the given tiers.
    public func clear(_ tiers: CacheTiers = .all) async {
        if tiers.contains(.memory) { memory.removeAll() }
        if tiers.contains(.disk) { await onDisk { $0.clear() } }
    }

    // MARK: Disk tier

    /// Returns the number of entries on disk and the bytes that they occupy.
    public func calculateSize() async -> (count: Int, size: Int) { await onDisk { $0.totals } ?? (0, 0) }

    /// Removes expired entries from the disk, then the oldest ones above the size limit.
    public func deleteOldFiles() async { await onDisk { $0.deleteOldFiles() } }

    /// Ends the use of the cache; removes old files if the configuration requests it.
    public func close() async {
        if configuration.prunesWhenClosed { await deleteOldFiles() }
    }

    /// Runs `body` with the disk tier on another thread; returns nil without a disk tier.
    ///
    /// It also runs in a cancelled task, so that removals always happen.
    @discardableResult
    private func onDisk<R: Sendable>(_ body: @escaping @Sendable (any DiskCaching) -> R) async -> R? {
        guard let disk else { return nil }
        return try? await BlockingWork.run { () throws(CoderError) -> R in body(disk) }
    }

    /// Reads or writes an image on disk within the limit of concurrent disk accesses; returns nil without a disk tier.
    ///
    /// - Throws: what `body` throws; `.cancelled` when the task is cancelled before its turn.
    private func inLine<R: Sendable>(
        _ body: @escaping @Sendable (any DiskCaching) throws(CoderError) -> R
    ) async throws(CoderError) -> R? {
        guard let disk else { return nil }
        return try await diskLine.run(LoadUrgency()) { () async throws(CoderError) -> R in
            try await BlockingWork.run { () throws(CoderError) -> R in try body(disk) }
        }
    }

    // MARK: Files outside the cache

    /// Returns the bytes of a key, and whether they may come from the network.
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
