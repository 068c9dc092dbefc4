public import ImageModel

/// One decoding session of a coder.
///
/// The host calls in this order, and never two calls at a time:
///
///     session  = init, readHeader, { metadata | scaledSize }, pictures
///     pictures = decode                                          a still: ImageDecoder
///              | { nextFrame, [ decode ] | seek }                an animation: AnimationDecoder
///
/// Every call may throw `.needsInput` as long as ``ByteSource/isComplete`` is false; the host repeats the call once the
/// source has grown, so keep what was read so far or read it again. ``ByteReader`` throws it by itself. Any other error
/// ends the session: throw `.notMine` for another format and `.unsupported(…)` for a feature that is not served (the
/// host asks the next coder), `.corrupt(…)` for damage (the host stops).
///
/// A decoder never allocates the pixels of the result, never composites, and knows nothing of files.
public protocol ImageDecoder: AnyObject, SendableMetatype {
    /// Begins a session; the source is there, but nothing has to be read yet.
    init(_ session: DecoderSession) throws(CoderError)

    /// Reads the facts of the picture, without decoding pixels.
    ///
    /// The corresponding C function is `cpi_decoder_api.read_header`.
    func readHeader() throws(CoderError) -> ImageInfo

    /// Returns Exif, XMP, ICC and so on, each within `limits.maxMetadataBytes`.
    ///
    /// The corresponding C function is `cpi_decoder_api.blob`.
    func metadata() throws(CoderError) -> [MetadataBlob]

    /// The formats that `decode` can fill, best first; empty stands for the native format alone.
    ///
    /// The corresponding C function is `cpi_decoder_api.offer`.
    var pixelFormats: [PixelFormat] { get }

    /// Returns the smallest size that this decoder itself scales to and that is not below `wanted`; the full size if none.
    ///
    /// With `ImageInfo.isScalable` it is `wanted`, also above the full size. Else `wanted` is about twice the size that is
    /// shown, because the host resamples the rest.
    ///
    /// The corresponding C function is `cpi_decoder_api.scaled_size`.
    func scaledSize(atLeast wanted: PixelSize, of size: PixelSize) -> PixelSize

    /// Fills the surface with the current frame.
    ///
    /// - Shape: the surface has the size of the request (`region`, `scaledSize`, or the frame's rectangle) and one of
    ///   ``pixelFormats``.
    /// - Throws: `.needsInput` when nothing new could be decoded.
    ///
    /// The corresponding C function is `cpi_decoder_api.decode`.
    func decode(_ request: DecodeRequest, into surface: borrowing Surface) throws(CoderError) -> DecodeOutcome
}

extension ImageDecoder {
    public func metadata() throws(CoderError) -> [MetadataBlob] { [] }
    public var pixelFormats: [PixelFormat] { [] }
    public func scaledSize(atLeast wanted: PixelSize, of size: PixelSize) -> PixelSize { size }
}

/// A decoder of a format with more than one frame.
public protocol AnimationDecoder: ImageDecoder {
    /// Steps to the next frame without decoding it; nil behind the last.
    ///
    /// The corresponding C function is `cpi_decoder_api.next_frame`.
    func nextFrame() throws(CoderError) -> FrameInfo?

    /// Arranges that `nextFrame` answers frame `index`, or the nearest earlier one that has to be decoded first, and
    /// returns which.
    ///
    /// The corresponding C function is `cpi_decoder_api.seek_frame`.
    func seek(toFrame index: Int) throws(CoderError) -> Int
}

/// A decoder of a format that can hold several images: pages, sizes, thumbnails, auxiliary images.
public protocol ItemDecoder: ImageDecoder {
    /// The number of items; nil where only ``item(at:)`` finds out.
    ///
    /// The corresponding C function is `cpi_items_api.count`.
    func itemCount() throws(CoderError) -> Int?

    /// Returns the facts of item `index`, from 0; nil behind the last.
    ///
    /// - Throws: `.refused` for a damaged item; the host warns and goes on with the next one.
    ///
    /// The corresponding C function is `cpi_items_api.describe`.
    func item(at index: Int) throws(CoderError) -> ImageItem?

    /// Makes item `index` the image that every later call concerns, as if its header had just been read.
    ///
    /// `readHeader` is not called again: the facts are those of ``item(at:)``.
    ///
    /// - Throws: `.refused` where it cannot be decoded; the decoder stays at the item before.
    ///
    /// The corresponding C function is `cpi_items_api.select`.
    func select(item index: Int) throws(CoderError)
}

extension ItemDecoder {
    public func itemCount() throws(CoderError) -> Int? { nil }
}

/// A decoder of a format whose only further items are small versions of the image.
///
/// The host sees them as items: the image is item 0, thumbnail n is item n + 1.
public protocol ThumbnailDecoder: ImageDecoder {
    /// Returns the facts of a thumbnail; nil behind the last.
    func thumbnail(at index: Int) throws(CoderError) -> ImageInfo?

    /// Fills the surface, which has the size and native format of that thumbnail.
    func decodeThumbnail(at index: Int, into surface: borrowing Surface) throws(CoderError)
}

/// What `decode` is asked for.
public struct DecodeRequest: Sendable, Hashable {
    /// A part of the frame, in pixels of the scaled frame; nil for all of it.
    ///
    /// Any rectangle inside the frame for coders with the role `.region`, which may throw `.refused`. Bands where
    /// `ImageInfo.decodesRows` says so: whole rows, each band beginning where the last one ended, the first one at 0.
    public var region: PixelRect?
    /// The size to scale to, as answered by `scaledSize`; nil for the full size.
    public var scaledSize: PixelSize?
    /// Whether an unfinished picture is of use.
    public var wantsPartial: Bool

    public init(region: PixelRect? = nil, scaledSize: PixelSize? = nil, wantsPartial: Bool = false) {
        self.region = region
        self.scaledSize = scaledSize
        self.wantsPartial = wantsPartial
    }
}

/// How far `decode` came.
public enum DecodeOutcome: Sendable, Hashable {
    case complete
    /// The surface holds a usable part; the rest needs input. The rectangle is what this call changed.
    case partial(PixelRect)
}

/// What a decoder is given at its start.
public struct DecoderSession {
    public let source: ByteSource
    public let options: CoderOptions
    public let limits: DecodeLimits
    public let host: HostServices

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
