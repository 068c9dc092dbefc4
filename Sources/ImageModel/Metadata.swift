/// One piece of metadata, kept verbatim.
public struct MetadataBlob: Sendable, Hashable {
    public enum Kind: UInt32, Sendable, Hashable, CaseIterable {
        /// A TIFF stream beginning with II or MM.
        case exif = 1
        case xmp = 2
        case icc = 3
        case iptc = 4
        /// UTF-8 text; `key` names it.
        case text = 5
        /// Anything else; `key` is the format's own tag.
        case raw = 6
    }

    public var kind: Kind
    public var key: String?
    public var bytes: [UInt8]

    public init(_ kind: Kind, _ bytes: [UInt8], key: String? = nil) {
        self.kind = kind
        self.bytes = bytes
        self.key = key
    }

    /// The kind of metadata that a text is a second form of; nil for an ordinary text.
    ///
    /// A coder hands it out as text where it is damaged, or repeats what the image has in the first form.
    package var kindInText: Kind? { kind == .text ? key.flatMap(Self.kind(ofText:)) : nil }

    /// The kind of metadata that a text of this key holds: in hexadecimal digits, as ImageMagick writes it, or XMP.
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
