/// The changes that a rewrite makes.
public struct RewriteRequest: Sendable, Hashable {
    /// The kinds of metadata to leave out, at every position in the file.
    ///
    /// `.text` includes comments. `.raw` includes all data without a kind of its own that decoding does not need.
    public var removed: Set<MetadataBlob.Kind>
    /// The metadata to write.
    ///
    /// Each blob replaces every blob of its kind (and key, for `.text` and `.raw`) in the source, or is added if the
    /// source has none.
    public var replaced: [MetadataBlob]
    /// The transform to apply to the stored pixels; `.up` for no transform.
    public var transform: Orientation
    /// The part of the stored image to keep, in pixels before the transform; nil for the whole image.
    public var crop: PixelRect?
    /// Whether to refuse a transform or crop that cannot keep exactly the requested pixels.
    public var isPerfect: Bool
    /// Whether to compress the same samples into fewer bytes.
    public var optimizes: Bool
    /// Whether to leave out thumbnails that are no part of a blob.
    public var removesThumbnails: Bool

    /// Creates a request; by default nothing changes.
    package init(
        removed: Set<MetadataBlob.Kind> = [], replaced: [MetadataBlob] = [], transform: Orientation = .up,
        crop: PixelRect? = nil, isPerfect: Bool = false, optimizes: Bool = false, removesThumbnails: Bool = false
    ) {
        self.removed = removed
        self.replaced = replaced
        self.transform = transform
        self.crop = crop
        self.isPerfect = isPerfect
        self.optimizes = optimizes
        self.removesThumbnails = removesThumbnails
    }
}

/// The parts of the source that a rewrite kept.
public struct RewriteOutcome: Sendable, Hashable {
    /// The part of the stored image that the output holds, in pixels before the transform.
    ///
    /// It differs from the requested part if the format cuts only at block edges.
    package var kept: PixelRect
    /// Whether items other than the primary one are missing in the output.
    package var droppedItems: Bool
    /// Whether the thumbnails to leave out are missing in the output.
    package var droppedThumbnails: Bool

    /// Creates the result of a rewrite.
    public init(kept: PixelRect, droppedItems: Bool = false, droppedThumbnails: Bool = false) {
        self.kept = kept
        self.droppedItems = droppedItems
        self.droppedThumbnails = droppedThumbnails
    }
}

/// The direction of a transcoding: from or into the coder's own format.
public enum TranscodeDirection: UInt32, Sendable, Hashable, CaseIterable {
    /// The source is a stream of the other format.
    case pack = 1
    /// The source is the coder's own format, and the sink gets the original stream.
    case unpack = 2
}
