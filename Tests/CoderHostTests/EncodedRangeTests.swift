import CoderHost
import Foundation
import ImageModel
import ImageProcessing
import TestSupport
import Testing

/// The sRGB levels of PQ and HLG, computed in double precision from BT.2100-2, BT.2390-11, BT.709 and IEC 61966-2-1.
private enum Reference {
    private static let (m1, m2) = (0.1593017578125, 78.84375)
    private static let (c1, c2, c3) = (0.8359375, 18.8515625, 18.6875)

    /// cd/m² of a PQ value, and back.
    static func light(_ value: Double) -> Double {
        let root = pow(value, 1 / m2)
        return 10_000 * pow(max(root - c1, 0) / (c2 - c3 * root), 1 / m1)
    }

    static func value(_ light: Double) -> Double {
        let power = pow(light / 10_000, m1)
        return pow((c1 + c2 * power) / (1 + c3 * power), m2)
    }

    /// cd/m² on a screen of 1000 cd/m²: inverse OETF, then the OOTF with a system gamma of 1.2.
    static func hlg(_ values: [Double]) -> [Double] {
        let (a, b, c) = (0.17883277, 0.28466892, 0.55991073)
        let scene = values.map { $0 <= 0.5 ? $0 * $0 / 3 : (exp(($0 - c) / a) + b) / 12 }
        let luma = 0.2627 * scene[0] + 0.6780 * scene[1] + 0.0593 * scene[2]
        return scene.map { 1000 * pow(luma, 0.2) * $0 }
    }

    /// The EETF of BT.2390 from a peak of 1000 to one of 203 cd/m², relative to the latter.
    static func mapped(_ light: Double) -> Double {
        let top = value(1000)
        let maxLum = value(203) / top
        let knee = 1.5 * maxLum - 0.5
        let e1 = min(1, value(light) / top)
        if e1 < knee { return light / 203 }
        let t = (e1 - knee) / (1 - knee)
        let e2 =
            (2 * pow(t, 3) - 3 * pow(t, 2) + 1) * knee + (pow(t, 3) - 2 * pow(t, 2) + t) * (1 - knee)
            + (-2 * pow(t, 3) + 3 * pow(t, 2)) * maxLum
        return Self.light(e2 * top) / 203
    }

    /// The 8-bit levels of a color with the primaries of BT.2020.
    static func levels(_ codes: [UInt16], transfer: UInt8) -> [Double] {
        let values = codes.map { Double($0) / 65_535 }
        let nits = transfer == 16 ? values.map(light) : hlg(values)
        let largest = max(nits.max() ?? 0, 1e-9)
        let factor = mapped(largest) / largest
        let rgb = nits.map { $0 * factor }
        // BT.2087: BT.2020 to BT.709.
        let matrix = [[1.6605, -0.5876, -0.0728], [-0.1246, 1.1329, -0.0083], [-0.0182, -0.1006, 1.1187]]
        return matrix.map { row in
            let light = min(1, max(0, zip(row, rgb).reduce(0) { $0 + $1.0 * $1.1 }))
            return 255 * (light <= 0.0031308 ? 12.92 * light : 1.055 * pow(light, 1 / 2.4) - 0.055)
        }
    }
}

/// Where images with light above screen white are written.
@Suite struct `An encoded dynamic range` {
    /// 12 colors, from black to above the peak, one a column.
    private static let codes: [[UInt16]] = [
        [0, 0, 0], [9_827, 9_827, 9_827], [20_000, 20_000, 20_000], [28_947, 28_947, 28_947],
        [33_297, 33_297, 33_297], [38_055, 38_055, 38_055], [45_000, 45_000, 45_000], [49_271, 49_271, 49_271],
        [65_535, 65_535, 65_535], [38_000, 30_000, 25_000], [20_000, 36_000, 30_000], [25_000, 24_000, 44_000],
    ]

    private func image(transfer: UInt8, isGray: Bool = false, rows: Int = 8) throws -> DecodedImage {
        let format: PixelFormat = isGray ? .gray16 : .rgb16
        let pixels = try PixelBuffer(size: PixelSize(Self.codes.count * 8, rows), format: format)
        for y in 0..<rows {
            pixels.withMutableRow(y) { row in
                for x in 0..<pixels.size.width {
                    for channel in 0..<format.channels.count {
                        let place = (x * format.channels.count + channel) * 2
                        row.storeBytes(of: Self.codes[x / 8][channel], toByteOffset: place, as: UInt16.self)
                    }
                }
            }
        }
        var info = ImageInfo(size: pixels.size, nativeFormat: format, bitDepth: 16)
        info.color.codePoints = CodePoints(primaries: 9, transfer: transfer, matrix: 0, isFullRange: true)
        return DecodedImage(info: info, pixels: pixels, format: "png", coder: "test")
    }

    private func write(
        _ image: DecodedImage, _ format: ImageFormat, _ range: DynamicRange, _ coder: CoderOptions = [:]
    ) throws -> (image: DecodedImage, warnings: [String]) {
        var options = EncodeOptions()
        options.dynamicRange = range
        options.coder = coder
        let sink = MemorySink()
        let report = try Bench.manager.encode(image, to: format, options, into: sink)
        return (try Bench.decode(sink.bytes), report.warnings)
    }

    private func expect(_ image: DecodedImage, like transfer: UInt8, within steps: Double, from first: Int = 0) throws {
        #expect(!image.colorProfile.isHighDynamicRange)
        let pixels = try PixelConverter.convert(image.pixels, to: .rgba8)
        for (index, codes) in Self.codes.enumerated() where index >= first {
            let color = try #require(pixels.color(at: (index * 8 + 4, 4)))
            let levels = [color.red, color.green, color.blue].map(Double.init)
            for (level, wanted) in zip(levels, Reference.levels(codes, transfer: transfer)) {
                #expect(abs(level - wanted) <= steps, "color \(index): \(levels)")
            }
        }
    }

    @Test(arguments: [16, 18] as [UInt8], [DynamicRange.automatic, .standard])
    func `is mapped to sRGB where the format cannot describe it`(transfer: UInt8, range: DynamicRange) throws {
        let lossless = try write(image(transfer: transfer), "webp", range, ["lossless": .bool(true)])
        try expect(lossless.image, like: transfer, within: 1)
        #expect(lossless.warnings.filter { $0.contains("tone mapped") }.count == (range == .automatic ? 1 : 0))
        let jpeg: CoderOptions = ["quality": .integer(100), "jpeg.subsampling": .string("444")]
        try expect(write(image(transfer: transfer), "jpeg", range, jpeg).image, like: transfer, within: 3)
        #expect(try write(image(transfer: transfer), "jpeg", range, jpeg).image.metadata.isEmpty)
    }

    @Test(arguments: ["png", "avif", "heic"] as [ImageFormat])
    func `stays where the format can describe it, unless standard range is requested`(format: ImageFormat) throws {
        let kept = try write(image(transfer: 16), format, .automatic)
        #expect(kept.image.info.color.codePoints?.transfer == 16 && kept.image.info.color.codePoints?.primaries == 9)
        #expect(!kept.warnings.contains { $0.contains("tone mapped") })
        let standard = try write(image(transfer: 16), format, .standard)
        try expect(standard.image, like: 16, within: format == "png" ? 1 : 14)
    }

    @Test func `stays with a warning on request`() throws {
        let (kept, warnings) = try write(image(transfer: 16), "webp", .kept, ["lossless": .bool(true)])
        let color = try #require(kept.pixels.color(at: (3 * 8 + 4, 4)))
        // The stored values, reduced to eight bits.
        #expect(abs(Int(color.red) - 28_947 / 257) <= 1)
        #expect(warnings.contains { $0.hasPrefix("the format cannot store the color space code points 9/16") })
    }

    @Test func `of gray and of pixels with alpha is mapped, too`() throws {
        var gray = try image(transfer: 16, isGray: true)
        gray.info.hasAlpha = false
        let (written, _) = try write(gray, "jpeg", .automatic, ["quality": .integer(100)])
        for (index, codes) in Self.codes.enumerated().prefix(9) {
            let color = try #require(written.pixels.color(at: (index * 8 + 4, 4)))
            #expect(abs(Double(color.green) - Reference.levels(codes, transfer: 16)[1]) <= 2)
        }
        var clear = try image(transfer: 16)
        clear.pixels = try PixelConverter.convert(clear.pixels, to: .rgba16)
        (clear.info.nativeFormat, clear.info.hasAlpha) = (.rgba16, true)
        try expect(write(clear, "webp", .automatic, ["lossless": .bool(true)]).image, like: 16, within: 1)
    }

    @Test func `of an animation is mapped in every frame`() throws {
        let frame = try image(transfer: 16)
        var facts = frame.info
        (facts.isAnimated, facts.frameCount) = (true, nil)
        let sink = MemorySink()
        let encoder = try Bench.manager.makeAnimationEncoder(
            to: "webp", of: facts, options: ["lossless": .bool(true)], into: sink)
        for _ in 0..<2 { try encoder.add(frame.pixels, duration: .milliseconds(40)) }
        let second = try PixelConverter.convert(frame.pixels, to: .rgba16)
        try encoder.add(second, duration: .milliseconds(40))
        #expect(try encoder.finish().warnings.filter { $0.contains("tone mapped") }.count == 1)
        try expect(Bench.decode(sink.bytes), like: 16, within: 1)
    }

    /// The first row of a tall image: rows are encoded in bands as they are decoded.
    @Test func `of rows is the same as of the whole image`() throws {
        let tall = try image(transfer: 18, rows: 3000)
        let file = try Bench.encode(tall, to: "png").bytes
        let whole = MemorySink()
        try Bench.manager.encode(Bench.decode(file), to: "jpeg", EncodeOptions(), into: whole)
        let banded = MemorySink()
        try Bench.manager.withSession(ImageSource(file)) { session throws(CoderError) in
            let rows = try session.rowImage(session.shape(DecodeOptions()))
            guard let rows else { throw .unsupported("rows of PNG") }
            _ = try Bench.manager.encode(rows, to: "jpeg", EncodeOptions(), into: banded)
        }
        #expect(whole.bytes == banded.bytes)
    }

    @Test(
        .enabled(if: ForeignImage.areThere, "the corpus is not there"), arguments: ["TestHDR.heic", "TestHDR.avif"])
    func `of foreign images is mapped like a decode to standard range`(name: String) throws {
        let source = ImageSource(try #require(ForeignImage(name).bytes))
        var options = DecodeOptions()
        options.colors = .standardRange
        let wanted = try Bench.manager.decode(source, options)
        let stored = try Bench.manager.decode(source, DecodeOptions())
        let (written, warnings) = try write(stored, "webp", .automatic, ["lossless": .bool(true)])
        #expect(written.pixels.packed == wanted.pixels.packed)
        #expect(warnings.contains { $0.contains("tone mapped to sRGB") })
    }
}
