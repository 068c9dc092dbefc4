import CoderPluginKit
import EXRCodec
import ImageModel
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `EXR encoder` {
    private static func buffer(_ format: PixelFormat, _ size: PixelSize, _ pixels: [UInt8]) throws -> PixelBuffer {
        let buffer = try PixelBuffer(size: size, format: format)
        for y in 0..<size.height {
            buffer.withMutableRow(y) { row in
                for at in row.byteOffsets {
                    row.storeBytes(of: pixels[y * row.byteCount + at], toByteOffset: at, as: UInt8.self)
                }
            }
        }
        return buffer
    }

    private static func encoded(
        _ buffer: PixelBuffer, _ color: ColorDescription = ColorDescription(), options: CoderOptions = [:],
        rowsPerBand: Int? = nil
    ) throws -> [UInt8] {
        let encoder = try EXREncoder(EncoderSession(options: options))
        let info = ImageInfo(size: buffer.size, nativeFormat: buffer.format, color: color)
        let sink = ByteSink()
        #expect(try encoder.acceptedFormats(for: info).contains(buffer.format))
        try encoder.begin(info, to: sink)
        let frame = FrameInfo(index: 0, rect: PixelRect(buffer.size))
        if let rowsPerBand {
            #expect(try encoder.beginRows(frame) == 1)
            let bytes = buffer.packed
            let rowBytes = bytes.count / buffer.size.height
            for y in stride(from: 0, to: buffer.size.height, by: rowsPerBand) {
                let size = PixelSize(buffer.size.width, min(rowsPerBand, buffer.size.height - y))
                let rows = Array(bytes[y * rowBytes..<(y + size.height) * rowBytes])
                try encoder.addRows(Surface(Self.buffer(buffer.format, size, rows)))
            }
        } else {
            try encoder.add(frame, pixels: Surface(buffer))
        }
        try encoder.finish()
        return sink.written
    }

    private static func bits(_ light: [Float]) -> [UInt8] {
        light.flatMap { light in
            let bits = Float16(light).bitPattern
            return [UInt8(truncatingIfNeeded: bits), UInt8(truncatingIfNeeded: bits >> 8)]
        }
    }

    private static func decoded(_ bytes: [UInt8]) throws -> (ImageInfo, PixelBuffer) {
        let decoder = try EXRDecoder(DecoderSession(source: ByteSource(bytes), options: ["exr.float": .bool(true)]))
        let info = try decoder.readHeader()
        let buffer = try PixelBuffer(size: info.size, format: info.nativeFormat)
        #expect(try decoder.decode(DecodeRequest(), into: Surface(buffer)) == .complete)
        return (info, buffer)
    }

    /// Channels stand in the order of their names. 128 is 0.2158605 of the light, by the curve of sRGB.
    @Test func `stores samples with a curve as halves of light`() throws {
        let pixels = try Self.buffer(.rgb8, PixelSize(2, 1), [255, 0, 128, 0, 128, 255])

        let bytes = try Self.encoded(pixels, options: ["exr.compression": .string("none")])

        let start: [UInt8] = [0x76, 0x2F, 0x31, 0x01, 2, 0, 0, 0]
        #expect(Array(bytes[..<8]) == start)
        let light: [Float] = [0.215_860_5, 1, 0, 0.215_860_5, 1, 0]
        #expect(Array(bytes.suffix(12)) == Self.bits(light))
        // The row number and the number of bytes.
        let leader: [UInt8] = [0, 0, 0, 0, 12, 0, 0, 0]
        #expect(Array(bytes.suffix(20).prefix(8)) == leader)
    }

    @Test func `multiplies colors by alpha`() throws {
        let pixels = try Self.buffer(.rgba8, PixelSize(1, 1), [255, 0, 128, 51])

        let bytes = try Self.encoded(pixels, options: ["exr.compression": .string("none")])

        let light: [Float] = [0.2, 0.215_860_5 * 0.2, 0, 0.2]
        #expect(Array(bytes.suffix(8)) == Self.bits(light))
    }

    @Test(arguments: ["none", "rle", "zips", "zip", "piz"], [false, true])
    func `keeps halves and floats of linear light`(compression: String, isFloat: Bool) throws {
        let fixture = try #require(readFile(Repository.fixture("exr/\(isFloat ? "float-piz" : "half-piz").exr")))
        let (info, pixels) = try Self.decoded(fixture)
        let options: CoderOptions = ["exr.compression": .string(compression), "lossless": .bool(isFloat)]

        let bytes = try Self.encoded(pixels, info.color, options: options)

        let (again, result) = try Self.decoded(bytes)
        #expect(again.nativeFormat == info.nativeFormat)
        #expect(again.color == info.color)
        #expect(result.packed == pixels.packed)
    }

    @Test func `keeps premultiplied alpha`() throws {
        let fixture = try #require(readFile(Repository.fixture("exr/alpha.exr")))
        let (info, pixels) = try Self.decoded(fixture)

        let (again, result) = try Self.decoded(Self.encoded(pixels, info.color))

        #expect(again.nativeFormat == info.nativeFormat)
        #expect(result.packed == pixels.packed)
    }

    @Test(arguments: [1, 5, 16])
    func `encodes bands like the whole image`(rows: Int) throws {
        let (info, pixels) = try Self.decoded(
            try #require(readFile(Repository.fixture("exr/half-zip.exr"))))

        #expect(try Self.encoded(pixels, info.color, rowsPerBand: rows) == Self.encoded(pixels, info.color))
    }

    @Test func `states primaries`() throws {
        let wide = CodePoints(primaries: 9, transfer: 13, matrix: 0, isFullRange: true)
        let pixels = try Self.buffer(.rgb8, PixelSize(1, 1), [1, 2, 3])

        let (info, _) = try Self.decoded(Self.encoded(pixels, ColorDescription(codePoints: wide)))

        #expect(info.color.codePoints?.primaries == 9)
    }

    @Test func `keeps light below the largest half`() throws {
        let large: [UInt8] = [0, 0, 0x80, 0x47, 0, 0, 0x80, 0xC7]  // 65,536 and -65,536
        let linear = CodePoints(primaries: 1, transfer: 8, matrix: 0, isFullRange: true)
        let pixels = try Self.buffer(PixelFormat(.gray, bits: 32, numeric: .float), PixelSize(2, 1), large)

        let bytes = try Self.encoded(
            pixels, ColorDescription(codePoints: linear), options: ["exr.compression": .string("none")])

        let largest: [Float] = [65_504, -65_504]
        #expect(Array(bytes.suffix(4)) == Self.bits(largest))
    }
}
