public import ImageModel

/// Changes the size of pictures; the one way it is done.
///
/// The result has the format of the source. Straight alpha is multiplied in before and divided out after, so that the
/// colour of what cannot be seen does not show; what is fully transparent afterwards has the colour 0. A size equal to
/// the source's is a copy. Memory beside the result: rows that one target row is made of.
public enum Resampler {
    /// The picture in another size, or a part of it.
    ///
    /// - Throws: `.invalidArgument` for empty sizes or a part outside of the source, `.outOfMemory`, and what the source
    ///   throws.
    public static func resample(
        _ source: any RowSource, crop: PixelRect? = nil, to size: PixelSize, _ how: Resampling = Resampling()
    ) throws(CoderError) -> PixelBuffer {
        try resample(source, window: crop.map { SourceWindow($0) }, to: size, how, pool: .shared)
    }

    /// The picture in another size, or a part of it whose edges may lie within pixels.
    package static func resample(
        _ source: any RowSource, window: SourceWindow? = nil, to size: PixelSize, _ how: Resampling = Resampling(),
        pool: PixelBufferPool
    ) throws(CoderError) -> PixelBuffer {
        let rows = try ResampledRows(source, window: window, to: size, how)
        let target = try pool.take(size, source.format, clean: false)
        try fill(target, from: rows)
        return target
    }

    /// Fills a buffer, whose size is the new one and whose format is the source's.
    ///
    /// - Throws: as the others, and `.invalidArgument` for a buffer of another format. Rows before an error are there.
    public static func resample(
        _ source: any RowSource, crop: PixelRect? = nil, into target: PixelBuffer, _ how: Resampling = Resampling()
    ) throws(CoderError) {
        guard target.format == source.format else {
            throw .invalidArgument("a picture of \(source.format) cannot fill one of \(target.format)")
        }
        try fill(
            target, from: try ResampledRows(source, window: crop.map { SourceWindow($0) }, to: target.size, how))
    }

    private static func fill(_ target: PixelBuffer, from rows: ResampledRows) throws(CoderError) {
        for y in 0..<target.size.height {
            try rows.withRow(y) { row throws(CoderError) in target.withMutableRow(y) { $0.copy(row) } }
        }
    }
}
