public import ImageModel

/// One encoding session of a coder.
///
/// The host calls in this order, and never two calls at a time:
///
///     session = init, { acceptedFormats }, begin, { add blob }, add frame, { add frame }, finish
///
/// Any error ends the session.
public protocol ImageEncoder: AnyObject, SendableMetatype {
    init(_ session: EncoderSession) throws(CoderError)

    /// Returns the formats this encoder takes for such a picture, best first; `info.nativeFormat` is what the host has.
    ///
    /// The corresponding C function is `cpi_encoder_api.accept`.
    func acceptedFormats(for info: ImageInfo) throws(CoderError) -> [PixelFormat]

    /// Fixes the facts of the output; `info.nativeFormat` is the format every frame will have.
    ///
    /// The corresponding C function is `cpi_encoder_api.begin`.
    func begin(_ info: ImageInfo, to sink: ByteSink) throws(CoderError)

    /// Takes metadata to embed and answers whether the format can carry it.
    ///
    /// The corresponding C function is `cpi_encoder_api.add_blob`.
    func add(_ blob: MetadataBlob) throws(CoderError) -> Bool

    /// Encodes one frame; the surface is valid only during the call.
    ///
    /// The corresponding C function is `cpi_encoder_api.add_frame`.
    func add(_ frame: FrameInfo, pixels surface: borrowing Surface) throws(CoderError)

    /// Writes what is left.
    ///
    /// The corresponding C function is `cpi_encoder_api.finish`.
    func finish() throws(CoderError)
}

extension ImageEncoder {
    public func add(_ blob: MetadataBlob) throws(CoderError) -> Bool { false }
}

/// An encoder of a format that can hold a small version of the picture.
public protocol ThumbnailEncoder: ImageEncoder {
    /// Takes a small version of the picture to embed, before the first frame; the surface is valid only during the call.
    ///
    /// - Shape: gray8 or rgb8, turned as the frame will be.
    /// - Throws: `.refused(…)` where this image cannot have one; the session goes on without.
    ///
    /// The corresponding C function is `cpi_thumbnail_encode_api.add`.
    func addThumbnail(pixels surface: borrowing Surface) throws(CoderError)
}

/// An encoder that takes a still in bands of rows, so that a whole image is never in memory.
///
/// The output has the same bytes as with ``ImageEncoder/add(_:pixels:)``.
public protocol RowEncoder: ImageEncoder {
    /// Begins the frame and returns the number of rows that every band but the last is a multiple of.
    ///
    /// - Throws: `.refused` where this output needs the whole frame; the host calls `add(_:pixels:)` then.
    ///
    /// The corresponding C function is `cpi_encode_rows_api.begin_rows`.
    func beginRows(_ frame: FrameInfo) throws(CoderError) -> Int

    /// Encodes the next rows: whole rows, from the top, each once; the surface is valid only during the call.
    ///
    /// The corresponding C function is `cpi_encode_rows_api.add_rows`.
    func addRows(_ surface: borrowing Surface) throws(CoderError)
}

/// What an encoder is given at its start.
public struct EncoderSession {
    public let options: CoderOptions
    public let limits: DecodeLimits
    public let host: HostServices

    public init(
        options: CoderOptions = CoderOptions(), limits: DecodeLimits = .default, host: HostServices = HostServices()
    ) {
        self.options = options
        self.limits = limits
        self.host = host
    }
}
