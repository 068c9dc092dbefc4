import CoderPluginKit
import ImageModel
import JXLCodec
import TestSupport
import Testing

func jxlFixture(_ name: String) throws -> [UInt8] {
    try #require(readFile(Repository.fixture("jxl/\(name).jxl")), "the fixture \(name) is missing")
}

func jxlDecoder(_ bytes: [UInt8], limits: DecodeLimits = .default) throws -> JXLDecoder {
    try JXLDecoder(DecoderSession(source: ByteSource(bytes), limits: limits))
}

func jxlImage(_ decoder: JXLDecoder, as format: PixelFormat? = nil) throws -> PixelBuffer {
    let info = try decoder.readHeader()
    let buffer = try PixelBuffer(size: info.size, format: format ?? info.nativeFormat)
    #expect(try decoder.decode(DecodeRequest(), into: Surface(buffer)) == .complete)
    return buffer
}

@Suite(.timeLimit(.minutes(40))) struct `JPEG XL codec` {
    private static let stills = Fixture.valid.filter { $0.format == "jxl" && $0.expect?.pixelSHA256 != nil }

    @Test(arguments: stills) func `decodes the pixels of djxl`(fixture: Fixture) throws {
        let decoder = try jxlDecoder(fixture.bytes)
        let info = try decoder.readHeader()
        let expect = try #require(fixture.expect)

        #expect(info.size == expect.size)
        #expect(PixelDigest.of(try jxlImage(decoder)) == expect.pixelSHA256)
    }

    @Test func `decodes a frame a second time`() throws {
        let decoder = try jxlDecoder(jxlFixture("alpha"))

        #expect(try jxlImage(decoder).packed == jxlImage(decoder).packed)
    }

    /// x / 8, y / 8 and (x + y) / 64 in `recipes.txt`.
    @Test func `keeps floats above 1`() throws {
        let decoder = try jxlDecoder(jxlFixture("float"))
        let info = try decoder.readHeader()
        let single = PixelFormat(.rgb, bits: 32, numeric: .float)
        #expect(info.nativeFormat == .rgb16 && info.bitDepth == 32 && decoder.pixelFormats.contains(single))

        let buffer = try jxlImage(decoder, as: single)
        for y in 0..<8 {
            let row = buffer.withRow(y) { row in
                (0..<48).map { unsafe row.unsafeLoad(fromByteOffset: 4 * $0, as: Float.self) }
            }
            // PFM stores the last row first.
            let line = Float(7 - y)
            var expected: [Float] = []
            for x in 0..<16 { expected += [Float(x) / 8, line / 8, (Float(x) + line) / 64] }
            #expect(row == expected)
        }
    }

    @Test(arguments: [("pq", 9, 16), ("hlg", 9, 18), ("lossy", 1, 13), ("gray", 1, 13), ("sixteen-bit", 1, 13)])
    func `reports colors as code points`(name: String, primaries: UInt8, transfer: UInt8) throws {
        let info = try jxlDecoder(jxlFixture(name)).readHeader()

        #expect(
            info.color
                == ColorDescription(
                    codePoints: CodePoints(primaries: primaries, transfer: transfer, matrix: 0, isFullRange: true)))
    }

    @Test func `keeps the profile of a lossless image`() throws {
        let decoder = try jxlDecoder(jxlFixture("wide-profile-lossless"))

        #expect(try decoder.readHeader().color == ColorDescription(hasProfile: true))
        let profile = try #require(try decoder.metadata().first { $0.kind == .icc })
        #expect(profile.bytes.count == 468 && profile.bytes[36..<40] == Array("acsp".utf8)[...])
    }

    /// The lossy image is stored without its profile; Display P3 is the smallest known gamut around that of the profile.
    @Test func `decodes a wide gamut without loss of colors`() throws {
        let info = try jxlDecoder(jxlFixture("wide-profile-lossy")).readHeader()

        #expect(info.color.codePoints?.transfer == 13)
        #expect(
            [9, 12].contains(info.color.codePoints?.primaries) && info.color.hasProfile && info.color.prefersCodePoints)
    }

    @Test func `reports the orientation and does not apply it`() throws {
        let info = try jxlDecoder(jxlFixture("packed-jpeg-orientation-6")).readHeader()

        #expect(info.size == PixelSize(31, 17) && info.orientation == .right)
    }

    // MARK: Metadata

    /// Written by hand in `Fixtures/recipes/jxl.py`.
    @Test(arguments: ["boxes", "packed-boxes"]) func `reads Exif, XMP and provenance`(name: String) throws {
        let blobs = try jxlDecoder(jxlFixture(name)).metadata()

        #expect(blobs.map(\.kind) == [.exif, .xmp, .raw])
        #expect(blobs[0].bytes == ExifOrientation.blob(.right))
        #expect(blobs[1].bytes == Array("<x:xmpmeta xmlns:x='adobe:ns:meta/'/>".utf8))
        #expect(blobs[2].key == "jumb" && blobs[2].bytes == Array("provenance".utf8))
    }

    @Test func `refuses metadata above the limit`() throws {
        var limits = DecodeLimits.default
        limits.maxMetadataBytes = 20
        let error = try #require(throws: CoderError.self) {
            try jxlDecoder(jxlFixture("packed-boxes"), limits: limits).metadata()
        }
        #expect(error.code == .limitExceeded)
    }

    // MARK: Animations

    /// Digests and durations of the APNG that djxl 0.7.0 writes.
    private static let frames =
        [
            (1, "ddeadc5ac33322fa5686f62c8a54787e8c98ef0a558fe02dd2273ee22a59c7ac"),
            (2, "2b1fb8e018e2c0f17374954075dcbd29d052bdae9ad10cc4d55a63a6f8c9e7ed"),
            (1, "11da4648cea38c9a457c26dbc940dae5177808f31493db26bda059a1e5943ff8"),
        ] as [(UInt32, String)]

    @Test func `decodes every frame with its duration`() throws {
        let decoder = try jxlDecoder(jxlFixture("animation"))
        let info = try decoder.readHeader()
        #expect(info.isAnimated && info.frameCount == 3 && info.loopCount == .infinite)

        for (index, (tenths, digest)) in Self.frames.enumerated() {
            let frame = try #require(try decoder.nextFrame())
            #expect(frame.index == index && frame.rect == PixelRect(info.size))
            #expect(frame.duration.milliseconds == Double(tenths) * 100)
            #expect(PixelDigest.of(try jxlImage(decoder)) == digest)
        }
        #expect(try decoder.nextFrame() == nil)
    }

    @Test func `decodes frames in any order`() throws {
        let decoder = try jxlDecoder(jxlFixture("animation"))
        _ = try decoder.readHeader()
        for index in [2, 0, 1, 1, 2] {
            #expect(try decoder.seek(toFrame: index) == index)
            #expect(try decoder.nextFrame()?.index == index)
            #expect(PixelDigest.of(try jxlImage(decoder)) == Self.frames[index].1)
        }
        #expect(throws: CoderError.self) { try decoder.seek(toFrame: 3) }
    }

    // MARK: Incomplete bytes

    @Test(arguments: ["progressive", "animation", "alpha", "boxes"])
    func `decodes the same from a growing source`(name: String) throws {
        let bytes = try jxlFixture(name)
        let whole = try jxlImage(jxlDecoder(bytes)).packed
        let source = ByteSource(bytes, arrived: 0)
        let decoder = try JXLDecoder(DecoderSession(source: source))
        var canvas: PixelBuffer?
        var isDone = false
        var hints = 0
        let step = max(1, bytes.count / 200)
        for _ in 0...bytes.count + 1 where !isDone {
            do throws(CoderError) {
                let info = try decoder.readHeader()
                let buffer: PixelBuffer
                if let canvas {
                    buffer = canvas
                } else {
                    buffer = try PixelBuffer(size: info.size, format: info.nativeFormat)
                }
                canvas = buffer
                isDone = try decoder.decode(DecodeRequest(wantsPartial: true), into: Surface(buffer)) == .complete
                if !isDone { hints += 1 }
            } catch {
                #expect(error.code == .needsInput)
            }
            if source.available == bytes.count { source.arrive() } else { source.arrive(step) }
        }
        #expect(isDone && canvas?.packed == whole)
        if name == "progressive" { #expect(hints > 0) }
    }

    @Test(arguments: ["lossless", "progressive", "animation", "packed-jpeg-progressive"])
    func `reports a cut file as truncated or damaged`(name: String) throws {
        let bytes = try jxlFixture(name)
        for count in stride(from: 0, to: bytes.count - 1, by: max(1, bytes.count / 50)) {
            let error = #expect(throws: CoderError.self) {
                let decoder = try jxlDecoder(Array(bytes.prefix(count)))
                let info = try decoder.readHeader()
                let buffer = try PixelBuffer(size: info.size, format: info.nativeFormat)
                for _ in 0..<3 {
                    guard try decoder.nextFrame() != nil else { break }
                    _ = try decoder.decode(DecodeRequest(), into: Surface(buffer))
                }
                // The animation can be cut behind its last pixels.
                if count > bytes.count - 40 { throw CoderError.truncated() }
            }
            #expect([.truncated, .corrupt].contains(error?.code))
        }
    }

    @Test func `leaves other formats to other coders`() throws {
        let error = #expect(throws: CoderError.self) { try jxlDecoder(Array("GIF89a......".utf8)).readHeader() }
        #expect(error?.code == .notMine)
    }
}
