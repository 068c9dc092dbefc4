public import ImageModel

/// A coder as the manager sees it: a plugin's, the host's own, or one that the application adds.
public protocol ImageCoder: Sendable {
    var descriptor: CoderDescriptor { get }

    /// Begins decoding; reads nothing yet.
    func makeDecoder(_ source: ImageSource, _ context: SessionContext) throws(CoderError) -> any FrameDecoder

    /// Begins encoding.
    func makeEncoder(_ context: SessionContext) throws(CoderError) -> any FrameEncoder

    /// Copies `source` to `sink` with changes that need no decoding.
    ///
    /// - Throws: `.refused` where the format cannot make one of the changes without loss.
    func rewrite(
        _ source: ImageSource, to sink: any OutputSink, _ request: RewriteRequest, _ context: SessionContext
    ) throws(CoderError) -> RewriteOutcome

    /// Copies `source` to `sink` bit by bit in the other format.
    ///
    /// - Throws: `.refused` where the source was not packed from `format`, or cannot be packed.
    func transcode(
        _ source: ImageSource, to sink: any OutputSink, _ direction: TranscodeDirection, _ format: ImageFormat,
        _ context: SessionContext
    ) throws(CoderError)
}

extension ImageCoder {
    public func rewrite(
        _ source: ImageSource, to sink: any OutputSink, _ request: RewriteRequest, _ context: SessionContext
    ) throws(CoderError) -> RewriteOutcome { throw .refused("\(descriptor.id) does not rewrite files") }

    public func transcode(
        _ source: ImageSource, to sink: any OutputSink, _ direction: TranscodeDirection, _ format: ImageFormat,
        _ context: SessionContext
    ) throws(CoderError) { throw .refused("\(descriptor.id) does not transcode files") }
}

/// One decoding session, frame by frame and raw: rectangles as stored, nothing composited.
///
/// Call order: `readHeader`, then `nextFrame` and `decode` in turn; `seek` in between. `.needsInput` is thrown while a
/// source may grow.
public protocol FrameDecoder: AnyObject {
    func readHeader() throws(CoderError) -> ImageInfo
    func metadata() throws(CoderError) -> [MetadataBlob]
    /// What `decode` can fill, best first; the native format is the first.
    func pixelFormats() throws(CoderError) -> [PixelFormat]
    func scaledSize(atLeast wanted: PixelSize) throws(CoderError) -> PixelSize
    /// Goes to the next frame; nil behind the last, which stays the one that `decode` decodes.
    func nextFrame() throws(CoderError) -> FrameInfo?
    /// Arranges that `nextFrame` answers this frame or an earlier one that has to be decoded first, and says which.
    func seek(toFrame index: Int) throws(CoderError) -> Int
    func decode(_ request: FrameRequest, into place: CanvasPlace) throws(CoderError) -> FrameOutcome
    /// The number of items; nil where only ``item(at:)`` finds out.
    func itemCount() throws(CoderError) -> Int?
    /// The facts of item `index`; nil behind the last, and for coders without items.
    ///
    /// - Throws: `.refused` for a damaged item; the session goes on.
    func item(at index: Int) throws(CoderError) -> ImageItem?
    /// Makes item `index` the image that every later call concerns, from its header on.
    ///
    /// - Throws: `.refused` where it cannot be decoded; the session stays at the item before.
    func select(item index: Int) throws(CoderError)
}

extension FrameDecoder {
    public func metadata() throws(CoderError) -> [MetadataBlob] { [] }
    public func scaledSize(atLeast wanted: PixelSize) throws(CoderError) -> PixelSize { try readHeader().size }
    public func itemCount() throws(CoderError) -> Int? { nil }
    public func item(at index: Int) throws(CoderError) -> ImageItem? { nil }
    public func select(item index: Int) throws(CoderError) { throw .refused("there is no item \(index)") }
}

/// One encoding session.
///
/// Call order: `acceptedFormats`, `begin`, `add` blobs and `addThumbnail`, `add` frames, `finish`.
public protocol FrameEncoder: AnyObject {
    func acceptedFormats(for info: ImageInfo) throws(CoderError) -> [PixelFormat]
    func begin(_ info: ImageInfo, to sink: any OutputSink) throws(CoderError)
    /// Answers whether the format can carry the blob.
    func add(_ blob: MetadataBlob) throws(CoderError) -> Bool
    /// Embeds a small version of the picture, gray8 or rgb8 and turned as the frame; answers whether there will be one.
    func addThumbnail(_ pixels: PixelBuffer) throws(CoderError) -> Bool
    func add(_ frame: FrameInfo, pixels: PixelBuffer) throws(CoderError)
    /// Begins a still that comes in bands, and returns the number of rows that every band but the last is a multiple of;
    /// nil where this output needs the whole frame.
    func beginRows(_ frame: FrameInfo) throws(CoderError) -> Int?
    /// Encodes the next rows, from the top, each once.
    func addRows(_ pixels: PixelBuffer) throws(CoderError)
    func finish() throws(CoderError)
}

extension FrameEncoder {
    public func addThumbnail(_ pixels: PixelBuffer) throws(CoderError) -> Bool { false }
    public func beginRows(_ frame: FrameInfo) throws(CoderError) -> Int? { nil }
    public func addRows(_ pixels: PixelBuffer) throws(CoderError) {
        throw CoderError(.misuse, "this encoder takes no rows")
    }
}

/// What `decode` is asked for.
public struct FrameRequest: Sendable, Hashable {
    /// The size to reduce to, as answered by `scaledSize`.
    public var scaledSize: PixelSize?
    /// A part of the frame, in pixels of the reduced frame if it is reduced.
    ///
    /// Any part for coders with the role `.region`, which may refuse it; bands of whole rows, from the top and each once,
    /// for images whose facts state `decodesRows`.
    public var region: PixelRect?
    /// Whether an unfinished picture is of use.
    public var wantsPartial: Bool

    public init(scaledSize: PixelSize? = nil, region: PixelRect? = nil, wantsPartial: Bool = false) {
        self.scaledSize = scaledSize
        self.region = region
        self.wantsPartial = wantsPartial
    }
}

/// How far `decode` came.
public enum FrameOutcome: Sendable, Hashable {
    case complete
    /// A part is there. The rectangle is what this call changed, in pixels of the place.
    case partial(PixelRect)
}

/// A rectangle of a buffer that a frame is decoded into.
public struct CanvasPlace: Sendable {
    public let buffer: PixelBuffer
    public let rect: PixelRect

    /// - Ownership: the caller holds the only reference that writes.
    public init(_ buffer: PixelBuffer, _ rect: PixelRect? = nil) {
        self.buffer = buffer
        self.rect = rect ?? PixelRect(buffer.size)
        precondition(PixelRect(buffer.size).contains(self.rect))
    }

    /// Writes row `y` of the rectangle.
    public func withMutableRow<R, E: Error>(_ y: Int, _ body: (inout MutableRawSpan) throws(E) -> R) throws(E) -> R {
        let bytes = buffer.format.bytesPerPixel
        return try buffer.withMutableRow(rect.y + y) { (row: inout MutableRawSpan) throws(E) -> R in
            var part = row._mutatingExtracting(rect.x * bytes..<(rect.x + rect.width) * bytes)
            return try body(&part)
        }
    }
}
