public import ImageMetadata
public import ImageModel
public import PluginRuntime

/// The changes that a rewrite makes to a file, in the order of the properties.
public struct RewriteOptions: Sendable, Hashable {
    /// A part of the metadata.
    public enum Part: String, Sendable, Hashable, CaseIterable {
        /// The Exif metadata, with position and thumbnail.
        case exif
        /// The position of the camera.
        case gps
        /// The embedded thumbnail.
        case thumbnail
        /// The XMP packet.
        case xmp
        /// The ICC profile.
        case icc
        /// The IPTC metadata.
        case iptc
        /// The text.
        case comment
        /// All other metadata.
        case other

        /// The kind of metadata that the part covers completely; nil for a part of Exif.
        package var kind: MetadataBlob.Kind? {
            switch self {
            case .exif: .exif
            case .xmp: .xmp
            case .icc: .icc
            case .iptc: .iptc
            case .comment: .text
            case .other: .raw
            case .gps, .thumbnail: nil
            }
        }
    }

    /// The parts to remove. The ICC profile is kept unless it is listed, because colors would change without it.
    public var removed: Set<Part> = []
    /// The texts to set; an empty text removes the tag. Removed parts are removed first.
    public var fields: [MetadataField: String] = [:]
    /// The orientation to store without moving pixels; nil keeps the stored one.
    public var orientation: Orientation?
    /// The part of the upright image to keep.
    public var crop: PixelRect?
    /// The transform of the upright image; the stored orientation then becomes "up", unless the transform is stored as
    /// orientation.
    public var transform = Orientation.up
    /// Whether to refuse a crop or transform that cannot keep exactly the requested pixels.
    public var isPerfect = false
    /// Whether a transform moves pixels even if it cuts incomplete blocks at the edge. Without it, such a transform becomes
    /// an orientation, if the format stores one.
    public var trimsEdges = false
    /// Whether to compress the same samples into fewer bytes.
    public var optimizes = false

    /// Creates options without changes.
    public init() {}
}

/// The result of a rewrite.
public struct RewriteReport: Sendable {
    /// The format of the file.
    package var format: ImageFormat
    /// The id of the coder that rewrote the file.
    package var coder: String
    /// The size of the stored image in the output.
    package var size: PixelSize
    /// Problems with the usable output.
    public var warnings: [String]
    /// Where the coder ran; nil for the host's own coders.
    public var isolation: IsolationReport?

    /// The report of an encode that wrote the rewritten file.
    package var asEncoding: EncodeReport { EncodeReport(coder: coder, warnings: warnings, isolation: isolation) }
}
