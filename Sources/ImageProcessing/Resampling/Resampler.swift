import HostSystem
package import ImageModel

/// Changes the size of images.
///
/// The result has the source's format. Straight alpha is multiplied in before and divided out after, so the color of
/// transparent pixels does not bleed; fully transparent pixels of the result have color 0. If the size stays the same,
/// the result is a copy. Besides the result, memory holds only the source rows of one target row.
package enum Resampler {
    /// Returns the image, or a part of it, at another size.
    ///
    /// - Throws: `.invalidArgument` for empty sizes or a part outside of the source, `.outOfMemory`, and the errors of
    ///   the source.
    package static func resample(
        _ source: any RowSource, crop: PixelRect? = nil, to size: PixelSize, _ how: Resampling = Resampling()
    ) throws(CoderError) -> PixelBuffer {
        try resample(source, window: crop.map { SourceWindow($0) }, to: size, how, pool: .shared)
    }

    /// Returns the image, or a part of it with edges inside pixels, at another size.
    package static func resample(
        _ source: any RowSource, window: SourceWindow? = nil, to size: PixelSize, _ how: Resampling = Resampling(),
        pool: PixelBufferPool
    ) throws(CoderError) -> PixelBuffer {
        let rows = try ResampledRows(source, window: window, to: size, how)
        let target = try pool.take(size, source.format, clean: false)
        try fill(target, from: rows)
        return target
    }

    /// Fills a buffer that has the new size and the source's format.
    ///
    /// - Throws: as the other variants, and `.invalidArgument` for another format. Rows before an error are written.
    package static func resample(
        _ source: any RowSource, crop: PixelRect? = nil, into target: PixelBuffer, _ how: Resampling = Resampling()
    ) throws(CoderError) {
        guard target.format == source.format else {
            throw .invalidArgument("an image of \(source.format) cannot fill one of \(target.format)")
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
