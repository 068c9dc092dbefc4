internal import CoderPluginKit
internal import ImageModel

/// Converts rows of decoded samples to rows of the pixel format.
struct RowConverter {
    let form: PageForm
    private let map: ColorMap?
    /// The pixels of each stored sample, for few bits in one channel.
    private let table: [UInt8]
    /// The eight gray pixels of each byte of 1-bit samples.
    private let octets: [UInt64]
    /// Notes samples outside 0 to 1 that a 16-bit integer cannot hold.
    let cut = Cut()

    final class Cut {
        var isCut = false
    }

    init(_ form: PageForm, map: ColorMap?) {
        self.form = form
        self.map = map
        var table: [UInt8] = []
        if form.samples == 1, [1, 2, 4, 8].contains(form.bits) {
            if let map {
                table = map.table
            } else if form.sample != .float, form.color == .gray || form.color == .invertedGray {
                table = (0..<UInt32(1) << form.bits).map { UInt8(Self.scaled($0, form)) }
            }
        }
        self.table = table
        octets = form.bits == 1 && table.count == 2 ? (0..<256).map { Self.octet($0, table) } : []
    }

    /// Returns the eight pixels of a byte, in memory order.
    private static func octet(_ byte: Int, _ table: [UInt8]) -> UInt64 {
        var pixels: UInt64 = 0
        for bit in 0..<8 { pixels |= UInt64(table[byte >> (7 - bit) & 1]) << UInt64(8 * bit) }
        return pixels.littleEndian
    }

    /// Returns an integer sample of at most 16 bits with the width of the pixel format.
    private static func scaled(_ stored: UInt32, _ form: PageForm) -> UInt32 {
        let (bits, most) = (form.bits, UInt32(1) << form.bits - 1)
        var value = form.sample == .signed ? stored ^ 1 << (bits - 1) : stored
        if form.color == .invertedGray { value = most - value }
        let wanted = form.format.bits
        if bits == wanted { return value }
        // Repeats the bits from the highest on.
        var (result, shift) = (UInt32(0), wanted - bits)
        while shift > -bits {
            result |= shift >= 0 ? value << shift : value >> -shift
            shift -= bits
        }
        return result
    }

    /// Converts pixels of one row.
    ///
    /// - Parameters:
    ///   - planes: the decoded blocks: one with interleaved samples, or one for each stored sample.
    ///   - start: the first byte of the row in each plane.
    ///   - columns: the pixels, counted from the left edge of the block.
    ///   - x: the first pixel to write.
    func convert(
        _ planes: [[UInt8]], from start: Int, columns: Range<Int>, into row: inout MutableRawSpan, at x: Int
    ) {
        let width = form.format.bytesPerPixel
        if planes.count == 1 {
            let bytes = planes[0]
            if form.isCopy {
                let from = start + columns.lowerBound * width
                return RowCopy.copy(bytes, from, columns.count * width, to: &row, at: x * width)
            }
            if !octets.isEmpty, columns.lowerBound % 8 == 0 {
                return RowCopy.expand(octets, bytes, from: start, columns: columns, to: &row, at: x)
            }
            if !table.isEmpty {
                return RowCopy.look(
                    up: table, width: width, bits: form.bits, bytes, from: start, columns: columns, to: &row,
                    at: x * width)
            }
            if isPick {
                return RowCopy.pick(
                    width, of: form.samples, flipping: form.color == .invertedGray ? 1 : 0, bytes,
                    from: start + columns.lowerBound * form.samples, pixels: columns.count, to: &row, at: x * width)
            }
        }
        if case .lab(let encoding) = form.color {
            lab(encoding, planes, start, columns, &row, x)
        } else if form.isWide, form.format.numeric == .unorm || form.format.bits == 32 {
            floats(planes, start, columns, &row, x)
        } else {
            integers(planes, start, columns, &row, x)
        }
    }

    /// Whether 8-bit samples are kept, and the others left out.
    private var isPick: Bool {
        guard form.bits == 8, form.sample == .unsigned, form.format.bits == 8, form.color != .palette else {
            return false
        }
        return form.alpha == nil || form.alpha == form.colors
    }

    // MARK: Integers up to 16 bits, and half floats

    private func integers(
        _ planes: [[UInt8]], _ start: Int, _ columns: Range<Int>, _ row: inout MutableRawSpan, _ x: Int
    ) {
        let isFloat = form.format.numeric == .float
        let channels = form.format.channels.count
        for (number, column) in columns.enumerated() {
            var place = (x + number) * form.format.bytesPerPixel
            if let map {
                let from = Int(integer(planes, start, column, 0)) * map.colorBytes
                for part in 0..<map.colorBytes {
                    row.storeBytes(of: map.table[from + part], toByteOffset: place + part, as: UInt8.self)
                }
                continue
            }
            for channel in 0..<channels {
                let isAlpha = channel == form.colors
                let stored = integer(planes, start, column, isAlpha ? form.alpha ?? channel : channel)
                let value = isFloat ? stored : isAlpha ? Self.alpha(stored, form) : Self.scaled(stored, form)
                if form.format.bits == 8 {
                    row.storeBytes(of: UInt8(truncatingIfNeeded: value), toByteOffset: place, as: UInt8.self)
                    place += 1
                } else {
                    row.storeBytes(of: UInt16(truncatingIfNeeded: value), toByteOffset: place, as: UInt16.self)
                    place += 2
                }
            }
        }
    }

    /// Alpha is never inverted.
    private static func alpha(_ stored: UInt32, _ form: PageForm) -> UInt32 {
        let value = scaled(stored, form)
        return form.color == .invertedGray ? (UInt32(1) << form.format.bits - 1) - value : value
    }

    /// Returns a stored sample of 1 to 32 bits.
    private func integer(_ planes: [[UInt8]], _ start: Int, _ column: Int, _ sample: Int) -> UInt32 {
        let isChunky = planes.count == 1
        let index = isChunky ? column * form.samples + sample : column
        let bytes = planes[isChunky ? 0 : sample]
        switch form.bits {
        case 8: return UInt32(bytes[start + index])
        case 16: return UInt32(RowCopy.word(bytes, start + 2 * index, UInt16.self))
        case 24:
            let place = start + 3 * index
            return UInt32(bytes[place]) | UInt32(bytes[place + 1]) << 8
                | UInt32(bytes[place + 2]) << 16
        case 32: return RowCopy.word(bytes, start + 4 * index, UInt32.self)
        default: return packed(bytes, start, index * form.bits)
        }
    }

    /// Returns a sample of another width, from the highest bit on.
    private func packed(_ bytes: [UInt8], _ start: Int, _ position: Int) -> UInt32 {
        var (value, left, place) = (UInt32(0), form.bits, position)
        while left > 0 {
            let (free, byte) = (8 - place % 8, UInt32(bytes[start + place / 8]))
            let count = min(free, left)
            value = value << count | byte >> (free - count) & (1 << count - 1)
            left -= count
            place += count
        }
        return value
    }

    // MARK: Floats

    private func floats(
        _ planes: [[UInt8]], _ start: Int, _ columns: Range<Int>, _ row: inout MutableRawSpan, _ x: Int
    ) {
        let channels = form.format.channels.count
        for (number, column) in columns.enumerated() {
            let place = (x + number) * form.format.bytesPerPixel
            if form.color == .xyz {
                let (r, g, b) = Colorimetry.rgb(
                    xyz: real(planes, start, column, 0), real(planes, start, column, 1),
                    real(planes, start, column, 2))
                store(r, g, b, at: place, &row)
                continue
            }
            for channel in 0..<channels {
                let isAlpha = channel == form.colors
                var value = real(planes, start, column, isAlpha ? form.alpha ?? channel : channel)
                if form.color == .invertedGray, !isAlpha { value = 1 - value }
                store(value, channel, of: place, &row)
            }
        }
    }

    private func lab(
        _ encoding: LabEncoding, _ planes: [[UInt8]], _ start: Int, _ columns: Range<Int>,
        _ row: inout MutableRawSpan, _ x: Int
    ) {
        for (number, column) in columns.enumerated() {
            let (l, a, b) = encoding.value(
                integer(planes, start, column, 0), integer(planes, start, column, 1),
                integer(planes, start, column, 2), bits: form.bits)
            let (red, green, blue) = Colorimetry.rgb(lab: l, a, b)
            store(red, green, blue, at: (x + number) * form.format.bytesPerPixel, &row)
        }
    }

    private func store(_ r: Float, _ g: Float, _ b: Float, at place: Int, _ row: inout MutableRawSpan) {
        store(r, 0, of: place, &row)
        store(g, 1, of: place, &row)
        store(b, 2, of: place, &row)
    }

    /// Stores a sample as a float, or as a 16-bit integer.
    private func store(_ value: Float, _ channel: Int, of place: Int, _ row: inout MutableRawSpan) {
        guard form.format.numeric == .unorm else {
            return row.storeBytes(of: value, toByteOffset: place + 4 * channel, as: Float.self)
        }
        // A comparison with NaN is false, so it becomes 0. Rounding errors of a conversion are no cut.
        let kept: Float = value > 0 ? min(value, 1) : 0
        if !(value > -0.001 && value < 1.001) { cut.isCut = true }
        row.storeBytes(of: UInt16(kept * 65_535 + 0.5), toByteOffset: place + 2 * channel, as: UInt16.self)
    }

    /// Returns a stored sample as a float; integers become 0 to 1.
    private func real(_ planes: [[UInt8]], _ start: Int, _ column: Int, _ sample: Int) -> Float {
        let bits =
            form.bits == 64 ? wide(planes, start, column, sample) : UInt64(integer(planes, start, column, sample))
        guard form.sample == .float else {
            let value = form.sample == .signed ? bits ^ 1 << (form.bits - 1) : bits
            return Float(Double(value) / Double(UInt64.max >> (64 - form.bits)))
        }
        switch form.bits {
        case 16: return Float(Float16(bitPattern: UInt16(truncatingIfNeeded: bits)))
        case 24: return Self.float24(UInt32(truncatingIfNeeded: bits))
        case 32: return Float(bitPattern: UInt32(truncatingIfNeeded: bits))
        default: return Float(Double(bitPattern: bits))
        }
    }

    /// Returns a stored sample of 64 bits.
    private func wide(_ planes: [[UInt8]], _ start: Int, _ column: Int, _ sample: Int) -> UInt64 {
        let isChunky = planes.count == 1
        let index = isChunky ? column * form.samples + sample : column
        return RowCopy.word(planes[isChunky ? 0 : sample], start + 8 * index, UInt64.self)
    }

    /// Converts a float with 7 bits of exponent and 16 bits of fraction.
    ///
    /// - Source: Adobe Photoshop TIFF technical note 3.
    static func float24(_ bits: UInt32) -> Float {
        let (sign, exponent, fraction) = (bits >> 23 & 1, bits >> 16 & 0x7F, bits & 0xFFFF)
        let magnitude: Float
        switch exponent {
        case 0: magnitude = Float(sign: .plus, exponent: -62 - 16, significand: Float(fraction))
        case 0x7F: magnitude = fraction == 0 ? .infinity : .nan
        default: magnitude = Float(bitPattern: (exponent + 64) << 23 | fraction << 7)
        }
        return sign == 1 ? -magnitude : magnitude
    }
}
