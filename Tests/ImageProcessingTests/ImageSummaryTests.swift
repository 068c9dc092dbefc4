import ImageModel
import ImageProcessing
import TestSupport
import Testing

@Suite struct `Image summary` {
    private static func gradient(_ width: Int, _ height: Int) throws -> PixelBuffer {
        try TransformImage.paint(PixelSize(width, height)) { x, y in
            RGBAColor(
                red: UInt8(x * 255 / (width - 1)), green: UInt8(y * 255 / (height - 1)),
                blue: UInt8((x * 7 + y * 13) % 256))
        }
    }

    /// The texts are those of the package "blurhash" 1.1.5 for Python.
    @Test(arguments: [
        (PixelSize(32, 24), "L$Hewc2nwyX8l~WBjpe;gIfdfSfm"), (PixelSize(20, 30), "T$HoE^2-wyl|WDjrgGfefQneWrjw"),
        (PixelSize(9, 9), "LzH_;S34o0xsuoRnjui|f$fkfQfj"),
    ])
    func `has the BlurHash of another implementation`(size: PixelSize, text: String) throws {
        #expect(try ImageSummary(Self.gradient(size.width, size.height)).blurHash == text)
    }

    @Test func `has the BlurHash of another implementation for one color`() throws {
        let image = try TransformImage.paint(PixelSize(8, 8)) { _, _ in RGBAColor(red: 200, green: 30, blue: 90) }
        #expect(try ImageSummary(image).blurHash == "LNM^#v|zfQ|z|zsVfQsVfQfQfQfQ")
    }

    @Test(arguments: [PixelFormat.rgb8, .rgba8, .rgb16, .rgba16])
    func `is the same for every pixel format`(format: PixelFormat) throws {
        let image = try Self.gradient(32, 24)
        #expect(try ImageSummary(PixelConverter.convert(image, to: format)) == ImageSummary(image))
    }

    /// Half red, three eighths green, one eighth blue.
    private static func flag(_ clear: RGBAColor? = nil) throws -> PixelBuffer {
        try TransformImage.paint(PixelSize(16, 16)) { x, y in
            switch x {
            case 0..<8: RGBAColor(red: 220, green: 20, blue: 30)
            case 8..<14: RGBAColor(red: 10, green: 180, blue: 60)
            default: clear ?? RGBAColor(red: 20, green: 40, blue: 200)
            }
        }
    }

    @Test func `has the colors of a flag with their shares`() throws {
        let summary = try ImageSummary(Self.flag())

        #expect(summary.dominantColor == RGBAColor(red: 220, green: 20, blue: 30))
        #expect(summary.palette.map(\.share) == [0.5, 0.375, 0.125])
        #expect(
            summary.palette.map(\.color) == [
                RGBAColor(red: 220, green: 20, blue: 30), RGBAColor(red: 10, green: 180, blue: 60),
                RGBAColor(red: 20, green: 40, blue: 200),
            ])
        #expect(!summary.hasTransparentPixels)
        let two = try ImageSummary(Self.flag(), colors: 2).palette
        #expect(two.count == 2 && two.map(\.share).reduce(0, +) == 1)
    }

    @Test func `takes the largest group of similar colors as dominant, not the most frequent single color`() throws {
        // Five eighths are blues of which each is rare; three eighths have one red.
        let image = try TransformImage.paint(PixelSize(64, 64)) { x, y in
            x < 24
                ? RGBAColor(red: 200, green: 30, blue: 30)
                : RGBAColor(
                    red: UInt8(20 + x % 8 * 5), green: UInt8(60 + y % 8 * 5), blue: UInt8(180 + (x + y) % 8 * 5))
        }
        let summary = try ImageSummary(image, colors: 2)

        #expect(summary.dominantColor == summary.palette.first?.color)
        #expect(summary.dominantColor.blue > 150 && summary.palette.first?.share == 0.625)
    }

    @Test func `ignores the color of transparent pixels`() throws {
        let red = RGBAColor(red: 255, green: 255, blue: 0, alpha: 0)
        let black = RGBAColor(red: 0, green: 0, blue: 0, alpha: 0)
        let summary = try ImageSummary(Self.flag(red))

        #expect(try summary == ImageSummary(Self.flag(black)))
        #expect(summary.hasTransparentPixels)
        #expect(summary.palette.count == 2 && summary.averageColor.alpha == 223)
    }

    @Test func `averages light, not stored values`() throws {
        let image = try TransformImage.paint(PixelSize(2, 1)) { x, _ in
            x == 0 ? TransformImage.black : TransformImage.white
        }
        // Half the light of white is 188 in sRGB.
        #expect(try ImageSummary(image).averageColor == RGBAColor(red: 188, green: 188, blue: 188))
    }

    @Test func `of an invisible image has no colors`() throws {
        let image = try TransformImage.paint(PixelSize(4, 4)) { _, _ in TransformImage.clear }
        let summary = try ImageSummary(image)
        #expect(summary.palette.isEmpty && summary.dominantColor == TransformImage.clear)
        #expect(summary.averageColor == TransformImage.clear && summary.hasTransparentPixels)
    }
}
