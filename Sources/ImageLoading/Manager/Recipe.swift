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
    /// Set where the request shares its work with nobody.
    private let own: Unique?

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
        let filter = options.keyFilter ?? configuration.keyFilter
        key = CacheKey(
            original: filter?(url) ?? options.fileKey(url), options,
            transformer: transformers.isEmpty ? nil : Pipeline(transformers))
        options.scaleFactor = options.scaleFactor(ofKey: key.original)
        own = Self.isPlain(options) ? nil : Unique()
    }

    /// Whether a server is asked although there is something in a cache.
    var asksAgain: Bool { options.refreshesCached && options.origin == .any }

    /// The same for the caches alone.
    var offline: Recipe {
        var recipe = self
        recipe.options.origin = .cacheOnly
        recipe.options.refreshesCached = false
        return recipe
    }

    // MARK: Caches

    /// The picture in memory, if it is of the kind that is wanted.
    func hit() -> LoadedImage? {
        guard let image = cache.image(for: key.result), image.isWelcome(options.kind) else { return nil }
        return image
    }

    /// Where the bytes of the result are: those of an unchanged file are the file's.
    var resultCache: any ImageCaching { key.isOriginal ? originalCache : cache }

    /// Whether the file is looked for on disk.
    var readsDisk: Bool {
        let tiers = key.isOriginal ? options.queries.union(options.queriesOriginal) : options.queriesOriginal
        return options.origin != .loaderOnly && tiers.contains(.disk)
    }

    /// Whether the file is kept on disk; with a serializer nothing goes there that it has not made.
    var keepsFile: Bool {
        let tiers = key.isOriginal ? options.stores.union(options.storesOriginal) : options.storesOriginal
        return serializer == nil && tiers.contains(.disk)
    }

    // MARK: What work is shared by

    /// Whether nothing in it is code that could make its bytes others than those of the next request.
    var isPlain: Bool { own == nil }

    private static func isPlain(_ options: LoadOptions) -> Bool {
        options.requestModifier == nil && options.responseModifier == nil && options.decryptor == nil
            && options.serializer == nil && options.cache == nil && options.originalCache == nil
            && options.loader == nil && options.credential == nil && options.userInfo.isEmpty
    }

    private func workKey(_ text: String, _ variant: String) -> WorkKey {
        WorkKey(text, variant: variant, own: own)
    }

    /// Of what is decoded.
    var decodedKey: ExactKey { ExactKey(key.decoded) }

    /// Of the file.
    var fileKey: WorkKey { workKey(key.original, fileVariant) }
    /// Of a file that a loader makes for these options alone.
    var ownFileKey: WorkKey { workKey(key.original, "\(fileVariant)\n\(key.decoded)") }

    private var fileVariant: String {
        let headers = options.headers.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        return
            ([
                url, "\(readsDisk)\(keepsFile)\(options.retriesFailed)",
                "\(options.allowsInvalidCertificates)\(options.handlesCookies)\(options.refreshesCached)\(options.origin)",
            ] + options.alternatives + headers).joined(separator: "\n")
    }

    /// Of the picture after some of the transformers.
    func pictureKey(after count: Int) -> WorkKey {
        let done = transformers.prefix(count).map(\.key).joined(separator: "-")
        return workKey(key.decoded, "\(done)\n\(pictureVariant)")
    }

    private var pictureVariant: String {
        """
        \(options.isProgressive)\(options.minimumProgressInterval)\(options.transformsAnimations)\
        \(options.queriesOriginal.rawValue) \(options.storesOriginal.rawValue)
        \(fileVariant)
        """
    }

    /// Of the result, and where it is kept.
    var resultKey: WorkKey {
        let format = options.storeFormat.map { "\($0)" } ?? ""
        let manner = options.encode == EncodeOptions() ? format : "\(format) \(options.encode)"
        return workKey(
            key.result, "\(options.queries.rawValue) \(options.stores.rawValue) \(manner)\n\(pictureVariant)")
    }

    /// Of the entry on disk.
    var storeKey: WorkKey {
        let isElsewhere = options.cache != nil || options.originalCache != nil
        return WorkKey(key.result, variant: "", own: isElsewhere ? own : nil)
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
        /// What a loader made, and for which options.
        case image(LoadedImage, madeFor: ExactKey)
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
    /// Whether a transformer failed.
    var isIncomplete = false
}
