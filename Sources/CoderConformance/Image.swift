import CCoderPlugin

/// A generated image: smooth enough for lossy formats, with few enough colors for palettes, and with or without alpha.
struct Image: Hashable {
    var width: Int
    var height: Int
    var hasAlpha = false
    /// The shift of the content, for the frames of an animation.
    var step = 0

    /// Returns a pixel's samples in 0 ... 255: red, green, blue, alpha.
    func color(_ x: Int, _ y: Int) -> (Int, Int, Int, Int) {
        if hasAlpha, (x + step) * 4 < width, y * 3 < height { return (0, 0, 0, 0) }
        let across = (x + 3 * step) % width * 8 / width
        let down = y * 8 / height
        return (across * 36, down * 36, 128, 255)
    }

    /// Returns the rows in a format, without padding.
    func pixels(_ format: cpi_pixel_format) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(width * height * format.bytesPerPixel)
        for y in 0..<height {
            for x in 0..<width {
                for value in Self.samples(color(x, y), format) { Self.append(value, format, to: &result) }
            }
        }
        return result
    }

    private static func samples(_ color: (Int, Int, Int, Int), _ format: cpi_pixel_format) -> [Int] {
        let (r, g, b, a) = color
        let gray = (r * 77 + g * 150 + b * 29) >> 8
        switch format.channels {
        case CPI_CHANNELS_GRAY: return [gray]
        case CPI_CHANNELS_GRAY_ALPHA: return [gray, a]
        case CPI_CHANNELS_RGB: return [r, g, b]
        case CPI_CHANNELS_RGBA: return [r, g, b, a]
        case CPI_CHANNELS_BGRA: return [b, g, r, a]
        default: return [255 - r, 255 - g, 255 - b, 0]
        }
    }

    private static func append(_ value: Int, _ format: cpi_pixel_format, to bytes: inout [UInt8]) {
        switch (format.numeric, format.bits) {
        case (CPI_NUMERIC_UNORM, 8): bytes.append(UInt8(value))
        case (CPI_NUMERIC_UNORM, _): bytes += [UInt8(value), UInt8(value)]
        case (_, 16):
            let bits = Float16Bits.of(Float(value) / 255)
            bytes += [UInt8(truncatingIfNeeded: bits), UInt8(truncatingIfNeeded: bits >> 8)]
        default:
            let bits = (Float(value) / 255).bitPattern
            for shift in [0, 8, 16, 24] as [UInt32] { bytes.append(UInt8(truncatingIfNeeded: bits >> shift)) }
        }
    }
}

/// Half precision in software, for values from 0 to 1.
enum Float16Bits {
    static func of(_ value: Float) -> UInt16 {
        if value < 6.2e-5 { return 0 }
        let bits = value.bitPattern
        let exponent = Int(bits >> 23) - 127 + 15
        return UInt16(exponent << 10) | UInt16(bits >> 13 & 0x3FF)
    }
}

/// A small random generator with a fixed sequence, so that checks are reproducible.
struct RandomGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

    /// Source: splitmix64.
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(max(1, bound))) }
}
