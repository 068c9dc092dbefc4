internal import CoderPluginKit
internal import ImageModel

/// The bytes of the parts of a GIF.
enum GIFWriter {
    /// Signature, logical screen, colours and the loop count (sections 17 … 19; the application block of Netscape).
    ///
    /// - Parameter plays: 0 for ever, nil for once.
    static func screen(_ size: PixelSize, colors: [UInt32], plays: Int?) -> [UInt8] {
        var bytes = Array("GIF89a".utf8) + u16(size.width) + u16(size.height)
        let bits = bits(of: colors.count)
        bytes += [0xF0 | UInt8(bits - 1), 0, 0] + palette(colors, bits: bits)
        if let plays {
            bytes += [0x21, 0xFF, 11] + Array("NETSCAPE2.0".utf8) + [3, 1] + u16(max(0, plays - 1)) + [0]
        }
        return bytes
    }

    /// Graphic control, descriptor, colours where they are its own, and pixels (sections 20 … 23).
    static func frame(
        _ frame: FrameInfo, _ indexed: IndexedFrame, isGlobal: Bool, host: HostServices
    ) throws(CoderError) -> [UInt8] {
        let bits = bits(of: indexed.colors.count)
        let transparent = indexed.transparentIndex
        var bytes: [UInt8] = [0x21, 0xF9, 4, transparent == nil ? 0 : 1]
        bytes += u16(hundredths(frame.duration, host: host)) + [transparent ?? 0, 0]
        setDisposal(frame.disposal, in: &bytes)
        bytes += [0x2C] + u16(frame.rect.x) + u16(frame.rect.y) + u16(frame.rect.width) + u16(frame.rect.height)
        bytes += isGlobal ? [0] : [0x80 | UInt8(bits - 1)] + palette(indexed.colors, bits: bits)
        var lzw = LZWEncoder(minimumCodeSize: max(2, bits))
        let strip = 64 * frame.rect.width
        for start in stride(from: 0, to: indexed.indices.count, by: strip) {
            try host.checkCancellation()
            lzw.add(indexed.indices.span.extracting(start..<min(start + strip, indexed.indices.count)))
            host.progress(start, of: indexed.indices.count)
        }
        return bytes + lzw.finish()
    }

    /// Changes the disposal of a frame written by ``frame(_:_:isGlobal:host:)``.
    static func setDisposal(_ disposal: Disposal, in frame: inout [UInt8]) {
        let value: UInt8 =
            switch disposal {
            case .keep: 1
            case .background: 2
            case .previous: 3
            }
        frame[3] = frame[3] & 1 | value << 2
    }

    /// Bytes as data blocks with their terminator (section 15).
    static func blocks(_ bytes: [UInt8]) -> [UInt8] {
        var blocks: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 255) {
            let block = bytes[start..<min(start + 255, bytes.count)]
            blocks.append(UInt8(block.count))
            blocks += block
        }
        return blocks + [0]
    }

    private static func hundredths(_ duration: FrameDuration, host: HostServices) -> Int {
        if duration.denominator == 0 { return 0 }
        let value =
            (UInt64(duration.numerator) * 200 + UInt64(duration.denominator)) / (2 * UInt64(duration.denominator))
        if value > 0xFFFF { host.warn("GIF cannot show a frame longer than 655.35 s") }
        return Int(min(value, 0xFFFF))
    }

    /// Bits of an index, 1 … 8.
    private static func bits(of count: Int) -> Int {
        max(1, Int.bitWidth - (max(count, 1) - 1).leadingZeroBitCount)
    }

    private static func palette(_ colors: [UInt32], bits: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        for index in 0..<1 << bits {
            let color = index < colors.count ? colors[index] : 0
            bytes += [UInt8(color >> 16 & 0xFF), UInt8(color >> 8 & 0xFF), UInt8(color & 0xFF)]
        }
        return bytes
    }

    private static func u16(_ value: Int) -> [UInt8] { [UInt8(value & 0xFF), UInt8(value >> 8 & 0xFF)] }
}
