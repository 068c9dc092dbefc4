import CoderPluginKit
import ImageModel
import JPEG2000Codec
import TestSupport
import Testing

func jp2Decoder(
    _ source: ByteSource, limits: DecodeLimits = .default, options: CoderOptions = [:]
) throws -> JP2Decoder {
    try JP2Decoder(DecoderSession(source: source, options: options, limits: limits))
}

func jp2Pixels(_ decoder: JP2Decoder, _ request: DecodeRequest = DecodeRequest()) throws -> PixelBuffer {
    let info = try decoder.readHeader()
    let size = request.region?.size ?? request.scaledSize ?? info.size
    let buffer = try PixelBuffer(size: size, format: info.nativeFormat)
    #expect(try decoder.decode(request, into: Surface(buffer)) == .complete)
    return buffer
}

@Suite(.timeLimit(.minutes(40))) struct `JPEG 2000 codec` {
    private static let valid = Fixture.valid.filter { $0.format == "jp2" }

    private static func decoder(_ name: String) throws -> JP2Decoder {
        try jp2Decoder(ByteSource(Fixture.named("jp2/\(name)").bytes))
    }

    private static func part(_ whole: PixelBuffer, _ rect: PixelRect) -> [UInt8] {
        var bytes: [UInt8] = []
        for y in rect.y..<rect.y + rect.height {
            for x in rect.x..<rect.x + rect.width { bytes += whole.pixel(x, y) }
        }
        return bytes
    }

    @Test(arguments: valid.filter { $0.expect?.pixelSHA256 != nil })
    func `decodes the pixels of opj_decompress`(fixture: Fixture) throws {
        let decoder = try jp2Decoder(ByteSource(fixture.bytes))
        let expect = try #require(fixture.expect)

        #expect(try decoder.readHeader().size == expect.size)
        #expect(PixelDigest.of(try jp2Pixels(decoder)) == expect.pixelSHA256)
    }

    // MARK: Parts and sizes

    @Test(arguments: valid) func `decodes a part of every size like the same part of the whole`(fixture: Fixture) throws
    {
        let decoder = try jp2Decoder(ByteSource(fixture.bytes))
        let full = try decoder.readHeader().size
        var size = full
        while true {
            let scaled = size == full ? nil : size
            let whole = try jp2Pixels(decoder, DecodeRequest(scaledSize: scaled))
            for corner in [0, 3] where size.width > corner + 1 && size.height > corner + 1 {
                let rect = PixelRect(
                    x: corner, y: corner / 2, width: (size.width - corner) * 2 / 3 + 1,
                    height: (size.height - corner) / 2 + 1)
                let part = try jp2Pixels(decoder, DecodeRequest(region: rect, scaledSize: scaled))
                #expect(part.packed == Self.part(whole, rect), "\(rect) of \(size)")
            }
            let next = decoder.scaledSize(atLeast: PixelSize(size.width / 2, size.height / 2), of: full)
            guard next.width < size.width || next.height < size.height, next.width > 1 else { break }
            size = next
        }
    }

    /// Digests of the output of `opj_decompress -r N` 2.5.0.
    @Test(arguments: [
        ("levels.j2k", 80, 60, "81bc9b374d8457f1237ab0f603694412e8c58a72ac083f53d8838d240e205542"),
        ("levels.j2k", 40, 30, "880f599f093c8579d4c0155146e38c7d0dd909a5afab0a56074146413fab4242"),
        ("levels.j2k", 20, 15, "bd411e03fd71eccec30f58580e32087a9e9d2dbe3d451b95c9afc9ec81d93350"),
        ("levels.j2k", 5, 4, "ba2ca1c39e5ac60b67264f575f17939c2a46d256fe5510df55fd0c5a54defac8"),
        ("tiles.j2k", 80, 60, "13d9b7e03a5982568c73778e883438b72be15a9253cc5de439d96f674d9cec61"),
        ("tiles.j2k", 40, 30, "812d97d39bda25ff43b3dc1583da9ccaa93603679b0620cad0eb8264e362a70a"),
    ])
    func `decodes each resolution like opj_decompress`(name: String, width: Int, height: Int, digest: String) throws {
        let decoder = try Self.decoder(name)
        let size = PixelSize(width, height)
        let full = try decoder.readHeader().size

        #expect(decoder.scaledSize(atLeast: PixelSize(width - 1, height - 1), of: full) == size)
        #expect(decoder.scaledSize(atLeast: PixelSize(width + 1, height), of: full).width > width)
        #expect(PixelDigest.of(try jp2Pixels(decoder, DecodeRequest(scaledSize: size))) == digest)
    }

    @Test func `decodes bands of any height like the whole image`() throws {
        let decoder = try Self.decoder("tiles.j2k")
        let info = try decoder.readHeader()
        #expect(info.decodesRows && info.tileSize == PixelSize(64, 48))

        for rows in [1, 7, 48, 100] {
            var bands: [UInt8] = []
            for y in stride(from: 0, to: info.size.height, by: rows) {
                let band = PixelRect(x: 0, y: y, width: info.size.width, height: min(rows, info.size.height - y))
                bands += try jp2Pixels(decoder, DecodeRequest(region: band)).packed
            }
            #expect(bands == (try jp2Pixels(decoder).packed), "bands of \(rows) rows")
        }
    }

    @Test(arguments: valid) func `decodes a source that is read in pieces`(fixture: Fixture) throws {
        let bytes = fixture.bytes
        let pieces = ByteSource(count: bytes.count) { range throws(CoderError) in Array(bytes[range]) }

        #expect(
            try jp2Pixels(jp2Decoder(pieces)).packed == jp2Pixels(jp2Decoder(ByteSource(bytes))).packed)
    }

    // MARK: Samples and colors

    /// The raw samples of `Fixtures/recipes/jp2.py`.
    @Test func `scales 12 bits to 16, and shifts signed samples`() throws {
        let deep = try Self.decoder("twelve-bit.j2k")
        #expect(try deep.readHeader().nativeFormat == .gray16)
        #expect(try deep.readHeader().bitDepth == 12)
        let pixels = try jp2Pixels(deep)
        let signed = try jp2Pixels(Self.decoder("signed.j2k"))
        for y in 0..<8 {
            for x in 0..<16 {
                let stored = 32 * (x + 16 * y) % 4096
                let sample = Int((Double(stored) * 65_535 / 4095).rounded())
                #expect(pixels.pixel(x, y) == [UInt8(sample & 255), UInt8(sample >> 8)])
                #expect(signed.pixel(x, y) == [UInt8(x * 16 + y)])
            }
        }
    }

    /// BT.601 in full range, from the raw samples of the recipe; the file is lossless.
    @Test func `enlarges and converts color differences`() throws {
        let pixels = try jp2Pixels(Self.decoder("chroma-420.jp2"))
        #expect(pixels.format == .rgb8)
        for y in 0..<10 {
            for x in 0..<16 {
                let luma = Double(15 * x + y)
                let (blue, red) = (x / 2 < 4 ? 90.0 - 128 : 170 - 128, y / 2 < 3 ? 200.0 - 128 : 60 - 128)
                let rule = [luma + 1.402 * red, luma - 0.344136 * blue - 0.714136 * red, luma + 1.772 * blue]
                for (sample, wanted) in zip(pixels.pixel(x, y), rule) {
                    #expect(abs(Double(sample) - min(max(wanted, 0), 255)) <= 1, "\(x), \(y)")
                }
            }
        }
    }

    /// Entry n of the palette is n, 255 - n, n / 2.
    @Test func `replaces samples by the colors of the palette`() throws {
        let index = try jp2Pixels(Self.decoder("gray.jp2"))
        let colors = try jp2Pixels(Self.decoder("palette.jp2"))
        #expect(colors.format == .rgb8)
        for y in 0..<17 {
            for x in 0..<31 {
                let n = index.pixel(x, y)[0]
                #expect(colors.pixel(x, y) == [n, 255 - n, n / 2])
            }
        }
    }

    @Test func `puts components into the order of colors`() throws {
        let plain = try jp2Pixels(Self.decoder("lossless.jp2"))
        let reversed = try jp2Pixels(Self.decoder("blue-first.jp2"))
        for y in 0..<17 {
            for x in 0..<31 { #expect(reversed.pixel(x, y) == plain.pixel(x, y).reversed()) }
        }
    }

    @Test(arguments: [("lossless.jp2", 1, 13), ("gray.jp2", 1, 13), ("chroma-420.jp2", 1, 13)])
    func `reports enumerated colors as code points`(name: String, primaries: UInt8, transfer: UInt8) throws {
        let points = CodePoints(primaries: primaries, transfer: transfer, matrix: 0, isFullRange: true)

        #expect(try Self.decoder(name).readHeader().color == ColorDescription(codePoints: points))
        #expect(try Self.decoder("tiles.j2k").readHeader().color == ColorDescription())
    }

    // MARK: Metadata

    /// Written by hand in `Fixtures/recipes/jp2.py`.
    @Test func `reads Exif, XMP, IPTC, density and orientation`() throws {
        let decoder = try Self.decoder("boxes.jp2")
        let info = try decoder.readHeader()
        let blobs = try decoder.metadata()

        #expect(info.orientation == .right && info.density == .perMeter(x: 23_622, y: 11_811))
        #expect(blobs.map(\.kind) == [.exif, .xmp, .iptc])
        #expect(blobs[0].bytes == ExifOrientation.blob(.right))
        #expect(blobs[1].bytes == Array("<x:xmpmeta xmlns:x='adobe:ns:meta/'/>".utf8))
        #expect(blobs[2].bytes == [0x1C, 2, 0x78, 0, 5] + Array("hello".utf8))
    }

    @Test func `leaves out metadata above the limit`() throws {
        var limits = DecodeLimits.default
        limits.maxMetadataBytes = 100
        limits.maxTotalMetadataBytes = 40
        let bytes = Fixture.named("jp2/boxes.jp2").bytes

        #expect(try jp2Decoder(ByteSource(bytes), limits: limits).metadata().map(\.kind) == [.exif, .iptc])
    }

    // MARK: Missing and damaged bytes

    /// The rows of tiles in front of the cut are those of the whole image.
    @Test func `delivers the tiles in front of a cut if the caller wants a part`() throws {
        let whole = try jp2Pixels(Self.decoder("tiles.j2k"))
        let decoder = try Self.decoder("bad/cut.j2k")
        let buffer = try PixelBuffer(size: try decoder.readHeader().size, format: .rgb8)

        let error = try #require(throws: CoderError.self) {
            try decoder.decode(DecodeRequest(), into: Surface(buffer))
        }
        #expect(error.code == .truncated)
        #expect(
            try decoder.decode(DecodeRequest(wantsPartial: true), into: Surface(buffer))
                == .partial(PixelRect(buffer.size)))
        // The first row of tiles has 48 rows, of which the offset of 7 - 2 is outside the image.
        let top = PixelRect(x: 0, y: 0, width: 160, height: 43)
        #expect(Self.part(buffer, top) == Self.part(whole, top))
    }

    @Test func `reports every cut`() throws {
        for name in ["lossless.jp2", "lossy.jp2", "tiles.j2k", "high-throughput.j2c"] {
            let bytes = Fixture.named("jp2/\(name)").bytes
            let whole = try jp2Pixels(jp2Decoder(ByteSource(bytes))).packed
            for count in stride(from: 0, to: bytes.count, by: max(1, bytes.count / 300)) {
                do {
                    let decoder = try jp2Decoder(ByteSource(Array(bytes.prefix(count))))
                    // The marker at the end carries no pixels.
                    #expect(try jp2Pixels(decoder).packed == whole, "\(count) bytes of \(name)")
                } catch let error as CoderError {
                    #expect([.truncated, .corrupt, .unsupportedFeature].contains(error.code), "\(count) of \(name)")
                }
            }
        }
    }

    @Test(arguments: [
        ("mjp2", CoderError.Code.unsupportedFeature), ("jpm ", .unsupportedFeature),
    ])
    func `refuses other formats in the same boxes`(brand: String, code: CoderError.Code) throws {
        var bytes = Fixture.named("jp2/lossless.jp2").bytes
        bytes.replaceSubrange(20..<24, with: Array(brand.utf8))
        let error = try #require(throws: CoderError.self) { try jp2Decoder(ByteSource(bytes)).readHeader() }
        #expect(error.code == code)
    }

    @Test func `waits for the headers of an arriving file`() throws {
        let bytes = Fixture.named("jp2/tiles.j2k").bytes
        let source = ByteSource(bytes, arrived: 20)
        let decoder = try jp2Decoder(source)

        #expect(try #require(throws: CoderError.self) { try decoder.readHeader() }.code == .needsInput)
        source.arrive(400)
        let info = try decoder.readHeader()
        #expect(info.size == PixelSize(160, 120))
        let buffer = try PixelBuffer(size: info.size, format: info.nativeFormat)
        let early = try #require(throws: CoderError.self) {
            try decoder.decode(DecodeRequest(), into: Surface(buffer))
        }
        #expect(early.code == .needsInput)
        source.arrive()
        #expect(try decoder.decode(DecodeRequest(), into: Surface(buffer)) == .complete)
        #expect(buffer.packed == (try jp2Pixels(Self.decoder("tiles.j2k")).packed))
    }
}
