public import ImageModel
public import ImageProcessing

/// An image whose rows are decoded while they are used: one band of them is in memory at a time.
///
/// - Concurrency: one thread at a time, that of its session.
public struct RowImage {
    /// The facts, with the size and format of the rows.
    public var info: ImageInfo
    public var metadata: [MetadataBlob]
    public let rows: any RowSource
    public let format: ImageFormat
    /// The coder that decodes it.
    public let coder: String

    /// Rows that an encoder is handed at a time take about so many bytes: they stay in the second-level cache.
    static let bytesPerBand = 1280 << 10
}

extension DecodeSession {
    /// Returns the image in rows, as the options say; nil where it has to be in memory as a whole.
    ///
    /// An image is whole where its coder hands out no bands, and where pixels have to be turned or their colors converted.
    public func rowImage(_ options: DecodeOptions) throws(CoderError) -> RowImage? {
        let isTurned = options.appliesOrientation && pendingOrientation != .up
        guard info.decodesRows, !isTurned, !options.makesSRGB, options.region == nil, try isWhole() else { return nil }
        let target = storedTarget(options)
        let rows: any RowSource
        if target == info.size {
            rows = try decodedRows(scaledTo: nil)
        } else {
            rows = try ResampledRows(
                decodedRows(scaledTo: try scaledSize(for: target, options.resampling)), to: target, options.resampling)
        }
        var info = info
        info.size = rows.size
        info.nativeFormat = rows.format
        info.decodesRows = false
        var metadata = try settledMetadata()
        if target != self.info.size {
            metadata = metadata.withoutThumbnails
            info.hasItems = false
        }
        return RowImage(info: info, metadata: metadata, rows: rows, format: format, coder: coder.id)
    }

    /// The rows of the image at its full size or at one that the coder scales to.
    func decodedRows(scaledTo size: PixelSize?) throws(CoderError) -> DecodedRows {
        let scaled = size == info.size ? nil : size
        let format = try pixelFormats()[0]
        try LimitCheck.examine(made: scaled ?? info.size, format, context.limits)
        try sequence.stand(at: 0)
        return try DecodedRows(scaled ?? info.size, format, pool) { [self] rect, place throws(CoderError) in
            guard try sequence.decode(place, FrameRequest(scaledSize: scaled, region: rect)) == .complete else {
                throw source.isComplete ? CoderError.truncated() : .needsInput
            }
        }
    }
}
