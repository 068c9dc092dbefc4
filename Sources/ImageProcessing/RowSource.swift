public import ImageModel

/// Rows of a picture, from the top: a picture in memory, or one that is being decoded strip by strip.
///
/// - Concurrency: one thread at a time.
public protocol RowSource: AnyObject {
    var size: PixelSize { get }
    var format: PixelFormat { get }

    /// Lends row `y`, without padding.
    ///
    /// Rows are asked for from the top; one that was asked for may be asked for again only until the next one.
    func withRow<R>(_ y: Int, _ body: (RawSpan) throws(CoderError) -> R) throws(CoderError) -> R
}

/// A picture in memory as a source of rows.
public final class BufferRows: RowSource {
    private let buffer: PixelBuffer
    public var size: PixelSize { buffer.size }
    public var format: PixelFormat { buffer.format }

    public init(_ buffer: PixelBuffer) { self.buffer = buffer }

    public func withRow<R>(_ y: Int, _ body: (RawSpan) throws(CoderError) -> R) throws(CoderError) -> R {
        try buffer.withRow(y, body)
    }
}
