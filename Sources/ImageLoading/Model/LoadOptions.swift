public import CoderHost
public import ImageModel
public import ImageProcessing

/// How a picture is loaded, what is made of it, and where it is kept.
public struct LoadOptions: Sendable {
    // MARK: What comes out

    /// Size, colours, orientation, hints; what of it changes pixels is part of the cache key.
    public var decode = DecodeOptions()
    /// Pixels that make one point where it is shown; nil takes it from the key (`name@2x.png`), or else 1.
    public var scaleFactor: Double?
    /// What is made of the decoded picture.
    public var transformer = Choice<any ImageTransformer>.standard
    /// Whether every frame of an animation is transformed, too; without it animations stay as they are.
    public var transformsAnimations = false
    /// Whether stills, animations or both are welcome.
    public var kind = ImageKind.any
    /// Whether all frames of an animation are decoded before it is handed over.
    public var preloadsAllFrames = false
    /// The only coder that is asked.
    public var coder: String?

    // MARK: Where it comes from

    public var priority = LoadPriority.normal
    /// Other URLs of the same picture, tried in this order when the first has failed.
    public var alternatives: [String] = []
    /// Whether caches are asked, the loader, or both.
    public var origin = LoadOrigin.any
    /// Whether an URL that failed before is tried again.
    public var retriesFailed = false
    /// Whether the server is asked again although the picture is cached; an unchanged one costs no transfer (304).
    public var refreshesCached = false
    /// Whether parts are decoded while the rest arrives.
    public var isProgressive = false
    /// The share of a transfer, 0…1, that has to arrive between two looks at it.
    public var minimumProgressInterval = 0.0
    /// The tiers that are asked for the result, in the order memory, disk.
    public var queries = CacheTiers.all
    /// The tiers that are asked for what the result is made of: the file on disk, and, for a transformed picture, the one
    /// before its transformers in memory.
    public var queriesOriginal = CacheTiers.disk
    /// Whether the file's bytes are handed over although the picture was in memory.
    public var queriesDataOfMemoryHits = false

    // MARK: Where it goes

    public var stores = CacheTiers.all
    /// The same for what the result is made of; see ``queriesOriginal``.
    public var storesOriginal = CacheTiers.disk
    /// Whether the result is handed over only after it was stored.
    public var waitsForStore = false
    /// How results are encoded for the disk.
    public var encode = EncodeOptions()
    /// The format of results on disk; nil keeps the file's where it can be written, PNG with alpha, JPEG without.
    public var storeFormat: ImageFormat?

    // MARK: Parts that differ from the manager's

    public var cache: (any ImageCaching)?
    public var originalCache: (any ImageCaching)?
    public var loader: (any ImageLoading)?
    public var keyFilter: CacheKeyFilter?
    public var serializer: CacheSerializer?
    /// Fields that are sent, on top of the downloader's.
    public var headers: [String: String] = [:]
    /// Changes the request; where that changes what is answered, ``keyFilter`` has to tell the pictures apart.
    public var requestModifier: RequestModifier?
    public var responseModifier: ResponseModifier?
    public var decryptor: Decryptor?
    public var credential: Credential?
    public var allowsInvalidCertificates = false
    /// Whether cookies of a response are sent with later requests.
    public var handlesCookies = false
    /// What the application wants to find again in modifiers and loaders of its own.
    public var userInfo: [String: String] = [:]

    public init() {}
}

/// The manager's own, none, or another one.
public enum Choice<Value: Sendable>: Sendable {
    case standard
    case none
    case custom(Value)
}

/// What kind of picture is wanted.
public enum ImageKind: Sendable, Hashable {
    case any
    /// An animation comes as its first frame.
    case still
    /// A still comes as an animation of one frame.
    case animated
}

/// Whom a manager asks.
public enum LoadOrigin: Sendable, Hashable {
    case any
    case cacheOnly
    case loaderOnly
}

/// Turns an URL into the key that its picture is cached under.
public typealias CacheKeyFilter = @Sendable (_ url: String) -> String
/// Makes the bytes that go to the disk, and nothing else goes there; nil stores nothing.
public typealias CacheSerializer =
    @Sendable (_ image: LoadedImage, _ data: [UInt8]?, _ url: String) throws(CoderError) -> [UInt8]?
/// Rewrites options before anything else is done.
public typealias OptionsProcessor = @Sendable (_ url: String, _ options: LoadOptions) -> LoadOptions
