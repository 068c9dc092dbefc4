/// One piece of metadata, kept verbatim.
public struct MetadataBlob: Sendable, Hashable {
    /// The kind of metadata.
    public enum Kind: UInt32, Sendable, Hashable, CaseIterable {
        /// A TIFF stream beginning with II or MM.
        case exif = 1
        /// An XMP packet.
        case xmp = 2
        /// An ICC profile.
        case icc = 3
        /// IPTC metadata.
        case iptc = 4
        /// UTF-8 text named by `key`.
        case text = 5
        /// Any other metadata; `key` is the format's own tag.
        case raw = 6
    }

    /// The kind.
    public var kind: Kind
    /// The key of a text, or the tag of raw metadata.
    public var key: String?
    /// The bytes of the metadata.
    public var bytes: [UInt8]

    /// Creates a piece of metadata.
    public init(_ kind: Kind, _ bytes: [UInt8], key: String? = nil) {
        self.kind = kind
        self.bytes = bytes
        self.key = key
    }

    /// The kind of metadata that a text blob repeats; nil for ordinary text.
    ///
    /// A coder delivers such metadata as text if it is damaged, or if the image also has it in its regular form.
    package var kindInText: Kind? { kind == .text ? key.flatMap(Self.kind(ofText:)) : nil }

    /// Returns the kind of metadata that text with this key holds: hexadecimal digits as ImageMagick writes them, or
    /// XMP.
    package static func kind(ofText key: String) -> Kind? {
        switch key.lowercased() {
        case "raw profile type exif", "raw profile type app1": .exif
        case "raw profile type xmp", "xml:com.adobe.xmp": .xmp
        case "raw profile type icc", "raw profile type icm": .icc
        case "raw profile type iptc", "raw profile type 8bim": .iptc
        default: nil
        }
    }
}
