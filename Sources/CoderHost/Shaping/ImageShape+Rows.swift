import ImageModel
import ImageProcessing

extension ImageShape {
    /// Shapes rows while they are decoded; the result equals that of ``apply(to:_:)``.
    ///
    /// - Parameters:
    ///   - decoded: the rows of the stored image, or of a reduced one if the shape has no part.
    ///   - notes: warnings.
    /// - Returns: nil if a step needs the whole image: a turn, a crop by content, a box with padding, or a transformer.
    func apply(to decoded: any RowSource, _ notes: inout ShapeNotes) throws(CoderError) -> (any RowSource)? {
        if isPadded || isCroppedByContent { return nil }
        var rows = decoded
        if let part { rows = try CroppedRows(rows, to: part) }
        if rows.size != reduced { rows = try ResampledRows(rows, to: reduced, options.resampling) }
        switch turn {
        case .up: break
        case .upMirrored: rows = try rows.mirrored()
        default: return nil
        }
        if rows.size != boxSize {
            let window = (options.cropPosition.gravity ?? .center).place(boxSize, in: rows.size)
            rows = try CroppedRows(rows, to: window)
        }
        if let colors {
            let warning: String?
            (rows, warning) = try colors.convert(rows)
            if let warning { notes.warn(warning) }
        }
        if let transformer = finish.transformer {
            guard let next = try (transformer as? any RowTransformer)?.rows(of: rows) else { return nil }
            rows = next
        }
        if let color = finish.background, color.alpha == 255, rows.format.hasTransparency {
            rows = try rows.converted(to: rows.format.opaque, background: color)
        }
        return rows
    }
}
