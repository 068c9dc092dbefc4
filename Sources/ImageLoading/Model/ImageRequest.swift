/// A picture that is wanted, and how.
public struct ImageRequest: Sendable {
    /// Where it comes from: an `http`, `https`, `file` or `data` URL, or a name that a loader of the application knows.
    public var url: String
    public var options: LoadOptions

    public init(_ url: String, _ options: LoadOptions = LoadOptions()) {
        self.url = url
        self.options = options
    }
}

/// How urgent a picture is; may change while it is loaded.
public enum LoadPriority: Int, Sendable, Hashable, CaseIterable, Comparable {
    case veryLow, low, normal, high, veryHigh

    public static func < (a: LoadPriority, b: LoadPriority) -> Bool { a.rawValue < b.rawValue }
}

/// Where a picture may be kept.
public struct CacheTiers: OptionSet, Sendable, Hashable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let memory = CacheTiers(rawValue: 1)
    public static let disk = CacheTiers(rawValue: 2)
    public static let all: CacheTiers = [.memory, .disk]
}
