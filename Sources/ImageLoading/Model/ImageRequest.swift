import CoderHost
public import ImageModel

/// A request for an image: URL and options.
///
///     ImageRequest("https://example.org/photo.jpg", size: PixelSize(320, 320), cache: .reload)
public struct ImageRequest: Sendable {
    /// An `http`, `https`, `file` or `data` URL, a path, or a name that a loader of the application supports.
    public var url: String
    /// The options of the request.
    public var options: LoadOptions

    /// Creates a request with options.
    public init(_ url: String, _ options: LoadOptions) {
        self.url = url
        self.options = options
    }

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - size: a box that the image fits into; the coder decodes no more pixels than needed. Nil for full size.
    ///   - cache: the caches to read and write.
    ///   - previews: the previews to decode while bytes arrive.
    public init(
        _ url: String, size: PixelSize? = nil, cache: CachePolicy = .standard, previews: PreviewPolicy = .none
    ) {
        self.url = url
        options = LoadOptions()
        if let size { options.decode.size = .box(size) }
        options.cache = cache
        options.previewPolicy = previews
    }
}

/// The priority of a load; may change while it is in progress.
public enum LoadPriority: Sendable, Hashable, CaseIterable, Comparable {
    /// Work that can wait for all other work.
    case veryLow
    /// Prefetching.
    case low
    /// The default.
    case normal
    /// An image that a person waits for.
    case high
    /// An image that must not wait.
    case veryHigh
}

/// The tiers of a cache.
public struct CacheTiers: OptionSet, Sendable, Hashable {
    /// The bits of the set.
    public let rawValue: UInt8

    /// Creates a set from bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Images in memory.
    public static let memory = CacheTiers(rawValue: 1)
    /// Bytes on disk.
    public static let disk = CacheTiers(rawValue: 2)
    /// All tiers.
    public static let all: CacheTiers = [.memory, .disk]
}
