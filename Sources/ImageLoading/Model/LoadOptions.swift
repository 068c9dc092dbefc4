public import CoderHost
public import ImageModel
public import ImageProcessing

/// Options for loading, decoding, transforming and storing an image.
public struct LoadOptions: Sendable {
    /// The initial priority.
    public var priority = LoadPriority.normal
    /// Size, colors, orientation, hints; options that change pixels are part of the cache key.
    public var decode = DecodeOptions()
    /// The wanted kind: stills, animations or both.
    public var kind = ImageKind.any
    /// Pixels per point of display; nil takes the factor from the key (`name@2x.png`), or 1.
    public var scaleFactor: Double?
    /// The transformer of the decoded image.
    public var transformer = Choice<any ImageTransformer>.standard
    /// The treatment of the frames of animations.
    public var animation = AnimationOptions()
    /// The previews to decode while bytes arrive.
    public var previewPolicy = PreviewPolicy.none
    /// The caches to read and write, and the age at which the server is asked again.
    public var cache = CachePolicy()
    /// The request to the server.
    public var request = RequestOptions()
    /// Replacements for parts of the manager.
    public var parts = PartOptions()

    /// Creates the default options.
    public init() {}

    /// Returns options for an image that fits into a box.
    public static func thumbnail(_ box: PixelSize, _ fit: Fit = .inside) -> LoadOptions {
        var options = LoadOptions()
        options.decode = .thumbnail(box, fit)
        return options
    }
}

/// The treatment of the frames of animations.
public struct AnimationOptions: Sendable, Hashable {
    /// Whether to transform every frame; otherwise animations stay unchanged.
    public var transformsFrames = false
    /// Whether to decode all frames before the animation is returned.
    public var preloadsFrames = false
}

/// The request to a server.
public struct RequestOptions: Sendable {
    /// Additional header fields; they replace the downloader's.
    public var headers: [String: String] = [:]
    /// The credential for servers that answer 401.
    public var credential: Credential?
    /// Changes the request; if this changes the response, ``PartOptions/keyFilter`` must make distinct keys.
    public var modifier: RequestModifier?
    /// Changes or refuses the response.
    public var responseModifier: ResponseModifier?
    /// Decrypts the downloaded bytes.
    public var decryptor: Decryptor?
    /// Whether to accept TLS certificates that cannot be verified.
    public var allowsInvalidCertificates = false
    /// Whether to store cookies and send them with later requests.
    public var handlesCookies = false
    /// Alternative URLs of the same image; each is tried after the previous one has failed.
    public var alternatives: [String] = []
    /// Whether to retry a URL that is blocked after a failure.
    public var retriesFailed = false
    /// The share of a download, 0…1, that must arrive between two progress events or previews.
    public var minimumProgressInterval = 0.0
}

/// Parts that replace those of the manager; nil keeps the manager's.
public struct PartOptions: Sendable {
    /// The id of the only coder to use; nil for any.
    public var coder: String?
    /// The cache of results.
    public var cache: (any ImageCaching)?
    /// The cache of original files.
    public var originalCache: (any ImageCaching)?
    /// The loader.
    public var loader: (any ImageLoading)?
    /// The key filter.
    public var keyFilter: CacheKeyFilter?
    /// The serializer.
    public var serializer: CacheSerializer?
    /// Data of the application for its own modifiers and loaders.
    public var userInfo: [String: String] = [:]
}

/// A choice between the manager's value, none, and a custom value.
public enum Choice<Value: Sendable>: Sendable {
    /// The manager's value.
    case standard
    /// No value.
    case none
    /// A value for this request.
    case custom(Value)
}

/// The wanted kind of an image.
public enum ImageKind: Sendable, Hashable {
    /// A still or an animation, as in the file.
    case any
    /// A still; an animation is reduced to its first frame.
    case still
    /// An animation; a still becomes an animation of one frame.
    case animated
}

/// Turns a URL into the cache key of its file.
public typealias CacheKeyFilter = @Sendable (_ url: String) -> String
/// Creates the bytes to store on disk; nil stores nothing.
public typealias CacheSerializer =
    @Sendable (_ image: LoadedImage, _ data: [UInt8]?, _ url: String) throws(CoderError) -> [UInt8]?
/// Changes the options of a request before it is processed.
public typealias OptionsProcessor = @Sendable (_ url: String, _ options: LoadOptions) -> LoadOptions
