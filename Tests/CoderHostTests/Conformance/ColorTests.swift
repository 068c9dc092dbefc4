import CoderHost
import ImageModel
import ImageProcessing
import TestSupport
import Testing

/// The meaning of colors is preserved in every format.
@Suite struct `Colors through the host` {
    private func sample(_ points: CodePoints?, gamma: UInt32? = nil) throws -> DecodedImage {
        var image = try DecodedImage.made(24, 16, .rgb8) { x, y, channel in UInt8((x * 9 + y * 5 + channel * 60) % 256)
        }
        image.info.color.codePoints = points
        image.info.color.gamma = gamma
        return image
    }

    private static let displayP3 = CodePoints(primaries: 12, transfer: 13, matrix: 0, isFullRange: true)

    /// The pixels on an sRGB display.
    private func onScreen(_ image: DecodedImage) throws -> Pixels {
        var image = image
        try image.convertColors(to: .sRGB)
        return try Pixels(image.pixels)
    }

    @Test(arguments: ["jpeg", "webp", "png", "heic", "avif"] as [ImageFormat])
    func `code points are stored directly or as a profile`(format: ImageFormat) throws {
        let image = try sample(Self.displayP3)

        let again = try Bench.passThrough(image, format, options: Bench.target(format).options)

        #expect(try onScreen(again).difference(onScreen(image)) < 1.5)
        // The difference if the colors were ignored.
        #expect(try onScreen(image).difference(Pixels(image.pixels)) > 4)
    }

    @Test(arguments: ["jpeg", "webp", "png", "heic", "avif"] as [ImageFormat])
    func `a gamma exponent is stored directly or as a profile`(format: ImageFormat) throws {
        let image = try sample(nil, gamma: 100_000)

        let again = try Bench.passThrough(image, format, options: Bench.target(format).options)

        #expect(try onScreen(again).difference(onScreen(image)) < 3)
        #expect(try onScreen(image).difference(Pixels(image.pixels)) > 20)
    }

    @Test func `sRGB is stored without a profile`() throws {
        let (bytes, warnings) = try Bench.encode(sample(.sRGB), to: "jpeg")

        #expect(try Bench.decode(bytes).blob(.icc) == nil)
        #expect(warnings.isEmpty)
    }

    @Test(arguments: [16, 18] as [UInt8])
    func `a transfer function that no profile can describe is a warning`(transfer: UInt8) throws {
        let points = CodePoints(primaries: 9, transfer: transfer, matrix: 0, isFullRange: true)

        var kept = EncodeOptions()
        kept.dynamicRange = .kept
        let report = try Bench.manager.encode(sample(points), to: "jpeg", kept, into: MemorySink())
        #expect(report.warnings.contains { $0.contains("cannot store the color space") && $0.contains("sRGB") })
        let (_, warnings) = try Bench.encode(sample(points), to: "jpeg")
        #expect(warnings.contains { $0.contains("tone mapped to sRGB") })
        // After conversion to sRGB there is no warning.
        var image = try sample(points)
        try image.convertColors(to: .sRGB)
        #expect(try Bench.encode(image, to: "jpeg").warnings.isEmpty)
    }

    @Test(arguments: [0, 40, 128, 700])
    func `a damaged profile is a warning, and the image is decoded`(count: Int) throws {
        var random = SeededRandom(UInt64(count))
        var image = try sample(nil)
        image.metadata = [MetadataBlob(.icc, (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) })]
        image.info.color.hasProfile = true
        let before = try Pixels(image.pixels)

        try image.convertColors(to: .sRGB)

        #expect(!image.warnings.isEmpty)
        #expect(try Pixels(image.pixels) == before)
    }

    @Test func `a wide-gamut thumbnail is converted to sRGB once`() throws {
        let source = Bench.source(Fixture.named("images/icc-wide.png"))
        var options = DecodeOptions.thumbnail(PixelSize(12, 12))
        let wide = try Bench.manager.decode(source, options)
        options.colors = .sRGB

        let image = try Bench.manager.decode(source, options)

        #expect(image.blob(.icc) == nil && !image.info.color.hasProfile)
        #expect(image.info.color.codePoints == .sRGB)
        #expect(try Pixels(image.pixels).difference(onScreen(wide)) == 0)
        #expect(try onScreen(image).difference(Pixels(image.pixels)) == 0)
    }
}
