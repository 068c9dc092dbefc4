import CoderPluginKit
import ImageModel

/// The first 26 bytes of a file: size, channels, depth and color mode.
///
/// - Source: Adobe Photoshop File Formats Specification, "File Header Section".
struct PSDHeader {
    /// The color mode, by its number in the file.
    enum Mode: Int {
        case bitmap = 0
        case gray = 1
        case indexed = 2
        case rgb = 3
        case cmyk = 4
        case multichannel = 7
        case duotone = 8
        case lab = 9
    }

    /// The largest side of a PSB; a PSD has at most 30,000.
    private static let maxSide = 300_000
    private static let maxChannels = 56

    /// Whether lengths have 64 bits: a PSB.
    let isLarge: Bool
    /// The number of stored channels.
    let channels: Int
    let size: PixelSize
    /// The number of bits of a sample.
    let depth: Int
    let mode: Mode

    /// The number of bytes of one row of one channel.
    var rowBytes: Int { (size.width * depth + 7) / 8 }

    init(_ reader: inout ByteReader) throws(CoderError) {
        guard try reader.consume(Array("8BPS".utf8)) else { throw .notMine() }
        let version = try reader.u16BE()
        guard version == 1 || version == 2 else { throw .unsupported("PSD version \(version)") }
        isLarge = version == 2
        try reader.skip(6)
        channels = Int(try reader.u16BE())
        guard (1...Self.maxChannels).contains(channels) else {
            throw .corrupt("an image cannot have \(channels) channels", at: 12)
        }
        let (height, width) = (Int(try reader.u32BE()), Int(try reader.u32BE()))
        size = PixelSize(width, height)
        guard (1...Self.maxSide).contains(width), (1...Self.maxSide).contains(height) else {
            throw .corrupt("invalid image size \(size)", at: 14)
        }
        depth = Int(try reader.u16BE())
        guard [1, 8, 16, 32].contains(depth) else { throw .corrupt("a sample cannot have \(depth) bits", at: 22) }
        let number = Int(try reader.u16BE())
        guard let mode = Mode(rawValue: number) else { throw .corrupt("color mode \(number) does not exist", at: 24) }
        self.mode = mode
    }

    /// Reads a length of 32 bits, or of 64 bits in a PSB.
    func length(_ reader: inout ByteReader) throws(CoderError) -> Int {
        try reader.require(isLarge ? 8 : 4)
        let high = isLarge ? Int(try reader.u32BE()) : 0
        // Far above any file, and small enough to be added to a position.
        guard high < 1 << 28 else { throw .corrupt("a length of more than 60 bits", at: reader.offset - 4) }
        return high << 32 | Int(try reader.u32BE())
    }
}
