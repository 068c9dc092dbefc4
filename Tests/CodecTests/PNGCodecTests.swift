import CoderPluginKit
import ImageModel
import PNGCodec
import TestSupport
import Testing

private struct Sample: Sendable, CustomTestStringConvertible {
    var depth: UInt8
    var type: UInt8
    var row: [UInt8]
    var width: Int
    var palette: [UInt8] = []
    var transparency: [UInt8] = []
    var format: PixelFormat
    var samples: [Int]

    var testDescription: String { "type \(type), \(depth) bits, tRNS \(transparency)" }

    var bytes: [UInt8] {
        var file = HandmadePNG(width, 1, depth: depth, type: type, rows: [0] + row)
        if !palette.isEmpty { file.before.append(pngChunk("PLTE", palette)) }
        if !transparency.isEmpty { file.before.append(pngChunk("tRNS", transparency)) }
        return file.bytes
    }
}

/// Derived from PNG 3rd edition, tables 8 and 13.12: samples of n bits become value × 255 ÷ (2ⁿ − 1).
private let samples: [Sample] = [
    Sample(depth: 1, type: 0, row: [0b1010_0000], width: 3, format: .gray8, samples: [255, 0, 255]),
    Sample(depth: 2, type: 0, row: [0b0001_1011], width: 4, format: .gray8, samples: [0, 85, 170, 255]),
    Sample(depth: 4, type: 0, row: [0x0F, 0x80], width: 3, format: .gray8, samples: [0, 255, 136]),
    Sample(depth: 8, type: 0, row: [7, 200], width: 2, format: .gray8, samples: [7, 200]),
    Sample(depth: 16, type: 0, row: [0x12, 0x34, 0xFE, 0xDC], width: 2, format: .gray16, samples: [0x1234, 0xFEDC]),
    Sample(
        depth: 1, type: 0, row: [0b1000_0000], width: 2, transparency: [0, 1], format: .grayAlpha8,
        samples: [255, 0, 0, 255]),
    Sample(
        depth: 8, type: 0, row: [7, 8], width: 2, transparency: [0, 7], format: .grayAlpha8, samples: [7, 0, 8, 255]),
    Sample(
        depth: 16, type: 0, row: [0, 7, 1, 7], width: 2, transparency: [0, 7], format: .grayAlpha16,
        samples: [7, 0, 0x107, 65535]),
    Sample(depth: 8, type: 2, row: [1, 2, 3, 4, 5, 6], width: 2, format: .rgb8, samples: [1, 2, 3, 4, 5, 6]),
    Sample(
        depth: 8, type: 2, row: [1, 2, 3, 4, 5, 6], width: 2, transparency: [0, 4, 0, 5, 0, 6], format: .rgba8,
        samples: [1, 2, 3, 255, 4, 5, 6, 0]),
    Sample(depth: 16, type: 2, row: [1, 2, 3, 4, 5, 6], width: 1, format: .rgb16, samples: [0x102, 0x304, 0x506]),
    Sample(
        depth: 16, type: 2, row: [1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 7], width: 2, transparency: [1, 2, 3, 4, 5, 6],
        format: .rgba16, samples: [0x102, 0x304, 0x506, 0, 0x102, 0x304, 0x507, 65535]),
    Sample(
        depth: 2, type: 3, row: [0b0110_0000], width: 2, palette: [0, 0, 0, 9, 8, 7, 6, 5, 4], format: .rgb8,
        samples: [9, 8, 7, 6, 5, 4]),
    Sample(
        depth: 8, type: 3, row: [0, 1], width: 2, palette: [3, 2, 1, 9, 8, 7], transparency: [128], format: .rgba8,
        samples: [3, 2, 1, 128, 9, 8, 7, 255]),
    Sample(depth: 8, type: 4, row: [10, 20], width: 1, format: .grayAlpha8, samples: [10, 20]),
    Sample(depth: 16, type: 4, row: [1, 2, 3, 4], width: 1, format: .grayAlpha16, samples: [0x102, 0x304]),
    Sample(depth: 8, type: 6, row: [1, 2, 3, 4], width: 1, format: .rgba8, samples: [1, 2, 3, 4]),
    Sample(
        depth: 16, type: 6, row: [1, 2, 3, 4, 5, 6, 7, 8], width: 1, format: .rgba16,
        samples: [0x102, 0x304, 0x506, 0x708]),
]

@Suite struct `PNG decoder` {
    @Test(arguments: samples)
    fileprivate func `keeps every sample of a type and depth`(_ sample: Sample) throws {
        let image = try decodePNG(sample.bytes)
        #expect(image.info.nativeFormat == sample.format)
        #expect(image.info.bitDepth == Int(sample.depth))
        #expect(image.info.hasAlpha == sample.format.hasTransparency)
        #expect(image.samples == sample.samples)
    }

    @Test(arguments: samples)
    fileprivate func `expands any type to RGBA and reduces 16 bits by dropping the lower 8`(
        _ sample: Sample
    ) throws {
        let native = try decodePNG(sample.bytes)
        let rgba = try decodePNG(sample.bytes, as: .rgba8)
        let eight = sample.samples.map { sample.format.bits == 16 ? $0 >> 8 : $0 }
        let count = sample.format.channels.count
        let expected = stride(from: 0, to: eight.count, by: count).flatMap { at -> [Int] in
            switch count {
            case 1: [eight[at], eight[at], eight[at], 255]
            case 2: [eight[at], eight[at], eight[at], eight[at + 1]]
            case 3: Array(eight[at..<at + 3]) + [255]
            default: Array(eight[at..<at + 4])
            }
        }
        #expect(rgba.samples == expected)
        #expect(rgba.info == native.info)
    }

    @Test func `offers the native format first, then libpng's conversions`() throws {
        func offers(_ sample: Sample) throws -> [PixelFormat] {
            let decoder = try PNGDecoder(DecoderSession(source: ByteSource(sample.bytes)))
            _ = try decoder.readHeader()
            return decoder.pixelFormats
        }
        #expect(try offers(samples[3]) == [.gray8, .rgba8, .rgb8])
        #expect(try offers(samples[4]) == [.gray16, .gray8, .rgba16, .rgba8, .rgb8])
        #expect(try offers(samples[17]) == [.rgba16, .rgba8])
    }

    /// Every width and height up to 9, since small images leave some of the seven passes empty.
    @Test(arguments: 1...9, 1...9)
    func `places the pixels of interlaced images`(_ width: Int, _ height: Int) throws {
        // First column, first row, and steps of the passes (PNG 3rd edition, 8.2).
        let passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
        func value(_ x: Int, _ y: Int) -> UInt8 { UInt8(y * 16 + x + 1) }
        var rows: [UInt8] = []
        for (left, top, dx, dy) in passes where left < width {
            for y in stride(from: top, to: height, by: dy) {
                rows += [0] + stride(from: left, to: width, by: dx).map { value($0, y) }
            }
        }
        let bytes = HandmadePNG(width, height, depth: 8, type: 0, interlaced: true, rows: rows).bytes
        let expected = (0..<height).flatMap { y in (0..<width).map { Int(value($0, y)) } }
        #expect(try decodePNG(bytes).samples == expected)
        #expect(try decodePNG(bytes, as: .rgb8).samples == expected.flatMap { [$0, $0, $0] })
        // Showing the unfinished image must not change the final pixels.
        #expect(try growPNG(bytes, by: 3).last == expected)
    }

    @Test func `writes nothing behind the end of a row`() throws {
        let file = HandmadePNG(2, 2, depth: 8, type: 0, rows: [0, 1, 2, 0, 3, 4])
        let memory = UnsafeMutableRawPointer.allocate(byteCount: 16, alignment: 16)
        unsafe memory.initializeMemory(as: UInt8.self, repeating: 0xAA, count: 16)
        let buffer = unsafe PixelBuffer(
            size: PixelSize(2, 2), format: .gray8, stride: 8, memory: memory, byteCount: 16
        ) { memory, _ in unsafe memory.deallocate() }
        let decoder = try PNGDecoder(DecoderSession(source: ByteSource(file.bytes)))
        _ = try decoder.readHeader()
        _ = try decoder.decode(DecodeRequest(), into: Surface(buffer))
        let all = unsafe buffer.withUnsafeMutableBytes { unsafe Array($0) }
        #expect(all == [1, 2] + [UInt8](repeating: 0xAA, count: 6) + [3, 4] + [UInt8](repeating: 0xAA, count: 6))
    }

    @Test func `decodes twice into different surfaces`() throws {
        let decoder = try PNGDecoder(DecoderSession(source: ByteSource(samples[8].bytes)))
        let info = try decoder.readHeader()
        for format in [PixelFormat.rgb8, .rgba8, .rgb8] {
            let buffer = try PixelBuffer(size: info.size, format: format)
            #expect(try decoder.decode(DecodeRequest(), into: Surface(buffer)) == .complete)
            let image = DecodedPNG(info: info, buffer: buffer, blobs: [])
            #expect(image.samples == (format == .rgb8 ? [1, 2, 3, 4, 5, 6] : [1, 2, 3, 255, 4, 5, 6, 255]))
        }
    }

    @Test(arguments: Fixture.valid("png"))
    func `equals the pixels of another decoder`(_ fixture: Fixture) throws {
        let image = try decodePNG(fixture.bytes)
        let expected = try #require(fixture.expect)
        #expect(image.info.size == expected.size)
        if let digest = expected.pixelSHA256 { #expect(PixelDigest.of(image.buffer) == digest) }
        if let depth = expected.bitDepth { #expect(image.info.bitDepth == depth) }
        if let alpha = expected.hasAlpha { #expect(image.info.hasAlpha == alpha) }
        #expect(image.info.orientation?.rawValue == expected.orientation)
        #expect(image.info.color.hasProfile == (expected.colorProfile != nil))
    }

    // The host checks limits, not the codec.
    @Test(arguments: Fixture.bad("png").filter { $0.errors != ["limitExceeded"] })
    func `refuses damaged files`(_ fixture: Fixture) throws {
        let code = try #require(pngFailure(fixture.bytes))
        #expect(fixture.errors.contains(code.description))
    }
}
