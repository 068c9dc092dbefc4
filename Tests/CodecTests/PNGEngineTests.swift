import CoderPluginKit
import ImageModel
import PNGCodec
import TestSupport
import Testing

private func expectSameAsReference(_ bytes: [UInt8], _ comment: Comment) throws {
    for format in try pngOffers(bytes) {
        let ours = try decodePNG(bytes, as: format)
        let theirs = try #require(try pngReference(bytes, size: ours.info.size, format: format), comment)
        // One comparison: a million of them with a message each is slow.
        #expect(pngBytes(ours.buffer) == pngBytes(theirs), "\(comment), \(format)")
    }
}

@Suite struct `PNG engine` {
    @Test(arguments: PNGKind.all, [false, true])
    func `equals the bytes of libpng`(_ kind: PNGKind, _ interlaced: Bool) throws {
        for (width, height) in [(1, 1), (2, 9), (3, 8), (7, 3), (16, 12), (33, 21), (70, 40)] {
            let file = kind.file(width, height, interlaced: interlaced)
            try expectSameAsReference(file.bytes, "\(width) × \(height)")
        }
    }

    /// Several rows of this filter are decoded at once; widths from one pixel to more than that needs.
    @Test(arguments: PNGKind.all)
    func `equals the bytes of libpng if every row has the Paeth filter`(_ kind: PNGKind) throws {
        for (width, height) in [(1, 9), (2, 9), (15, 11), (16, 11), (17, 4), (18, 3), (40, 5), (64, 13)] {
            let file = kind.file(width, height, interlaced: false, paethOnly: true, seed: 7)
            try expectSameAsReference(file.bytes, "\(width) × \(height)")
        }
    }

    @Test(arguments: Fixture.valid("png"))
    func `equals the bytes of libpng for every fixture`(_ fixture: Fixture) throws {
        try expectSameAsReference(fixture.bytes, "\(fixture)")
    }

    @Test func `accepts data in pieces of any length`() throws {
        let file = PNGKind(type: 2, depth: 8).file(9, 7, interlaced: false)
        let stream = storedZlib(file.rows)
        let expected = try decodePNG(file.bytes).samples
        let empty = pngChunk("IDAT", [])
        for length in 1...stream.count {
            let pieces = stride(from: 0, to: stream.count, by: length).map {
                pngChunk("IDAT", Array(stream[$0..<min($0 + length, stream.count)]))
            }
            var bytes = HandmadePNG.signature + pngChunk("IHDR", file.header) + empty
            bytes += pieces.joined(separator: empty) + pngChunk("IEND", [])
            #expect(try decodePNG(bytes).samples == expected, "pieces of \(length)")
        }
    }

    @Test(arguments: PNGKind.all, [false, true])
    func `has the same result when the file arrives in pieces`(_ kind: PNGKind, _ interlaced: Bool) throws {
        let bytes = kind.file(13, 9, interlaced: interlaced).bytes
        let expected = try decodePNG(bytes).samples
        for step in [1, 5, 64] { #expect(try growPNG(bytes, by: step).last == expected, "pieces of \(step)") }
    }

    @Test func `decodes a row longer than one inflated piece`() throws {
        // 8 × 40,000 bytes a row, with the filter Sub: all 9, then all 18 except for the first pixel.
        let width = 40_000
        var rows: [UInt8] = []
        for row in 1...2 {
            rows.append(1)
            rows += [UInt8](repeating: 9, count: 8 * row) + [UInt8](repeating: 0, count: 8 * (width - row))
        }
        var bytes = HandmadePNG.signature + pngChunk("IHDR", be32(width) + be32(2) + [16, 6, 0, 0, 0])
        bytes += pngChunk("IDAT", storedZlibBlocks(rows)) + pngChunk("IEND", [])
        try expectSameAsReference(bytes, "long row")
        let samples = try decodePNG(bytes).samples
        #expect(samples[0] == 0x0909 && samples[4 * width - 1] == 0x0909)
        #expect(samples[4 * width] == 0x0909 && samples[8 * width - 1] == 0x1212)
    }
}
