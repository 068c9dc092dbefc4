public import CoderHost
package import ImageModel
public import ImageProcessing

/// The configuration of an ``ImageManager``.
public struct ImageManagerConfiguration: Sendable {
    /// Rules for all requests.
    public struct Requests: Sendable {
        /// Changes the options of every request.
        public var optionsProcessor: OptionsProcessor?
        /// Turns URLs into cache keys; nil uses the URL.
        public var keyFilter: CacheKeyFilter?
        /// Whether a URL that is not cached may be loaded.
        public var shouldLoad: @Sendable (_ url: String) -> Bool = { _ in true }
    }

    /// Encoding of results for the disk.
    public struct Storing: Sendable {
        /// Encodes results; nil for the standard encoding.
        public var serializer: CacheSerializer?
        /// The format for animations whose own format cannot be written; nil for the best installed one.
        package var animationFormat: ImageFormat?
    }

    /// Treatment of URLs that failed.
    package struct Failures: Sendable {
        /// Whether a URL is blocked for a while after a failure; nil asks the loader.
        package var shouldBlock: (@Sendable (_ url: String, _ error: CoderError) -> Bool)?
        /// The time in seconds for which a failed URL is blocked.
        package var seconds = 600
        /// The maximum number of blocked URLs; the oldest are unblocked first.
        package var maxCount = 10_000
    }

    /// The coders that decode and encode.
    public var coders: CodersManager
    /// The cache of results.
    public var cache: any ImageCaching
    /// The cache of original files; nil for ``cache``.
    public var originalCache: (any ImageCaching)?
    /// The loader of files.
    public var loader: any ImageLoading
    /// The default transformer; nil for none.
    public var transformer: (any ImageTransformer)?
    /// Rules for all requests.
    public var requests = Requests()
    /// Encoding of results for the disk.
    public var storing = Storing()
    /// Treatment of URLs that failed.
    package var failures = Failures()
    /// The number of concurrent decodes; nil for the number of processors.
    package var maxDecodes: Int?

    /// Creates a configuration.
    public init(coders: CodersManager, cache: any ImageCaching, loader: any ImageLoading) {
        self.coders = coders
        self.cache = cache
        self.loader = loader
    }
}
