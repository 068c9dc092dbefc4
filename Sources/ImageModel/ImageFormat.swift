/// The identity of a format: a short string such as `png`, never a number.
public struct ImageFormat: Sendable, Hashable, CustomStringConvertible, ExpressibleByStringLiteral {
    public let id: String

    public init(_ id: String) { self.id = id }
    public init(stringLiteral id: String) { self.id = id }

    public var description: String { id }
}

/// What a coder can do.
public struct CoderRoles: OptionSet, Sendable, Hashable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    public static let decode = CoderRoles(rawValue: 1 << 0)
    public static let encode = CoderRoles(rawValue: 1 << 1)
    /// Decodes more than one frame.
    public static let animation = CoderRoles(rawValue: 1 << 2)
    /// Encodes more than one frame.
    public static let encodeAnimation = CoderRoles(rawValue: 1 << 3)
    /// Hands out parts of a picture while the source grows.
    public static let incremental = CoderRoles(rawValue: 1 << 4)
    /// Decodes at other sizes than the full one by itself.
    public static let scale = CoderRoles(rawValue: 1 << 5)
    /// Decodes a part of a frame by itself.
    public static let region = CoderRoles(rawValue: 1 << 6)
    public static let metadata = CoderRoles(rawValue: 1 << 7)
    /// Lists and decodes further items of a file: pages, thumbnails, auxiliary images.
    public static let items = CoderRoles(rawValue: 1 << 8)
    /// Rewrites a file without decoding its pixels.
    public static let rewrite = CoderRoles(rawValue: 1 << 9)
    /// Converts a file bit by bit from or into another format.
    public static let transcode = CoderRoles(rawValue: 1 << 10)

    /// Whether it writes pictures of any kind.
    public var writes: Bool { !isDisjoint(with: [.encode, .encodeAnimation]) }

    /// The names used in manifests and in JSON, in the order of the bits.
    public static let names: [(role: CoderRoles, name: String)] = [
        (.decode, "decode"), (.encode, "encode"), (.animation, "animation"), (.encodeAnimation, "encode-animation"),
        (.incremental, "incremental"), (.scale, "scale"), (.region, "region"), (.metadata, "metadata"),
        (.items, "items"), (.rewrite, "rewrite"), (.transcode, "transcode"),
    ]

    public init?(named name: String) {
        guard let match = Self.names.first(where: { $0.name == name }) else { return nil }
        self = match.role
    }

    public var names: [String] { Self.names.filter { contains($0.role) }.map(\.name) }
}
