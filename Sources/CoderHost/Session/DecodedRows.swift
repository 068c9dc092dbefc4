import ImageModel
import ImageProcessing

/// Rows of a picture while it is being decoded: one band of them is in memory.
final class DecodedRows: RowSource {
    let size: PixelSize
    let format: PixelFormat
    private let decode: (PixelRect, CanvasPlace) throws(CoderError) -> Void
    private let band: PixelBuffer
    /// The rows that the band holds.
    private var rows = 0..<0

    /// A band stays about in the second-level cache; of smaller ones a worker would be asked for more often.
    private static var bytesPerBand: Int { RowImage.bytesPerBand }

    /// - Parameter decode: fills the place with that part of the picture; called from the top, each row once.
    init(
        _ size: PixelSize, _ format: PixelFormat, _ pool: PixelBufferPool,
        decode: @escaping (PixelRect, CanvasPlace) throws(CoderError) -> Void
    ) throws(CoderError) {
        self.size = size
        self.format = format
        self.decode = decode
        let bytesPerRow = max(1, format.bytesPerRow(width: size.width) ?? 1)
        // Codecs that work in blocks make sixteen rows at a time.
        let height = max(16, Self.bytesPerBand / bytesPerRow / 16 * 16)
        band = try pool.take(
            PixelSize(size.width, min(size.height, height)), format, clean: false)
    }

    func withRow<R>(_ y: Int, _ body: (RawSpan) throws(CoderError) -> R) throws(CoderError) -> R {
        while y >= rows.upperBound { try decodeNextBand() }
        return try band.withRow(y - rows.lowerBound, body)
    }

    private func decodeNextBand() throws(CoderError) {
        let first = rows.upperBound
        let rect = PixelRect(x: 0, y: first, width: size.width, height: min(band.size.height, size.height - first))
        try decode(rect, CanvasPlace(band, PixelRect(rect.size)))
        rows = rect.rows
    }
}
