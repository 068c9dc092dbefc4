import CoderHost
import ImageModel
import ImageProcessing

/// A request with everything in it decided.
struct Recipe: Sendable {
    var url: String
    var options: LoadOptions
    /// In the order in which they are applied.
    var transformers: [any ImageTransformer]
    var cache: any ImageCaching
    var originalCache: any ImageCaching
    var loader: any ImageLoading
    var serializer: CacheSerializer?
    var key: CacheKey

    init(_ request: ImageRequest, _ configuration: ImageManagerConfiguration) {
        url = request.url
        options = request.options
        let transformer = options.transformer(or: configuration.transformer)
        transformers = (transformer as? Pipeline)?.transformers ?? (transformer.map { [$0] } ?? [])
        // What is transformed is seen upright.
        if !transformers.isEmpty { options.decode.appliesOrientation = true }
        cache = options.cache ?? configuration.cache
        originalCache = options.originalCache ?? options.cache ?? configuration.originalCache ?? configuration.cache
        loader = options.loader ?? configuration.loader
        serializer = options.serializer ?? configuration.serializer
        options.transformer = transformers.isEmpty ? .none : .custom(Pipeline(transformers))
        key = CacheKey(ImageRequest(url, options), filter: configuration.keyFilter)
        if options.scaleFactor == nil { options.scaleFactor = scaleFactor(ofKey: key.original) }
    }

    /// Whether the result is the file's own picture, so that the file serves as its entry on disk.
    var isOriginal: Bool { key.result == key.original }

    /// The picture in memory, if it is of the kind that is wanted.
    func hit(in cache: any ImageCaching) -> LoadedImage? {
        guard let image = cache.image(for: key.result), isWelcome(image) else { return nil }
        return image.withScaleFactor(options.scaleFactor ?? 1)
    }

    private func isWelcome(_ image: LoadedImage) -> Bool {
        switch options.kind {
        case .any: true
        case .still: image.still != nil
        case .animated: image.animation != nil
        }
    }

    /// Whether nothing in it is code that could make its bytes others than those of the next request.
    private var isPlain: Bool {
        options.requestModifier == nil && options.responseModifier == nil && options.decryptor == nil
            && options.serializer == nil && options.cache == nil && options.originalCache == nil
            && options.loader == nil && options.credential == nil && options.userInfo.isEmpty
    }

    /// What the same bytes can be shared by; others are never mixed with them.
    var fileKey: WorkKey { WorkKey(key.original, variant: fileVariant, own: isPlain ? nil : Unique()) }

    private var fileVariant: String {
        let headers = options.headers.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        return
            ([
                url, "\(options.storesOriginal.rawValue)\(options.stores.rawValue)\(options.queriesOriginal.rawValue)",
                "\(options.allowsInvalidCertificates)\(options.handlesCookies)\(options.refreshesCached)\(options.origin)",
            ]
            + headers).joined(separator: "\n")
    }

    /// The same for the picture after some of the transformers.
    func pictureKey(after count: Int) -> WorkKey {
        let done = transformers.prefix(count).map(\.key).joined(separator: "-")
        return WorkKey(
            key.decoded, variant: "\(done)\n\(options.isProgressive)\n\(fileVariant)", own: isPlain ? nil : Unique())
    }
}

/// What work is shared by.
struct WorkKey: Hashable, Sendable {
    var text: ExactKey
    var variant: ExactKey
    /// Shared with nobody.
    var own: Unique?

    init(_ text: String, variant: String, own: Unique?) {
        (self.text, self.variant, self.own) = (ExactKey(text), ExactKey(variant), own)
    }
}

/// Equal to itself only.
final class Unique: Hashable, Sendable {
    static func == (a: Unique, b: Unique) -> Bool { a === b }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// Bytes, and where they were found.
struct StageFile: Sendable {
    enum Content: Sendable {
        case source(ImageSource)
        case image(LoadedImage)
        case notModified
    }
    var content: Content
    var tier: CacheTiers = []
    var response: ResponseFacts?
}

/// A picture, and what it was made of.
struct StagePicture: Sendable {
    var image: LoadedImage
    /// Nil where there was none.
    var source: ImageSource?
    var tier: CacheTiers = []
    var response: ResponseFacts?
}

/// What comes out of a stage.
enum StageOutcome: Sendable {
    case picture(StagePicture)
    /// Whoever asked has the picture already.
    case notModified
}
