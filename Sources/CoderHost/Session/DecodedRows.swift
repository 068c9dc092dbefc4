import ImageModel
import ImageProcessing
import PluginRuntime

/// Rows of an image that is being decoded, with one band in memory.
final class DecodedRows: RowSource {
    let size: PixelSize
    let format: PixelFormat
    private let decode: (PixelRect, CanvasPlace) throws(CoderError) -> Void
    private let band: PixelBuffer
    /// The rows in the band.
    private var rows = 0..<0

    /// - Parameter decode: fills a place with a part of the image; called for each row once, from top to bottom.
    init(
        _ size: PixelSize, _ format: PixelFormat, _ pool: PixelBufferPool,
        decode: @escaping (PixelRect, CanvasPlace) throws(CoderError) -> Void
    ) throws(CoderError) {
        self.size = size
        self.format = format
        self.decode = decode
        // Block-based codecs decode sixteen rows at a time.
        let height = max(16, RowImage.rowsPerBand(of: size, format) / 16 * 16)
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
