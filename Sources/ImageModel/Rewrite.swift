/// The changes that a rewrite makes.
public struct RewriteRequest: Sendable, Hashable {
    /// The kinds of metadata to leave out, wherever they stand.
    ///
    /// `.text` covers comments, `.raw` everything that has no kind of its own and that decoding does not need.
    public var removed: Set<MetadataBlob.Kind>
    /// Metadata to write. Each blob takes the place of every blob of its kind (and key, for `.text` and `.raw`) in the
    /// source, and is added where the source has none.
    public var replaced: [MetadataBlob]
    /// The transform to apply to the stored pixels; `.up` for none.
    public var transform: Orientation
    /// The part of the stored image to keep, in pixels before the transform; nil for the whole image.
    public var crop: PixelRect?
    /// Whether to refuse a transform or crop that cannot keep exactly the pixels asked for.
    public var isPerfect: Bool
    /// Whether to compress the same samples into fewer bytes.
    public var optimizes: Bool

    public init(
        removed: Set<MetadataBlob.Kind> = [], replaced: [MetadataBlob] = [], transform: Orientation = .up,
        crop: PixelRect? = nil, isPerfect: Bool = false, optimizes: Bool = false
    ) {
        self.removed = removed
        self.replaced = replaced
        self.transform = transform
        self.crop = crop
        self.isPerfect = isPerfect
        self.optimizes = optimizes
    }
}

/// What a rewrite kept.
public struct RewriteOutcome: Sendable, Hashable {
    /// The part of the stored image that the output holds, in pixels before the transform.
    ///
    /// It differs from what was asked for where the format cuts at the edges of blocks only.
    public var kept: PixelRect
    /// Whether items other than the primary one are missing in the output.
    public var droppedItems: Bool

    public init(kept: PixelRect, droppedItems: Bool = false) {
        self.kept = kept
        self.droppedItems = droppedItems
    }
}

/// From or into the coder's own format.
public enum TranscodeDirection: UInt32, Sendable, Hashable, CaseIterable {
    /// The source is a stream of the other format.
    case pack = 1
    /// The source is the coder's own format, and the sink gets the original stream.
    case unpack = 2
}
