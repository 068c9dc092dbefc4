import CoderHost
import ImageModel
import ImageProcessing
import TestSupport
import Testing

/// The cases C-* for decoding, encoding and the coder list; see Conformance.md.
@Suite struct `Coder cases` {
    @Test(arguments: ["images/f.jpg", "images/f.png", "images/rgba.png", "images/gray.jpg", "images/f.gif"])
    func `C-02 C-03 C-04 C-05 each decode returns its own complete buffer`(name: String) throws {
        let first = try Bench.decode(name)
        let second = try Bench.decode(name)

        // Nothing is lazy or shared: two decodes return two buffers with the same pixels at full size.
        #expect(first.pixels !== second.pixels)
        #expect(first.pixels.size == Fixture.named(name).expect?.size)
        #expect(PixelDigest.of(first.pixels) == PixelDigest.of(second.pixels))
    }

    @Test func `C-05 a JPEG of one component stays gray`() throws {
        let image = try Bench.decode("images/gray.jpg")

        #expect(image.pixels.format == .gray8)
        #expect(try Bench.passThrough(image, "jpeg").pixels.format == .gray8)
    }

    @Test(.enabled(if: ForeignImage.areThere, "the corpus is not there"))
    func `C-05 the foreign gray JPEG is 165 by 121`() throws {
        let image = try ForeignImage("MonochromeTestImage.jpg").decode()

        #expect(image.pixels.size == PixelSize(165, 121))
        #expect(image.pixels.format == .gray8)
    }

    @Test(
        .enabled(if: ForeignImage.areThere, "the corpus is not there"),
        arguments: [
            ("TestImage.jpg", 80, 60), ("TestImage.gif", 50, 50), ("TestImage.png", 300, 300),
            ("TestEXIF.png", 150, 200),
            ("TestImage.heic", 1440, 960), ("TestImage.heif", 1440, 960), ("TestICCProfile.jpg", 400, 300),
            ("TestHDR.heic", 600, 400), ("TestImageAnimated.webp", 990, 1050), ("TestLoopCount.gif", 72, 48),
        ])
    func `C-02 C-12a C-13 C-14 C-18 foreign images have their known sizes`(
        name: String, width: Int, height: Int
    ) throws {
        #expect(try ForeignImage(name).decode().pixels.size == PixelSize(width, height))
    }

    @Test func `C-08 an image with alpha becomes a JPEG on white, with a warning`() throws {
        let image = try DecodedImage.made(16, 16, .rgba8) { _, _, channel in channel == 3 ? 0 : 10 }

        let (bytes, warnings) = try Bench.encode(image, to: "jpeg")
        let again = try Bench.decode(bytes)

        #expect(again.pixels.size == PixelSize(16, 16))
        #expect(try Pixels(again.pixels)[1, 1] == [255, 255, 255, 255])
        #expect(warnings.contains { $0.contains("alpha") })
    }

    @Test func `C-12b a GIF without a loop extension plays once, unlike other loop counts`() throws {
        let looping = Fixture.named("images/three-frames.gif").bytes
        // Introducer, label, 11 "NETSCAPE2.0", 3, 1, count 2, end: 19 bytes (GIF89a section 26; Netscape's own).
        let mark = try #require(looping.firstRange(of: Array("NETSCAPE2.0".utf8)))
        var silent = looping
        silent.removeSubrange(mark.lowerBound - 3..<mark.lowerBound + 16)
        var endless = looping
        endless.replaceSubrange(mark.lowerBound + 13..<mark.lowerBound + 15, with: [0, 0])

        let counts = try [silent, endless, looping].map { try Bench.decode($0).info.loopCount }

        #expect(counts == [.plays(1), .infinite, .plays(3)])
        #expect(counts.map(\.plays) == [1, 0, 3])
    }

    @Test(.enabled(if: ForeignImage.areThere, "the corpus is not there"))
    func `C-12b the foreign GIF without a loop extension plays once`() throws {
        #expect(try ForeignImage("TestLoopCount.gif").decode().info.loopCount.plays == 1)
        #expect(try ForeignImage("TestImage.gif").decode().info.loopCount == .infinite)
    }

    @Test(arguments: ["mif1", "heix", "hevc", "heic"])
    func `C-13 C-14 HEIC and HEIF are recognized by their brand and decode alike`(brand: String) throws {
        var bytes = Fixture.named("images/f.heic").bytes
        bytes.replaceSubrange(8..<12, with: Array(brand.utf8))

        let image = try Bench.decode(bytes)

        #expect(image.format == "heic")
        #expect(PixelDigest.of(image.pixels) == Fixture.named("images/f.heic").expect?.pixelSHA256)
    }

    @Test(arguments: [
        ("heic", "heif.bit-depth", 10), ("heic", "heif.bit-depth", 12), ("avif", "avif.bit-depth", 10),
        ("avif", "avif.bit-depth", 12),
    ])
    func `C-13 ten and twelve bits survive encoding`(format: String, key: String, depth: Int) throws {
        let image = try Bench.decode("conformance/sixteen-with-alpha.png")

        let again = try Bench.passThrough(
            image, ImageFormat(format),
            options: [
                key: .integer(Int64(depth)), "quality": .integer(100),
                key.replacing("bit-depth", with: "chroma"): .string("444"),
            ])

        #expect(again.info.bitDepth == depth)
        #expect(again.pixels.format == .rgba16)
        #expect(try Pixels(again.pixels).visible.difference(Pixels(image.pixels).visible) < 3)
    }

    // MARK: C-15, the coder list

    @Test func `C-15 an empty source is a typed error`() {
        let empty = ImageSource([])

        #expect(!Bench.manager.canDecode(empty))
        #expect(Bench.code { _ = try Bench.manager.decode(empty) } == .unrecognizedFormat)
    }

    @Test func `C-15 the default format is PNG with alpha and JPEG without`() throws {
        let clear = try Bench.manager.encode(Bench.decode("images/rgba.png"))
        let opaque = try Bench.manager.encode(Bench.decode("images/f.png"))

        #expect(Bench.manager.canEncode(to: nil))
        #expect(try Bench.decode(clear).format == "png")
        #expect(try Bench.decode(opaque).format == "jpeg")
    }

    @Test func `C-15 the error for an unwritable format lists the writable ones`() throws {
        let image = try Bench.decode("images/f.png")

        #expect(!Bench.manager.canEncode(to: "bpg"))
        let error = #expect(throws: CoderError.self) { _ = try Bench.manager.encode(image, to: "bpg") }
        #expect(error?.code == .noCoder)
        #expect(error?.hint?.contains("webp") == true)
    }

    @Test func `C-15 the list holds every coder once, the host's own among them`() {
        let ids = Bench.manager.coders.map(\.descriptor.id)

        #expect(Set(ids).count == ids.count)
        #expect(
            Set(ids).isSuperset(of: [
                "org.coderhost.png", "org.coderhost.jpeg", "org.coderhost.webp", "org.coderhost.gif",
                "org.coderhost.heif", "org.coderhost.heif-avif", "org.coderhost.avif", "org.coderhost.farbfeld",
                "coderhost.pam", "coderhost.pnm",
            ]))
    }

    @Test(arguments: ["lossless", "lossy", "lossy-alpha", "lossless-alpha"])
    func `C-18 a still WebP decodes like its reference library`(name: String) throws {
        // dwebp wrote the PAM file.
        let bytes = try #require(readFile(Repository.fixture("webp/\(name).webp")))
        let expected = try Bench.decode(try #require(readFile(Repository.fixture("webp/\(name).pam"))))

        #expect(try PixelHash.hex(Bench.decode(bytes).pixels) == PixelHash.hex(expected.pixels))
    }

    @Test func `C-21 a thumbnail is embedded on request`() throws {
        let image = try Bench.decode("images/photo.png")

        let plain = try Bench.encode(image, to: "heic").bytes
        let with = try Bench.encode(image, to: "heic", options: ["heif.thumbnail": .integer(64)]).bytes

        #expect(try thumbnails(plain).isEmpty)
        // 160 × 120 with the longest side reduced to 64.
        #expect(try thumbnails(with).map(\.size) == [PixelSize(64, 48)])
        #expect(try thumbnailPixels(with).size == PixelSize(64, 48))
    }

    @Test(.enabled(if: ForeignImage.areThere, "the corpus is not there"))
    func `C-21 the foreign HEIC has no thumbnail, and one of 320 on request`() throws {
        let file = ForeignImage("TestImage.heic")
        let image = try file.decode()

        let with = try Bench.encode(
            image, to: "heic", options: ["heif.thumbnail": .integer(320), "effort": .integer(0)]
        ).bytes

        #expect(try thumbnails(try #require(file.bytes)).isEmpty)
        let size = try #require(try thumbnails(with).first?.size)
        // The reference's system encoder produces 320 × 212; 320 · 960 / 1440 is 213.3.
        #expect(size.width == 320)
        #expect((212...214).contains(size.height))
        // The reference file with brand mif1 contains one of 240 × 160.
        #expect(
            try thumbnails(try #require(ForeignImage("TestImage.heif").bytes)).map(\.size) == [PixelSize(240, 160)])
    }

    private func thumbnails(_ bytes: [UInt8]) throws -> [ImageInfo] {
        try Bench.manager.withSession(ImageSource(bytes)) { session throws(CoderError) in try session.thumbnails() }
    }

    private func thumbnailPixels(_ bytes: [UInt8]) throws -> PixelBuffer {
        try Bench.manager.withSession(ImageSource(bytes)) { session throws(CoderError) in
            try session.decodeThumbnail(0)
        }
    }

    @Test(arguments: Bench.targets)
    func `C-27 a frame in memory is written to a file`(target: Bench.Target) throws {
        let image = try DecodedImage.made(100, 100, .rgb8) { _, _, channel in [200, 100, 0][channel] }

        let again = try Bench.passThrough(image, target.format, options: target.options)

        #expect(again.pixels.size == PixelSize(100, 100))
        #expect(try Pixels(again.pixels).difference(Pixels(image.pixels)) <= target.tolerance)
    }

    @Test(arguments: Bench.targets)
    func `C-28 row alignment does not change the output`(target: Bench.Target) throws {
        // 10 × 8 RGBA with rows of 40 bytes, and the same with rows of 64 that end with noise.
        let packed = try DecodedImage.made(10, 8, .rgba8) { x, y, channel in
            channel == 3 ? 255 : UInt8(x * 20 + y * 3 + channel * 10)
        }
        var padded = packed
        padded.pixels = PaddedBuffer.copy(packed.pixels, stride: 64)

        let first = try Bench.encode(packed, to: target.format, options: target.options).bytes
        let second = try Bench.encode(padded, to: target.format, options: target.options).bytes

        #expect(first == second)
    }

    @Test func `C-29 an orientation stored only in XMP is reported, and the pixels stay as stored`() throws {
        let image = try Bench.decode("images/orientation-3-in-xmp-only.jpg")

        #expect(image.info.orientation == .down)
        #expect(!image.info.orientationApplied)
        // The digest is djpeg's, which ignores the orientation.
        #expect(
            PixelDigest.of(image.pixels) == Fixture.named("images/orientation-3-in-xmp-only.jpg").expect?.pixelSHA256)
    }

    @Test func `C-30 a palette with alpha keeps both`() throws {
        let image = try Bench.decode("conformance/indexed-with-alpha.png")
        let pixels = try Pixels(image.pixels)

        // As pngtopam decodes them: opaque, two thirds.
        #expect(pixels[0, 0] == [0x13, 0x1E, 0x9A, 0xFF])
        #expect(pixels[11, 0] == [0x42, 0x19, 0x85, 0xAA])
        #expect(pixels[6, 2] == [0xFA, 0xEB, 0x14, 0xFF])
        #expect(image.info.hasAlpha)
    }

    @Test func `C-25 T-21 BMP is decoded and encoded`() throws {
        let image = try Bench.decode("images/f.png")

        let (bytes, _) = try Bench.encode(image, to: "bmp")

        #expect(bytes.starts(with: Array("BM".utf8)))
        let again = try Bench.decode(bytes)
        #expect(again.format == "bmp")
        #expect(try Pixels(again.pixels) == Pixels(image.pixels))
    }

    @Test func `C-30 sixteen bits with alpha stay sixteen bits and straight`() throws {
        let image = try Bench.decode("conformance/sixteen-with-alpha.png")

        #expect(image.pixels.format == .rgba16)
        for format in ["png", "farbfeld", "pam"] as [ImageFormat] {
            let again = try Bench.passThrough(image, format)
            #expect(again.pixels.format == .rgba16)
            #expect(image.pixels.bytes == again.pixels.bytes)
        }
    }

    @Test(.enabled(if: ForeignImage.areThere, "the corpus is not there"))
    func `C-30 the foreign indexed and 16-bit images`() throws {
        let indexed = try Pixels(try ForeignImage("IndexedPNG.png").decode().pixels)
        let deep = try ForeignImage("RGBA16PNG.png").decode()

        for (sample, expected) in zip(indexed[100, 1], [0.60, 0.91, 0.91, 0.20]) {
            #expect(abs(Double(sample) / 255 - expected) <= 0.01)
        }
        #expect(deep.pixels.format == .rgba16)
        #expect(deep.info.bitDepth == 16)
    }
}

extension PixelBuffer {
    /// The rows without padding.
    var bytes: [UInt8] {
        var all: [UInt8] = []
        for y in 0..<size.height {
            withRow(y) { row in for index in 0..<row.byteCount { all.append(row.byte(at: index)) } }
        }
        return all
    }
}

/// Buffers with padded rows.
enum PaddedBuffer {
    /// The same pixels with `stride` bytes per row; padding bytes are 0xA5.
    static func copy(_ buffer: PixelBuffer, stride: Int) -> PixelBuffer {
        let count = stride * buffer.size.height
        let memory = UnsafeMutableRawPointer.allocate(byteCount: count, alignment: 64)
        unsafe memory.initializeMemory(as: UInt8.self, repeating: 0xA5, count: count)
        let result = unsafe PixelBuffer(
            size: buffer.size, format: buffer.format, stride: stride, memory: memory, byteCount: count
        ) { memory, _ in unsafe memory.deallocate() }
        for y in 0..<buffer.size.height {
            buffer.withRow(y) { row in
                result.withMutableRow(y) { target in
                    for index in 0..<row.byteCount {
                        target.storeBytes(of: row.byte(at: index), toByteOffset: index, as: UInt8.self)
                    }
                }
            }
        }
        return result
    }
}
