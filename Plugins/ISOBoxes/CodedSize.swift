package import ImageModel

/// The size for which a decoder of the coded stream will allocate memory, independent of the boxes around the stream.
///
/// Nil for a stream that this reader cannot parse: the decoder will refuse it, too.
package enum CodedSize {
    /// The size in a sequence parameter set; nil for any other NAL unit.
    ///
    /// - Source: ITU-T H.265 sections 7.3.1.2 (header), 7.3.2.2 (set), 7.3.3 (profile and level).
    package static func hevc(_ unit: ArraySlice<UInt8>) -> PixelSize? { sequenceSet(unit)?.coded }

    /// The size of its visible part, as libde265 crops it.
    ///
    /// - Source: ITU-T H.265 section 7.4.3.2.1 (conformance window), table 6-1 (its units).
    package static func hevcWindow(_ unit: ArraySlice<UInt8>) -> PixelSize? { sequenceSet(unit)?.shown }

    private static func sequenceSet(_ unit: ArraySlice<UInt8>) -> (coded: PixelSize, shown: PixelSize)? {
        guard let first = unit.first, first >> 1 & 0x3F == 33, unit.count > 2 else { return nil }
        var bits = BitReader(unescaped(unit.dropFirst(2).prefix(512)))
        bits.skip(4)
        let subLayers = bits.read(3)
        bits.skip(1 + 88 + 8)
        let present = (0..<subLayers).map { _ in (profile: bits.read(1), level: bits.read(1)) }
        if subLayers > 0 { bits.skip(2 * (8 - subLayers)) }
        for layer in present { bits.skip(88 * layer.profile + 8 * layer.level) }
        _ = bits.exponential()
        let chroma = bits.exponential()
        if chroma == 3 { bits.skip(1) }
        let size = PixelSize(bits.exponential(), bits.exponential())
        var shown = size
        if bits.read(1) == 1 {
            let across = bits.exponential() + bits.exponential()
            let down = bits.exponential() + bits.exponential()
            shown.width -= across * (chroma == 1 || chroma == 2 ? 2 : 1)
            shown.height -= down * (chroma == 1 ? 2 : 1)
        }
        return bits.isExhausted ? nil : (size, shown)
    }

    /// The largest size of any sequence header among open bitstream units.
    ///
    /// - Source: AV1 Bitstream & Decoding Process, sections 5.3.2 (header), 5.5.1 (sequence header).
    package static func av1(_ units: ArraySlice<UInt8>) -> PixelSize? {
        var rest = units
        var largest: PixelSize?
        while let head = rest.first {
            rest = rest.dropFirst(head & 4 == 0 ? 1 : 2)
            var length = rest.count
            if head & 2 != 0 {
                guard let stored = variableLength(&rest) else { break }
                length = stored
            }
            if head >> 3 & 15 == 1, let size = sequenceHeader(rest.prefix(min(length, 512))) {
                largest = PixelSize(max(size.width, largest?.width ?? 0), max(size.height, largest?.height ?? 0))
            }
            rest = rest.dropFirst(length)
        }
        return largest
    }

    private static func sequenceHeader(_ payload: ArraySlice<UInt8>) -> PixelSize? {
        var bits = BitReader(Array(payload))
        bits.skip(4)
        if bits.read(1) == 1 {
            bits.skip(5)
        } else {
            var delayBits = 0
            if bits.read(1) == 1 {
                bits.skip(64)
                if bits.read(1) == 1 { _ = bits.exponential() }
                if bits.read(1) == 1 {
                    delayBits = bits.read(5) + 1
                    bits.skip(32 + 5 + 5)
                }
            }
            let hasDisplayDelay = bits.read(1) == 1
            for _ in 0...bits.read(5) {
                bits.skip(12)
                if bits.read(5) > 7 { bits.skip(1) }
                if delayBits > 0, bits.read(1) == 1 { bits.skip(2 * delayBits + 1) }
                if hasDisplayDelay, bits.read(1) == 1 { bits.skip(4) }
            }
        }
        let widthBits = bits.read(4) + 1
        let heightBits = bits.read(4) + 1
        let size = PixelSize(bits.read(widthBits) + 1, bits.read(heightBits) + 1)
        return bits.isExhausted ? nil : size
    }

    /// - Source: AV1 Bitstream & Decoding Process, section 4.10.5 (leb128).
    private static func variableLength(_ rest: inout ArraySlice<UInt8>) -> Int? {
        var value = 0
        for index in 0..<8 {
            guard let byte = rest.popFirst() else { return nil }
            value |= Int(byte & 0x7F) << (7 * index)
            if byte & 0x80 == 0 { return value }
        }
        return nil
    }

    /// Removes the 3 from every 0 0 3.
    ///
    /// - Source: ITU-T H.265 section 7.3.1.1.
    private static func unescaped(_ unit: ArraySlice<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        var zeros = 0
        for byte in unit {
            if zeros >= 2, byte == 3 {
                zeros = 0
                continue
            }
            zeros = byte == 0 ? zeros + 1 : 0
            result.append(byte)
        }
        return result
    }
}

/// Reads bits from the highest of each byte down; zeros behind the end.
package struct BitReader {
    private let bytes: [UInt8]
    private var position = 0

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    package var isExhausted: Bool { position > bytes.count * 8 }
    /// The number of bytes read, including a partial one.
    package var bytesRead: Int { (position + 7) / 8 }

    package mutating func skip(_ count: Int) { position += count }

    /// - Parameter count: at most 32.
    package mutating func read(_ count: Int) -> Int {
        var value = 0
        for index in position..<position + count {
            let byte = index >> 3 < bytes.count ? bytes[index >> 3] : 0
            value = value << 1 | Int(byte >> (7 - UInt8(index & 7)) & 1)
        }
        position += count
        return value
    }

    package mutating func flag() -> Bool { read(1) == 1 }

    /// Reads an unsigned Exp-Golomb number, clamped to 32 bits.
    ///
    /// - Source: ITU-T H.265 section 9.2.
    package mutating func exponential() -> Int {
        var zeros = 0
        while zeros < 32, !isExhausted, read(1) == 0 { zeros += 1 }
        return (1 << zeros) - 1 + read(zeros)
    }
}
