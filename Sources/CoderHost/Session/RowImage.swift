public import ImageModel
package import ImageProcessing
import PluginRuntime

/// An image whose rows are decoded on demand, with one band in memory at a time.
///
/// - Concurrency: one thread at a time, the thread of its session.
public struct RowImage {
    /// The properties, with the size and format of the rows.
    package var info: ImageInfo
    /// The metadata of the file.
    package var metadata: [MetadataBlob]
    /// The rows, decoded on demand.
    package let rows: any RowSource
    /// The format of the file.
    package let format: ImageFormat
    /// The id of the coder that decodes it.
    package let coder: String

    /// Returns the approximate number of rows in a band.
    ///
    /// A band fits into the second-level cache; smaller bands would need more worker requests. A small image has eight
    /// bands, because touching new memory costs it as much as its pixels.
    static func rowsPerBand(of size: PixelSize, _ format: PixelFormat) -> Int {
        let bytesPerRow = max(1, format.bytesPerRow(width: size.width) ?? 1)
        return min(bytesPerBand / bytesPerRow, (size.height + 7) / 8)
    }

    private static let bytesPerBand = 1280 << 10
}

extension DecodeSession {
    /// Returns the image in rows with options; nil if it must be in memory as a whole.
    ///
    /// This is the case if the coder does not deliver bands, or if a change needs the whole image: a turn, a crop by
    /// content, or a box with padding.
    public func rowImage(_ options: DecodeOptions) throws(CoderError) -> RowImage? {
        try rowImage(try shape(options))
    }

    /// Returns the image in rows; nil if it must be in memory as a whole.
    package func rowImage(_ shape: ImageShape) throws(CoderError) -> RowImage? {
        guard info.decodesRows, try isWhole() else { return nil }
        let (target, how) = (shape.reduced, shape.options.resampling)
        let isReduced = shape.part == nil && target != info.size
        let decoded = try decodedRows(scaledTo: isReduced ? try scaledSize(for: target, how) : nil)
        var notes = ShapeNotes()
        guard let rows = try shape.apply(to: decoded, &notes) else { return nil }
        for warning in notes.warnings { context.warn(warning) }
        var (info, metadata) = (info, try settledMetadata())
        shape.describe(&info, &metadata, rows.size, rows.format)
        return RowImage(info: info, metadata: metadata, rows: rows, format: format, coder: coder.id)
    }

    /// Returns the rows of the image at full size, or at a size that the coder scales to.
    func decodedRows(scaledTo size: PixelSize?) throws(CoderError) -> DecodedRows {
        let scaled = size == info.size ? nil : size
        let format = try pixelFormats()[0]
        try LimitCheck.examine(decoded: scaled ?? info.size, format, source, context.limits)
        try sequence.stand(at: 0)
        return try DecodedRows(scaled ?? info.size, format, pool) { [self] rect, place throws(CoderError) in
            guard try sequence.decode(place, FrameRequest(scaledSize: scaled, region: rect)) == .complete else {
                throw source.isComplete ? CoderError.truncated() : .needsInput
            }
        }
    }
}
