import CoderHost
import ImageModel
import ImageProcessing
import TestSupport
import Testing

/// What colours mean stays with the pixels, whatever the format can say.
@Suite struct `Colors through the host` {
    private func picture(_ points: CodePoints?, gamma: UInt32? = nil) throws -> DecodedImage {
        var image = try DecodedImage.made(24, 16, .rgb8) { x, y, channel in UInt8((x * 9 + y * 5 + channel * 60) % 256)
        }
        image.info.color.codePoints = points
        image.info.color.gamma = gamma
        return image
    }

    private static let displayP3 = CodePoints(primaries: 12, transfer: 13, matrix: 0, isFullRange: true)

    /// What the pixels look like on a screen of sRGB.
    private func onScreen(_ image: DecodedImage) throws -> Pixels {
        var image = image
        try image.convertColors(to: .sRGB)
        return try Pixels(image.pixels)
    }

    @Test(arguments: ["jpeg", "webp", "png", "heic", "avif"] as [ImageFormat])
    func `code points go on as themselves or as a profile`(format: ImageFormat) throws {
        let image = try picture(Self.displayP3)

        let again = try Bench.passThrough(image, format, options: Bench.target(format).options)

        #expect(try onScreen(again).difference(onScreen(image)) < 1.5)
        // If the colours had been forgotten, this is how far off they would be.
        #expect(try onScreen(image).difference(Pixels(image.pixels)) > 4)
    }

    @Test(arguments: ["jpeg", "webp", "png", "heic", "avif"] as [ImageFormat])
    func `an exponent goes on as itself or as a profile`(format: ImageFormat) throws {
        let image = try picture(nil, gamma: 100_000)

        let again = try Bench.passThrough(image, format, options: Bench.target(format).options)

        #expect(try onScreen(again).difference(onScreen(image)) < 3)
        #expect(try onScreen(image).difference(Pixels(image.pixels)) > 20)
    }

    @Test func `sRGB brings no profile along`() throws {
        let (bytes, warnings) = try Bench.encode(picture(.sRGB), to: "jpeg")

        #expect(try Bench.decode(bytes).blob(.icc) == nil)
        #expect(warnings.isEmpty)
    }

    @Test(arguments: [16, 18] as [UInt8])
    func `light that no profile can tell is warned of`(transfer: UInt8) throws {
        let points = CodePoints(primaries: 9, transfer: transfer, matrix: 0, isFullRange: true)

        let (_, warnings) = try Bench.encode(picture(points), to: "jpeg")
        #expect(warnings.contains { $0.contains("cannot say") && $0.contains("sRGB") })
        // Made sRGB there is nothing to warn of.
        var image = try picture(points)
        try image.convertColors(to: .sRGB)
        #expect(try Bench.encode(image, to: "jpeg").warnings.isEmpty)
    }

    @Test(arguments: [0, 40, 128, 700])
    func `a profile that is damaged is a warning, and the picture is there`(count: Int) throws {
        var random = SeededRandom(UInt64(count))
        var image = try picture(nil)
        image.metadata = [MetadataBlob(.icc, (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) })]
        image.info.color.hasProfile = true
        let before = try Pixels(image.pixels)

        try image.convertColors(to: .sRGB)

        #expect(!image.warnings.isEmpty)
        #expect(try Pixels(image.pixels) == before)
    }

    @Test func `asked for sRGB, a thumbnail of a wide space is converted once`() throws {
        let source = Bench.source(Fixture.named("pictures/icc-wide.png"))
        var options = DecodeOptions.thumbnail(PixelSize(12, 12))
        let wide = try Bench.manager.decode(source, options)
        options.convertsToSRGB = true

        let image = try Bench.manager.decode(source, options)

        #expect(image.blob(.icc) == nil && !image.info.color.hasProfile)
        #expect(image.info.color.codePoints == .sRGB)
        #expect(try Pixels(image.pixels).difference(onScreen(wide)) == 0)
        #expect(try onScreen(image).difference(Pixels(image.pixels)) == 0)
    }
}
