import CoderHost
public import ImageModel
import ImageProcessing

/// Loads images from memory, from disk, or with a loader.
///
///     let manager = ImageManager(configuration)
///     let photo = try await manager.image("https://example.org/photo.jpg", .thumbnail(PixelSize(320, 320)))
///
/// Concurrent requests share each stage: one download per URL, one decode per set of options, one run of each
/// transformer.
/// - Concurrency: any thread.
public final class ImageManager: Sendable {
    /// The configuration of the manager.
    public let configuration: ImageManagerConfiguration
    let decoding: Decoding
    let failures: FailedURLs
    /// Shared work in progress: files, decoded and transformed images, and results.
    let files = SharedWork<WorkKey, LoadProgress, StageFile>()
    let images = SharedWork<WorkKey, LoadEvent, StageImage>()
    let results = SharedWork<WorkKey, LoadEvent, StageImage>()
    private let running = Mutex<[ObjectIdentifier: ImageTask]>([:])
    /// Background stores.
    let stores = BackgroundStores()
    let revalidations = Revalidations()
    let clock: ManagerClock

    /// Creates a manager.
    public convenience init(_ configuration: ImageManagerConfiguration) {
        self.init(configuration, ManagerClock())
    }

    init(_ configuration: ImageManagerConfiguration, _ clock: ManagerClock) {
        self.clock = clock
        self.configuration = configuration
        decoding = Decoding(configuration.coders, maxDecodes: configuration.maxDecodes ?? Machine.processorCount)
        failures = FailedURLs(
            limit: configuration.failures.maxCount, seconds: configuration.failures.seconds)
    }

    /// The time in seconds since 1970.
    func now() -> Int { clock.seconds() }

    // MARK: Loading

    /// Loads one image.
    ///
    /// - Throws: `.invalidURL`, `.failedBefore`, `.notFound` if only caches were queried, errors of the loader and the
    ///   coder, `.cancelled`.
    public func image(
        _ url: String, _ options: LoadOptions = LoadOptions()
    ) async throws(CoderError) -> LoadResult {
        let request = ImageRequest(url, options)
        // Fast path: an image in memory needs no task.
        if let hit = hitInMemory(request) { return hit }
        return try await load(request).value
    }

    /// Starts loading one image.
    public func load(_ request: ImageRequest) -> ImageTask {
        let request = prepared(request)
        let task = ImageTask(request) { [self] urgency, send in
            await outcome { () async throws(CoderError) in try await run(request, urgency, send) }
        }
        let id = ObjectIdentifier(task)
        running.withLock { $0[id] = task }
        Task { [weak self] in
            _ = try? await task.value
            self?.running.withLock { _ = $0.removeValue(forKey: id) }
        }
        return task
    }

    /// Returns the image in memory; nil if there is none. Never blocks.
    public func cachedImage(_ url: String, _ options: LoadOptions = LoadOptions()) -> LoadedImage? {
        hitInMemory(ImageRequest(url, options))?.image
    }

    /// Returns the cache keys of a request.
    package func cacheKey(_ url: String, _ options: LoadOptions = LoadOptions()) -> CacheKey {
        Recipe(prepared(ImageRequest(url, options)), configuration).key
    }

    func prepared(_ request: ImageRequest) -> ImageRequest {
        guard let processor = configuration.requests.optionsProcessor else { return request }
        return ImageRequest(request.url, processor(request.url, request.options))
    }

    private func hitInMemory(_ request: ImageRequest) -> LoadResult? {
        let request = prepared(request)
        let options = request.options
        guard options.cache.results.reads.contains(.memory), options.cache.freshness != .revalidate,
            !options.cache.returnsDataOfMemoryHits
        else { return nil }
        guard let (image, key) = imageInMemory(request), image.isWelcome(options.kind) else { return nil }
        if options.cache.freshness == .http, image.freshness?.state(at: now()) != .fresh { return nil }
        if options.animation.preloadsFrames, let animation = image.animation, !animation.areAllFramesLoaded {
            return nil
        }
        return LoadResult(
            image: image.withScaleFactor(options.scaleFactor(ofKey: key)), tier: .memory, url: request.url)
    }

    /// Returns the image in memory, and the key of its file.
    private func imageInMemory(_ request: ImageRequest) -> (LoadedImage, String)? {
        let options = request.options
        let cache = options.parts.cache ?? configuration.cache
        if options.transformer(or: configuration.transformer) != nil {
            let recipe = Recipe(request, configuration)
            return cache.image(for: recipe.key.result).map { ($0, recipe.key.original) }
        }
        // Creating a recipe copies all options, which would double the time of this path.
        let key = CacheKey(request, filter: configuration.requests.keyFilter)
        return cache.image(for: key.result).map { ($0, key.original) }
    }

    // MARK: Activity

    /// Whether a load is in progress.
    package var isRunning: Bool {
        running.withLock { !$0.isEmpty }
    }

    /// Cancels all loads of this manager.
    public func cancelAll() {
        for task in running.withLock({ $0.values.map { $0 } }) { task.cancel() }
    }

    /// Waits until all background work is complete: revalidations, and stores on disk.
    public func finishStoring() async {
        await revalidations.finish()
        await stores.finish()
    }

    // MARK: Failed URLs

    /// The number of blocked URLs.
    package var failedCount: Int { failures.count }
    /// Whether a URL is blocked after a failure.
    package func hasFailed(_ url: String) -> Bool { failures.contains(url) }
    /// Unblocks a URL.
    public func forgetFailure(_ url: String) { failures.remove(url) }
    /// Unblocks all URLs.
    public func forgetAllFailures() { failures.removeAll() }
}

/// The time sources of a manager; tests replace them.
struct ManagerClock: Sendable {
    /// Seconds since 1970.
    var seconds: @Sendable () -> Int = { CookieJar.now }
    /// The pace of previews.
    var previews = PreviewClock()
}
