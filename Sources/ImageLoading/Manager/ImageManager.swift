import CoderHost
public import ImageModel
import ImageProcessing
import Synchronization

/// Gets pictures: from memory, from disk, or from wherever a loader finds them.
///
///     let manager = ImageManager(configuration)
///     let photo = try await manager.image("https://example.org/photo.jpg", .thumbnail(PixelSize(320, 320)))
///
/// What several callers want at the same time is done once, stage by stage: one transfer for an URL, one decode for every
/// set of options, one run of every transformer.
/// - Concurrency: any thread.
public final class ImageManager: Sendable {
    public let configuration: ImageManagerConfiguration
    let decoding: Decoding
    let failures: FailedURLs
    /// Files that are being got, pictures that are being decoded or transformed, and results on their way into a cache.
    let files = SharedWork<WorkKey, LoadProgress, StageFile>()
    let pictures = SharedWork<WorkKey, LoadEvent, StagePicture>()
    let results = SharedWork<WorkKey, LoadEvent, StagePicture>()
    private let running = Mutex<[ObjectIdentifier: ImageTask]>([:])
    /// Stores that nobody waits for.
    let stores = Background()

    public init(_ configuration: ImageManagerConfiguration) {
        self.configuration = configuration
        decoding = Decoding(configuration.coders, maxDecodes: configuration.maxDecodes ?? processorCount)
        failures = FailedURLs(limit: configuration.maxFailures, seconds: configuration.failureSeconds)
    }

    // MARK: Loading

    /// Gets one picture.
    ///
    /// - Throws: `.invalidURL`, `.failedBefore`, `.notFound` where only caches were asked, what the loader and the coder
    ///   say, `.cancelled`.
    public func image(
        _ url: String, _ options: LoadOptions = LoadOptions()
    ) async throws(CoderError) -> LoadResult {
        let request = ImageRequest(url, options)
        // A picture in memory needs no task.
        if let hit = hitInMemory(request) { return hit }
        return try await load(request).value
    }

    /// Begins to get one picture.
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

    /// Gets one picture and hands it over where the caller wants it.
    ///
    /// - Parameter deliver: runs the completion: on a queue, on an actor, or right where the load ended.
    @discardableResult
    public func load(
        _ request: ImageRequest, deliver: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void = { $0() },
        completion: @escaping @Sendable (Result<LoadResult, CoderError>) -> Void
    ) -> ImageTask {
        let task = load(request)
        Task {
            let result = await outcome { () async throws(CoderError) in try await task.value }
            deliver { completion(result) }
        }
        return task
    }

    /// The picture in memory, if it is there; waits for nothing.
    public func cachedImage(_ url: String, _ options: LoadOptions = LoadOptions()) -> LoadedImage? {
        hitInMemory(ImageRequest(url, options))?.image
    }

    /// The key that a picture is cached under.
    public func cacheKey(_ url: String, _ options: LoadOptions = LoadOptions()) -> CacheKey {
        Recipe(prepared(ImageRequest(url, options)), configuration).key
    }

    func prepared(_ request: ImageRequest) -> ImageRequest {
        guard let processor = configuration.optionsProcessor else { return request }
        return ImageRequest(request.url, processor(request.url, request.options))
    }

    private func hitInMemory(_ request: ImageRequest) -> LoadResult? {
        let request = prepared(request)
        let options = request.options
        guard options.origin != .loaderOnly, options.queries.contains(.memory), !options.refreshesCached,
            !options.queriesDataOfMemoryHits
        else { return nil }
        guard let (image, key) = pictureInMemory(request), image.isWelcome(options.kind) else { return nil }
        if options.preloadsAllFrames, let animation = image.animation, !animation.areAllFramesLoaded { return nil }
        return LoadResult(
            image: image.withScaleFactor(options.scaleFactor(ofKey: key)), tier: .memory, url: request.url)
    }

    /// The picture, and the key of its file.
    private func pictureInMemory(_ request: ImageRequest) -> (LoadedImage, String)? {
        let options = request.options
        let cache = options.cache ?? configuration.cache
        if options.transformer(or: configuration.transformer) != nil {
            let recipe = Recipe(request, configuration)
            return cache.image(for: recipe.key.result).map { ($0, recipe.key.original) }
        }
        // A recipe would copy all of the options, which takes as long as the rest.
        let key = CacheKey(request, filter: configuration.keyFilter)
        return cache.image(for: key.result).map { ($0, key.original) }
    }

    // MARK: What is going on

    public var isRunning: Bool { running.withLock { !$0.isEmpty } }

    /// Cancels every load that this manager began.
    public func cancelAll() {
        for task in running.withLock({ $0.values.map { $0 } }) { task.cancel() }
    }

    /// Waits until everything is stored that was begun to be stored.
    public func finishStoring() async { await stores.finish() }

    // MARK: URLs that failed

    public var failedCount: Int { failures.count }
    public func hasFailed(_ url: String) -> Bool { failures.contains(url) }
    public func forgetFailure(_ url: String) { failures.remove(url) }
    public func forgetAllFailures() { failures.removeAll() }
}
