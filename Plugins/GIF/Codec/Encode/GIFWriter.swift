internal import CoderPluginKit
internal import ImageModel

/// Makes the bytes of the parts of a GIF.
enum GIFWriter {
    /// The offset of the colors in ``screen(_:colors:bits:plays:)``.
    static let paletteOffset = 13
    /// The offset of the delay in ``control(delay:disposal:transparent:)``.
    static let delayOffset = 4

    /// Signature, logical screen, colors and the loop count (sections 17 … 19; the application block of Netscape).
    ///
    /// - Parameter plays: 0 is infinite; nil is once.
    static func screen(_ size: PixelSize, colors: [UInt32], bits: Int, plays: Int?) -> [UInt8] {
        var bytes = Array("GIF89a".utf8) + u16(size.width) + u16(size.height)
        bytes += [0xF0 | UInt8(bits - 1), 0, 0] + palette(colors, bits: bits)
        if let plays {
            bytes += [0x21, 0xFF, 11] + Array("NETSCAPE2.0".utf8) + [3, 1] + u16(max(0, plays - 1)) + [0]
        }
        return bytes
    }

    /// Returns a graphic control extension for the image behind it (section 23).
    static func control(delay: Int, disposal: Disposal, transparent: UInt8?) -> [UInt8] {
        let value: UInt8 =
            switch disposal {
            case .keep: 1
            case .background: 2
            case .previous: 3
            }
        return [0x21, 0xF9, 4, value << 2 | (transparent == nil ? 0 : 1)] + u16(delay) + [transparent ?? 0, 0]
    }

    /// Returns an image descriptor, and the local palette if there is one (sections 20, 21).
    static func descriptor(_ rect: ChangedRect, colors: [UInt32]?) -> [UInt8] {
        let bytes = [0x2C] + u16(rect.left) + u16(rect.top) + u16(rect.width) + u16(rect.height)
        guard let colors else { return bytes + [0] }
        let bits = FramePalette.bits(colors.count)
        return bytes + [0x80 | UInt8(bits - 1)] + palette(colors, bits: bits)
    }

    /// Returns bytes as data blocks with their terminator (section 15).
    static func blocks(_ bytes: [UInt8]) -> [UInt8] {
        var blocks: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 255) {
            let block = bytes[start..<min(start + 255, bytes.count)]
            blocks.append(UInt8(block.count))
            blocks += block
        }
        return blocks + [0]
    }

    static func palette(_ colors: [UInt32], bits: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(3 << bits)
        for index in 0..<1 << bits {
            let color = index < colors.count ? colors[index] : 0
            bytes += [UInt8(color & 0xFF), UInt8(color >> 8 & 0xFF), UInt8(color >> 16 & 0xFF)]
        }
        return bytes
    }

    static func u16(_ value: Int) -> [UInt8] { [UInt8(value & 0xFF), UInt8(value >> 8 & 0xFF)] }
}
