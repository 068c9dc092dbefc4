public import CoderHost
public import ImageModel

/// Loads images with the standard parts: installed plugins, memory cache, disk cache and downloader.
///
///     let pipeline = try ImagePipeline()
///     let photo = try await pipeline.image(for: "https://example.org/photo.jpg")
///     let small = try await pipeline.image(for: ImageRequest("cat.heic", size: PixelSize(320, 320)))
///
/// For other parts, create an ``ImageManager`` and pass it to ``init(manager:)``.
/// - Concurrency: any thread.
public final class ImagePipeline: Sendable {
    /// The manager that does the work; it has the full set of options, events and caches.
    public let manager: ImageManager

    /// Creates a pipeline over a manager with parts of the application.
    public init(manager: ImageManager) { self.manager = manager }

    /// Creates a pipeline with the standard parts.
    ///
    /// - Parameters:
    ///   - host: the host whose plugins decode.
    ///   - cache: the folder name of the disk cache below the user's cache folder.
    /// - Throws: errors of the downloader's set-up, for example if the system has no certificates.
    public convenience init(host: CoderHost = CoderHost(), cache: String = "default") throws(CoderError) {
        let coders = host.manager
        let loader = LoadersManager(try Downloader())
        self.init(
            manager: ImageManager(
                ImageManagerConfiguration(coders: coders, cache: ImageCache(cache, coders: coders), loader: loader)))
    }

    /// Returns the image at a URL or path, from the caches if possible.
    ///
    /// - Throws: errors of the loader and the coder, `.cancelled`.
    public func image(for url: String) async throws(CoderError) -> LoadedImage {
        try await image(for: ImageRequest(url))
    }

    /// Returns the image of a request, from the caches if possible.
    ///
    /// - Throws: errors of the loader and the coder, `.cancelled`.
    public func image(for request: ImageRequest) async throws(CoderError) -> LoadedImage {
        try await manager.image(request.url, request.options).image
    }

    /// Starts to load an image; the task reports progress and previews, and can be canceled.
    public func load(_ request: ImageRequest) -> ImageTask { manager.load(request) }

    /// The cache of the manager.
    public var cache: any ImageCaching { manager.configuration.cache }

    /// Removes an image and its file from all caches.
    public func removeCachedImage(for request: ImageRequest) async {
        let key = manager.cacheKey(request.url, request.options)
        let configuration = manager.configuration
        let caches = [configuration.cache] + (configuration.originalCache.map { [$0] } ?? [])
        for cache in caches {
            for text in Set([key.original, key.decoded, key.result]) { await cache.remove(text, from: .all) }
        }
    }
}
