import BMPCodec
import CoderPluginKit
import ImageModel
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `BMP encoder` {
    private func encoded(
        _ format: PixelFormat, _ pixels: [UInt8], size: PixelSize, profile: [UInt8]? = nil
    ) throws -> [UInt8] {
        let buffer = try PixelBuffer(size: size, format: format)
        for y in 0..<size.height {
            buffer.withMutableRow(y) { row in
                for at in row.byteOffsets {
                    row.storeBytes(of: pixels[y * row.byteCount + at], toByteOffset: at, as: UInt8.self)
                }
            }
        }
        let encoder = BMPEncoder(EncoderSession())
        let info = ImageInfo(size: size, nativeFormat: format, density: .perMeter(x: 2835, y: 2835))
        let sink = ByteSink()
        #expect(encoder.acceptedFormats(for: info) == [format])
        try encoder.begin(info, to: sink)
        if let profile { #expect(try encoder.add(MetadataBlob(.icc, profile))) }
        try encoder.add(FrameInfo(index: 0, rect: PixelRect(size)), pixels: Surface(buffer))
        encoder.finish()
        return sink.written
    }

    @Test func `writes the fields of the Windows SDK`() throws {
        let bytes = try encoded(.rgb8, [1, 2, 3, 4, 5, 6], size: PixelSize(1, 2))

        #expect(
            bytes == Array("BM".utf8) + [62, 0, 0, 0, 0, 0, 0, 0, 54, 0, 0, 0]
                + [40, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 1, 0, 24, 0, 0, 0, 0, 0, 8, 0, 0, 0]
                + [0x13, 0x0b, 0, 0, 0x13, 0x0b, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
                + [6, 5, 4, 0, 3, 2, 1, 0])
    }

    @Test func `writes grays as indices`() throws {
        let bytes = try encoded(.gray8, [7, 200], size: PixelSize(2, 1))

        #expect(bytes.count == 54 + 1024 + 4)
        #expect(bytes[54 + 4 * 200..<54 + 4 * 201] == [200, 200, 200, 0])
        #expect(bytes.suffix(4) == [7, 200, 0, 0])
    }

    @Test func `writes alpha with its mask and a profile behind the pixels`() throws {
        let profile: [UInt8] = [9, 8, 7]
        let bytes = try encoded(.bgra8, [1, 2, 3, 4], size: PixelSize(1, 1), profile: profile)

        #expect(bytes[14] == 124)
        #expect(bytes[54..<70] == [0, 0, 0xff, 0, 0, 0xff, 0, 0, 0xff, 0, 0, 0, 0, 0, 0, 0xff])
        #expect(bytes[70..<74] == Array("DEBM".utf8)[...])
        #expect(bytes[126..<134] == [128, 0, 0, 0, 3, 0, 0, 0])
        #expect(bytes.suffix(7) == [1, 2, 3, 4, 9, 8, 7])
        let decoder = BMPDecoder(DecoderSession(source: ByteSource(bytes)))
        #expect(try decoder.readHeader().nativeFormat == .bgra8)
        #expect(try decoder.metadata() == [MetadataBlob(.icc, profile)])
    }
}
