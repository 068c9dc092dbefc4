import ImageModel
import ImageProcessing
import TestSupport

/// Test images for transformers.
enum TransformImage {
    static let black = RGBAColor(red: 0, green: 0, blue: 0)
    static let clear = RGBAColor(red: 0, green: 0, blue: 0, alpha: 0)
    static let white = RGBAColor(red: 255, green: 255, blue: 255)
    static let red = RGBAColor(red: 151, green: 36, blue: 31)

    /// 300x300 on a transparent background: a black bar at the top, a red column at the left, a green square at the
    /// bottom right.
    static func badge() throws -> PixelBuffer {
        try paint(PixelSize(300, 300)) { x, y in
            switch (x, y) {
            case (60..<240, 12..<30): black
            // The width makes a blur of 25 give the same value as the image of T-07 (0.749).
            case (51..<110, 60..<240): red
            case (200..<240, 200..<240): RGBAColor(red: 10, green: 200, blue: 30, alpha: 180)
            default: clear
            }
        }
    }

    static func paint(_ size: PixelSize, _ color: (Int, Int) -> RGBAColor) throws -> PixelBuffer {
        var bytes: [UInt8] = []
        for y in 0..<size.height {
            for x in 0..<size.width {
                let color = color(x, y)
                bytes += [color.red, color.green, color.blue, color.alpha]
            }
        }
        return try .of(size, .rgba8, bytes)
    }

    /// All valid combinations of channels, depth and alpha.
    static let formats: [PixelFormat] = {
        var formats: [PixelFormat] = []
        for channels in PixelFormat.Channels.allCases {
            let alphas: [PixelFormat.Alpha] =
                channels.hasAlpha ? [.straight, .premultiplied, .opaque] : [PixelFormat.Alpha.none]
            for alpha in alphas {
                for bits in [8, 16] { formats.append(PixelFormat(channels, bits: bits, alpha: alpha)) }
                for bits in [16, 32] {
                    formats.append(PixelFormat(channels, bits: bits, numeric: .float, alpha: alpha))
                }
            }
        }
        return formats
    }()
    static let integerFormats = formats.filter { $0.numeric == .unorm }

    /// Returns random valid samples: colors at most a premultiplied alpha, full alpha if opaque.
    static func noise(_ size: PixelSize, _ format: PixelFormat, seed: UInt64 = 1) throws -> PixelBuffer {
        var random = SeededRandom(seed)
        var bytes: [UInt8] = []
        let most = format.bits == 8 ? 255 : 65_535
        for _ in 0..<size.width * size.height {
            var pixel = (0..<format.channels.count).map { _ in Int.random(in: 0...most, using: &random) }
            if format.channels.hasAlpha {
                let last = pixel.count - 1
                if format.alpha == .opaque { pixel[last] = most }
                if format.alpha == .premultiplied { for i in 0..<last { pixel[i] = min(pixel[i], pixel[last]) } }
            }
            for value in pixel {
                switch (format.numeric, format.bits) {
                case (.unorm, 8): bytes.append(UInt8(value))
                case (.unorm, _): bytes += [UInt8(value & 255), UInt8(value >> 8)]
                default: bytes += (0..<format.bytesPerSample).map { _ in UInt8.random(in: 0...255, using: &random) }
                }
            }
        }
        return try .of(size, format, bytes)
    }

    /// Returns the integer samples.
    static func samples(_ buffer: PixelBuffer) -> [Int] {
        let bytes = buffer.packed
        if buffer.format.bits == 8 { return bytes.map(Int.init) }
        return stride(from: 0, to: bytes.count, by: 2).map { Int(bytes[$0]) + Int(bytes[$0 + 1]) << 8 }
    }
}
