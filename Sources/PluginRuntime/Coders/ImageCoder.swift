public import HostSystem
public import ImageModel

/// A coder as the manager uses it: of a plugin, of the host, or of the application.
public protocol ImageCoder: Sendable {
    /// The description of the coder.
    var descriptor: CoderDescriptor { get }

    /// Creates a decoder without reading from the source.
    func makeDecoder(_ source: ImageSource, _ context: SessionContext) throws(CoderError) -> any FrameDecoder

    /// Creates an encoder.
    func makeEncoder(_ context: SessionContext) throws(CoderError) -> any FrameEncoder

    /// Copies `source` to `sink` with changes that require no decoding.
    ///
    /// - Throws: `.refused` if the format cannot make one of the changes without loss.
    func rewrite(
        _ source: ImageSource, to sink: any OutputSink, _ request: RewriteRequest, _ context: SessionContext
    ) throws(CoderError) -> RewriteOutcome

    /// Transcodes `source` to the other format without loss.
    ///
    /// - Throws: `.refused` if the source was not transcoded from `format`, or cannot be transcoded.
    func transcode(
        _ source: ImageSource, to sink: any OutputSink, _ direction: TranscodeDirection, _ format: ImageFormat,
        _ context: SessionContext
    ) throws(CoderError)
}

extension ImageCoder {
    /// Throws `.refused`.
    public func rewrite(
        _ source: ImageSource, to sink: any OutputSink, _ request: RewriteRequest, _ context: SessionContext
    ) throws(CoderError) -> RewriteOutcome { throw .refused("\(descriptor.id) does not rewrite files") }

    /// Throws `.refused`.
    public func transcode(
        _ source: ImageSource, to sink: any OutputSink, _ direction: TranscodeDirection, _ format: ImageFormat,
        _ context: SessionContext
    ) throws(CoderError) { throw .refused("\(descriptor.id) does not transcode files") }
}

/// A decoding session that returns raw frames: rectangles as stored, without compositing.
///
/// Call order: `readHeader`, then `nextFrame` and `decode` alternately, with `seek` in between. While a source is
/// incomplete, calls may throw `.needsInput`.
public protocol FrameDecoder: AnyObject {
    /// Reads the properties of the image.
    func readHeader() throws(CoderError) -> ImageInfo
    /// Reads Exif, XMP, ICC and other metadata, unchanged.
    func metadata() throws(CoderError) -> [MetadataBlob]
    /// Returns the formats that `decode` supports, best first; the native format is the first.
    func pixelFormats() throws(CoderError) -> [PixelFormat]
    /// Returns the smallest size, at least as large as `wanted`, to which `decode` can reduce the image.
    func scaledSize(atLeast wanted: PixelSize) throws(CoderError) -> PixelSize
    /// Advances to the next frame; returns nil after the last frame, which remains the current one for `decode`.
    func nextFrame() throws(CoderError) -> FrameInfo?
    /// Makes `nextFrame` return this frame, or an earlier one that must be decoded first; returns its index.
    func seek(toFrame index: Int) throws(CoderError) -> Int
    /// Decodes the current frame.
    func decode(_ request: FrameRequest, into place: CanvasPlace) throws(CoderError) -> FrameOutcome
    /// Returns the number of items; nil if only ``item(at:)`` can determine it.
    func itemCount() throws(CoderError) -> Int?
    /// Returns the properties of item `index`; nil after the last item, and for coders without items.
    ///
    /// - Throws: `.refused` for a damaged item; the session remains usable.
    func item(at index: Int) throws(CoderError) -> ImageItem?
    /// Selects item `index`, to which all later calls apply, from its header on.
    ///
    /// - Throws: `.refused` if it cannot be decoded; the previous item stays selected.
    func select(item index: Int) throws(CoderError)
}

extension FrameDecoder {
    /// Returns no metadata.
    public func metadata() throws(CoderError) -> [MetadataBlob] { [] }
    /// Returns the full size.
    public func scaledSize(atLeast wanted: PixelSize) throws(CoderError) -> PixelSize { try readHeader().size }
    /// Returns nil.
    public func itemCount() throws(CoderError) -> Int? { nil }
    /// Returns nil.
    public func item(at index: Int) throws(CoderError) -> ImageItem? { nil }
    /// Throws `.refused`.
    public func select(item index: Int) throws(CoderError) { throw .refused("there is no item \(index)") }
}

/// An encoding session.
///
/// Call order: `acceptedFormats`, `begin`, `add` blobs and `addThumbnail`, `add` frames, `finish`. For several images in
/// one output, `beginItem` comes before each of them, and `finish` once at the end.
public protocol FrameEncoder: AnyObject {
    /// Returns the pixel formats that `add` accepts for an image, best first.
    func acceptedFormats(for info: ImageInfo) throws(CoderError) -> [PixelFormat]
    /// Begins the next of several images in one output; all calls until the next one concern this image.
    ///
    /// - Throws: `.refused` if the output cannot contain it; the images before it stay usable.
    func beginItem(_ item: ItemDescription) throws(CoderError)
    /// Begins the output.
    func begin(_ info: ImageInfo, to sink: any OutputSink) throws(CoderError)
    /// Adds metadata; returns whether the format can store it.
    func add(_ blob: MetadataBlob) throws(CoderError) -> Bool
    /// Embeds a thumbnail, gray8 or rgb8 and oriented like the frame; returns whether the output will contain it.
    func addThumbnail(_ pixels: PixelBuffer) throws(CoderError) -> Bool
    /// Encodes a frame.
    func add(_ frame: FrameInfo, pixels: PixelBuffer) throws(CoderError)
    /// Begins a still image in bands. Returns the row count of which every band but the last must be a multiple; nil if
    /// this output needs the whole frame.
    func beginRows(_ frame: FrameInfo) throws(CoderError) -> Int?
    /// Encodes the next rows, from top to bottom.
    func addRows(_ pixels: PixelBuffer) throws(CoderError)
    /// Completes the output.
    func finish() throws(CoderError)
}

extension FrameEncoder {
    /// Throws `.refused`.
    public func beginItem(_ item: ItemDescription) throws(CoderError) {
        throw .refused("this encoder writes one image")
    }
    /// Returns false.
    public func addThumbnail(_ pixels: PixelBuffer) throws(CoderError) -> Bool { false }
    /// Returns nil.
    public func beginRows(_ frame: FrameInfo) throws(CoderError) -> Int? { nil }
    /// Throws `.misuse`.
    public func addRows(_ pixels: PixelBuffer) throws(CoderError) {
        throw CoderError(.misuse, "this encoder does not accept rows")
    }
}

/// The parameters of `decode`.
public struct FrameRequest: Sendable, Hashable {
    /// The reduced size, as returned by `scaledSize`.
    public var scaledSize: PixelSize?
    /// The part of the frame to decode, in pixels of the reduced frame.
    ///
    /// Coders with the role `.region` accept any rectangle, but may refuse it. Images with `decodesRows` accept bands
    /// of whole rows, each once, from top to bottom.
    public var region: PixelRect?
    /// Whether the caller can use an incomplete image.
    public var wantsPartial: Bool

    /// Creates a request; omitted values select the full size and the whole frame.
    public init(scaledSize: PixelSize? = nil, region: PixelRect? = nil, wantsPartial: Bool = false) {
        self.scaledSize = scaledSize
        self.region = region
        self.wantsPartial = wantsPartial
    }
}

/// The progress of a `decode` call.
public enum FrameOutcome: Sendable, Hashable {
    /// The frame is complete.
    case complete
    /// A part was decoded. The rectangle is the area changed by this call, in pixels of the place.
    case partial(PixelRect)
}

/// A rectangle of a pixel buffer that receives a decoded frame.
public struct CanvasPlace: Sendable {
    /// The pixel buffer.
    public let buffer: PixelBuffer
    /// The rectangle that receives the frame.
    public let rect: PixelRect

    /// Creates a place; nil selects the whole buffer.
    ///
    /// - Ownership: the caller holds the only reference that writes.
    public init(_ buffer: PixelBuffer, _ rect: PixelRect? = nil) {
        self.buffer = buffer
        self.rect = rect ?? PixelRect(buffer.size)
        precondition(PixelRect(buffer.size).contains(self.rect))
    }

    /// Calls `body` with the writable bytes of row `y` of the rectangle.
    public func withMutableRow<R, E: Error>(_ y: Int, _ body: (inout MutableRawSpan) throws(E) -> R) throws(E) -> R {
        let bytes = buffer.format.bytesPerPixel
        return try buffer.withMutableRow(rect.y + y) { (row: inout MutableRawSpan) throws(E) -> R in
            var part = row._mutatingExtracting(rect.x * bytes..<(rect.x + rect.width) * bytes)
            return try body(&part)
        }
    }
}
