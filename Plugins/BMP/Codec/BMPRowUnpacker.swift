import CoderPluginKit
import ImageModel

/// Converts rows of unpacked pixels to the native format.
struct BMPRowUnpacker {
    private enum Kind { case palette, blueFirst24, unusedFourth, copy, masks, linear }

    let format: PixelFormat
    /// The number of significant bits of a sample.
    let bitDepth: Int
    let color: ColorDescription
    private let kind: Kind
    private let depth: Int
    private let palette: [UInt8]
    private let tables: [[UInt16]]
    private let masks: ChannelMasks

    init(_ header: BMPHeader, palette: BMPPalette?) {
        depth = header.depth
        self.palette = palette?.bytes ?? []
        masks = header.storage == .masks ? header.masks : depth == 16 ? .five : ChannelMasks()
        let hasAlpha = masks.alpha.count > 0
        var (bits, tables): (Int, [[UInt16]]) = (8, [])
        switch depth {
        case 24: (kind, format) = (.blueFirst24, .rgb8)
        case 64: (kind, format, bits) = (.linear, .rgba16, 16)
        case 32 where masks == ChannelMasks() || masks.isBGRA && !hasAlpha: (kind, format) = (.unusedFourth, .rgb8)
        case 32 where masks.isBGRA: (kind, format) = (.copy, .bgra8)
        case 16, 32:
            kind = .masks
            bits = masks.depth
            let width = bits > 8 ? 16 : 8
            format = PixelFormat(hasAlpha ? .rgba : .rgb, bits: width)
            for channel in [masks.red, masks.green, masks.blue, masks.alpha].prefix(hasAlpha ? 4 : 3) {
                tables.append(Self.table(channel, bits: width))
            }
        default:
            (kind, format) = (.palette, header.storage == .plain && palette?.isGray == true ? .gray8 : .rgb8)
        }
        self.tables = tables
        bitDepth = bits
        var color = header.color.description
        if depth == 64 { color.codePoints = CodePoints(primaries: 1, transfer: 8, matrix: 0, isFullRange: true) }
        self.color = color
    }

    /// Most channels have few bits: a table then replaces a division.
    private static func table(_ channel: ChannelMasks.Channel, bits: Int) -> [UInt16] {
        guard channel.count <= 12 else { return [] }
        return (0..<UInt32(1) << channel.count).map { value in
            UInt16(ChannelMasks.Channel(shift: 0, count: channel.count).value(value, bits: bits))
        }
    }

    /// Converts the pixels `columns` of a stored row; returns whether samples were outside 0 to 1.
    func unpack(_ row: RawSpan, columns: Range<Int>, into target: inout MutableRawSpan) -> Bool {
        switch kind {
        case .palette: unpackPalette(row, columns, &target)
        case .blueFirst24: swap(row, columns, 3, &target)
        case .unusedFourth: swap(row, columns, 4, &target)
        case .copy:
            target.copy(row.extracting(4 * columns.lowerBound..<4 * columns.upperBound), toByteOffset: 0)
        case .masks: unpackMasks(row, columns, &target)
        case .linear: return unpackLinear(row, columns, &target)
        }
        return false
    }

    /// Converts blue, green, red and alpha with 13 bits after the point; the range beyond 0 to 1 is cut off.
    private func unpackLinear(_ row: RawSpan, _ columns: Range<Int>, _ target: inout MutableRawSpan) -> Bool {
        var isCut = false
        for (to, from) in (4 * columns.lowerBound..<4 * columns.upperBound).enumerated() {
            let place = to % 4 == 0 ? to + 2 : to % 4 == 2 ? to - 2 : to
            let sample = Int16(bitPattern: UInt16(row.byte(at: 2 * from)) | UInt16(row.byte(at: 2 * from + 1)) << 8)
            if sample < 0 || sample > 8192 { isCut = true }
            let value = (Int(min(max(sample, 0), 8192)) * 65_535 + 4096) / 8192
            target.storeBytes(of: UInt16(value), toByteOffset: 2 * place, as: UInt16.self)
        }
        return isCut
    }

    /// Writes one color of the palette, of one byte if the format is gray.
    func put(_ index: Int, at offset: Int, into target: inout MutableRawSpan) {
        for channel in 0..<(format == .gray8 ? 1 : 3) {
            target.storeBytes(of: palette[3 * index + channel], toByteOffset: offset + channel, as: UInt8.self)
        }
    }

    private func swap(_ row: RawSpan, _ columns: Range<Int>, _ step: Int, _ target: inout MutableRawSpan) {
        guard !columns.isEmpty else { return }
        var from = columns.lowerBound * step
        var to = 0
        // Four bytes at once; the next pixel overwrites the fourth.
        for _ in columns.dropLast() {
            let pixel = row.quad(at: from)
            let swapped = (pixel & 0xFF) << 16 | pixel & 0xFF00 | pixel >> 16 & 0xFF
            target.storeBytes(of: swapped, toByteOffset: to, as: UInt32.self)
            (from, to) = (from &+ step, to &+ 3)
        }
        for channel in 0..<3 {
            target.storeBytes(of: row.byte(at: from + 2 - channel), toByteOffset: to + channel, as: UInt8.self)
        }
    }

    private func unpackPalette(_ row: RawSpan, _ columns: Range<Int>, _ target: inout MutableRawSpan) {
        let (perByte, bytes) = (8 / depth, format.bytesPerPixel)
        let most = UInt8(truncatingIfNeeded: 1 << depth - 1)
        for (number, x) in columns.enumerated() {
            let shift = 8 - depth * (x % perByte + 1)
            put(Int(row.byte(at: x / perByte) >> shift & most), at: number * bytes, into: &target)
        }
    }

    private func unpackMasks(_ row: RawSpan, _ columns: Range<Int>, _ target: inout MutableRawSpan) {
        let bytes = depth / 8
        let channels = [masks.red, masks.green, masks.blue, masks.alpha]
        for channel in tables.indices {
            let mask = channels[channel]
            let table = tables[channel]
            let most = UInt32(truncatingIfNeeded: UInt64(1) << mask.count - 1)
            if !table.isEmpty, format.bits == 8 {
                let shown = table.span
                var place = channel
                for x in columns {
                    let value = shown[Int(Self.pixel(row, x, bytes) &>> mask.shift & most)]
                    target.storeBytes(of: UInt8(truncatingIfNeeded: value), toByteOffset: place, as: UInt8.self)
                    place &+= tables.count
                }
                continue
            }
            for (number, x) in columns.enumerated() {
                let pixel = Self.pixel(row, x, bytes)
                let value =
                    table.isEmpty
                    ? UInt16(mask.value(pixel, bits: format.bits)) : table[Int(pixel >> mask.shift & most)]
                let place = number * tables.count + channel
                if format.bits == 8 {
                    target.storeBytes(of: UInt8(truncatingIfNeeded: value), toByteOffset: place, as: UInt8.self)
                } else {
                    target.storeBytes(of: value, toByteOffset: 2 * place, as: UInt16.self)
                }
            }
        }
    }

    /// Returns a stored pixel of one to four bytes.
    @inline(__always)
    private static func pixel(_ row: RawSpan, _ x: Int, _ bytes: Int) -> UInt32 {
        if bytes == 4 { return row.quad(at: 4 &* x) }
        if bytes == 2 { return UInt32(row.byte(at: 2 &* x)) | UInt32(row.byte(at: 2 &* x &+ 1)) &<< 8 }
        var pixel: UInt32 = 0
        for byte in 0..<bytes { pixel |= UInt32(row.byte(at: x &* bytes &+ byte)) &<< UInt32(8 &* byte) }
        return pixel
    }
}
