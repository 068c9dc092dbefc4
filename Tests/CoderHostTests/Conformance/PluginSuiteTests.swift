import CoderHost
import ImageModel
import ImageProcessing
import TestSupport
import Testing

/// The requirements of the reference plugins' test suites for stills; see Conformance.md.
@Suite struct `Plugin suites` {
    // MARK: WebP, the twenty keys

    /// A key with a non-default value, the other keys that it needs, and the image that shows its effect.
    struct Knob: Sendable, CustomTestStringConvertible {
        var key: String
        var value: OptionValue
        var others: CoderOptions = [:]
        var sample = "images/photo.png"
        var testDescription: String { key }
    }

    /// The keys whose effect is visible in the bytes of a small image.
    static let knobs = [
        Knob(key: "quality", value: .real(40)),
        Knob(key: "lossless", value: .bool(true)),
        Knob(key: "webp.method", value: .integer(0)),
        Knob(key: "webp.target-size", value: .integer(3000)),
        Knob(key: "webp.target-psnr", value: .real(30)),
        Knob(key: "webp.segments", value: .integer(1)),
        Knob(key: "webp.sns-strength", value: .integer(0)),
        Knob(key: "webp.filter-strength", value: .integer(0)),
        Knob(key: "webp.filter-sharpness", value: .integer(7)),
        Knob(key: "webp.filter-type", value: .integer(0)),
        Knob(key: "webp.autofilter", value: .bool(true)),
        Knob(key: "webp.alpha-compression", value: .integer(0), sample: "images/rgba.png"),
        Knob(key: "webp.alpha-filtering", value: .integer(0), sample: "waves"),
        Knob(key: "webp.alpha-quality", value: .integer(20), sample: "images/rgba.png"),
        // A file size target implies 6.
        Knob(key: "webp.pass", value: .integer(1), others: ["webp.target-size": .integer(3000)]),
        Knob(key: "webp.preprocessing", value: .integer(1)),
        // The library writes partitions only if tokens are not kept in memory.
        Knob(key: "webp.partitions", value: .integer(3), others: ["webp.low-memory": .bool(true)]),
        Knob(key: "webp.use-sharp-yuv", value: .bool(true)),
        Knob(key: "webp.near-lossless", value: .integer(20), others: ["lossless": .bool(true)]),
        Knob(key: "webp.exact", value: .bool(true), others: ["lossless": .bool(true)], sample: "images/rgba.png"),
    ]

    /// The keys that change the library's work, but not its output.
    static let silent = [
        Knob(key: "webp.show-compressed", value: .bool(true)),
        Knob(key: "webp.thread-level", value: .integer(1)),
        Knob(key: "webp.low-memory", value: .bool(true)),
        Knob(key: "webp.partition-limit", value: .integer(50)),
    ]

    private func sample(_ knob: Knob) throws -> DecodedImage {
        guard knob.sample == "waves" else { return try Bench.decode(knob.sample) }
        // Gradients in alpha, for which the choice of the predictor matters.
        return try .made(160, 120, .rgba8) { x, y, channel in
            channel == 3 ? UInt8(truncatingIfNeeded: (x * x + y * y) / 90) : UInt8(x + y / 2)
        }
    }

    @Test(arguments: knobs)
    func `WebP key reaches the encoder and changes what it writes`(knob: Knob) throws {
        let image = try sample(knob)
        var options = knob.others
        let without = try Bench.encode(image, to: "webp", options: options).bytes
        options[knob.key] = knob.value

        let with = try Bench.encode(image, to: "webp", options: options).bytes

        #expect(with != without, "\(with.count) identical bytes")
        #expect(try Bench.decode(with).pixels.size == image.pixels.size)
    }

    @Test(arguments: silent)
    func `WebP key without an effect on the bytes is accepted`(knob: Knob) throws {
        let image = try sample(knob)

        #expect(throws: Never.self) { try Bench.encode(image, to: "webp", options: [knob.key: knob.value]) }
    }

    @Test(arguments: (knobs + silent).map(\.key))
    func `WebP key of the wrong type or out of range is refused before writing`(key: String) throws {
        let image = try Bench.decode("images/f.png")

        for value in [OptionValue.string("much"), .integer(-1), .bytes([1])] {
            let sink = MemorySink()
            #expect(
                Bench.code { try Bench.manager.encode(image, to: "webp", options: [key: value], into: sink) }
                    == .invalidArgument)
            #expect(sink.bytes.isEmpty)
        }
    }

    @Test func `the manifest contains all twenty keys of the reference`() throws {
        let webp = try #require(Bench.manager.coders.first { $0.descriptor.id == "org.coderhost.webp" })
        let keys = Set(webp.descriptor.options.map(\.key))

        #expect(
            keys.isSuperset(of: [
                "webp.method", "webp.pass", "webp.preprocessing", "webp.target-psnr", "webp.thread-level",
                "webp.low-memory", "webp.segments", "webp.sns-strength", "webp.filter-strength",
                "webp.filter-sharpness", "webp.filter-type", "webp.autofilter", "webp.alpha-compression",
                "webp.alpha-filtering", "webp.alpha-quality", "webp.show-compressed", "webp.partitions",
                "webp.partition-limit", "webp.use-sharp-yuv", "lossless",
            ]))
    }

    // MARK: Unusual images

    @Test(arguments: [(16_384, 1), (1, 16_384)])
    func `WebP refuses a side above 16383 and writes nothing`(width: Int, height: Int) throws {
        let image = try DecodedImage.made(width, height, .gray8) { x, y, _ in UInt8(truncatingIfNeeded: x + y) }
        let sink = MemorySink()

        #expect(Bench.code { try Bench.manager.encode(image, to: "webp", into: sink) } == .invalidArgument)
        #expect(sink.bytes.isEmpty)
    }

    @Test func `WebP accepts a side of 16383`() throws {
        let image = try DecodedImage.made(16_383, 1, .gray8) { x, _, _ in UInt8(truncatingIfNeeded: x) }

        #expect(try Bench.passThrough(image, "webp").pixels.size == PixelSize(16_383, 1))
    }

    @Test(arguments: Bench.targets, [0, 255] as [UInt8])
    func `uniform and transparent images can be written`(target: Bench.Target, value: UInt8) throws {
        let monochrome = try DecodedImage.made(512, 512, .rgb8) { _, _, _ in value }
        let clear = try DecodedImage.made(512, 512, .rgba8) { _, _, channel in channel == 3 ? 0 : value }
        // Speed matters here, not size.
        var options = target.options
        if ["heic", "avif", "webp"].contains(target.format.id) { options["effort"] = .integer(0) }

        let first = try Bench.passThrough(monochrome, target.format, options: options)
        let second = try Bench.passThrough(clear, target.format, options: options)

        #expect(first.pixels.size == PixelSize(512, 512))
        #expect(try Pixels(first.pixels).difference(Pixels(monochrome.pixels)) <= target.tolerance)
        #expect(second.pixels.size == PixelSize(512, 512))
        if !["jpeg", "pnm"].contains(target.format.id) {
            #expect(second.info.hasAlpha)
            #expect(try Pixels(second.pixels).samples.enumerated().allSatisfy { $0 % 4 != 3 || $1 == 0 })
        }
    }

    @Test func `a width of 1023 needs no alignment for decoding and encoding`() throws {
        let image = try DecodedImage.made(1023, 4, .rgba8) { x, y, channel in
            channel == 3 ? 255 : UInt8(truncatingIfNeeded: x * (channel + 1) + y)
        }
        var padded = image
        padded.pixels = PaddedBuffer.copy(image.pixels, stride: 4096)

        for format in ["webp", "png", "jpeg"] as [ImageFormat] {
            let target = Bench.target(format)
            let first = try Bench.encode(image, to: format, options: target.options).bytes
            #expect(try Bench.encode(padded, to: format, options: target.options).bytes == first)
            #expect(try Pixels(Bench.decode(first).pixels).difference(Pixels(image.pixels)) <= target.tolerance)
        }
    }

    @Test(arguments: Bench.targets)
    func `a gray JPEG keeps its columns`(target: Bench.Target) throws {
        // Three gray bytes read as one RGB pixel would show the left third, stretched.
        let image = try Bench.decode("images/gray.jpg")
        let gray = try Pixels(image.pixels)

        let again = try Bench.passThrough(image, target.format, options: target.options)

        #expect(try Pixels(again.pixels).difference(gray) <= target.tolerance)
        #expect(gray[30, 16] != gray[10, 16])
    }

    // MARK: Solid colors, as in the AVIF suite

    static let solids: [[UInt8]] = [
        [0, 0, 0], [255, 255, 255], [0x88, 0x88, 0x88], [255, 0, 0], [0, 255, 0], [0, 0, 255], [0xE4, 0x7A, 0x8C],
    ]

    @Test(arguments: ["avif", "heic"] as [ImageFormat], solids)
    func `a solid color survives any depth and chroma format`(
        format: ImageFormat, color: [UInt8]
    ) throws {
        let image = try DecodedImage.made(33, 31, .rgb8) { _, _, channel in color[channel] }
        let prefix = format == "avif" ? "avif" : "heif"

        for depth in [8, 10, 12] as [Int64] {
            for chroma in ["420", "422", "444"] {
                let again = try Bench.passThrough(
                    image, format,
                    options: [
                        "\(prefix).bit-depth": .integer(depth), "\(prefix).chroma": .string(chroma),
                        "quality": .integer(90), "effort": .integer(0),
                    ])
                // The tolerance of the reference's suite is 16.
                let worst =
                    zip(try Pixels(again.pixels).samples, try Pixels(image.pixels).samples)
                    .map { abs(Int($0) - Int($1)) }.max() ?? 255
                #expect(worst <= 16, "\(depth) bits, \(chroma)")
                #expect(again.info.bitDepth == Int(depth))
            }
        }
    }

    @Test(
        .enabled(if: ForeignImage.areThere, "the corpus is not there"),
        arguments: `Metadata through the host`.carriers)
    func `the profile of the foreign JPEG is written`(format: ImageFormat) throws {
        let image = try ForeignImage("TestICCProfile.jpg").decode()
        let profile = try #require(image.blob(.icc))
        #expect(profile.count > 31_000)

        let again = try Bench.passThrough(
            image, format, options: format == "jpeg" || format == "png" ? [:] : ["effort": .integer(0)])

        #expect(again.blob(.icc) == profile)
    }
}
