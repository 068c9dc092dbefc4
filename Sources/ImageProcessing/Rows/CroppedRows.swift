package import ImageModel

/// The rows of a part of an image. Rows above the part are read; rows below it are not.
///
/// - Concurrency: one thread at a time.
package final class CroppedRows: RowSource {
    /// The size of the part.
    package var size: PixelSize { part.size }
    /// The format of the source.
    package var format: PixelFormat { source.format }

    private let source: any RowSource
    private let part: PixelRect
    private let bytes: Range<Int>
    /// The number of skipped rows.
    private var skipped = 0

    /// Prepares the part.
    ///
    /// - Throws: `.invalidArgument` for an empty part, and for one that is not within the source.
    package init(_ source: any RowSource, to part: PixelRect) throws(CoderError) {
        guard !part.isEmpty, PixelRect(source.size).contains(part) else {
            throw .invalidArgument("the part \(part) is not within an image of \(source.size) pixels")
        }
        self.source = source
        self.part = part
        let pixel = source.format.bytesPerPixel
        bytes = part.x * pixel..<(part.x + part.width) * pixel
    }

    /// Calls `body` with row `y` of the part.
    package func withRow<R>(_ y: Int, _ body: (RawSpan) throws(CoderError) -> R) throws(CoderError) -> R {
        while skipped < part.y {
            try source.withRow(skipped) { _ throws(CoderError) in }
            skipped += 1
        }
        return try source.withRow(part.y + y) { row throws(CoderError) in try body(row.extracting(bytes)) }
    }
}
