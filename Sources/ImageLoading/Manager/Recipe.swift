import CoderHost
import ImageModel
import ImageProcessing

/// A request with all defaults of the manager resolved.
struct Recipe: Sendable {
    var url: String
    var options: LoadOptions
    /// The transformers in the order of their application.
    var transformers: [any ImageTransformer]
    var cache: any ImageCaching
    var originalCache: any ImageCaching
    var loader: any ImageLoading
    var serializer: CacheSerializer?
    var key: CacheKey
    /// When to ask the server for a cached image; ``CachePolicy/Freshness/ignored`` if it must not be asked.
    var freshness: CachePolicy.Freshness
    /// Set if the request must not share work with other requests.
    private let own: IdentityToken?

    init(_ request: ImageRequest, _ configuration: ImageManagerConfiguration) {
        url = request.url
        options = request.options
        let transformer = options.transformer(or: configuration.transformer)
        transformers = (transformer as? Pipeline)?.transformers ?? (transformer.map { [$0] } ?? [])
        // Transformers expect an upright image.
        if !transformers.isEmpty { options.decode.appliesOrientation = true }
        cache = options.parts.cache ?? configuration.cache
        originalCache =
            options.parts.originalCache ?? options.parts.cache ?? configuration.originalCache ?? configuration.cache
        loader = options.parts.loader ?? configuration.loader
        serializer = options.parts.serializer ?? configuration.storing.serializer
        freshness = options.cache.freshness
        if freshness != .ignored, !options.cache.usesLoader || !configuration.requests.shouldLoad(url) {
            freshness = .ignored
        }
        let filter = options.parts.keyFilter ?? configuration.requests.keyFilter
        key = CacheKey(
            original: filter?(url) ?? options.fileKey(url), options,
            transformer: transformers.isEmpty ? nil : Pipeline(transformers))
        options.scaleFactor = options.scaleFactor(ofKey: key.original)
        own = Self.isPlain(options) ? nil : IdentityToken()
    }

    /// The same recipe, restricted to the caches.
    var offline: Recipe {
        var recipe = self
        recipe.options.cache.usesLoader = false
        recipe.freshness = .ignored
        return recipe
    }

    /// The same recipe, asking the server in any case.
    var revalidating: Recipe {
        var recipe = self
        recipe.freshness = .revalidate
        return recipe
    }

    /// Whether a confirmed file is stored again with its new lifetime.
    var storesLifetime: Bool { options.cache.freshness == .http && keepsFile }

    // MARK: Caches

    /// Returns the image in memory if it is of the wanted kind.
    func hit() -> LoadedImage? {
        guard let image = cache.image(for: key.result), image.isWelcome(options.kind) else { return nil }
        return image
    }

    /// The cache of the result's bytes; an unchanged file is stored in the cache of originals.
    var resultCache: any ImageCaching { key.isOriginal ? originalCache : cache }

    /// Whether to look for the file on disk.
    var readsDisk: Bool {
        let (results, originals) = (options.cache.results.reads, options.cache.originals.reads)
        return originals.contains(.disk) || key.isOriginal && results.contains(.disk)
    }

    /// Whether to store the file on disk; with a serializer, only its output is stored.
    var keepsFile: Bool {
        let (results, originals) = (options.cache.results.writes, options.cache.originals.writes)
        return serializer == nil && (originals.contains(.disk) || key.isOriginal && results.contains(.disk))
    }

    // MARK: Keys of shared work

    /// Whether no option can make its bytes differ from those of an equal request.
    var isPlain: Bool { own == nil }

    private static func isPlain(_ options: LoadOptions) -> Bool {
        let (request, parts) = (options.request, options.parts)
        return request.modifier == nil && request.responseModifier == nil && request.decryptor == nil
            && request.credential == nil && parts.serializer == nil && parts.cache == nil
            && parts.originalCache == nil && parts.loader == nil && parts.userInfo.isEmpty
    }

    private func workKey(_ text: String, _ variant: String) -> WorkKey {
        WorkKey(text, variant: variant, own: own)
    }

    /// Key of the decoded image.
    var decodedKey: ExactKey { ExactKey(key.decoded) }

    /// Key of the file.
    var fileKey: WorkKey { workKey(key.original, fileVariant) }
    /// Key of a file that a loader makes for these options only.
    var ownFileKey: WorkKey { workKey(key.original, "\(fileVariant)\n\(key.decoded)") }

    private var fileVariant: String {
        let request = options.request
        let headers = request.headers.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        return
            ([
                url, "\(readsDisk)\(keepsFile)\(request.retriesFailed)\(storesLifetime)",
                "\(request.allowsInvalidCertificates)\(request.handlesCookies)\(freshness)\(options.cache.usesLoader)",
            ] + request.alternatives + headers).joined(separator: "\n")
    }

    /// Key of the image after some of the transformers.
    func imageKey(after count: Int) -> WorkKey {
        let done = transformers.prefix(count).map(\.key).joined(separator: "-")
        return workKey(key.decoded, "\(done)\n\(imageVariant)")
    }

    private var imageVariant: String {
        """
        \(options.previewPolicy)\(options.request.minimumProgressInterval)\(options.animation.transformsFrames)\
        \(options.cache.originals.reads.rawValue) \(options.cache.originals.writes.rawValue)
        \(fileVariant)
        """
    }

    /// Key of the result, including where and how it is stored.
    var resultKey: WorkKey {
        let format = options.cache.format.map { "\($0)" } ?? ""
        let manner = options.cache.encode == EncodeOptions() ? format : "\(format) \(options.cache.encode)"
        let results = options.cache.results
        return workKey(
            key.result, "\(results.reads.rawValue) \(results.writes.rawValue) \(manner)\n\(imageVariant)")
    }

    /// Key of the entry on disk.
    var storeKey: WorkKey {
        let isElsewhere = options.parts.cache != nil || options.parts.originalCache != nil
        return WorkKey(key.result, variant: "", own: isElsewhere ? own : nil)
    }
}

/// Identifies work that equal requests share.
struct WorkKey: Hashable, Sendable {
    var text: ExactKey
    var variant: ExactKey
    /// If set, the work is not shared.
    var own: IdentityToken?

    init(_ text: String, variant: String, own: IdentityToken?) {
        (self.text, self.variant, self.own) = (ExactKey(text), ExactKey(variant), own)
    }
}

/// A value that equals only itself.
final class IdentityToken: Hashable, Sendable {
    static func == (a: IdentityToken, b: IdentityToken) -> Bool { a === b }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// The file of a request and its origin.
struct StageFile: Sendable {
    enum Content: Sendable {
        case source(ImageSource)
        /// An image that a loader made, and the key of its options.
        case image(LoadedImage, madeFor: ExactKey)
    }
    var content: Content
    var tier: CacheTiers = []
    var response: ResponseFacts?
    /// The lifetime that the server declared; nil if it declared none.
    var freshness: HTTPFreshness?
}

/// The image of a request and its origin.
struct StageImage: Sendable {
    var image: LoadedImage
    /// The file; nil if there is none.
    var source: ImageSource?
    var tier: CacheTiers = []
    var response: ResponseFacts?
    /// Whether a transformer failed.
    var isIncomplete = false
}
