import CoderHost
import ImageModel
import ImageProcessing
import TestSupport
import Testing

/// Hints, and lazily decoded images: C-10, C-22, C-23, C-26.
@Suite struct `Decode options` {
    @Test(arguments: [
        (PixelSize(5250, 3450), 60 << 20, 1, PixelSize(4892, 3214)),
        (PixelSize(2000, 2000), 4_000_000, 1, PixelSize(1000, 1000)),
        (PixelSize(320, 240), 1 << 20, 101, PixelSize(58, 44)),
        (PixelSize(600, 600), 1 << 20, 16, PixelSize(128, 128)),
        (PixelSize(990, 1050), 4 << 20, 8, PixelSize(351, 372)),
        (PixelSize(80, 60), 1, 1, PixelSize(1, 1)),
        (PixelSize(50, 50), 12_500, 5, PixelSize(25, 25)),
        (PixelSize(100, 20_000), 60 << 20, 1, PixelSize(100, 20_000)),
        // Lines, for which the formula alone yields too much.
        (PixelSize(10_000, 1), 1, 1, PixelSize(1, 1)),
        (PixelSize(10_000, 1), 400, 1, PixelSize(100, 1)),
        (PixelSize(1, 10_000), 400, 2, PixelSize(1, 50)),
        (PixelSize(10_000, 3), 100, 1, PixelSize(25, 1)),
    ])
    func `C-06 C-07 a number of bytes becomes a size`(size: PixelSize, limit: Int, frames: Int, expected: PixelSize) {
        let layout = DecodedSize.limited(toBytes: limit).layout(of: size, .rgba8, frameCount: frames)

        #expect(layout.scaled == expected && layout.result == expected)
    }

    @Test func `a budget also holds for pixels of eight bytes`() {
        let size = DecodedSize.limited(toBytes: 8000).layout(of: PixelSize(100, 100), .rgba16).result

        #expect(size.width * size.height * 8 <= 8000)
    }

    @Test(arguments: [PixelSize(0, 0), PixelSize(0, 10), PixelSize(10, 0), PixelSize(-5, -5), PixelSize(100, 100)])
    func `C-22 a box without a side, or larger than the image, does not change it`(box: PixelSize) throws {
        let fixture = Fixture.named("images/f.png")

        let image = try Bench.manager.decode(Bench.source(fixture), .thumbnail(box))

        #expect(PixelDigest.of(image.pixels) == fixture.expect?.pixelSHA256)
    }

    // MARK: Hints

    @Test func `C-26 a hint selects among coders that recognize the same bytes`() throws {
        let manager = testHost().manager
        manager.addCoder(
            ScriptedCoder("raw", size: PixelSize(30, 20), formats: [("x-raw", ["nef"], "com.test.raw")]))
        manager.addCoder(
            ScriptedCoder("tiff", size: PixelSize(16, 12), formats: [("x-tiff", ["tif"], "com.test.tiff")]))

        func size(_ change: (inout DecodeOptions) -> Void) throws -> PixelSize {
            var options = DecodeOptions()
            change(&options)
            return try manager.decode(badImage, options).pixels.size
        }

        // The last added coder is asked first.
        #expect(try size { _ in } == PixelSize(16, 12))
        #expect(try size { $0.hint.fileExtension = "NEF" } == PixelSize(30, 20))
        #expect(try size { $0.hint.type = "com.test.raw" } == PixelSize(30, 20))
        #expect(try size { $0.hint.type = "x-raw" } == PixelSize(30, 20))
        // The type has precedence over the extension.
        #expect(
            try size {
                $0.hint.fileExtension = "nef"
                $0.hint.type = "com.test.tiff"
            } == PixelSize(16, 12))
        // Unknown hints are ignored.
        #expect(try size { $0.hint.type = "image/unheard-of" } == PixelSize(16, 12))
    }

    @Test(arguments: ["gif", "heic", "webp", "jpg"])
    func `a wrong hint is ignored`(suffix: String) throws {
        var options = DecodeOptions()
        options.hint.fileExtension = suffix
        let fixture = Fixture.named("images/f.png")

        let image = try Bench.manager.decode(Bench.source(fixture), options)

        #expect(image.format == "png")
        #expect(PixelDigest.of(image.pixels) == fixture.expect?.pixelSHA256)
    }

    // MARK: Lazy images

    @Test func `C-10 C-23 a lazy image is decoded once, on first access`() throws {
        let coder = ScriptedCoder("lazy", size: PixelSize(4, 4))
        let manager = testHost().manager
        manager.addCoder(coder)

        let image = try LazyImage(badImage, manager: manager)

        #expect(image.info.size == PixelSize(4, 4))
        #expect(!image.isDecoded)
        #expect(coder.decoded.isEmpty)
        let first = try image.decoded()
        #expect(image.isDecoded)
        #expect(try image.decoded().pixels === first.pixels)
        #expect(coder.decoded == [0])
    }

    @Test func `a damaged lazy image throws at every access`() throws {
        let bytes = Array(Fixture.named("images/photo.png").bytes.prefix(2000))
        let image = try LazyImage(ImageSource(bytes), manager: Bench.manager)

        #expect(Bench.code { _ = try image.decoded() } == .truncated)
        #expect(Bench.code { _ = try image.decoded() } == .truncated)
        #expect(!image.isDecoded)
    }

    @Test func `C-22 a lazy thumbnail has the requested size after decoding`() throws {
        let image = try LazyImage(
            Bench.source(Fixture.named("images/photo.jpg")), manager: Bench.manager, .thumbnail(PixelSize(10, 10)))

        #expect(image.info.size == Fixture.named("images/photo.jpg").expect?.size)
        #expect(max(try image.decoded().pixels.size.width, try image.decoded().pixels.size.height) == 10)
    }
}
