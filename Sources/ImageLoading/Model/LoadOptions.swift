public import CoderHost
public import ImageModel
public import ImageProcessing

/// Options for loading, decoding, transforming and storing an image.
public struct LoadOptions: Sendable {
    // MARK: Result

    /// Size, colors, orientation, hints; options that change pixels are part of the cache key.
    public var decode = DecodeOptions()
    /// Pixels per point of display; nil takes the factor from the key (`name@2x.png`), or 1.
    public var scaleFactor: Double?
    /// The transformer of the decoded image.
    public var transformer = Choice<any ImageTransformer>.standard
    /// Whether to transform every frame of an animation; otherwise animations stay unchanged.
    public var transformsAnimations = false
    /// The wanted kind: stills, animations or both.
    public var kind = ImageKind.any
    /// Whether to decode all frames of an animation before it is returned.
    public var preloadsAllFrames = false
    /// The id of the only coder to use; nil for any.
    public var coder: String?

    // MARK: Source

    /// The initial priority.
    public var priority = LoadPriority.normal
    /// Alternative URLs of the same image; each is tried after the previous one has failed.
    public var alternatives: [String] = []
    /// Whether to use caches, the loader, or both.
    public var origin = LoadOrigin.any
    /// Whether to retry a URL that is blocked after a failure.
    public var retriesFailed = false
    /// Whether to revalidate a cached image with the server; an unchanged one is not downloaded again (304).
    public var refreshesCached = false
    /// Whether to decode previews while bytes arrive.
    public var isProgressive = false
    /// The share of a download, 0…1, that must arrive between two progress events or previews.
    public var minimumProgressInterval = 0.0
    /// The tiers to query for the result, in the order memory, disk.
    public var queries = CacheTiers.all
    /// The tiers to query for the originals: the file on disk, and the untransformed image in memory.
    public var queriesOriginal = CacheTiers.disk
    /// Whether to return the file's bytes with a memory hit.
    public var queriesDataOfMemoryHits = false

    // MARK: Storing

    /// The tiers that store the result.
    public var stores = CacheTiers.all
    /// The tiers that store the originals; see ``queriesOriginal``.
    public var storesOriginal = CacheTiers.disk
    /// Whether to return the result only after it was stored.
    public var waitsForStore = false
    /// Options for encoding results for the disk.
    public var encode = EncodeOptions()
    /// The format of results on disk; nil for the file's format if it can be written, else PNG with alpha or JPEG
    /// without.
    public var storeFormat: ImageFormat?

    // MARK: Replacements for parts of the manager

    /// The cache of results; nil for the manager's.
    public var cache: (any ImageCaching)?
    /// The cache of original files; nil for the manager's.
    public var originalCache: (any ImageCaching)?
    /// The loader; nil for the manager's.
    public var loader: (any ImageLoading)?
    /// The key filter; nil for the manager's.
    public var keyFilter: CacheKeyFilter?
    /// The serializer; nil for the manager's.
    public var serializer: CacheSerializer?
    /// Additional header fields; they replace the downloader's.
    public var headers: [String: String] = [:]
    /// Changes the request; if this changes the response, ``keyFilter`` must make distinct keys.
    public var requestModifier: RequestModifier?
    /// Changes or refuses the response.
    public var responseModifier: ResponseModifier?
    /// Decrypts the downloaded bytes.
    public var decryptor: Decryptor?
    /// The credential for servers that answer 401.
    public var credential: Credential?
    /// Whether to accept TLS certificates that cannot be verified.
    public var allowsInvalidCertificates = false
    /// Whether to store cookies and send them with later requests.
    public var handlesCookies = false
    /// Data of the application for its own modifiers and loaders.
    public var userInfo: [String: String] = [:]

    /// Creates the default options.
    public init() {}
}

/// A choice between the manager's value, none, and a custom value.
public enum Choice<Value: Sendable>: Sendable {
    case standard
    case none
    case custom(Value)
}

/// The wanted kind of an image.
public enum ImageKind: Sendable, Hashable {
    case any
    /// A still; an animation is reduced to its first frame.
    case still
    /// An animation; a still becomes an animation of one frame.
    case animated
}

/// The sources that a manager uses.
public enum LoadOrigin: Sendable, Hashable {
    case any
    case cacheOnly
    case loaderOnly
}

/// Turns a URL into the cache key of its file.
public typealias CacheKeyFilter = @Sendable (_ url: String) -> String
/// Creates the bytes to store on disk; nil stores nothing.
public typealias CacheSerializer =
    @Sendable (_ image: LoadedImage, _ data: [UInt8]?, _ url: String) throws(CoderError) -> [UInt8]?
/// Changes the options of a request before it is processed.
public typealias OptionsProcessor = @Sendable (_ url: String, _ options: LoadOptions) -> LoadOptions
