import CoderPluginKit
import ImageModel
import JPEGCodec
import TestSupport
import Testing

@Suite struct `JPEG optimizing` {
    /// Whether only the codec's own decoder reads the image, which is lossless or has 12 bits.
    private static func isExtended(_ fixture: Fixture) -> Bool {
        fixture.name.hasPrefix("jpeg/lossless-") || fixture.name.hasPrefix("jpeg/twelve-")
    }

    @Test(arguments: Fixture.valid("jpeg").filter(isExtended))
    func `refuses lossless images and images of 12 bits`(fixture: Fixture) {
        #expect(throws: CoderError.self) { try rewrite(fixture.bytes, RewriteRequest(optimizes: true)) }
    }

    @Test(arguments: Fixture.valid("jpeg").filter { !isExtended($0) })
    func `changes no coefficient, and makes no file larger`(fixture: Fixture) throws {
        let source = fixture.bytes
        let result = try rewrite(source, RewriteRequest(optimizes: true)).bytes

        #expect(result.count <= source.count)
        #expect(try pixels(of: result).samples == pixels(of: source).samples)
        #expect(try metadata(of: result) == metadata(of: source))
        let (before, after) = (JPEGCoefficients(source), JPEGCoefficients(result))
        #expect(after?.components == before?.components)
        #expect((before == nil) == fixture.name.contains("arithmetic"))
    }

    /// Sizes of `jpegtran -copy all -optimize -progressive` of libjpeg-turbo 2.1.5.
    @Test(arguments: [
        ("images/photo.jpg", 6827), ("images/f.jpg", 809), ("images/f-progressive.jpg", 934),
        ("images/gray.jpg", 480), ("images/cmyk.jpg", 713), ("images/icc-wide-in-three-segments.jpg", 1584),
        ("images/orientation-6.jpg", 1098), ("jpeg/baseline-420.jpg", 794), ("jpeg/baseline-444-restart.jpg", 757),
        ("jpeg/progressive-422.jpg", 767), ("jpeg/sequential-3-scans.jpg", 794), ("jpeg/ycck.jpg", 813),
    ])
    func `makes files as small as another program, or smaller`(name: String, size: Int) throws {
        #expect(try rewrite(jpegFixture(name), RewriteRequest(optimizes: true)).bytes.count <= size)
    }

    @Test func `chooses the smaller one of sequential and progressive`() throws {
        // One block needs one scan; ten scan headers cost more than they save.
        let small = try rewrite(photograph(8, 8), RewriteRequest(optimizes: true)).bytes
        let large = try rewrite(photograph(160, 160), RewriteRequest(optimizes: true)).bytes

        #expect(JPEGCoefficients(small)?.isProgressive == false)
        #expect(JPEGCoefficients(large)?.isProgressive == true)
    }

    @Test(arguments: Sampling.all)
    func `changes no coefficient of any sampling`(sampling: Sampling) throws {
        for (width, height) in [(1, 1), (7, 35), (70, 50)] {
            var image = sampling.image(width, height, seed: 9)
            image.restartInterval = 3
            let result = try rewrite(image.file, RewriteRequest(optimizes: true))

            #expect(JPEGCoefficients(result.bytes)?.components == JPEGCoefficients(image.file)?.components)
            #expect(JPEGCoefficients(result.bytes)?.restartInterval == 0)
            #expect(result.kept == PixelRect(x: 0, y: 0, width: width, height: height))
        }
    }

    @Test func `copies a file that cannot become smaller`() throws {
        let once = try rewrite(Sampling.quarter.image(70, 50).file, RewriteRequest(optimizes: true)).bytes

        #expect(try rewrite(once, RewriteRequest(optimizes: true)).bytes == once)
    }

    @Test func `works with changes of metadata and a transform`() throws {
        let comment = JPEGSegments.comment("gone")
        let image = try photograph(160, 160)
        let file = Array(image[..<2]) + comment + Array(image[2...])
        let exif = MetadataBlob(.exif, [0x4D, 0x4D, 0, 42, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0])
        let crop = PixelRect(x: 16, y: 8, width: 120, height: 128)
        let request = RewriteRequest(
            removed: [.text], replaced: [exif], transform: .right, crop: crop, isPerfect: true, optimizes: true)
        let result = try rewrite(file, request)

        #expect(result.kept == crop)
        #expect(try metadata(of: result.bytes) == [exif])
        var simple = request
        simple.optimizes = false
        let other = try rewrite(file, simple)
        #expect(JPEGCoefficients(result.bytes)?.components == JPEGCoefficients(other.bytes)?.components)
        #expect(result.bytes.count < other.bytes.count)
        #expect(JPEGCoefficients(result.bytes)?.isProgressive == true)
    }
}
