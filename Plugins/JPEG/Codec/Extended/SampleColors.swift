import CoderPluginKit
import ImageModel

/// Converts rows of component samples to pixels.
///
/// The samples are converted to RGB or ink at their own precision, with the arithmetic of libjpeg-turbo, and then
/// scaled to 8 or 16 bits, rounded to the nearest.
struct SampleColors {
    private let color: ExtendedHeader.Color
    private let format: PixelFormat
    /// The largest sample.
    private let most: Int32
    /// The sample of the pixel for each sample of the image.
    private let scaled: [UInt16]

    init(_ header: ExtendedHeader) {
        color = header.color
        format = header.format
        let most = 1 << header.frame.precision - 1
        self.most = Int32(most)
        let full = header.format.bits == 8 ? 255 : 65_535
        scaled = (0...most).map { UInt16(($0 * full + most / 2) / most) }
    }

    /// Writes the pixels of some columns; `rows` has a row of each component.
    func write(_ rows: [[UInt16]], _ columns: Range<Int>, into target: inout MutableRawSpan) {
        let table = scaled.span
        let mask = UInt16(truncatingIfNeeded: most)
        let (row0, row1) = (rows[0], rows[min(1, rows.count - 1)])
        let (row2, row3) = (rows[min(2, rows.count - 1)], rows[rows.count - 1])
        let first = row0.span
        if rows.count == 1 {
            for (to, x) in columns.enumerated() { put(table[Int(first[x] & mask)], to, &target) }
            return
        }
        let second = row1.span
        let third = row2.span
        switch color {
        case .rgb, .gray:
            for (to, x) in columns.enumerated() {
                put(table[Int(first[x] & mask)], 3 * to, &target)
                put(table[Int(second[x] & mask)], 3 * to + 1, &target)
                put(table[Int(third[x] & mask)], 3 * to + 2, &target)
            }
        case .yCbCr:
            for (to, x) in columns.enumerated() {
                let (red, green, blue) = rgb(first[x] & mask, second[x] & mask, third[x] & mask)
                put(table[red], 3 * to, &target)
                put(table[green], 3 * to + 1, &target)
                put(table[blue], 3 * to + 2, &target)
            }
        case .cmyk, .ycck:
            // Stored samples are inverted, as Photoshop writes them: 0 is full ink. YCCK holds the ink as if it were RGB.
            let fourth = row3.span
            for (to, x) in columns.enumerated() {
                var ink = (Int(first[x] & mask), Int(second[x] & mask), Int(third[x] & mask))
                if color == .ycck {
                    ink = rgb(first[x] & mask, second[x] & mask, third[x] & mask)
                } else {
                    ink = (Int(most) - ink.0, Int(most) - ink.1, Int(most) - ink.2)
                }
                put(table[ink.0], 4 * to, &target)
                put(table[ink.1], 4 * to + 1, &target)
                put(table[ink.2], 4 * to + 2, &target)
                put(table[Int(most) - Int(fourth[x] & mask)], 4 * to + 3, &target)
            }
        }
    }

    @inline(__always)
    private func put(_ sample: UInt16, _ index: Int, _ target: inout MutableRawSpan) {
        if format.bits == 8 {
            target.storeBytes(of: UInt8(truncatingIfNeeded: sample), toByteOffset: index, as: UInt8.self)
        } else {
            target.storeBytes(of: sample, toByteOffset: 2 * index, as: UInt16.self)
        }
    }

    /// The constants 1.402, 0.34414, 0.71414 and 1.772 of JFIF, times 2¹⁶.
    ///
    /// - Source: JFIF 1.02, "conversion to and from RGB".
    @inline(__always)
    private func rgb(_ luma: UInt16, _ cb: UInt16, _ cr: UInt16) -> (Int, Int, Int) {
        let y = Int(luma)
        let middle = (Int(most) + 1) / 2
        let (cb, cr) = (Int(cb) - middle, Int(cr) - middle)
        let red = y + (91_881 * cr + 32_768) >> 16
        let green = y + (-22_554 * cb - 46_802 * cr + 32_768) >> 16
        let blue = y + (116_130 * cb + 32_768) >> 16
        return (limited(red), limited(green), limited(blue))
    }

    @inline(__always)
    private func limited(_ value: Int) -> Int { min(max(value, 0), Int(most)) }
}
