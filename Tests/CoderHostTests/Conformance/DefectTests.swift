import CoderHost
import ImageModel
import TestSupport
import Testing

/// Defects of the reference that this project must not have, by their numbers in its description.
@Suite struct `Defects not to have` {
    /// An image of each format.
    static let samples = [
        "images/f.jpg", "images/f-progressive.jpg", "images/f.png", "images/f.gif", "images/f.webp",
        "images/rgba.webp", "images/f.heic", "images/f.avif", "images/rgba.ff", "images/rgba.pam",
        "images/f.ppm",
    ]

    @Test(arguments: samples)
    func `1 every coder obeys the limit`(name: String) {
        let source = Bench.source(Fixture.named(name))
        var pixels = DecodeLimits.default
        pixels.maxPixels = 31 * 17 - 1
        var side = DecodeLimits.default
        side.maxSide = 30
        var bytes = DecodeLimits.default
        bytes.maxDecodedBytes = 31 * 17 * 3 - 1

        for limits in [pixels, side, bytes] {
            let code = Bench.code {
                _ = try Bench.manager.withSession(source, limits: limits) { session throws(CoderError) in
                    try session.decodeImage()
                }
            }
            #expect(code == .limitExceeded)
        }
    }

    @Test func `2 the first frame of a WebP animation is placed correctly, without stretching`() throws {
        let fixture = Fixture.named("conformance/first-frame-off-origin.webp")
        let image = try Bench.decode(fixture)
        let frame = try Pixels(Bench.decode("images/rgba.webp").pixels).visible
        let canvas = try Pixels(image.pixels).visible

        #expect(image.pixels.size == PixelSize(41, 23))
        #expect(PixelDigest.of(image.pixels) == fixture.expect?.pixelSHA256)
        for y in 0..<23 {
            for x in 0..<41 {
                let isInside = x >= 10 && y >= 6
                #expect(canvas[x, y] == (isInside ? frame[x - 10, y - 6] : [0, 0, 0, 0]))
            }
        }
    }

    @Test(.enabled(if: ForeignImage.areThere, "the corpus is not there"))
    func `2 the first frame of the foreign WebP animation leaves the surrounding canvas transparent`() throws {
        // 630 × 870 at (240, 180) of 990 × 1050.
        let pixels = try Pixels(ForeignImage("TestImageAnimated.webp").decode().pixels)

        for (x, y) in [(0, 0), (989, 1049), (239, 500), (870, 500), (500, 179), (500, 1050 - 1)] {
            #expect(pixels[x, y][3] == 0)
        }
    }

    @Test(arguments: ["heic", "avif"] as [ImageFormat])
    func `5 more than eight bits with and without alpha keep their channels`(format: ImageFormat) throws {
        let prefix = format == "avif" ? "avif" : "heif"
        let options: CoderOptions = ["quality": .integer(100), "\(prefix).chroma": .string("444")]
        for name in ["conformance/sixteen-with-alpha.png", "images/sixteen.png"] {
            let image = try Bench.decode(name)

            let again = try Bench.passThrough(image, format, options: options)

            #expect(again.pixels.format == image.pixels.format)
            #expect(try Pixels(again.pixels).visible.difference(Pixels(image.pixels).visible) < 3)
        }
    }

    @Test(.enabled(if: ForeignImage.areThere, "the corpus is not there"))
    func `5 the profile of the foreign HEIC is read whole`() throws {
        let profile = try #require(try ForeignImage("TestImage.heic").decode().blob(.icc))

        // The first four bytes of a profile are its length (ICC.1, profile header).
        #expect(profile.prefix(4).reduce(0) { $0 << 8 | Int($1) } == profile.count)
        #expect(profile[36..<40].elementsEqual("acsp".utf8))
    }

    @Test func `6 an explicitly disabled thumbnail is not written`() throws {
        let image = try Bench.decode("images/photo.png")

        let bytes = try Bench.encode(image, to: "heic", options: ["heif.thumbnail": .integer(0)]).bytes

        #expect(try Bench.decode(bytes).info.hasItems == false)
    }

    @Test func `7 a short duration is reported as stored`() throws {
        var bytes = Fixture.named("images/three-frames.gif").bytes
        // Graphic control extension: 21 F9 04, flags, delay in 1/100 s, transparent index, 0 (GIF89a section 23).
        let mark = try #require(bytes.firstRange(of: [0x21, 0xF9, 0x04])).upperBound
        bytes.replaceSubrange(mark + 1..<mark + 3, with: [1, 0])

        let frames = try Bench.manager.withSession(ImageSource(bytes)) { session throws(CoderError) in
            try session.frames()
        }

        #expect(frames.map(\.duration.milliseconds) == [10, 200, 100])
    }

    @Test(arguments: [CoderError.Code.notMine, .unsupportedFeature])
    func `8 a coder that recognizes the data and then passes does not block others`(code: CoderError.Code) throws {
        let manager = try blocked(by: code)

        let image = try manager.decode(Bench.source(Fixture.named("images/f.png")))

        #expect(image.coder == "org.coderhost.png")
        #expect(PixelDigest.of(image.pixels) == Fixture.named("images/f.png").expect?.pixelSHA256)
    }

    @Test func `8 no weaker decoder receives a file after a coder reports corruption`() throws {
        let manager = try blocked(by: .corrupt)

        let error = #expect(throws: CoderError.self) {
            _ = try manager.decode(Bench.source(Fixture.named("images/f.png")))
        }

        #expect(error?.code == .corrupt)
        #expect(error?.coder == "test.blocker")
    }

    @Test func `8 a removed coder is not asked`() throws {
        let manager = try blocked(by: .corrupt)

        manager.removeCoder("test.blocker")

        #expect(try manager.decode(Bench.source(Fixture.named("images/f.png"))).coder == "org.coderhost.png")
    }

    /// A separate manager in which a failing PNG coder precedes the plugin.
    private func blocked(by code: CoderError.Code) throws -> CodersManager {
        let host = CoderHost(configuration: Bench.host.configuration)
        let png = try #require(host.manager.coders.first { $0.descriptor.serves("png") })
        host.manager.addCoder(FailingCoder(formats: png.descriptor.formats, code: code))
        return host.manager
    }

    @Test(arguments: [0xFF, 0x89, 0x47, 0x49, 0x4D, 0x52, 0x00, 0x25, 0x3C, 0x42, 0x50, 0x66] as [UInt8])
    func `9 one byte does not identify a format`(byte: UInt8) {
        // The byte alone, before zeros, and before text.
        for tail in [[], [UInt8](repeating: 0, count: 64), Array(" and then some words that mean nothing".utf8)] {
            let source = ImageSource([byte] + tail)

            #expect(!Bench.manager.canDecode(source))
            #expect(Bench.code { _ = try Bench.manager.decode(source) } == .unrecognizedFormat)
        }
    }

    @Test func `10 formats are names, so they cannot collide by accident`() throws {
        let host = CoderHost(configuration: Bench.host.configuration)
        let before = host.manager.encoders(for: "heic").map(\.descriptor.id)

        let bundled = BundledPlugin.formats("decode", "encode", "encode-animation").map(\.format)
        #expect(
            Set(host.manager.coders.flatMap { $0.descriptor.formats.map(\.id) })
                == Set(bundled + ["pam", "pnm", "pbm", "pgm", "ppm"]))
        #expect(before == ["org.coderhost.heif"])
    }

    @Test func `12 two equal frames remain two frames`() throws {
        // The only frame of the file, from its extension or descriptor to the trailer, twice.
        let bytes = Fixture.named("images/f.gif").bytes
        let tableSize = 3 << (Int(bytes[10] & 7) + 1)
        let start = 13 + tableSize
        let frame = Array(bytes[start..<bytes.count - 1])
        let doubled = bytes[..<start] + frame + frame + [0x3B]

        let (count, frames) = try Bench.manager.withSession(ImageSource(Array(doubled))) { session throws(CoderError) in
            (session.info.frameCount, try session.frames())
        }

        #expect(count == 2)
        #expect(frames.map(\.rect) == [PixelRect(PixelSize(31, 17)), PixelRect(PixelSize(31, 17))])
    }

    @Test func `18 sixteen bits are not reduced to eight without need`() throws {
        let image = try Bench.decode("images/sixteen.png")

        #expect(image.pixels.format == .rgb16)
        for format in ["png", "pnm", "pam", "farbfeld"] as [ImageFormat] {
            #expect(try Bench.passThrough(image, format).pixels.format.bits == 16)
        }
    }
}

/// Recognizes the data of another coder and then fails.
private struct FailingCoder: ImageCoder {
    var descriptor: CoderDescriptor
    var code: CoderError.Code

    init(formats: [PluginManifest.Format], code: CoderError.Code) {
        descriptor = CoderDescriptor(
            id: "test.blocker", version: "1", tier: .runTime, roles: .decode, formats: formats)
        self.code = code
    }

    func makeDecoder(_ source: ImageSource, _ context: SessionContext) throws(CoderError) -> any FrameDecoder {
        throw CoderError(code, "on purpose")
    }

    func makeEncoder(_ context: SessionContext) throws(CoderError) -> any FrameEncoder {
        throw CoderError(code, "on purpose")
    }
}
