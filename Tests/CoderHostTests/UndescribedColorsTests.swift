import CoderHost
import Foundation
import ImageModel
import ImageProcessing
import TestSupport
import Testing

/// Profiles and color spaces that the written format cannot describe.
@Suite(.timeLimit(.minutes(40))) struct `Colors that a format cannot describe` {
    static let plain: [ImageFormat] = ["gif", "farbfeld", "pam", "pnm"]

    private func profile(_ name: String) throws -> MetadataBlob {
        MetadataBlob(.icc, try #require(readFile(Repository.fixture("color/\(name).icc"))))
    }

    /// An image of one color.
    private func image(_ samples: [UInt8], _ format: PixelFormat, _ blobs: [MetadataBlob]) throws -> DecodedImage {
        var image = try DecodedImage.made(24, 16, format) { _, _, channel in samples[channel] }
        image.metadata = blobs
        image.info.color.hasProfile = !blobs.isEmpty
        return image
    }

    private func write(
        _ image: DecodedImage, _ format: ImageFormat, _ range: DynamicRange = .automatic
    ) throws -> (color: [Int], image: DecodedImage, warnings: [String]) {
        var options = EncodeOptions()
        options.dynamicRange = range
        if format == "webp" { options.coder = ["lossless": .bool(true)] }
        let sink = MemorySink()
        let warnings = try Bench.manager.encode(image, to: format, options, into: sink).warnings
        let written = try Bench.decode(sink.bytes)
        return (try color(written), written, warnings)
    }

    private func color(_ image: DecodedImage) throws -> [Int] {
        let color = try #require(try PixelConverter.convert(image.pixels, to: .rgba8).color(at: (5, 5)))
        return [color.red, color.green, color.blue].map(Int.init)
    }

    private func level(_ light: Double) -> Double {
        let light = min(1, max(0, light))
        return 255 * (light <= 0.0031308 ? 12.92 * light : 1.055 * pow(light, 1 / 2.4) - 0.055)
    }

    /// Adobe RGB (1998) to sRGB, by the primaries of both, which share the white point.
    private func fromAdobe(_ samples: [UInt8]) -> [Double] {
        let light = samples.map { pow(Double($0) / 255, 2.199_218_75) }
        return [
            1.39836 * light[0] - 0.39836 * light[1], light[1], 1.04293 * light[2] - 0.04293 * light[1],
        ].map(level)
    }

    private func expect(_ color: [Int], like wanted: [Double]) {
        for (level, wanted) in zip(color, wanted) { #expect(abs(Double(level) - wanted) <= 2, "\(color), \(wanted)") }
    }

    private static let keeps = "; --dynamic-range keep keeps the stored values"

    @Test(arguments: plain, [[120, 150, 60], [200, 90, 40]] as [[UInt8]])
    func `become sRGB, with one warning`(format: ImageFormat, samples: [UInt8]) throws {
        let (color, written, warnings) = try write(image(samples, .rgb8, [profile("adobe-rgb")]), format)

        expect(color, like: fromAdobe(samples))
        #expect(color != samples.map(Int.init) && written.metadata.isEmpty)
        #expect(
            warnings == ["the format cannot store the color profile: the colors are converted to sRGB" + Self.keeps])
    }

    @Test(arguments: plain) func `stay as stored on request`(format: ImageFormat) throws {
        let samples: [UInt8] = [120, 150, 60]
        let (color, _, warnings) = try write(image(samples, .rgb8, [profile("adobe-rgb")]), format, .kept)

        #expect(color == samples.map(Int.init))
        #expect(warnings == ["the format cannot store icc metadata: it is left out"])
    }

    @Test(arguments: plain) func `are not touched if they are those of sRGB`(format: ImageFormat) throws {
        let blob = MetadataBlob(.icc, try #require(ColorProfile.sRGB.iccBytes()))
        let (color, _, warnings) = try write(image([120, 150, 60], .rgb8, [blob]), format)

        #expect(color == [120, 150, 60])
        #expect(!warnings.contains { $0.contains("converted") })
    }

    /// Linear light as code points, and as gamma.
    @Test(arguments: plain, [true, false])
    func `become sRGB if they are code points or a gamma`(format: ImageFormat, hasPoints: Bool) throws {
        var linear = try image([60, 128, 200], .rgb8, [])
        if hasPoints {
            linear.info.color.codePoints = CodePoints(primaries: 1, transfer: 8, matrix: 0, isFullRange: true)
        } else {
            linear.info.color.gamma = 100_000
        }
        let (color, _, warnings) = try write(linear, format)

        expect(color, like: [60, 128, 200].map { level($0 / 255) })
        #expect(warnings.count == 1)
        #expect(warnings.allSatisfy { $0.hasPrefix("the format cannot store the color space") }, "\(warnings)")
        #expect(try self.color(write(linear, format, .kept).image) == [60, 128, 200])
    }

    @Test(
        arguments: ["webp", "pam", "farbfeld"] as [ImageFormat], [PixelFormat.gray8, PixelFormat(.grayAlpha, bits: 8)])
    func `become sRGB from a gray profile`(format: ImageFormat, gray: PixelFormat) throws {
        let (color, written, warnings) = try write(image([100, 255], gray, [profile("gray-gamma-18")]), format)

        expect(color, like: Array(repeating: level(pow(100.0 / 255, 1.8)), count: 3))
        #expect(written.blob(.icc) == nil)
        #expect(warnings.filter { $0.contains("converted to sRGB") }.count == 1, "\(warnings)")
        #expect(!warnings.contains { $0.contains("left out") })
    }

    /// The color space in the header of a written profile is that of the pixels.
    @Test(arguments: ["png", "jpeg", "webp", "heic", "avif"] as [ImageFormat])
    func `never get a profile for other pixels`(format: ImageFormat) throws {
        for (pixels, name) in [
            (PixelFormat.gray8, "gray-gamma-18"), (PixelFormat(.grayAlpha, bits: 8), "gray-gamma-18"),
            (.rgb8, "adobe-rgb"), (.cmyk8, "cmyk-table"),
        ] {
            let written = try write(image([100, 255, 90, 20], pixels, [profile(name)]), format).image
            guard let bytes = written.blob(.icc) else { continue }
            let space = String(decoding: bytes[16..<20], as: UTF8.self)
            let channels = written.info.nativeFormat.channels
            // HEIC stores gray without colors, but its coder decodes RGB.
            let isGray = channels == .gray || channels == .grayAlpha || pixels == .gray8 && format == "heic"
            #expect(space == (isGray ? "GRAY" : channels == .cmyk ? "CMYK" : "RGB "), "\(name) in \(format)")
        }
    }

    @Test(arguments: ["webp", "pnm", "gif"] as [ImageFormat], DynamicRange.allCases)
    func `become sRGB from inks by their profile, which is told`(format: ImageFormat, range: DynamicRange) throws {
        var inks = try image([200, 90, 40, 20], .cmyk8, [profile("cmyk-table")])
        let (color, _, warnings) = try write(inks, format, range)
        try inks.convertColors(to: .sRGB)

        #expect(try color == self.color(inks))
        #expect(warnings == ["the CMYK profile does not fit the written pixels: the colors are converted to sRGB"])
        // By formula, red would be (255 − 200)(255 − 20) / 255.
        #expect(abs(color[0] - 51) > 4)
    }

    @Test func `become sRGB in every frame`() throws {
        let frame = try image([120, 150, 60], .rgb8, [profile("adobe-rgb")])
        var facts = frame.info
        (facts.isAnimated, facts.frameCount) = (true, nil)
        let sink = MemorySink()
        let encoder = try Bench.manager.makeAnimationEncoder(
            to: "gif", of: facts, metadata: frame.metadata, into: sink)
        for _ in 0..<2 { try encoder.add(frame.pixels, duration: .milliseconds(40)) }
        #expect(try encoder.finish().warnings.filter { $0.contains("converted to sRGB") }.count == 1)
        expect(try color(Bench.decode(sink.bytes)), like: fromAdobe([120, 150, 60]))
    }

    /// Rows are encoded in bands as they are decoded.
    @Test(arguments: ["pnm", "farbfeld"] as [ImageFormat])
    func `become the same in rows as in the whole image`(format: ImageFormat) throws {
        var tall = try DecodedImage.made(100, 2000, .rgb8) { x, y, channel in
            UInt8((x * 2 + y / 9 + channel * 60) % 256)
        }
        tall.metadata = [try profile("adobe-rgb")]
        tall.info.color.hasProfile = true
        let file = try Bench.encode(tall, to: "png").bytes
        let whole = MemorySink()
        try Bench.manager.encode(Bench.decode(file), to: format, EncodeOptions(), into: whole)
        let banded = MemorySink()
        try Bench.manager.withSession(ImageSource(file)) { session throws(CoderError) in
            guard let rows = try session.rowImage(session.shape(DecodeOptions())) else {
                throw .unsupported("rows of PNG")
            }
            let report = try Bench.manager.encode(rows, to: format, EncodeOptions(), into: banded)
            #expect(report.warnings.filter { $0.contains("converted to sRGB") }.count == 1)
        }
        #expect(whole.bytes == banded.bytes)
        #expect(try Pixels(Bench.decode(whole.bytes).pixels).difference(Pixels(tall.pixels)) > 1)
    }
}
