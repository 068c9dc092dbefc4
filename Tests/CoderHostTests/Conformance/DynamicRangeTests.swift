import CoderHost
import ImageModel
import ImageProcessing
import TestSupport
import Testing

/// Brightness above white: C-32, and C-34 without gain maps.
@Suite struct `Dynamic range` {
    private func decode(_ source: ImageSource, _ colors: DecodedColors) throws -> DecodedImage {
        var options = DecodeOptions()
        options.colors = colors
        return try Bench.manager.decode(source, options)
    }

    private func expectStandard(_ image: DecodedImage) {
        #expect(!image.colorProfile.isHighDynamicRange)
        #expect(image.colorProfile == .sRGB)
        #expect(image.pixels.format.bits == 8)
        #expect(image.info.bitDepth <= 8)
        #expect(image.pixels.color(at: (0, 0)) != nil)
    }

    private func expectHigh(_ image: DecodedImage, _ points: CodePoints) {
        #expect(image.colorProfile.isHighDynamicRange)
        #expect(image.info.color.codePoints?.primaries == points.primaries)
        #expect(image.info.color.codePoints?.transfer == points.transfer)
        #expect(image.pixels.format.bits == 16)
        #expect(image.info.bitDepth > 8)
        #expect(image.pixels.color(at: (0, 0)) == nil)
    }

    @Test(
        .enabled(if: ForeignImage.areThere, "the corpus is not there"),
        arguments: [("TestHDR.heic", PixelSize(600, 400)), ("TestHDR.avif", PixelSize(2048, 858))])
    func `C-32 the foreign images have the requested dynamic range`(name: String, size: PixelSize) throws {
        let source = ImageSource(try #require(ForeignImage(name).bytes))
        let asStored = CodePoints(primaries: 9, transfer: 16, matrix: 9, isFullRange: true)

        let high = try decode(source, .stored)
        expectHigh(high, asStored)
        #expect(high.pixels.size == size)
        let standard = try decode(source, .standardRange)
        expectStandard(standard)
        #expect(standard.pixels.size == size)
    }

    /// One gray level in PQ with the primaries of BT.2020, as a PNG with cICP.
    private func shade(_ code: UInt16) throws -> ImageSource {
        let pixels = try PixelBuffer(size: PixelSize(4, 4), format: .rgb16)
        for y in 0..<4 {
            pixels.withMutableRow(y) { row in
                for offset in stride(from: 0, to: row.byteCount, by: 2) {
                    row.storeBytes(of: code, toByteOffset: offset, as: UInt16.self)
                }
            }
        }
        var info = ImageInfo(size: pixels.size, nativeFormat: .rgb16)
        info.color.codePoints = CodePoints(primaries: 9, transfer: 16, matrix: 0, isFullRange: true)
        let image = DecodedImage(info: info, pixels: pixels, format: "pam", coder: "test")
        return ImageSource(try Bench.encode(image, to: "png").bytes)
    }

    /// 28947 is 50.75 cd/m² by ST 2084, a quarter of white: 0.537 on the sRGB curve.
    @Test(arguments: [(0, 0), (28_947, 137), (65_535, 255)] as [(UInt16, UInt8)])
    func `C-32 brightness below white is kept, and the rest is limited to white`(code: UInt16, level: UInt8) throws {
        let source = try shade(code)

        expectHigh(try decode(source, .stored), CodePoints(primaries: 9, transfer: 16, matrix: 0, isFullRange: true))
        let standard = try decode(source, .standardRange)
        expectStandard(standard)
        let color = try #require(standard.pixels.color(at: (2, 2)))
        for value in [color.red, color.green, color.blue] { #expect(abs(Int(value) - Int(level)) <= 1) }
    }

    @Test func `C-32 a reduced image is tone mapped like a full one`() throws {
        var options = DecodeOptions.thumbnail(PixelSize(2, 2))
        options.colors = .standardRange

        let image = try Bench.manager.decode(shade(28_947), options)

        expectStandard(image)
        #expect(image.pixels.size == PixelSize(2, 2))
    }

    @Test(arguments: ["heic", "avif", "png"] as [ImageFormat])
    func `C-34 HDR images are written with their depth and code points`(format: ImageFormat) throws {
        let image = try decode(shade(28_947), .stored)

        let again = try Bench.passThrough(image, format)

        expectHigh(again, CodePoints(primaries: 9, transfer: 16, matrix: 0, isFullRange: true))
        expectStandard(try decode(ImageSource(Bench.encode(image, to: format).bytes), .standardRange))
    }
}
