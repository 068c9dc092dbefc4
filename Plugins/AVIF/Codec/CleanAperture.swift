internal import ImageModel

/// The visible part of a stored image.
///
/// - Source: ISO/IEC 14496-12 section 12.1.4; ISO/IEC 23000-22 (MIAF) section 7.3.6.7: whole pixels, inside the image.
enum CleanAperture {
    /// Nil for a crop that MIAF does not allow.
    ///
    /// - Parameter fields: numerator and denominator of width, height and the offsets of the centers.
    static func rect(_ fields: [UInt32], in stored: PixelSize) -> PixelRect? {
        guard fields.count == 8, let x = span(fields[0...1], fields[4...5], in: stored.width),
            let y = span(fields[2...3], fields[6...7], in: stored.height)
        else { return nil }
        return PixelRect(x: x.lowerBound, y: y.lowerBound, width: x.count, height: y.count)
    }

    private static func span(
        _ length: ArraySlice<UInt32>, _ offset: ArraySlice<UInt32>, in whole: Int
    ) -> Range<Int>? {
        let (numerator, denominator) = (Int(length[length.startIndex]), Int(length[length.startIndex + 1]))
        // The offset is signed; all products are below 2⁶⁷/2⁴, as a side is below 2³¹ and a denominator below 2³².
        let shift = Int(Int32(bitPattern: offset[offset.startIndex]))
        let unit = Int(offset[offset.startIndex + 1])
        guard denominator > 0, unit > 0, numerator > 0, numerator % denominator == 0 else { return nil }
        let count = numerator / denominator
        guard count <= whole, whole < 1 << 30 else { return nil }
        // The centers are `shift / unit` apart: start = (whole - count) / 2 + shift / unit.
        let twice = (whole - count) * unit + 2 * shift
        guard twice % (2 * unit) == 0 else { return nil }
        let start = twice / (2 * unit)
        return start >= 0 && start <= whole - count ? start..<start + count : nil
    }
}
