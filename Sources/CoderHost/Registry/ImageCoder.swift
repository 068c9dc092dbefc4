public import ImageModel

/// A coder as the manager sees it: a plugin's, the host's own, or one that the application adds.
public protocol ImageCoder: Sendable {
    var descriptor: CoderDescriptor { get }

    /// Begins decoding; reads nothing yet.
    func makeDecoder(_ source: ImageSource, _ context: SessionContext) throws(CoderError) -> any FrameDecoder

    /// Begins encoding.
    func makeEncoder(_ context: SessionContext) throws(CoderError) -> any FrameEncoder
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
    func reducedSize(atLeast wanted: PixelSize) throws(CoderError) -> PixelSize
    /// Goes to the next frame; nil behind the last, which stays the one that `decode` decodes.
    func nextFrame() throws(CoderError) -> FrameInfo?
    /// Arranges that `nextFrame` answers this frame or an earlier one that has to be decoded first, and says which.
    func seek(toFrame index: Int) throws(CoderError) -> Int
    func decode(_ request: FrameRequest, into place: CanvasPlace) throws(CoderError) -> FrameOutcome
    func thumbnail(at index: Int) throws(CoderError) -> ImageInfo?
    func decodeThumbnail(at index: Int, into place: CanvasPlace) throws(CoderError)
}

extension FrameDecoder {
    public func metadata() throws(CoderError) -> [MetadataBlob] { [] }
    public func reducedSize(atLeast wanted: PixelSize) throws(CoderError) -> PixelSize { try readHeader().size }
    public func thumbnail(at index: Int) throws(CoderError) -> ImageInfo? { nil }
    public func decodeThumbnail(at index: Int, into place: CanvasPlace) throws(CoderError) {
        throw .invalidArgument("there is no thumbnail \(index)")
    }
}

/// One encoding session.
///
/// Call order: `acceptedFormats`, `begin`, `add` blobs, `add` frames, `finish`.
public protocol FrameEncoder: AnyObject {
    func acceptedFormats(for info: ImageInfo) throws(CoderError) -> [PixelFormat]
    func begin(_ info: ImageInfo, to sink: any OutputSink) throws(CoderError)
    /// Answers whether the format can carry the blob.
    func add(_ blob: MetadataBlob) throws(CoderError) -> Bool
    func add(_ frame: FrameInfo, pixels: PixelBuffer) throws(CoderError)
    func finish() throws(CoderError)
}

/// What `decode` is asked for.
public struct FrameRequest: Sendable, Hashable {
    /// The size to reduce to, as answered by `reducedSize`.
    public var reducedSize: PixelSize?
    /// A part of the frame, in pixels of the reduced frame if it is reduced.
    ///
    /// Only for coders with the role `.region`, and as bands of whole rows, from the top and each once, for pictures
    /// whose facts say `decodesRows`.
    public var region: PixelRect?
    /// Whether an unfinished picture is of use.
    public var wantsPartial: Bool

    public init(reducedSize: PixelSize? = nil, region: PixelRect? = nil, wantsPartial: Bool = false) {
        self.reducedSize = reducedSize
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
