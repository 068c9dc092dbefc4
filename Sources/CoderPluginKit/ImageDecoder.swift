public import ImageModel

/// One decoding session of a coder.
///
/// The host calls in this order, and never two calls at a time:
///
///     session  = init, readHeader, { metadata | scaledSize }, images
///     images = decode                                          a still: ImageDecoder
///              | { nextFrame, [ decode ] | seek }                an animation: AnimationDecoder
///
/// Every call may throw `.needsInput` as long as ``ByteSource/isComplete`` is false. The host repeats the call after
/// the source has grown, so the decoder keeps its progress or starts the call again. ``ByteReader`` throws it by
/// itself. Any other error ends the session. Throw `.notMine` for another format and `.unsupported(…)` for an
/// unsupported feature (the host tries the next coder), and `.corrupt(…)` for damaged data (the host stops).
///
/// A decoder never allocates the result's pixels, never composites frames, and does not access files.
public protocol ImageDecoder: AnyObject, SendableMetatype {
    /// Begins a session; the source is available, but need not be read yet.
    init(_ session: DecoderSession) throws(CoderError)

    /// Reads the facts of the image, without decoding pixels.
    ///
    /// The corresponding C function is `cpi_decoder_api.read_header`.
    func readHeader() throws(CoderError) -> ImageInfo

    /// Returns the metadata (Exif, XMP, ICC …), each piece within `limits.maxMetadataBytes`.
    ///
    /// The corresponding C function is `cpi_decoder_api.blob`.
    func metadata() throws(CoderError) -> [MetadataBlob]

    /// The formats that `decode` can produce, best first; an empty list means only the native format.
    ///
    /// The corresponding C function is `cpi_decoder_api.offer`.
    var pixelFormats: [PixelFormat] { get }

    /// Returns the smallest size of at least `wanted` to which this decoder can scale; the full size if there is none.
    ///
    /// With `ImageInfo.isScalable` the result is `wanted`, even above the full size. Otherwise the host passes about
    /// twice the display size, because it resamples the rest.
    ///
    /// The corresponding C function is `cpi_decoder_api.scaled_size`.
    func scaledSize(atLeast wanted: PixelSize, of size: PixelSize) -> PixelSize

    /// Fills the surface with the current frame.
    ///
    /// - Shape: the surface has the size of the request (`region`, `scaledSize`, or the frame's rectangle) and one of
    ///   ``pixelFormats``.
    /// - Throws: `.needsInput` if no new pixels could be decoded.
    ///
    /// The corresponding C function is `cpi_decoder_api.decode`.
    func decode(_ request: DecodeRequest, into surface: borrowing Surface) throws(CoderError) -> DecodeOutcome
}

extension ImageDecoder {
    /// Returns no metadata, by default.
    public func metadata() throws(CoderError) -> [MetadataBlob] { [] }
    /// The default: only the native format.
    public var pixelFormats: [PixelFormat] { [] }
    /// Returns the full size, by default.
    public func scaledSize(atLeast wanted: PixelSize, of size: PixelSize) -> PixelSize { size }
}

/// A decoder of a format with more than one frame.
public protocol AnimationDecoder: ImageDecoder {
    /// Advances to the next frame without decoding it; returns nil after the last.
    ///
    /// The corresponding C function is `cpi_decoder_api.next_frame`.
    func nextFrame() throws(CoderError) -> FrameInfo?

    /// Prepares `nextFrame` to return frame `index`, or the nearest earlier frame that must be decoded first; returns
    /// the number of that frame.
    ///
    /// The corresponding C function is `cpi_decoder_api.seek_frame`.
    func seek(toFrame index: Int) throws(CoderError) -> Int
}

/// A decoder of a format that can hold several images: pages, sizes, thumbnails, auxiliary images.
public protocol ItemDecoder: ImageDecoder {
    /// Returns the number of items; nil if only ``item(at:)`` can find it.
    ///
    /// The corresponding C function is `cpi_items_api.count`.
    func itemCount() throws(CoderError) -> Int?

    /// Returns the facts of item `index`, from 0; nil after the last.
    ///
    /// - Throws: `.refused` for a damaged item; the host warns and continues with the next one.
    ///
    /// The corresponding C function is `cpi_items_api.describe`.
    func item(at index: Int) throws(CoderError) -> ImageItem?

    /// Selects item `index` for all later calls, as if its header had just been read.
    ///
    /// The host does not call `readHeader` again, but uses the facts of ``item(at:)``.
    ///
    /// - Throws: `.refused` if the item cannot be decoded; the previous item stays selected.
    ///
    /// The corresponding C function is `cpi_items_api.select`.
    func select(item index: Int) throws(CoderError)
}

extension ItemDecoder {
    /// Returns nil, by default.
    public func itemCount() throws(CoderError) -> Int? { nil }
}

/// A decoder of a format whose only further items are thumbnails of the image.
///
/// The host sees them as items: the image is item 0, thumbnail n is item n + 1.
public protocol ThumbnailDecoder: ImageDecoder {
    /// Returns the facts of a thumbnail; nil after the last.
    func thumbnail(at index: Int) throws(CoderError) -> ImageInfo?

    /// Fills the surface, which has the size and native format of the thumbnail.
    func decodeThumbnail(at index: Int, into surface: borrowing Surface) throws(CoderError)
}

/// The parameters of `decode`.
public struct DecodeRequest: Sendable, Hashable {
    /// The part of the frame to decode, in pixels of the scaled frame; nil for the whole frame.
    ///
    /// Coders with the role `.region` receive any rectangle inside the frame, and may throw `.refused`. With
    /// `ImageInfo.decodesRows` the host requests bands of whole rows from row 0 on, each following the previous one.
    public var region: PixelRect?
    /// The size to scale to, as returned by `scaledSize`; nil for the full size.
    public var scaledSize: PixelSize?
    /// Whether the host can use an unfinished image.
    public var wantsPartial: Bool

    /// Creates a request, by default for the whole frame at full size.
    public init(region: PixelRect? = nil, scaledSize: PixelSize? = nil, wantsPartial: Bool = false) {
        self.region = region
        self.scaledSize = scaledSize
        self.wantsPartial = wantsPartial
    }
}

/// The completeness of the pixels after `decode`.
public enum DecodeOutcome: Sendable, Hashable {
    /// The frame is complete.
    case complete
    /// The surface holds a usable part; the rest needs input. The rectangle is the part that this call changed.
    case partial(PixelRect)
}

/// The input of a decoder's init.
public struct DecoderSession {
    /// The input.
    public let source: ByteSource
    /// The options of the session.
    public let options: CoderOptions
    /// The limits of the session.
    public let limits: DecodeLimits
    /// The host's services.
    public let host: HostServices

    /// Creates the input of a decoder; without services, for tests.
    public init(
        source: ByteSource, options: CoderOptions = CoderOptions(), limits: DecodeLimits = .default,
        host: HostServices = HostServices()
    ) {
        self.source = source
        self.options = options
        self.limits = limits
        self.host = host
    }
}
