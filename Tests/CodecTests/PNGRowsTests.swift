import CoderPluginKit
import ImageModel
import PNGCodec
import Testing

/// All rows of an image, decoded in bands of `height` rows while the source grows by `step` bytes at a time.
private func decodeBands(
    _ bytes: [UInt8], of height: Int, as format: PixelFormat, step: Int? = nil
) throws -> [UInt8] {
    let source = step == nil ? ByteSource(bytes) : ByteSource(bytes, arrived: 0)
    let decoder = try PNGDecoder(DecoderSession(source: source))
    func patiently<T>(_ body: () throws -> T) throws -> T {
        while true {
            do { return try body() } catch let error as CoderError where error.code == .needsInput {
                try #require(!source.isComplete)
                source.arrive(step)
            }
        }
    }
    let info = try patiently { try decoder.readHeader() }
    #expect(info.decodesRows)
    var all: [UInt8] = []
    for first in stride(from: 0, to: info.size.height, by: height) {
        let count = min(height, info.size.height - first)
        let buffer = try PixelBuffer(size: PixelSize(info.size.width, count), format: format)
        let region = PixelRect(x: 0, y: first, width: info.size.width, height: count)
        let outcome = try patiently { try decoder.decode(DecodeRequest(region: region), into: Surface(buffer)) }
        #expect(outcome == .complete)
        all += rowBytes(buffer)
    }
    return all
}

/// The bytes of the rows without padding.
private func rowBytes(_ buffer: PixelBuffer) -> [UInt8] {
    (0..<buffer.size.height).flatMap { y in
        buffer.withRow(y) { row in (0..<row.byteCount).map { row.byte(at: $0) } }
    }
}

@Suite struct `PNG in bands of rows` {
    @Test(arguments: PNGKind.all)
    func `equals the rows of the whole image`(_ kind: PNGKind) throws {
        for (width, height) in [(1, 1), (3, 8), (17, 13), (40, 30)] {
            let bytes = kind.file(width, height, interlaced: false).bytes
            for format in try pngOffers(bytes) {
                let whole = rowBytes(try decodePNG(bytes, as: format).buffer)
                for band in [1, 4, 7, 64] {
                    #expect(try decodeBands(bytes, of: band, as: format) == whole, "\(format), bands of \(band)")
                }
            }
        }
    }

    @Test(arguments: [1, 7, 100])
    func `waits for bytes within a band`(_ step: Int) throws {
        let bytes = PNGKind(type: 2, depth: 8).file(12, 20, interlaced: false).bytes
        let whole = rowBytes(try decodePNG(bytes).buffer)
        for band in [1, 3, 20] {
            #expect(try decodeBands(bytes, of: band, as: .rgb8, step: step) == whole)
        }
    }

    @Test func `decodes an image larger than one inflated piece`() throws {
        let bytes = Self.tall.bytes
        let whole = rowBytes(try decodePNG(bytes).buffer)
        for band in [1, 50, 333] { #expect(try decodeBands(bytes, of: band, as: .gray8) == whole) }
    }

    /// 900 rows of 400 bytes, in several IDAT chunks and stored blocks.
    private static let tall: (bytes: [UInt8], height: Int) = {
        var noise = PNGNoise(state: 5)
        var rows: [UInt8] = []
        for row in 0..<900 {
            rows.append(UInt8(row % 5))
            for _ in 0..<400 { rows.append(noise.next()) }
        }
        let stream = storedZlibBlocks(rows)
        var bytes = HandmadePNG.signature + pngChunk("IHDR", be32(400) + be32(900) + [8, 0, 0, 0, 0])
        for first in stride(from: 0, to: stream.count, by: 100_000) {
            bytes += pngChunk("IDAT", Array(stream[first..<min(first + 100_000, stream.count)]))
        }
        return (bytes + pngChunk("IEND", []), 900)
    }()

    @Test func `is not offered for interlaced images`() throws {
        let bytes = PNGKind(type: 2, depth: 8).file(9, 9, interlaced: true).bytes
        #expect(try !decodePNG(bytes).info.decodesRows)
        let decoder = try PNGDecoder(DecoderSession(source: ByteSource(bytes)))
        _ = try decoder.readHeader()
        let buffer = try PixelBuffer(size: PixelSize(9, 3), format: .rgb8)
        let request = DecodeRequest(region: PixelRect(x: 0, y: 0, width: 9, height: 3))
        #expect(failure { try decoder.decode(request, into: Surface(buffer)) } == .misuse)
    }

    @Test func `is misuse if a band does not continue, and restarts at the top`() throws {
        let bytes = PNGKind(type: 2, depth: 8).file(5, 12, interlaced: false).bytes
        let whole = rowBytes(try decodePNG(bytes).buffer)
        let decoder = try PNGDecoder(DecoderSession(source: ByteSource(bytes)))
        _ = try decoder.readHeader()
        let buffer = try PixelBuffer(size: PixelSize(5, 3), format: .rgb8)
        func decode(_ y: Int, _ format: PixelFormat = .rgb8, x: Int = 0) -> CoderError.Code? {
            failure {
                let surface = try format == .rgb8 ? buffer : PixelBuffer(size: PixelSize(5, 3), format: format)
                let request = DecodeRequest(region: PixelRect(x: x, y: y, width: 5, height: 3))
                return try decoder.decode(request, into: Surface(surface))
            }
        }
        #expect(decode(3) == .misuse, "not the first band")
        #expect(decode(0) == nil)
        #expect(decode(6) == .misuse, "a gap")
        #expect(decode(3, .rgba8) == .misuse, "another format")
        #expect(decode(10) == .misuse, "beyond the end")
        #expect(decode(3, x: 1) == .misuse, "beyond the right edge")
        #expect(decode(3) == nil)
        #expect(rowBytes(buffer) == Array(whole[45..<90]))
        #expect(decode(3) == .misuse, "a repeated band")
        #expect(decode(0) == nil)
        #expect(rowBytes(buffer) == Array(whole[..<45]))
        // The whole image in between.
        let all = try PixelBuffer(size: PixelSize(5, 12), format: .rgb8)
        #expect(try decoder.decode(DecodeRequest(), into: Surface(all)) == .complete)
        #expect(rowBytes(all) == whole)
        #expect(decode(3) == .misuse)
    }

    @Test func `keeps the rows before the end of the file`() throws {
        let file = HandmadePNG(2, 4, depth: 8, type: 0, rows: [0, 1, 2, 0, 3, 4, 0, 5, 6, 0, 7, 8])
        let decoder = try PNGDecoder(DecoderSession(source: ByteSource(Array(file.bytes.prefix(file.dataOffset + 17)))))
        _ = try decoder.readHeader()
        let buffer = try PixelBuffer(size: PixelSize(2, 2), format: .gray8)
        func decode(_ y: Int) -> CoderError.Code? {
            let request = DecodeRequest(region: PixelRect(x: 0, y: y, width: 2, height: 2))
            return failure { try decoder.decode(request, into: Surface(buffer)) }
        }
        #expect(decode(0) == nil)
        #expect(rowBytes(buffer) == [1, 2, 3, 4])
        #expect(decode(2) == .truncated)
        #expect(rowBytes(buffer) == [5, 6, 3, 4])
    }
}

@Suite struct `PNG reduced by its passes` {
    private static let option: CoderOptions = ["png.passes": .bool(true)]

    private static func decoder(_ source: ByteSource) throws -> (PNGDecoder, ImageInfo) {
        let decoder = try PNGDecoder(DecoderSession(source: source, options: option))
        return (decoder, try decoder.readHeader())
    }

    @Test(arguments: PNGKind.all)
    func `delivers every second, fourth or eighth pixel`(_ kind: PNGKind) throws {
        for (width, height) in [(1, 1), (2, 9), (8, 8), (13, 21), (40, 33)] {
            let bytes = kind.file(width, height, interlaced: true).bytes
            let (decoder, info) = try Self.decoder(ByteSource(bytes))
            let whole = try decodePNG(bytes).buffer
            for shift in 1...3 {
                let size = PixelSize((width - 1) >> shift + 1, (height - 1) >> shift + 1)
                let buffer = try PixelBuffer(size: size, format: info.nativeFormat)
                if size == info.size { continue }
                #expect(
                    try decoder.decode(DecodeRequest(scaledSize: size), into: Surface(buffer)) == .complete)
                let pixel = info.nativeFormat.bytesPerPixel
                let picked = stride(from: 0, to: height, by: 1 << shift).flatMap { y in
                    whole.withRow(y) { row in
                        stride(from: 0, to: width, by: 1 << shift).flatMap { x in
                            (0..<pixel).map { row.byte(at: x * pixel + $0) }
                        }
                    }
                }
                #expect(rowBytes(buffer) == picked, "\(width) × \(height), every \(1 << shift)")
            }
        }
    }

    @Test func `offers the smallest sufficient size, and only on request`() throws {
        let bytes = PNGKind(type: 0, depth: 8).file(100, 50, interlaced: true).bytes
        let (decoder, info) = try Self.decoder(ByteSource(bytes))
        for (wanted, expected) in [
            (PixelSize(13, 7), PixelSize(13, 7)), (PixelSize(14, 7), PixelSize(25, 13)),
            (PixelSize(13, 14), PixelSize(50, 25)), (PixelSize(51, 1), PixelSize(100, 50)),
        ] {
            #expect(decoder.scaledSize(atLeast: wanted, of: info.size) == expected)
        }
        let plain = try PNGDecoder(DecoderSession(source: ByteSource(bytes)))
        _ = try plain.readHeader()
        #expect(plain.scaledSize(atLeast: PixelSize(1, 1), of: info.size) == info.size)
        let straight = PNGKind(type: 0, depth: 8).file(100, 50, interlaced: false).bytes
        let (other, _) = try Self.decoder(ByteSource(straight))
        #expect(other.scaledSize(atLeast: PixelSize(1, 1), of: info.size) == info.size)
    }

    /// The rows of the passes are stored uncompressed, so that the end of each pass is known.
    @Test(arguments: [(3, 1), (2, 3), (1, 5)])
    func `needs no byte behind the used passes`(_ shift: Int, _ passes: Int) throws {
        let file = PNGKind(type: 0, depth: 8).file(16, 16, interlaced: true)
        // 2 × 2 pixels, 2 × 2, 4 × 2, 4 × 4, 8 × 4, and a filter byte a row.
        let length = [2 * 3, 2 * 3, 2 * 5, 4 * 5, 4 * 9].prefix(passes).reduce(0, +)
        let source = ByteSource(file.bytes, arrived: file.dataOffset + 7 + length)
        let (decoder, info) = try Self.decoder(source)
        let size = PixelSize(16 >> shift, 16 >> shift)
        let buffer = try PixelBuffer(size: size, format: info.nativeFormat)
        #expect(try decoder.decode(DecodeRequest(scaledSize: size), into: Surface(buffer)) == .complete)
        #expect(!source.isComplete)
    }
}

private func failure(_ body: () throws -> DecodeOutcome) -> CoderError.Code? {
    do {
        _ = try body()
        return nil
    } catch {
        return (error as? CoderError)?.code
    }
}
