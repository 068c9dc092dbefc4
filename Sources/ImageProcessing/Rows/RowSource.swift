package import ImageModel

/// The rows of an image from the top: an image in memory, or one that a decoder delivers strip by strip.
///
/// - Concurrency: one thread at a time.
package protocol RowSource: AnyObject {
    var size: PixelSize { get }
    var format: PixelFormat { get }

    /// Calls `body` with row `y`, without padding.
    ///
    /// Callers request rows from the top, and may repeat a request only until they request the next row.
    func withRow<R>(_ y: Int, _ body: (RawSpan) throws(CoderError) -> R) throws(CoderError) -> R
}

/// An image in memory as a source of rows.
package final class BufferRows: RowSource {
    private let buffer: PixelBuffer
    /// The size of the image.
    package var size: PixelSize { buffer.size }
    /// The pixel format of the image.
    package var format: PixelFormat { buffer.format }

    /// Creates a source over an image.
    package init(_ buffer: PixelBuffer) { self.buffer = buffer }

    /// Calls `body` with row `y`, without padding.
    package func withRow<R>(_ y: Int, _ body: (RawSpan) throws(CoderError) -> R) throws(CoderError) -> R {
        try buffer.withRow(y, body)
    }
}
