import CoderPluginKit
import ImageModel
import PSDCodec
import TestSupport
import Testing

/// The pixels of whole files are those of the fixtures, which every bundled coder must decode.
@Suite(.timeLimit(.minutes(40))) struct `PSD codec` {
    /// A file of 8 bits per sample, or `depth`; `image` begins with the number of the compression.
    private static func file(
        _ width: Int, _ height: Int, channels: Int, mode: Int, depth: Int = 8, layers: Int? = nil, _ image: [UInt8]
    ) -> [UInt8] {
        let sizes = big(channels, 2) + big(height, 4) + big(width, 4) + big(depth, 2) + big(mode, 2)
        let info = layers.map { big(4, 4) + big($0, 2) + [0, 0] } ?? []
        let head = Array("8BPS".utf8) + [0, 1, 0, 0, 0, 0, 0, 0] + sizes
        return head + big(0, 4) + big(0, 4) + big(info.count, 4) + info + image
    }

    private static func big(_ value: Int, _ count: Int) -> [UInt8] {
        (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }

    /// 1×3 in RGB, not compressed: rows 10, 20, 30 in red.
    private static let column = file(1, 3, channels: 3, mode: 3, [0, 0, 10, 20, 30, 1, 2, 3, 4, 5, 6])

    private func decoder(_ bytes: [UInt8], _ options: CoderOptions = [:]) -> PSDDecoder {
        PSDDecoder(DecoderSession(source: ByteSource(bytes), options: options))
    }

    private func pixels(_ decoder: PSDDecoder, _ region: PixelRect? = nil) throws -> [UInt8] {
        let info = try decoder.readHeader()
        let buffer = try PixelBuffer(size: region?.size ?? info.size, format: info.nativeFormat)
        #expect(try decoder.decode(DecodeRequest(region: region), into: Surface(buffer)) == .complete)
        return buffer.packed
    }

    private func failure(_ bytes: [UInt8]) -> CoderError? {
        #expect(throws: CoderError.self) { try pixels(decoder(bytes)) }
    }

    @Test func `joins the channels of a pixel`() throws {
        #expect(try pixels(decoder(Self.column)) == [10, 1, 4, 20, 2, 5, 30, 3, 6])
    }

    private static let valid = Fixture.valid.filter { $0.name.hasPrefix("psd/") }

    @Test(arguments: valid) func `decodes the same pixels in bands from any row`(fixture: Fixture) throws {
        let all = try pixels(decoder(fixture.bytes))
        let rowBytes = all.count / 7
        let decoder = decoder(fixture.bytes)

        for rows in [5..<7, 0..<2, 2..<5, 1..<6] {
            let part = try pixels(decoder, PixelRect(x: 0, y: rows.lowerBound, width: 13, height: rows.count))
            #expect(part == Array(all[rows.lowerBound * rowBytes..<rows.upperBound * rowBytes]))
        }
    }

    @Test(arguments: valid) func `decodes the same columns of a region`(fixture: Fixture) throws {
        let whole = decoder(fixture.bytes)
        let all = try pixels(whole)
        let bytes = try whole.readHeader().nativeFormat.bytesPerPixel

        let part = try pixels(decoder(fixture.bytes), PixelRect(x: 3, y: 2, width: 6, height: 4))

        var expected: [UInt8] = []
        for y in 2..<6 {
            let start = (y * 13 + 3) * bytes
            expected += all[start..<start + 6 * bytes]
        }
        #expect(part == expected)
    }

    @Test(arguments: valid) func `delivers the same pixels or an error after every cut`(fixture: Fixture) throws {
        let bytes = fixture.bytes
        let all = try pixels(decoder(bytes))
        var errors = 0
        for count in 0..<bytes.count {
            do throws(CoderError) {
                let decoder = decoder(Array(bytes[..<count]))
                let info = try decoder.readHeader()
                let buffer = try PixelBuffer(size: info.size, format: info.nativeFormat)
                _ = try decoder.decode(DecodeRequest(), into: Surface(buffer))
                // Only checksums and unused channels are behind the cut.
                #expect(buffer.packed == all)
            } catch {
                errors += 1
                #expect(error.code == .truncated, "cut at \(count): \(error.message)")
            }
        }
        #expect(errors > bytes.count / 2)
    }

    // MARK: Arrival

    @Test func `delivers rows when the last channel arrives`() throws {
        let source = ByteSource(Self.column, arrived: Self.column.count - 4)
        let decoder = PSDDecoder(DecoderSession(source: source))
        let info = try decoder.readHeader()
        let buffer = try PixelBuffer(size: info.size, format: info.nativeFormat)
        let request = DecodeRequest(wantsPartial: true)

        let early = #expect(throws: CoderError.self) { try decoder.decode(request, into: Surface(buffer)) }
        #expect(early?.code == .needsInput)
        source.arrive(3)
        let first = try decoder.decode(request, into: Surface(buffer))
        #expect(first == .partial(PixelRect(x: 0, y: 0, width: 1, height: 2)))
        #expect(buffer.packed.prefix(6) == [10, 1, 4, 20, 2, 5])
        source.arrive()
        #expect(try decoder.decode(request, into: Surface(buffer)) == .complete)
        #expect(buffer.packed == [10, 1, 4, 20, 2, 5, 30, 3, 6])
    }

    @Test func `reports missing rows`() throws {
        let error = failure(Array(Self.column.dropLast(2)))

        #expect(error?.code == .truncated)
        #expect(error?.message == "2 of 3 rows are missing")
    }

    // MARK: Runs

    /// The example of Apple's Technical Note TN1023.
    @Test func `decodes PackBits`() throws {
        let runs: [UInt8] = [
            0xFE, 0xAA, 0x02, 0x80, 0x00, 0x2A, 0xFD, 0xAA, 0x03, 0x80, 0x00, 0x2A, 0x22, 0xF7, 0xAA,
        ]
        let file = Self.file(24, 1, channels: 1, mode: 1, [0, 1] + Self.big(runs.count, 2) + runs)

        #expect(
            try pixels(decoder(file)) == [0xAA, 0xAA, 0xAA, 0x80, 0x00, 0x2A, 0xAA, 0xAA, 0xAA, 0xAA, 0x80, 0x00]
                + [0x2A, 0x22] + [UInt8](repeating: 0xAA, count: 10))
    }

    @Test func `leaves zeros where runs end before their row`() throws {
        let file = Self.file(4, 2, channels: 1, mode: 1, [0, 1, 0, 2, 0, 3, 0xFD, 9, 1, 7, 8])

        #expect(try pixels(decoder(file)) == [9, 9, 9, 9, 7, 8, 0, 0])
    }

    @Test func `cuts off runs that continue behind their row`() throws {
        let file = Self.file(2, 2, channels: 1, mode: 1, [0, 1, 0, 2, 0, 4, 0x81, 9, 2, 1, 2, 3])

        #expect(try pixels(decoder(file)) == [9, 9, 1, 2])
    }

    // MARK: ZIP

    @Test func `decompresses a stored block`() throws {
        let file = Self.file(3, 1, channels: 1, mode: 1, [0, 2, 0x78, 0x01, 1, 3, 0, 0xFC, 0xFF, 5, 6, 7])

        #expect(try pixels(decoder(file)) == [5, 6, 7])
    }

    /// zlib made the stream of 300 zeros, in the fixed code.
    @Test func `decompresses the fixed code`() throws {
        let stream: [UInt8] = [0x78, 0xDA, 0x63, 0x60, 0x18, 0x05, 0xC4, 0x02, 0x00, 0x01, 0x2C, 0x00, 0x01]
        let file = Self.file(300, 1, channels: 1, mode: 1, [0, 2] + stream)

        #expect(try pixels(decoder(file)) == [UInt8](repeating: 0, count: 300))
    }

    @Test(
        arguments: [
            ([0x78, 0x02], "invalid header"), ([0x78, 0x01, 7], "unknown block"),
            ([0x78, 0x01, 1, 3, 0, 0xFC, 0xFE, 0, 0, 0], "invalid length"),
            ([0x78, 0x01, 1, 1, 0, 0xFE, 0xFF, 5, 0, 0], "it ends too early"),
            // Length 3 at distance 1, before any literal.
            ([0x78, 0x01, 0x03, 0x02, 0, 0, 0, 0, 0, 0, 0, 0], "a distance behind the start"),
        ] as [([UInt8], String)]) func `reports a damaged zlib stream`(stream: [UInt8], reason: String) throws
    {
        let error = failure(Self.file(3, 1, channels: 1, mode: 1, [0, 2] + stream))

        #expect(error?.code == .corrupt)
        #expect(error?.message == "the compressed composite is damaged: \(reason)")
    }

    // MARK: Colors

    /// Photoshop stores color · alpha + white · (1 − alpha).
    @Test func `removes the white of transparent pixels`() throws {
        // Black at half opacity, red at a fifth, an impossible value, no opacity.
        let image: [UInt8] =
            [0, 0] + [127, 255, 0, 255] + [127, 204, 9, 255] + [127, 204, 90, 255] + [128, 51, 100, 0]

        let all = try pixels(decoder(Self.file(4, 1, channels: 4, mode: 3, layers: -1, image)))

        #expect(all == [0, 0, 0, 128, 255, 0, 0, 51, 0, 0, 0, 100, 255, 255, 255, 0])
    }

    @Test func `removes white exactly for every sample and alpha`() throws {
        for alpha in 1..<255 {
            let image: [UInt8] = [0, 0] + (0...255).map { UInt8($0) } + [UInt8](repeating: UInt8(alpha), count: 256)
            let all = try pixels(decoder(Self.file(256, 1, channels: 2, mode: 1, layers: -1, image)))
            let expected = (0...255).map { stored in
                UInt8(min(255, max(0, (Double(stored + alpha - 255) * 255 / Double(alpha)).rounded())))
            }
            #expect(stride(from: 0, to: 512, by: 2).map { all[$0] } == expected)
        }
    }

    @Test func `drops a channel that is no transparency`() throws {
        let image: [UInt8] = [0, 0, 1, 2, 3, 100]

        #expect(try pixels(decoder(Self.file(1, 1, channels: 4, mode: 3, layers: 1, image))) == [1, 2, 3])
        #expect(try pixels(decoder(Self.file(1, 1, channels: 4, mode: 3, image))) == [1, 2, 3])
    }

    @Test func `inverts CMYK`() throws {
        let file = Self.file(1, 1, channels: 4, mode: 4, [0, 0, 0, 255, 155, 1])

        #expect(try decoder(file).readHeader().nativeFormat.channels == .cmyk)
        #expect(try pixels(decoder(file)) == [255, 0, 100, 254])
    }

    /// The primaries of sRGB under D50, by Bruce Lindbloom's calculator: L*, a*, b*.
    @Test(
        arguments: [
            (54.29, 80.81, 69.89, [65_535, 0, 0]), (87.82, -79.27, 80.99, [0, 65_535, 0]),
            (29.57, 68.30, -112.03, [0, 0, 65_535]), (100, 0, 0, [65_535, 65_535, 65_535]), (0, 0, 0, [0, 0, 0]),
        ] as [(Double, Double, Double, [Int])])
    func `converts Lab to sRGB`(l: Double, a: Double, b: Double, expected: [Int]) throws {
        let stored = [l / 100 * 65_535, (a + 128) * 256, (b + 128) * 256]
        let image = stored.flatMap { Self.big(Int($0.rounded()), 2) }
        let decoder = decoder(Self.file(1, 1, channels: 3, mode: 9, depth: 16, [0, 0] + image))

        let bytes = try pixels(decoder)

        for channel in 0..<3 {
            let sample = Int(bytes[2 * channel]) | Int(bytes[2 * channel + 1]) << 8
            // The curve is steep at 0, where a* and b* of two decimals matter.
            #expect(abs(sample - expected[channel]) < (expected[channel] == 0 ? 1300 : 130))
        }
        #expect(try decoder.readHeader().color.codePoints?.transfer == 13)
    }

    @Test func `keeps floats on request`() throws {
        let samples: [Float] = [0.25, -1, 8]
        let image = samples.flatMap { Self.big(Int($0.bitPattern), 4) }
        let file = Self.file(3, 1, channels: 1, mode: 1, depth: 32, [0, 0] + image)

        let floats = try pixels(decoder(file, ["psd.float": .bool(true)]))
        #expect(floats == samples.flatMap { Self.big(Int($0.bitPattern), 4).reversed() })
        #expect(try pixels(decoder(file)) == [0, 0x40, 0, 0, 0xFF, 0xFF])
        #expect(try decoder(file).readHeader().color.codePoints?.transfer == 8)
    }

    // MARK: Beside the pixels

    @Test func `refuses layers without a composite, and names the remedy`() throws {
        let error = #expect(throws: CoderError.self) {
            try decoder(Fixture.named("psd/bad/no-composite.psd").bytes).readHeader()
        }

        #expect(error?.code == .unsupportedFeature)
        #expect(error?.message == "the file has layers without a composite image")
        #expect(error?.hint?.contains("Maximize Compatibility") == true)
    }

    @Test func `delivers metadata as stored`() throws {
        let decoder = decoder(Fixture.named("psd/metadata.psd").bytes)
        let info = try decoder.readHeader()
        let blobs = try decoder.metadata()

        #expect(info.density == .perMeter(x: 11_811, y: 5906))
        #expect(info.color.hasProfile)
        #expect(blobs.map(\.kind) == [.exif, .xmp, .icc, .iptc])
        #expect(blobs[1].bytes == Array("<x:xmpmeta xmlns:x='adobe:ns:meta/'/>".utf8))
        #expect(blobs[3].bytes == [0x1C, 2, 5, 0, 5] + Array("Title".utf8))
    }

    @Test func `decodes the embedded thumbnail`() throws {
        let decoder = decoder(Fixture.named("psd/metadata.psd").bytes)
        #expect(try decoder.readHeader().hasItems)

        let info = try #require(try decoder.thumbnail(at: 0))
        #expect(info.size == PixelSize(40, 24) && info.nativeFormat == .rgb8)
        #expect(try decoder.thumbnail(at: 1) == nil)
        let buffer = try PixelBuffer(size: info.size, format: info.nativeFormat)
        try decoder.decodeThumbnail(at: 0, into: Surface(buffer))
        // djpeg decoded the same JPEG.
        #expect(
            buffer.packed == Array(try #require(readFile(Repository.fixture("jpeg/baseline-420.ppm"))).suffix(2880)))
    }
}
