import CoderPluginKit
import ImageModel
import PNGCodec
import Testing

@Suite struct `PNG from a growing source` {
    private static let rows = (0..<20).flatMap { y -> [UInt8] in [0, UInt8(y + 1), UInt8(y + 101)] }
    private static let file = HandmadePNG(2, 20, depth: 8, type: 0, rows: rows)
    private static let samples = (0..<20).flatMap { y -> [Int] in [y + 1, y + 101] }

    @Test(arguments: [1, 2, 7, 50])
    func `delivers rows from the top as they arrive`(_ step: Int) throws {
        let states = try growPNG(Self.file.bytes, by: step)
        #expect(states.last == Self.samples)
        #expect(step > 2 || states.count >= 20)
        for state in states {
            let filled = state.prefix { $0 != 0 }
            #expect(Array(filled) == Array(Self.samples.prefix(filled.count)))
            #expect(state.dropFirst(filled.count).allSatisfy { $0 == 0 })
        }
    }

    @Test func `needs input until the first pixel data`() throws {
        for count in 0..<Self.file.dataOffset {
            let source = ByteSource(Self.file.bytes, arrived: count)
            let decoder = try PNGDecoder(DecoderSession(source: source))
            #expect(throws: CoderError.needsInput) { try decoder.readHeader() }
        }
    }

    @Test func `first shows an interlaced image as blocks`() throws {
        // 8 × 8 in one pass of one pixel: the block covers the whole image.
        let file = HandmadePNG(8, 8, depth: 8, type: 0, interlaced: true, rows: [0, 200] + [0, 100, 0, 50, 60])
        let source = ByteSource(file.bytes, arrived: file.dataOffset + 7 + 2)
        let decoder = try PNGDecoder(DecoderSession(source: source))
        let info = try decoder.readHeader()
        let buffer = try PixelBuffer(size: info.size, format: .gray8)
        let outcome = try decoder.decode(DecodeRequest(wantsPartial: true), into: Surface(buffer))
        #expect(outcome == .partial(PixelRect(x: 0, y: 0, width: 8, height: 8)))
        #expect(DecodedPNG(info: info, buffer: buffer, blobs: []).samples == [Int](repeating: 200, count: 64))
    }
}

@Suite struct `Damaged PNG` {
    private static let file = HandmadePNG(2, 4, depth: 8, type: 0, rows: [0, 1, 2, 0, 3, 4, 0, 5, 6, 0, 7, 8])

    @Test func `keeps the rows before the end of the file`() throws {
        let bytes = Array(Self.file.bytes.prefix(Self.file.dataOffset + 7 + 7))
        let decoder = try PNGDecoder(DecoderSession(source: ByteSource(bytes)))
        let info = try decoder.readHeader()
        let buffer = try PixelBuffer(size: info.size, format: .gray8)
        #expect { try decoder.decode(DecodeRequest(), into: Surface(buffer)) } throws: {
            ($0 as? CoderError)?.code == .truncated
        }
        #expect(DecodedPNG(info: info, buffer: buffer, blobs: []).samples == [1, 2, 3, 4, 0, 0, 0, 0])
    }

    @Test func `reports every cut as truncated, or as complete once all rows are there`() throws {
        let bytes = Self.file.bytes
        for count in 8..<bytes.count {
            let code = pngFailure(Array(bytes.prefix(count)))
            #expect(code == .truncated || code == nil && count >= Self.file.dataOffset + 19, "cut at \(count)")
        }
    }

    @Test func `is truncated when the compressed data ends before the last row`() {
        var short = Self.file
        short.rows.removeLast(3)
        #expect(pngFailure(short.bytes) == .truncated)
    }

    @Test func `is complete when there is more compressed data than rows`() throws {
        var long = Self.file
        long.rows += [0, 9, 9, 0]
        #expect(try decodePNG(long.bytes).samples == [1, 2, 3, 4, 5, 6, 7, 8])
    }

    /// A stream without its end is accepted; a stream with a wrong checksum is not.
    @Test func `needs no end of the compressed data, but a correct checksum if present`() throws {
        let stream = storedZlib(Self.file.rows)
        func file(_ data: [UInt8]) -> [UInt8] {
            HandmadePNG.signature + pngChunk("IHDR", Self.file.header) + pngChunk("IDAT", data) + pngChunk("IEND", [])
        }
        for missing in 1...4 {
            let image = try decodePNG(file(Array(stream.dropLast(missing))))
            #expect(image.samples == [1, 2, 3, 4, 5, 6, 7, 8])
        }
        var wrong = stream
        wrong[wrong.count - 1] ^= 1
        #expect(pngFailure(file(wrong)) == .corrupt)
    }

    @Test func `is corrupt when the compressed data is invalid, and keeps the rows before`() throws {
        let stream = storedZlib(Self.file.rows)
        // Another method, a check that does not fit, a dictionary, a window of 64 KiB, a block of the type 3.
        for (at, value) in [(0, 0x77), (1, 0x02), (1, 0x20), (0, 0x88), (2, 0x07)] as [(Int, UInt8)] {
            var data = stream
            data[at] = value
            if value == 0x88 { data[1] = 0x1C }
            var bytes = HandmadePNG.signature + pngChunk("IHDR", Self.file.header)
            bytes += pngChunk("IDAT", data) + pngChunk("IEND", [])
            #expect(pngFailure(bytes) == .corrupt, "byte \(at) is \(value)")
        }
        var bad = Self.file
        bad.rows[6] = 5
        let decoder = try PNGDecoder(DecoderSession(source: ByteSource(bad.bytes)))
        let info = try decoder.readHeader()
        let buffer = try PixelBuffer(size: info.size, format: .gray8)
        #expect { try decoder.decode(DecodeRequest(), into: Surface(buffer)) } throws: {
            ($0 as? CoderError)?.code == .corrupt
        }
        #expect(DecodedPNG(info: info, buffer: buffer, blobs: []).samples == [1, 2, 3, 4, 0, 0, 0, 0])
    }

    /// An unknown critical chunk, one in the wrong place, a wrong checksum, a name without letters, a length beyond
    /// what PNG allows.
    @Test(arguments: [
        pngChunk("QqQq", []), pngChunk("PLTE", [1, 2, 3]), pngChunk("IEND", [], damaged: true), pngChunk("12?4", [5]),
        [0xFF, 0xFF, 0xFF, 0xFF] + Array("tEXt".utf8),
    ])
    func `decodes with a warning when a broken chunk follows the last row`(chunk: [UInt8]) throws {
        var file = Self.file
        file.after = [chunk]
        let host = RecordingHost()
        let decoder = try PNGDecoder(DecoderSession(source: ByteSource(file.bytes), host: host.services()))
        let info = try decoder.readHeader()
        let buffer = try PixelBuffer(size: info.size, format: .gray8)

        #expect(try decoder.decode(DecodeRequest(), into: Surface(buffer)) == .complete)

        #expect(DecodedPNG(info: info, buffer: buffer, blobs: []).samples == [1, 2, 3, 4, 5, 6, 7, 8])
        #expect(host.warnings.count == 1 && host.warnings.allSatisfy { $0.hasPrefix("damaged behind the pixels: ") })
    }

    /// The samples of a file of stored rows, and the warnings; in bands of this many rows.
    private func decode(_ bytes: [UInt8], band: Int?) throws -> (samples: [Int], warnings: [String]) {
        let host = RecordingHost()
        let decoder = try PNGDecoder(DecoderSession(source: ByteSource(bytes), host: host.services()))
        let info = try decoder.readHeader()
        var samples: [Int] = []
        let step = band ?? info.size.height
        for start in stride(from: 0, to: info.size.height, by: step) {
            let buffer = try PixelBuffer(size: PixelSize(info.size.width, step), format: .gray8)
            let region = PixelRect(x: 0, y: start, width: info.size.width, height: step)
            let request = band == nil ? DecodeRequest() : DecodeRequest(region: region)
            #expect(try decoder.decode(request, into: Surface(buffer)) == .complete)
            samples += bytesOfRows(buffer).map(Int.init)
        }
        return (samples, host.warnings)
    }

    private static func file(_ chunks: [[UInt8]]) -> [UInt8] {
        HandmadePNG.signature + pngChunk("IHDR", file.header) + chunks.joined() + pngChunk("IEND", [])
    }

    @Test(arguments: [nil, 1, 2]) func `decodes with a warning when an unused data chunk has a wrong checksum`(
        band: Int?
    ) throws {
        let stream = storedZlib(Self.file.rows)
        for unused in [[], [1, 2, 3]] as [[UInt8]] {
            let bytes = Self.file([pngChunk("IDAT", stream), pngChunk("IDAT", unused, damaged: true)])
            let (samples, warnings) = try decode(bytes, band: band)
            #expect(samples == [1, 2, 3, 4, 5, 6, 7, 8])
            #expect(
                warnings == ["damaged behind the pixels: the checksum of a chunk is wrong"]
                    + (unused.isEmpty ? [] : ["3 bytes behind the image data are ignored"]))
        }
        // The second chunk has the checksum of the rows: it is used.
        let parts = [Array(stream.dropLast(2)), Array(stream.suffix(2))]
        #expect(
            pngFailure(Self.file([pngChunk("IDAT", parts[0]), pngChunk("IDAT", parts[1], damaged: true)])) == .corrupt)
    }

    @Test(arguments: [nil, 1, 2], [1, 2, 7, 8, 9, 40])
    func `counts the bytes behind the compressed data in a warning`(band: Int?, count: Int) throws {
        let garbage = (0..<count).map { UInt8($0 + 1) }
        let stream = storedZlib(Self.file.rows)
        let told = [
            "\(count) \(count == 1 ? "byte" : "bytes") behind the image data \(count == 1 ? "is" : "are") ignored"
        ]
        for chunks in [
            [stream + garbage], [stream, garbage], [Array(stream.dropLast(3)), stream.suffix(3) + garbage],
            [stream + garbage.prefix(1), Array(garbage.dropFirst())],
        ] {
            let (samples, warnings) = try decode(Self.file(chunks.map { pngChunk("IDAT", $0) }), band: band)
            #expect(samples == [1, 2, 3, 4, 5, 6, 7, 8])
            #expect(warnings == told)
        }
        #expect(try decode(Self.file.bytes, band: band).warnings.isEmpty)
    }

    @Test func `is corrupt when a broken chunk comes before the last row`() {
        var file = Self.file
        file.rows.removeLast(3)
        file.after = [pngChunk("QqQq", [])]
        #expect(pngFailure(file.bytes) == .corrupt)
    }

    @Test func `is corrupt when a critical chunk has a wrong checksum`() {
        for offset in [16, Self.file.dataOffset + 9] {
            var bytes = Self.file.bytes
            bytes[offset + 3] ^= 1
            #expect(pngFailure(bytes) == .corrupt, "offset \(offset)")
        }
    }

    @Test func `drops only an ancillary chunk with a wrong checksum`() throws {
        let damaged = ["pHYs": be32(1) + be32(1) + [1], "eXIf": ExifOrientation.blob(.left), "tEXt": [0x41, 0, 0x42]]
        for (name, data) in damaged {
            let image = try decodePNG(onePixelPNG(before: [pngChunk(name, data, damaged: true)]).bytes)
            #expect(image.samples == [10, 20, 30])
            #expect(image.info.density == nil && image.info.orientation == nil && image.blobs.isEmpty)
        }
    }

    @Test func `is refused for an invalid header`() {
        #expect(
            pngFailure([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0B] + Self.file.bytes.dropFirst(8)) == .notMine)
        #expect(pngFailure(HandmadePNG.signature + pngChunk("IDAT", [])) == .corrupt)
        #expect(pngFailure(HandmadePNG.signature + pngChunk("CgBI", [0, 0, 0, 0])) == .unsupportedFeature)
        #expect(pngFailure(HandmadePNG(0, 1, depth: 8, type: 0, rows: []).bytes) == .corrupt)
        #expect(pngFailure(HandmadePNG(1, 1, depth: 8, type: 3, rows: [0, 0]).bytes) == .corrupt)
        #expect(pngFailure(HandmadePNG(1, 1, depth: 4, type: 2, rows: [0, 0]).bytes) == .corrupt)
        #expect(pngFailure(onePixelPNG(before: [pngChunk("QqQq", [])]).bytes) == .corrupt)
        var limits = DecodeLimits.default
        limits.maxSide = 1
        #expect(pngFailure(Self.file.bytes, limits: limits) == .limitExceeded)
    }
}
