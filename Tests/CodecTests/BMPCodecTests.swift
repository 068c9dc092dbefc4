import BMPCodec
import CoderPluginKit
import ImageModel
import TestSupport
import Testing

/// The pixels of whole files are those of the fixtures, which every bundled coder must decode.
@Suite(.timeLimit(.minutes(40))) struct `BMP codec` {
    private static func little(_ value: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }

    /// A header of 40 bytes, then `rest`; the pixels begin at `start`.
    private static func file(
        _ width: Int, _ height: Int, depth: Int, compression: Int = 0, start: Int = 54, _ rest: [UInt8]
    ) -> [UInt8] {
        var bytes = Array("BM".utf8) + [UInt8](repeating: 0, count: 8) + little(start, 4)
        bytes += little(40, 4) + little(width, 4) + little(height, 4) + [1, 0] + little(depth, 2)
        return bytes + little(compression, 4) + [UInt8](repeating: 0, count: 20) + rest
    }

    /// 1×3 in 24 bits, from the bottom: rows 30, 20, 10 in blue.
    private static let column = file(1, 3, depth: 24, [30, 0, 0, 0, 20, 0, 0, 0, 10, 0, 0, 0])

    private func pixels(_ decoder: BMPDecoder, _ request: DecodeRequest = DecodeRequest()) throws -> [UInt8] {
        let info = try decoder.readHeader()
        let buffer = try PixelBuffer(size: request.region?.size ?? info.size, format: info.nativeFormat)
        #expect(try decoder.decode(request, into: Surface(buffer)) == .complete)
        return buffer.packed
    }

    private func decoder(_ bytes: [UInt8]) -> BMPDecoder {
        BMPDecoder(DecoderSession(source: ByteSource(bytes)))
    }

    @Test func `decodes from the bottom row up`() throws {
        #expect(try pixels(decoder(Self.column)) == [0, 0, 10, 0, 0, 20, 0, 0, 30])
    }

    @Test(arguments: 0..<3) func `decodes bands`(row: Int) throws {
        let request = DecodeRequest(region: PixelRect(x: 0, y: row, width: 1, height: 1))

        #expect(try pixels(decoder(Self.column), request) == [0, 0, UInt8(10 * (row + 1))])
    }

    private static let unpacked = Fixture.valid.filter { fixture in
        fixture.format == "bmp" && !["runs", "huffman", "embedded"].contains { fixture.name.contains($0) }
    }

    @Test(arguments: unpacked)
    func `decodes the same columns of a region`(fixture: Fixture) throws {
        let whole = decoder(fixture.bytes)
        let info = try whole.readHeader()
        try #require(info.size == PixelSize(13, 7))
        #expect(info.decodesRows)
        let all = try pixels(whole)
        let rect = PixelRect(x: 3, y: 2, width: 6, height: 4)
        let bytes = info.nativeFormat.bytesPerPixel

        let part = try pixels(decoder(fixture.bytes), DecodeRequest(region: rect))

        var expected: [UInt8] = []
        for y in 2..<6 {
            let start = (y * 13 + 3) * bytes
            expected += all[start..<start + 6 * bytes]
        }
        #expect(part == expected)
    }

    @Test func `delivers the bottom rows first while bytes arrive`() throws {
        let source = ByteSource(Self.column, arrived: 54 + 4)
        let decoder = BMPDecoder(DecoderSession(source: source))
        let info = try decoder.readHeader()
        let buffer = try PixelBuffer(size: info.size, format: info.nativeFormat)
        let request = DecodeRequest(wantsPartial: true)

        let first = try decoder.decode(request, into: Surface(buffer))
        #expect(first == .partial(PixelRect(x: 0, y: 2, width: 1, height: 1)))
        #expect(buffer.packed.suffix(3) == [0, 0, 30])

        source.arrive()
        #expect(try decoder.decode(request, into: Surface(buffer)) == .complete)
        #expect(buffer.packed == [0, 0, 10, 0, 0, 20, 0, 0, 30])
    }

    @Test func `reports missing rows`() throws {
        let decoder = decoder(Array(Self.column.dropLast(5)))
        let info = try decoder.readHeader()
        let buffer = try PixelBuffer(size: info.size, format: info.nativeFormat)

        let error = #expect(throws: CoderError.self) { try decoder.decode(DecodeRequest(), into: Surface(buffer)) }

        #expect(error?.code == .truncated)
        #expect(error?.message == "2 of 3 rows are missing")
    }

    @Test func `reports Huffman codes that begin behind the end of the file`() throws {
        var bytes = Self.file(2, 2, depth: 1, compression: 3, start: 1 << 20, [UInt8](repeating: 0, count: 64))
        // A header of OS/2 has 64 bytes.
        bytes[14] = 64
        let decoder = decoder(bytes)
        let buffer = try PixelBuffer(size: decoder.readHeader().size, format: .rgb8)
        let error = #expect(throws: CoderError.self) { try decoder.decode(DecodeRequest(), into: Surface(buffer)) }
        #expect(error?.code == .truncated)
    }

    /// Black for a color that the palette does not have: readers agree on it.
    @Test func `decodes an index outside the palette as black`() throws {
        let bytes = Self.file(2, 1, depth: 8, start: 54 + 8, [1, 2, 3, 0, 4, 5, 6, 0] + [1, 200, 0, 0])

        #expect(try pixels(decoder(bytes)) == [6, 5, 4, 0, 0, 0])
    }

    @Test func `leaves the pixels that a run skips transparent`() throws {
        let palette = [UInt8](repeating: 9, count: 1024)
        let runs: [UInt8] = [0, 2, 1, 0, 1, 7, 0, 1]
        let bytes = Self.file(3, 1, depth: 8, compression: 1, start: 54 + 1024, palette + runs)

        #expect(try pixels(decoder(bytes)) == [0, 0, 0, 0, 9, 9, 9, 255, 0, 0, 0, 0])
    }

    @Test(arguments: [0, 3, 5, 31]) func `scales five bits to eight by rounding`(value: Int) throws {
        let bytes = Self.file(1, 1, depth: 16, Self.little(value << 10, 4))

        #expect(try pixels(decoder(bytes)) == [UInt8((Double(value) * 255 / 31).rounded()), 0, 0])
    }

    @Test(arguments: [(13, "corrupt"), (0x4000_0000, "corrupt")])
    func `refuses other header sizes`(size: Int, code: String) throws {
        var bytes = Self.column
        bytes.replaceSubrange(14..<18, with: Self.little(size, 4))

        let error = #expect(throws: CoderError.self) { try decoder(bytes).readHeader() }

        #expect(error.map { "\($0.code)" } == code)
    }
}
