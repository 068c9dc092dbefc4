import CoderPluginKit
import ImageModel

/// Makes pixels of one row of each channel.
///
/// Photoshop mixes the colors of a composite with white where it is transparent. The pixels have straight alpha, so the
/// white is removed: color = (stored − (1 − alpha) · white) / alpha. Fully transparent pixels stay as stored.
struct PixelRows {
    private let form: CompositeForm
    private let palette: [UInt8]
    private let transparentIndex: Int?
    /// 2 to the power of 24, divided by each alpha and rounded up.
    private let reciprocals = Self.reciprocals
    /// Whether samples outside 0 to 1 were cut off.
    private(set) var isCut = false

    /// - Parameter palette: all red values, then all green and all blue ones.
    init(_ form: CompositeForm, palette: [UInt8], transparentIndex: Int?) {
        (self.form, self.palette, self.transparentIndex) = (form, palette, transparentIndex)
    }

    /// Converts the pixels `columns` of a row.
    ///
    /// - Parameter rows: the row of each channel of the form.
    mutating func convert(_ rows: [[UInt8]], columns: Range<Int>, into target: inout MutableRawSpan) {
        switch (form.color, form.depth) {
        case (.bitmap, _): bits(rows[0], columns, &target)
        case (.palette, _): colors(rows[0], columns, &target)
        case (.lab, _): lab(rows, columns, &target)
        case (_, 8): bytes(rows, columns, &target)
        case (_, 16): words(rows, columns, &target)
        default: floats(rows, columns, &target)
        }
    }

    private func bits(_ row: [UInt8], _ columns: Range<Int>, _ target: inout MutableRawSpan) {
        for (to, x) in columns.enumerated() {
            let bit = row[x >> 3] >> UInt8(7 - x & 7) & 1
            target.storeBytes(of: bit == 0 ? 255 : 0, toByteOffset: to, as: UInt8.self)
        }
    }

    private func colors(_ row: [UInt8], _ columns: Range<Int>, _ target: inout MutableRawSpan) {
        let step = form.format.bytesPerPixel
        for (number, x) in columns.enumerated() {
            let index = Int(row[x])
            for channel in 0..<3 {
                target.storeBytes(
                    of: palette[256 * channel + index], toByteOffset: step * number + channel, as: UInt8.self)
            }
            if step == 4 {
                target.storeBytes(
                    of: index == transparentIndex ? 0 : 255, toByteOffset: step * number + 3, as: UInt8.self)
            }
        }
    }

    // MARK: 8 bits

    private func bytes(_ rows: [[UInt8]], _ columns: Range<Int>, _ target: inout MutableRawSpan) {
        switch rows.count {
        case 1:
            let plane = rows[0]
            let gray = plane.span
            for (to, x) in columns.enumerated() { target.storeBytes(of: gray[x], toByteOffset: to, as: UInt8.self) }
        case 2:
            let (gray, alpha) = (rows[0], rows[1])
            for (number, x) in columns.enumerated() {
                var color = gray[x]
                if alpha[x] != 255, alpha[x] != 0 { color = Self.unmixed(color, alpha[x], reciprocals[Int(alpha[x])]) }
                target.storeBytes(
                    of: (UInt16(color) | UInt16(alpha[x]) << 8).littleEndian, toByteOffset: 2 * number, as: UInt16.self)
            }
        case 3: triples(rows[0], rows[1], rows[2], columns, &target)
        default: quads(rows[0], rows[1], rows[2], rows[3], columns, &target)
        }
    }

    /// Stores four pixels at once, in three words.
    private func triples(
        _ red: [UInt8], _ green: [UInt8], _ blue: [UInt8], _ columns: Range<Int>,
        _ target: inout MutableRawSpan
    ) {
        let (red, green, blue) = (red.span, green.span, blue.span)
        var (x, to) = (columns.lowerBound, 0)
        while x + 4 <= columns.upperBound {
            let first = UInt32(red[x]) | UInt32(green[x]) << 8 | UInt32(blue[x]) << 16 | UInt32(red[x + 1]) << 24
            let second =
                UInt32(green[x + 1]) | UInt32(blue[x + 1]) << 8 | UInt32(red[x + 2]) << 16 | UInt32(green[x + 2]) << 24
            let third =
                UInt32(blue[x + 2]) | UInt32(red[x + 3]) << 8 | UInt32(green[x + 3]) << 16 | UInt32(blue[x + 3]) << 24
            target.storeBytes(of: first.littleEndian, toByteOffset: to, as: UInt32.self)
            target.storeBytes(of: second.littleEndian, toByteOffset: to + 4, as: UInt32.self)
            target.storeBytes(of: third.littleEndian, toByteOffset: to + 8, as: UInt32.self)
            (x, to) = (x + 4, to + 12)
        }
        while x < columns.upperBound {
            target.storeBytes(of: red[x], toByteOffset: to, as: UInt8.self)
            target.storeBytes(of: green[x], toByteOffset: to + 1, as: UInt8.self)
            target.storeBytes(of: blue[x], toByteOffset: to + 2, as: UInt8.self)
            (x, to) = (x + 1, to + 3)
        }
    }

    /// Stores RGBA or CMYK.
    private func quads(
        _ first: [UInt8], _ second: [UInt8], _ third: [UInt8], _ fourth: [UInt8],
        _ columns: Range<Int>, _ target: inout MutableRawSpan
    ) {
        let flip: UInt32 = form.color == .cmyk ? .max : 0
        let (hasAlpha, reciprocals) = (form.hasAlpha, self.reciprocals)
        let (first, second, third, fourth) = (first.span, second.span, third.span, fourth.span)
        for (number, x) in columns.enumerated() {
            var (a, b, c) = (first[x], second[x], third[x])
            let last = fourth[x]
            if hasAlpha, last != 255, last != 0 {
                let factor = reciprocals[Int(last)]
                a = Self.unmixed(a, last, factor)
                b = Self.unmixed(b, last, factor)
                c = Self.unmixed(c, last, factor)
            }
            let pixel = (UInt32(a) | UInt32(b) << 8 | UInt32(c) << 16 | UInt32(last) << 24) ^ flip
            target.storeBytes(of: pixel.littleEndian, toByteOffset: 4 * number, as: UInt32.self)
        }
    }

    /// Removes white from a sample of 8 bits, rounding to the nearest value.
    ///
    /// - Parameter factor: the reciprocal of `alpha`, not of 0; with 24 bits it replaces the division exactly.
    private static func unmixed(_ stored: UInt8, _ alpha: UInt8, _ factor: UInt32) -> UInt8 {
        let rest = Int(stored) + Int(alpha) - 255
        return rest <= 0 ? 0 : UInt8(truncatingIfNeeded: ((rest * 255 + Int(alpha) / 2) * Int(factor)) >> 24)
    }

    private static let reciprocals: [UInt32] = (0..<256).map { $0 == 0 ? 0 : ((1 << 24) + UInt32($0) - 1) / UInt32($0) }

    // MARK: 16 bits

    private func words(_ rows: [[UInt8]], _ columns: Range<Int>, _ target: inout MutableRawSpan) {
        let unmixed: ((UInt16, UInt16) -> UInt16)? = form.hasAlpha ? { Self.unmixed($0, $1) } : nil
        WordRows.join(rows, columns, flip: form.color == .cmyk ? .max : 0, unmixed: unmixed, into: &target)
    }

    /// Removes white from a sample of 16 bits, rounding to the nearest value.
    static func unmixed(_ stored: UInt16, _ alpha: UInt16) -> UInt16 {
        if alpha == .max || alpha == 0 { return stored }
        let (stored, alpha) = (UInt32(stored), UInt32(alpha))
        if stored + alpha <= 65_535 { return 0 }
        // At most 2 to the power of 32 - 98,304, and a division of 32 bits takes half the time of one of 64.
        return UInt16(truncatingIfNeeded: ((stored + alpha - 65_535) * 65_535 + alpha / 2) / alpha)
    }

    // MARK: Floats

    private mutating func floats(_ rows: [[UInt8]], _ columns: Range<Int>, _ target: inout MutableRawSpan) {
        let count = rows.count
        for channel in 0..<count {
            let row = rows[channel]
            for (number, x) in columns.enumerated() {
                var value = Self.float(row, x)
                if form.hasAlpha, channel < count - 1 {
                    value = Self.unmixed(value, Self.float(rows[count - 1], x), white: 1)
                }
                store(value, number * count + channel, &target)
            }
        }
    }

    private static func float(_ row: [UInt8], _ x: Int) -> Float {
        let bits =
            UInt32(row[4 * x]) << 24 | UInt32(row[4 * x + 1]) << 16 | UInt32(row[4 * x + 2]) << 8
            | UInt32(row[4 * x + 3])
        return Float(bitPattern: bits)
    }

    /// Removes white from a sample.
    static func unmixed(_ stored: Float, _ alpha: Float, white: Float) -> Float {
        alpha > 0 && alpha < 1 ? (stored - (1 - alpha) * white) / alpha : stored
    }

    /// Stores a sample as a float, or as a 16-bit integer.
    private mutating func store(_ value: Float, _ index: Int, _ target: inout MutableRawSpan) {
        if form.format.numeric == .float {
            target.storeBytes(of: value, toByteOffset: 4 * index, as: Float.self)
            return
        }
        // A comparison with NaN is false, so it becomes 0. Rounding errors of a conversion are no cut.
        let kept: Float = value > 0 ? min(value, 1) : 0
        if !(value > -0.001 && value < 1.001) { isCut = true }
        target.storeBytes(of: UInt16(Double(kept) * 65_535 + 0.5), toByteOffset: 2 * index, as: UInt16.self)
    }

    // MARK: Lab

    private mutating func lab(_ rows: [[UInt8]], _ columns: Range<Int>, _ target: inout MutableRawSpan) {
        let count = rows.count
        for (number, x) in columns.enumerated() {
            var (l, a, b) = (sample(rows[0], x), sample(rows[1], x), sample(rows[2], x))
            if form.hasAlpha {
                let alpha = sample(rows[3], x)
                let neutral = LabColor.neutral(form.depth)
                l = Self.unmixed(l, alpha, white: 1)
                (a, b) = (Self.unmixed(a, alpha, white: neutral), Self.unmixed(b, alpha, white: neutral))
                store(alpha, number * count + 3, &target)
            }
            let color = LabColor.rgb(l, a, b, depth: form.depth)
            store(color.red, number * count, &target)
            store(color.green, number * count + 1, &target)
            store(color.blue, number * count + 2, &target)
        }
    }

    /// Returns a sample of 8 or 16 bits, from 0 to 1.
    private func sample(_ row: [UInt8], _ x: Int) -> Float {
        if form.depth == 8 { return Float(row[x]) / 255 }
        return Float(UInt16(row[2 * x]) << 8 | UInt16(row[2 * x + 1])) / 65_535
    }
}
