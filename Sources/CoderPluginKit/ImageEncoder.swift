public import ImageModel

/// One encoding session of a coder.
///
/// The host calls in this order, and never two calls at a time:
///
///     session = init, { acceptedFormats }, begin, { add blob }, add frame, { add frame }, finish
///
/// Any error ends the session.
public protocol ImageEncoder: AnyObject, SendableMetatype {
    /// Begins a session.
    init(_ session: EncoderSession) throws(CoderError)

    /// Returns the formats that this encoder accepts for such an image, best first; the host has `info.nativeFormat`.
    ///
    /// The corresponding C function is `cpi_encoder_api.accept`.
    func acceptedFormats(for info: ImageInfo) throws(CoderError) -> [PixelFormat]

    /// Sets the facts of the output; `info.nativeFormat` is the format of every frame.
    ///
    /// The corresponding C function is `cpi_encoder_api.begin`.
    func begin(_ info: ImageInfo, to sink: ByteSink) throws(CoderError)

    /// Embeds metadata; returns false if the format cannot carry it.
    ///
    /// The corresponding C function is `cpi_encoder_api.add_blob`.
    func add(_ blob: MetadataBlob) throws(CoderError) -> Bool

    /// Encodes one frame; the surface is valid only during the call.
    ///
    /// The corresponding C function is `cpi_encoder_api.add_frame`.
    func add(_ frame: FrameInfo, pixels surface: borrowing Surface) throws(CoderError)

    /// Writes the rest of the output.
    ///
    /// The corresponding C function is `cpi_encoder_api.finish`.
    func finish() throws(CoderError)
}

extension ImageEncoder {
    /// Returns false, by default: the format carries no metadata.
    public func add(_ blob: MetadataBlob) throws(CoderError) -> Bool { false }
}

/// An encoder of a format that can embed a thumbnail.
public protocol ThumbnailEncoder: ImageEncoder {
    /// Embeds a thumbnail, before the first frame; the surface is valid only during the call.
    ///
    /// - Shape: gray8 or rgb8, with the orientation of the frame.
    /// - Throws: `.refused(…)` if this image cannot have a thumbnail; the session continues without one.
    ///
    /// The corresponding C function is `cpi_thumbnail_encode_api.add`.
    func addThumbnail(pixels surface: borrowing Surface) throws(CoderError)
}

/// An encoder of a format with several stills in one file: pages, sizes of an icon.
///
/// If the host writes several images, it calls ``beginItem(_:)`` before each of them, also before the first, then
/// `acceptedFormats`, `begin` with the same sink, and so on. It calls `finish` once, after the last image.
public protocol ItemEncoder: ImageEncoder {
    /// Begins the next image and completes the one before; the first item has the role `.primary`.
    ///
    /// - Throws: `.refused` if the output cannot contain an item of this role, or no further one.
    ///
    /// The corresponding C function is `cpi_encode_items_api.next_item`.
    func beginItem(_ item: ItemDescription) throws(CoderError)
}

/// An encoder that accepts a still in bands of rows, so that the whole image is never in memory.
///
/// The output has the same bytes as with ``ImageEncoder/add(_:pixels:)``.
public protocol RowEncoder: ImageEncoder {
    /// Begins the frame and returns a row count; every band except the last has a multiple of it.
    ///
    /// - Throws: `.refused` if this output needs the whole frame; the host then calls `add(_:pixels:)`.
    ///
    /// The corresponding C function is `cpi_encode_rows_api.begin_rows`.
    func beginRows(_ frame: FrameInfo) throws(CoderError) -> Int

    /// Encodes the next rows: whole rows, from the top, each once; the surface is valid only during the call.
    ///
    /// The corresponding C function is `cpi_encode_rows_api.add_rows`.
    func addRows(_ surface: borrowing Surface) throws(CoderError)
}

/// The input of an encoder's init.
public struct EncoderSession {
    /// The options of the session.
    public let options: CoderOptions
    /// The limits of the session.
    public let limits: DecodeLimits
    /// The host's services.
    public let host: HostServices

    /// Creates the input of an encoder; without services, for tests.
    public init(
        options: CoderOptions = CoderOptions(), limits: DecodeLimits = .default, host: HostServices = HostServices()
    ) {
        self.options = options
        self.limits = limits
        self.host = host
    }
}
