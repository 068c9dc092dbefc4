import CoderPluginKit
import ImageModel

/// The blocks of S3 and their relatives: BC1 to BC5.
///
/// - Source: Microsoft, "Texture Block Compression in Direct3D 11". Interpolated values are rounded down, as most
///   decoders have it.
enum ColorBlocks {
    /// Decodes eight bytes to 16 pixels of red, green, blue and alpha.
    ///
    /// - Parameter hasThree: whether the order of the two colors can select three colors and transparency.
    static func colors(_ bytes: RawSpan, at offset: Int, hasThree: Bool, into block: inout [UInt8]) {
        let (first, second) = (u16(bytes, offset), u16(bytes, offset + 2))
        var table = [UInt8](repeating: 0, count: 16)
        for channel in 0..<3 {
            let (a, b) = (expand(first, channel), expand(second, channel))
            table[channel] = UInt8(a)
            table[4 + channel] = UInt8(b)
            if !hasThree || first > second {
                table[8 + channel] = UInt8((2 * a + b) / 3)
                table[12 + channel] = UInt8((a + 2 * b) / 3)
            } else {
                table[8 + channel] = UInt8((a + b) / 2)
            }
        }
        for color in 0..<4 { table[4 * color + 3] = color == 3 && hasThree && first <= second ? 0 : 255 }
        for pixel in 0..<16 {
            let index = Int(bytes.byte(at: offset + 4 + pixel / 4) >> UInt8(2 * (pixel % 4)) & 3)
            for channel in 0..<4 { block[4 * pixel + channel] = table[4 * index + channel] }
        }
    }

    private static func u16(_ bytes: RawSpan, _ at: Int) -> Int {
        Int(bytes.byte(at: at)) | Int(bytes.byte(at: at + 1)) << 8
    }

    /// Returns a channel of a color of 5, 6 and 5 bits, with its high bits repeated below.
    private static func expand(_ color: Int, _ channel: Int) -> Int {
        switch channel {
        case 0: (color >> 11) << 3 | color >> 13
        case 1: (color >> 5 & 63) << 2 | color >> 9 & 3
        default: (color & 31) << 3 | color >> 2 & 7
        }
    }

    /// Decodes the alpha of BC2: four bits for each pixel.
    static func plainAlpha(_ bytes: RawSpan, at offset: Int, into block: inout [UInt8]) {
        for pixel in 0..<16 {
            let value = bytes.byte(at: offset + pixel / 2) >> (pixel % 2 == 0 ? 0 : 4) & 15
            block[4 * pixel + 3] = value * 17
        }
    }

    /// Decodes eight bytes to 16 values, each `step` bytes behind the previous one.
    ///
    /// Signed values from -1 to 1 become 0 to 255.
    static func values(
        _ bytes: RawSpan, at offset: Int, isSigned: Bool, into block: inout [UInt8], from start: Int, step: Int
    ) {
        let (first, second) = (bytes.byte(at: offset), bytes.byte(at: offset + 1))
        func value(_ byte: UInt8) -> Int { isSigned ? max(-127, Int(Int8(bitPattern: byte))) : Int(byte) }
        let (a, b) = (value(first), value(second))
        var table = [a, b]
        if a > b {
            for part in 1...6 { table.append(((7 - part) * a + part * b) / 7) }
        } else {
            for part in 1...4 { table.append(((5 - part) * a + part * b) / 5) }
            table += isSigned ? [-127, 127] : [0, 255]
        }
        let shown = table.map { UInt8(isSigned ? (($0 + 127) * 255 + 127) / 254 : $0) }
        var bits = 0
        for index in 0..<6 { bits |= Int(bytes.byte(at: offset + 2 + index)) << (8 * index) }
        for pixel in 0..<16 { block[start + step * pixel] = shown[bits >> (3 * pixel) & 7] }
    }
}
