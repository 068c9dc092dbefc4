public import ImageModel

/// A coder that changes a file without decoding its pixels and encoding them again.
///
/// A rewriter knows the structure of its format, not the meaning of metadata: the host edits Exif and hands the result
/// over in ``RewriteRequest/replaced``.
public protocol ImageRewriter: SendableMetatype {
    /// Copies the source to the sink with the changes that `request` asks for.
    ///
    /// Bytes that `request` does not name are copied as they are; every pixel of ``RewriteOutcome/kept`` keeps its value.
    /// - Throws: `.refused(…)` where the format cannot make one of the changes without loss; `.corrupt` and `.truncated`
    ///   for a damaged source. The host deletes the output after every error.
    ///
    /// The corresponding C function is `cpi_rewrite_api.rewrite`.
    static func rewrite(_ request: RewriteRequest, _ session: RewriteSession) throws(CoderError) -> RewriteOutcome
}

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
    /// The part of the stored picture to keep, in pixels before the transform; nil for the whole picture.
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
    /// The part of the stored picture that the output holds, in pixels before the transform.
    ///
    /// It differs from what was asked for where the format cuts at the edges of blocks only.
    public var kept: PixelRect

    public init(kept: PixelRect) { self.kept = kept }
}

/// What a rewriter is given.
public struct RewriteSession {
    public let source: ByteSource
    public let sink: ByteSink
    public let options: CoderOptions
    public let limits: DecodeLimits
    public let host: HostServices

    public init(
        source: ByteSource, sink: ByteSink, options: CoderOptions = CoderOptions(), limits: DecodeLimits = .default,
        host: HostServices = HostServices()
    ) {
        self.source = source
        self.sink = sink
        self.options = options
        self.limits = limits
        self.host = host
    }
}
