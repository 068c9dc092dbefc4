public import CoderHost
public import ImageModel
public import ImageProcessing

/// What a manager works with.
public struct ImageManagerConfiguration: Sendable {
    public var coders: CodersManager
    public var cache: any ImageCaching
    /// Where files are kept whose results are kept elsewhere; nil = ``cache``.
    public var originalCache: (any ImageCaching)?
    public var loader: any ImageLoading
    public var transformer: (any ImageTransformer)?
    public var keyFilter: CacheKeyFilter?
    public var serializer: CacheSerializer?
    public var optionsProcessor: OptionsProcessor?
    /// Whether an URL may be loaded that no cache has.
    public var shouldLoad: @Sendable (_ url: String) -> Bool = { _ in true }
    /// Whether an URL is left alone for a while after a failure; nil asks the loader.
    public var shouldBlock: (@Sendable (_ url: String, _ error: CoderError) -> Bool)?
    /// For how long an URL that failed is left alone, in seconds.
    public var failureSeconds = 600
    /// URLs that are remembered as failed at most; the oldest are forgotten first.
    public var maxFailures = 10_000
    /// What an animation is stored as whose own format cannot be written.
    public var animationFormat: ImageFormat = "gif"
    /// Pictures that are decoded at the same time; nil = as many as there are processors.
    public var maxDecodes: Int?

    public init(coders: CodersManager, cache: any ImageCaching, loader: any ImageLoading) {
        self.coders = coders
        self.cache = cache
        self.loader = loader
    }
}
