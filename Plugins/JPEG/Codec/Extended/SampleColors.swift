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

    /// Whether the samples differ from those of the pixels.
    private var isScaled: Bool { Int(most) != 1 << format.bits - 1 }

    init(_ header: ExtendedHeader) {
        color = header.color
        format = header.format
        let most = 1 << header.frame.precision - 1
        self.most = Int32(most)
        let full = header.format.bits == 8 ? 255 : 65_535
        scaled = (0...most).map { UInt16(($0 * full + most / 2) / most) }
    }

    /// Writes the pixels of some columns; `rows` has a row of each component.
    func write(_ rows: [SampleRow], _ columns: Range<Int>, into target: inout MutableRawSpan) {
        let count = columns.count
        let table = scaled.span
        let mask = UInt16(truncatingIfNeeded: most)
        // Checked once, and not for every sample.
        precondition(target.byteCount >= count * format.bytesPerPixel && table.count > Int(mask))
        let (row0, row1) = (rows[0], rows[min(1, rows.count - 1)])
        let (row2, row3) = (rows[min(2, rows.count - 1)], rows[rows.count - 1])
        let first = row0.samples.span.extracting(row0.start + columns.lowerBound..<row0.start + columns.upperBound)
        let second = row1.samples.span.extracting(row1.start + columns.lowerBound..<row1.start + columns.upperBound)
        let third = row2.samples.span.extracting(row2.start + columns.lowerBound..<row2.start + columns.upperBound)
        let fourth = row3.samples.span.extracting(row3.start + columns.lowerBound..<row3.start + columns.upperBound)
        precondition(first.count == count && second.count == count && third.count == count && fourth.count == count)
        switch color {
        case .gray where isScaled:
            for x in 0..<count { put(table[Int(first[x] & mask)], x, &target) }
        case .gray:
            for x in 0..<count { put(first[x] & mask, x, &target) }
        case .rgb where !isScaled:
            for x in 0..<count {
                put(first[x] & mask, 3 &* x, &target)
                put(second[x] & mask, 3 &* x &+ 1, &target)
                put(third[x] & mask, 3 &* x &+ 2, &target)
            }
        case .rgb:
            for x in 0..<count {
                put(table[Int(first[x] & mask)], 3 &* x, &target)
                put(table[Int(second[x] & mask)], 3 &* x &+ 1, &target)
                put(table[Int(third[x] & mask)], 3 &* x &+ 2, &target)
            }
        case .yCbCr:
            for x in 0..<count {
                let (red, green, blue) = rgb(first[x] & mask, second[x] & mask, third[x] & mask)
                put(table[red], 3 &* x, &target)
                put(table[green], 3 &* x &+ 1, &target)
                put(table[blue], 3 &* x &+ 2, &target)
            }
        case .cmyk:
            // Stored samples are inverted, as Photoshop writes them: 0 is full ink.
            for x in 0..<count {
                put(table[Int(mask &- first[x] & mask)], 4 &* x, &target)
                put(table[Int(mask &- second[x] & mask)], 4 &* x &+ 1, &target)
                put(table[Int(mask &- third[x] & mask)], 4 &* x &+ 2, &target)
                put(table[Int(mask &- fourth[x] & mask)], 4 &* x &+ 3, &target)
            }
        case .ycck:
            // The inverted ink is the RGB of the first three components.
            for x in 0..<count {
                let (cyan, magenta, yellow) = rgb(first[x] & mask, second[x] & mask, third[x] & mask)
                put(table[cyan], 4 &* x, &target)
                put(table[magenta], 4 &* x &+ 1, &target)
                put(table[yellow], 4 &* x &+ 2, &target)
                put(table[Int(mask &- fourth[x] & mask)], 4 &* x &+ 3, &target)
            }
        }
    }

    @inline(__always)
    private func put(_ sample: UInt16, _ index: Int, _ target: inout MutableRawSpan) {
        if format.bits == 8 {
            target.storeBytes(of: UInt8(truncatingIfNeeded: sample), toByteOffset: index, as: UInt8.self)
        } else {
            target.storeBytes(of: sample, toByteOffset: 2 &* index, as: UInt16.self)
        }
    }

    /// The constants 1.402, 0.34414, 0.71414 and 1.772 of JFIF, times 2¹⁶.
    ///
    /// - Source: JFIF 1.02, "conversion to and from RGB".
    @inline(__always)
    private func rgb(_ luma: UInt16, _ cb: UInt16, _ cr: UInt16) -> (Int, Int, Int) {
        let y = Int(luma)
        let middle = (Int(most) &+ 1) / 2
        let (cb, cr) = (Int(cb) &- middle, Int(cr) &- middle)
        let red = y &+ (91_881 &* cr &+ 32_768) &>> 16
        let green = y &+ (32_768 &- 22_554 &* cb &- 46_802 &* cr) &>> 16
        let blue = y &+ (116_130 &* cb &+ 32_768) &>> 16
        return (limited(red), limited(green), limited(blue))
    }

    @inline(__always)
    private func limited(_ value: Int) -> Int { min(max(value, 0), Int(most)) }
}
