import CoderHost
import ImageModel
import ImageProcessing
import TestSupport
import Testing

/// The generic check of every coder with every file: V1 … V5, V8 and V9.
///
/// V6, V7 and V10 need thumbnails and scaling while encoding: see ThumbnailTests and EncodeOptionsTests.
@Suite struct `Generic coder check` {
    static let stills = Fixture.valid.filter { ($0.expect?.frameCount ?? 1) == 1 }
    /// Formats that only decode.
    static let decodeOnly: Set<ImageFormat> = ["pcx", "dcx", "sgi", "ras", "xpm", "dds", "cur", "icns", "psd", "psb"]
    /// Stills in formats that keep every image.
    static let kept = stills.filter { still in Bench.targets.contains { $0.format == still.format } }
    static let foreign = [
        "1@2x.gif", "IndexedPNG.png", "MonochromeTestImage.jpg", "RGBA16PNG.png", "TestAnimatedImageMemory.webp",
        "TestEXIF.png", "TestHDR.avif", "TestHDR.heic", "TestHDR.jpeg", "TestICCProfile.jpg", "TestImage.gif",
        "TestImage.heic", "TestImage.heif", "TestImage.jpg", "TestImage.png", "TestImageAnimated.webp",
        "TestLoopCount.gif",
    ].map(ForeignImage.init)

    @Test(arguments: Fixture.valid)
    func `V1 the bytes identify the format`(fixture: Fixture) {
        // Without a name, so that only the bytes can identify the format.
        let candidates = Bench.manager.candidates(for: ImageSource(fixture.bytes))

        #expect(candidates.first?.format == fixture.format)
        #expect(candidates.first?.isCertain == true)
    }

    @Test(arguments: Fixture.valid)
    func `V2 a coder can decode it`(fixture: Fixture) {
        #expect(Bench.manager.canDecode(ImageSource(fixture.bytes)))
    }

    @Test(arguments: Fixture.valid)
    func `V3 it decodes to the pixels of another decoder`(fixture: Fixture) throws {
        let image = try Bench.decode(fixture)

        #expect(image.format == fixture.format)
        let expect = try #require(fixture.expect)
        #expect(expect.bitDepth == nil || image.info.bitDepth == expect.bitDepth)
        #expect(expect.hasAlpha == nil || image.info.hasAlpha == expect.hasAlpha)
        #expect(expect.orientation == nil || image.info.orientation?.rawValue == expect.orientation)
        // Code points that describe the pixels, beside the profile of the original.
        if !image.info.color.prefersCodePoints {
            #expect((expect.colorProfile == "icc") == (image.blob(.icc) != nil))
        }
        if let digest = expect.pixelSHA256 { #expect(try PixelHash.hex(image.pixels) == digest) }
    }

    @Test func `V4 every frame of an animation has the size of the canvas`() throws {
        let source = Bench.source(Fixture.named("images/three-frames.gif"))

        let (info, sizes) = try Bench.manager.withSession(source) { session throws(CoderError) in
            var sizes: [PixelSize] = []
            for frame in try session.frames() { sizes.append(try session.decodeFrame(frame.index).pixels.size) }
            return (session.info, sizes)
        }

        #expect(info.isAnimated)
        #expect(sizes == [PixelSize](repeating: PixelSize(31, 17), count: 3))
    }

    @Test(arguments: Fixture.valid)
    func `V5 it has the width and height of another decoder`(fixture: Fixture) throws {
        let image = try Bench.decode(fixture)

        #expect(image.pixels.size == fixture.expect?.size)
        #expect(image.info.size == fixture.expect?.size)
    }

    @Test(arguments: Fixture.valid.filter { !decodeOnly.contains($0.format) })
    func `V8 its format can be written`(fixture: Fixture) {
        #expect(Bench.manager.canEncode(to: fixture.format))
    }

    @Test(arguments: kept)
    func `V9 an image is the same after writing and reading`(fixture: Fixture) throws {
        let target = Bench.target(fixture.format)
        var image = try Bench.decode(fixture)
        try #require(image.pixels.format.numeric == .unorm)
        let isDeep = image.pixels.format.bits > 8
        let isLossless = target.options.bool("lossless") == true
        let isReduced = isDeep && isLossless && fixture.format != "jxl"
        var again = try Bench.passThrough(
            image, fixture.format, options: isReduced ? CoderOptions() : target.options)

        #expect(again.format == fixture.format)
        #expect(again.info.frameCount == 1)
        if image.pixels.format.channels == .cmyk {
            #expect(again.pixels.format == image.pixels.format)
            image.pixels = try PixelConverter.convert(image.pixels, to: .rgb8)
            again.pixels = try PixelConverter.convert(again.pixels, to: .rgb8)
        }
        let (first, second) = (try image.seen(), try again.seen())
        #expect(first.size == second.size)
        // Sixteen bits are written with loss if the format stores fewer: 1.9 steps of 255 at the default quality.
        let tolerance = isReduced ? 1.9 : target.tolerance
        #expect(first.visible.difference(second.visible) <= tolerance)
    }

    @Test(.enabled(if: ForeignImage.areThere, "the corpus is not there"), arguments: foreign)
    func `V1 V2 V3 V5 V8 V9 hold for the images of SDWebImage`(file: ForeignImage) throws {
        let image = try file.decode()
        #expect(!image.info.size.isEmpty)
        #expect(Bench.manager.canEncode(to: image.format))

        // The fastest effort, because file size does not matter here.
        let effort: CoderOptions =
            switch image.format {
            case "heic", "avif", "webp": ["effort": .integer(0)]
            default: [:]
            }
        let again = try Bench.passThrough(image, image.format, options: effort)

        #expect(again.format == image.format)
        #expect(again.pixels.size == image.pixels.size)
        // Lossy formats at default quality; a different image would differ by tens.
        if try #require(image.pixels.size.area) < 100_000 {
            let (first, second) = (try image.seen(), try again.seen())
            #expect(first.visible.difference(second.visible) < 6)
        } else {
            // The library compares large images, because comparing their samples here takes long in a debug build.
            #expect(again.info.orientationApplied == image.info.orientationApplied)
            #expect(again.info.orientation ?? .up == image.info.orientation ?? .up)
            let difference = try ImageComparison(image.pixels, again.pixels, measuresSSIM: false)
            #expect(difference.meanAbsoluteError / (difference.bits == 8 ? 1 : 257) < 6)
        }
    }
}

extension Pixels {
    /// The color of transparent pixels may change.
    var visible: Pixels {
        var copy = self
        for at in stride(from: 0, to: samples.count, by: 4) where samples[at + 3] == 0 {
            for channel in 0..<3 { copy.samples[at + channel] = 0 }
        }
        return copy
    }
}
