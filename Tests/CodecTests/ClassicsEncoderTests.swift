import ClassicsCodec
import CoderPluginKit
import ImageModel
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `Encoders of the classics` {
    /// The fixtures come from an independent encoder that follows the same choices of chunks.
    @Test(arguments: ["every-chunk", "alpha"], [nil, 1, 3])
    func `QOI has the bytes of the specification's encoder`(name: String, bands: Int?) throws {
        let fixture = Fixture.named("classics/\(name).qoi")
        let (info, pixels) = try Classic.decode("qoi", fixture.bytes)
        let buffer = try Classic.buffer(info.size, info.nativeFormat, pixels)

        #expect(try Classic.encode("qoi", buffer, color: info.color, bands: bands) == fixture.bytes)
    }

    @Test func `TGA has the fields of the specification`() throws {
        let buffer = try Classic.buffer(PixelSize(1, 2), .rgb8, [1, 2, 3, 4, 5, 6])
        let bytes = try Classic.encode("tga", buffer, options: ["tga.rle": .bool(false)])

        #expect(bytes[..<18] == [0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2, 0, 24, 0x20][...])
        #expect(bytes[18..<24] == [3, 2, 1, 6, 5, 4][...])
        #expect(bytes[24...] == ([UInt8](repeating: 0, count: 8) + Array("TRUEVISION-XFILE.\0".utf8))[...])
    }

    @Test func `TGA packs equal pixels and declares alpha`() throws {
        let pixels = [UInt8](repeating: 7, count: 4 * 130) + [1, 2, 3, 4, 5, 6, 7, 8]
        let buffer = try Classic.buffer(PixelSize(132, 1), .bgra8, pixels)
        let bytes = try Classic.encode("tga", buffer)

        #expect(bytes[16..<18] == [32, 0x28][...])
        #expect(bytes[18..<37] == [0xff, 7, 7, 7, 7, 0x81, 7, 7, 7, 7, 1, 1, 2, 3, 4, 5, 6, 7, 8][...])
        // The extension area: its length, and the meaning of alpha.
        #expect(bytes[37..<39] == [0xef, 1][...] && bytes[37 + 494] == 3)
        #expect(bytes[532..<536] == [37, 0, 0, 0][...])
        #expect(try Classic.decode("tga", bytes).pixels == pixels)
    }

    @Test(arguments: [true, false]) func `TGA keeps every pixel`(packs: Bool) throws {
        var random = SeededRandom(3)
        for format in [PixelFormat.gray8, .rgb8, .bgra8] {
            let size = PixelSize(301, 5)
            let bytes = (0..<size.width * size.height * format.bytesPerPixel).map { _ in
                UInt8.random(in: 0...1, using: &random)
            }
            let buffer = try Classic.buffer(size, format, bytes)
            let file = try Classic.encode("tga", buffer, options: ["tga.rle": .bool(packs)])
            #expect(try Classic.decode("tga", file).pixels == bytes)
            #expect(try Classic.encode("tga", buffer, options: ["tga.rle": .bool(packs)], bands: 2) == file)
        }
    }

    /// The light of the sRGB value 0.5 is 0.21404.
    @Test(arguments: [(nil, 0.214_041_14), (13, 0.214_041_14), (8, 0.5), (4, 0.217_637_64)] as [(UInt8?, Float)])
    func `PFM holds linear light`(transfer: UInt8?, expected: Float) throws {
        let color = ColorDescription(
            codePoints: transfer.map { CodePoints(primaries: 1, transfer: $0, matrix: 0, isFullRange: true) })
        let bytes = try Classic.encode(
            "encoder.pfm", try Classic.buffer(PixelSize(1, 2), gray: true, [0.5, 1]), color: color)

        #expect(bytes.starts(with: Array("Pf\n1 2\n-1.0\n".utf8)))
        // The bottom row comes first.
        let samples = Classic.floats(Array(bytes.suffix(8)))
        #expect(samples[0] == 1 && abs(samples[1] - expected) < 1e-6)
    }

    @Test func `light of an unknown transfer function is refused`() throws {
        let color = ColorDescription(codePoints: CodePoints(primaries: 9, transfer: 16, matrix: 0, isFullRange: true))
        let buffer = try Classic.buffer(PixelSize(1, 1), [1, 1, 1])
        for name in ["encoder.pfm", "encoder.hdr"] {
            let error = #expect(throws: CoderError.self) { try Classic.encode(name, buffer, color: color) }
            #expect(error?.code == .unsupportedFeature)
        }
    }

    /// The light of the sRGB value 188 of 255 is 0.50289.
    @Test(arguments: [PixelFormat.rgb8, .rgb16]) func `integers become light`(format: PixelFormat) throws {
        let buffer = try Classic.buffer(PixelSize(1, 1), format, [UInt8](repeating: 188, count: format.bytesPerPixel))
        let bytes = try Classic.encode("encoder.pfm", buffer)

        #expect(Classic.floats(Array(bytes.suffix(12))).allSatisfy { abs($0 - 0.502_886_46) < 1e-6 })
    }

    private static let linear = ColorDescription(
        codePoints: CodePoints(primaries: 1, transfer: 8, matrix: 0, isFullRange: true))

    @Test func `HDR stores mantissas with a common exponent`() throws {
        let samples: [Float] = [1, 0.5, 0.25, 0, 0, 0, -1, .nan, 3, 0.998, 0.5, 0.25]
        let bytes = try Classic.encode("encoder.hdr", try Classic.buffer(PixelSize(4, 1), samples), color: Self.linear)

        #expect(bytes.starts(with: Array("#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 1 +X 4\n".utf8)))
        // 0.998 · 256 rounds to 255; 3 is 192 · 2^(130 − 136).
        #expect(bytes.suffix(16) == [128, 64, 32, 129, 0, 0, 0, 0, 0, 0, 192, 130, 255, 128, 64, 128])
    }

    @Test func `HDR packs rows and keeps the rounded light`() throws {
        var random = SeededRandom(5)
        var samples: [Float] = []
        for y in 0..<6 {
            for x in 0..<300 {
                let value = Float(random.next() % 4) * (x > 100 && x < 250 ? 0 : 1) + Float(y)
                samples += [value, value * 0.5, 1000]
            }
        }
        let size = PixelSize(300, 6)
        let bytes = try Classic.encode("encoder.hdr", try Classic.buffer(size, samples), color: Self.linear)

        #expect(bytes.count < 300 * 6 * 4)
        let found = try Classic.light("hdr", bytes).samples
        // A step of the mantissa is 4 for 1000.
        #expect(zip(samples, found).allSatisfy { abs($0 - $1) <= 2 })
        #expect(
            try Classic.encode("encoder.hdr", try Classic.buffer(size, samples), color: Self.linear, bands: 4) == bytes)
    }

    @Test func `XBM diffuses errors, or compares with the middle`() throws {
        let buffer = try Classic.buffer(PixelSize(10, 1), .gray8, [0, 127, 128, 255, 0, 0, 0, 0, 255, 0])
        let plain = try Classic.encode("encoder.xbm", buffer, options: ["xbm.dither": .string("none")])

        let expected = """
            #define image_width 10
            #define image_height 1
            static unsigned char image_bits[] = {
             0xf3, 0x02 };

            """
        #expect(String(decoding: plain, as: UTF8.self) == expected)
        // A quarter of the pixels of a dark gray are white.
        let dark = try Classic.buffer(PixelSize(64, 64), .gray8, [UInt8](repeating: 64, count: 64 * 64))
        let white = try Classic.decode("xbm", Classic.encode("encoder.xbm", dark)).pixels.filter { $0 == 255 }.count
        #expect(abs(white - 64 * 64 / 4) < 64)
    }
}
