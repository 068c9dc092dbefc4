public import ImageModel

/// The changes that a rewrite makes to a file, in the order in which they are listed here.
public struct RewriteOptions: Sendable, Hashable {
    /// A part of the metadata.
    public enum Part: String, Sendable, Hashable, CaseIterable {
        case exif, gps, thumbnail, xmp, icc, iptc, comment, other

        /// The kind of metadata that it is all of; nil for a part of Exif.
        var kind: MetadataBlob.Kind? {
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

    /// What is left out. The ICC profile is kept unless it is named: without it colors change.
    public var removed: Set<Part> = []
    /// The orientation that is stored; no pixel moves. Nil leaves it as it is.
    public var orientation: Orientation?
    /// The part of the upright image that is kept.
    public var crop: PixelRect?
    /// How the upright image is turned; the stored orientation becomes "up" then.
    public var transform = Orientation.up
    /// Whether to refuse a crop or transform that cannot keep exactly the pixels asked for.
    public var isPerfect = false
    /// Whether the same samples are compressed into fewer bytes.
    public var optimizes = false

    public init() {}
}

/// What a rewrite did.
public struct RewriteReport: Sendable {
    public var format: ImageFormat
    /// The coder that rewrote the file.
    public var coder: String
    /// The size of the stored image in the output.
    public var size: PixelSize
    /// What was off although the output is usable.
    public var warnings: [String]
    public var isolation: IsolationReport?
}
