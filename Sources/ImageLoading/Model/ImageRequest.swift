/// A request for an image: URL and options.
public struct ImageRequest: Sendable {
    /// An `http`, `https`, `file` or `data` URL, a path, or a name that a loader of the application supports.
    public var url: String
    /// The options of the request.
    public var options: LoadOptions

    /// Creates a request.
    public init(_ url: String, _ options: LoadOptions = LoadOptions()) {
        self.url = url
        self.options = options
    }
}

/// The priority of a load; may change while it is in progress.
public enum LoadPriority: Int, Sendable, Hashable, CaseIterable, Comparable {
    case veryLow, low, normal, high, veryHigh

    /// Compares by urgency.
    public static func < (a: LoadPriority, b: LoadPriority) -> Bool { a.rawValue < b.rawValue }
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
