/// The identity of a format: a short string such as `png`, never a number.
public struct ImageFormat: Sendable, Hashable, CustomStringConvertible, ExpressibleByStringLiteral {
    /// The identifier.
    public let id: String

    /// Creates a format from its identifier.
    public init(_ id: String) { self.id = id }
    /// Creates a format from a string literal.
    public init(stringLiteral id: String) { self.id = id }

    /// The value as text.
    public var description: String { id }
}

/// The abilities of a coder.
public struct CoderRoles: OptionSet, Sendable, Hashable {
    /// The bits of the roles.
    public let rawValue: UInt32
    /// Creates roles from their bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Decodes images.
    public static let decode = CoderRoles(rawValue: 1 << 0)
    /// Encodes images.
    public static let encode = CoderRoles(rawValue: 1 << 1)
    /// Decodes more than one frame.
    public static let animation = CoderRoles(rawValue: 1 << 2)
    /// Encodes more than one frame.
    public static let encodeAnimation = CoderRoles(rawValue: 1 << 3)
    /// Delivers parts of an image while the source grows.
    public static let incremental = CoderRoles(rawValue: 1 << 4)
    /// Decodes directly at sizes other than the full size.
    public static let scale = CoderRoles(rawValue: 1 << 5)
    /// Decodes a part of a frame without decoding the rest.
    public static let region = CoderRoles(rawValue: 1 << 6)
    /// Reads or writes metadata.
    public static let metadata = CoderRoles(rawValue: 1 << 7)
    /// Lists and decodes further items of a file: pages, thumbnails, auxiliary images.
    public static let items = CoderRoles(rawValue: 1 << 8)
    /// Rewrites a file without decoding its pixels.
    public static let rewrite = CoderRoles(rawValue: 1 << 9)
    /// Converts a file losslessly, bit by bit, from or into another format.
    public static let transcode = CoderRoles(rawValue: 1 << 10)
    /// Encodes several stills into one output: pages, sizes of an icon.
    public static let encodeItems = CoderRoles(rawValue: 1 << 11)

    /// Whether the coder writes images of any kind.
    package var writes: Bool { !isDisjoint(with: [.encode, .encodeAnimation]) }

    /// The names used in manifests and in JSON, in bit order.
    package static let names: [(role: CoderRoles, name: String)] = [
        (.decode, "decode"), (.encode, "encode"), (.animation, "animation"), (.encodeAnimation, "encode-animation"),
        (.incremental, "incremental"), (.scale, "scale"), (.region, "region"), (.metadata, "metadata"),
        (.items, "items"), (.rewrite, "rewrite"), (.transcode, "transcode"), (.encodeItems, "encode-items"),
    ]

    /// Returns the role of a name; nil if the name is unknown.
    package init?(named name: String) {
        guard let match = Self.names.first(where: { $0.name == name }) else { return nil }
        self = match.role
    }

    /// The names of the roles.
    package var names: [String] { Self.names.filter { contains($0.role) }.map(\.name) }
}
