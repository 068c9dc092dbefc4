import CoderPluginKit
import ImageModel
import TestSupport
import Testing
import WebPCodec

private let stills = [
    "webp/lossy.webp", "webp/lossless.webp", "webp/lossless-alpha.webp", "images/f.webp",
    "images/rgba.webp",
]

private func file(_ name: String) throws -> [UInt8] { try #require(readFile(Repository.fixture(name))) }

private func makeDecoder(_ bytes: [UInt8], host: HostServices = HostServices()) throws(CoderError) -> WebPDecoder {
    try WebPDecoder(DecoderSession(source: ByteSource(bytes), host: host))
}

/// Slopes with grain, with edges on which the filter works.
private func encoded(_ size: PixelSize, _ format: PixelFormat, _ options: CoderOptions) throws -> [UInt8] {
    let buffer = try PixelBuffer(size: size, format: format)
    var random = SeededRandom(21)
    for y in 0..<size.height {
        buffer.withMutableRow(y) { row in
            for offset in row.byteOffsets {
                let x = offset / format.bytesPerPixel
                let value = (x * 3 + y * 2 + offset % 4 * 50 + (x / 11 + y / 7) % 2 * 60) % 200
                row.storeBytes(
                    of: UInt8(value + Int.random(in: 0..<30, using: &random)), toByteOffset: offset, as: UInt8.self)
            }
        }
    }
    let encoder = try WebPEncoder(EncoderSession(options: options))
    let sink = ByteSink()
    try encoder.begin(ImageInfo(size: size, nativeFormat: format, hasAlpha: format.channels.hasAlpha), to: sink)
    try encoder.add(FrameInfo(index: 0, rect: PixelRect(size)), pixels: Surface(buffer))
    try encoder.finish()
    return sink.written
}

private func examine(_ bytes: [UInt8], seed: UInt64, count: Int = 10) throws {
    var random = SeededRandom(seed)
    let lasting = try makeDecoder(bytes)
    let info = try lasting.readHeader()
    for format in lasting.pixelFormats {
        let whole = try makeDecoder(bytes).outcome(of: nil, format)
        try #require(whole.code == nil)
        for rect in regions(in: info.size, &random, count: count) {
            let expected = RegionOutcome(pixels: part(rect, of: whole.pixels, info.size, format), rows: rect.height)
            #expect(try makeDecoder(bytes).outcome(of: rect, format) == expected, "\(rect) as \(format)")
            #expect(lasting.outcome(of: rect, format) == expected, "\(rect) as \(format), again")
        }
    }
}

@Suite struct `A region of a WebP` {
    @Test(arguments: stills) func `equals the same part of the whole`(name: String) throws {
        try examine(try file(name), seed: 1)
    }

    @Test(
        arguments: [
            [:], ["webp.filter-type": .integer(0), "webp.filter-strength": .integer(100), "quality": .real(10)],
            ["webp.filter-strength": .integer(100), "quality": .real(5)], ["lossless": .bool(true)],
        ] as [CoderOptions], [PixelSize(131, 77), PixelSize(33, 90), PixelSize(3, 2)])
    func `equals the same part of the whole with every filter`(options: CoderOptions, size: PixelSize) throws {
        try examine(try encoded(size, .rgb8, options), seed: 2)
        var alpha = options
        alpha["webp.alpha-filtering"] = .integer(0)
        try examine(try encoded(size, .rgba8, alpha), seed: 3, count: 4)
    }

    @Test func `costs the rows above it, or the whole image for an animation`() throws {
        #expect(try makeDecoder(file("webp/lossy.webp")).readHeader().regionCost == .above)
        #expect(try makeDecoder(file("webp/animated.webp")).readHeader().regionCost == .whole)
    }

    @Test(arguments: [false, true]) func `needs no bytes below it`(isLossless: Bool) throws {
        let bytes = try encoded(PixelSize(120, 900), .rgb8, ["lossless": .bool(isLossless)])
        let rect = PixelRect(x: 30, y: 100, width: 50, height: 60)
        let whole = try makeDecoder(bytes).outcome(of: nil, .rgb8).pixels
        let cut = try makeDecoder(Array(bytes.prefix(bytes.count / 2)))

        #expect(cut.outcome(of: rect, .rgb8).pixels == part(rect, of: whole, PixelSize(120, 900), .rgb8))
        let below = PixelRect(x: 30, y: 600, width: 50, height: 60)
        #expect(cut.outcome(of: below, .rgb8).code == .truncated)
    }

    @Test func `of an animation or a smaller size is refused, and the session continues`() throws {
        let decoder = try makeDecoder(file("webp/animated.webp"))
        #expect(decoder.outcome(of: PixelRect(x: 1, y: 1, width: 2, height: 2), .rgba8).code == .refused)
        #expect(decoder.outcome(of: nil, .rgba8).code == nil)

        let still = try makeDecoder(file("webp/lossy.webp"))
        let small = PixelSize(20, 12)
        #expect(still.outcome(of: PixelRect(x: 0, y: 0, width: 2, height: 2), .rgb8, scaledTo: small).code == .refused)
        #expect(still.outcome(of: nil, .rgb8, scaledTo: small).code == nil)
    }

    /// libwebp undoes that filter from the first row of the part on; `dwebp -crop` shows the same.
    @Test func `of alpha that is filtered horizontally is refused`() throws {
        let bytes = try file("webp/lossy-alpha.webp")
        let alpha = try #require(bytes.indices.dropLast(8).first { bytes[$0...].starts(with: Array("ALPH".utf8)) })
        #expect(bytes[alpha + 8] & 0x0F == 0x05)
        let decoder = try makeDecoder(bytes)
        #expect(try decoder.readHeader().regionCost == .whole)
        #expect(decoder.outcome(of: PixelRect(x: 0, y: 12, width: 4, height: 4), .rgba8).code == .refused)
        #expect(decoder.outcome(of: nil, .rgba8).code == nil)
    }

    @Test func `outside of the image is refused before memory is allocated`() throws {
        let host = RecordingHost()
        let decoder = try makeDecoder(file("webp/lossless.webp"), host: host.services())
        for (x, y, width, height) in [
            (40, 0, 1, 1), (0, 24, 1, 1), (-1, 0, 2, 2), (39, 23, 2, 1), (39, 23, 1, 2), (1, 0, 40, 24), (1, 1, 0, 1),
            (Int(Int32.max), Int(Int32.max), 1, Int(UInt32.max)),
        ] {
            var code: CoderError.Code?
            do throws(CoderError) {
                let surface = Surface(try PixelBuffer(size: PixelSize(40, 24), format: .rgb8))
                let region = PixelRect(x: x, y: y, width: width, height: height)
                _ = try decoder.decode(DecodeRequest(region: region), into: surface)
            } catch {
                code = error.code
            }
            #expect(code == .invalidArgument)
        }
        #expect(host.mostReserved == 0)
    }

    @Test(arguments: stills.prefix(3)) func `of a cut file equals that of the cut image`(name: String) throws {
        let bytes = try file(name)
        var random = SeededRandom(6)
        var codes: Set<CoderError.Code?> = []
        for count in stride(from: 40, to: bytes.count, by: 7) {
            let cut = Array(bytes[..<count])
            guard let info = try? makeDecoder(cut).readHeader() else { continue }
            let whole = try makeDecoder(cut).outcome(of: nil, info.nativeFormat, partial: true)
            let rect = regions(in: info.size, &random, count: 1).last ?? PixelRect(info.size)
            codes.insert(try makeDecoder(cut).outcome(of: rect, info.nativeFormat).code)
            let partial = try makeDecoder(cut).outcome(of: rect, info.nativeFormat, partial: true)
            let rows = min(partial.rows, max(0, whole.rows - rect.y))
            let kept = PixelRect(x: rect.x, y: rect.y, width: rect.width, height: rows)
            let line = rect.width * info.nativeFormat.bytesPerPixel
            #expect(
                Array(partial.pixels.prefix(rows * line))
                    == part(kept, of: whole.pixels, info.size, info.nativeFormat), "\(count), \(rect)")
        }
        #expect(codes.contains(.truncated) && codes.isSubset(of: [nil, .truncated, .corrupt]))
    }

    @Test(arguments: stills.prefix(3)) func `of a damaged file ends with a typed error or with pixels`(name: String)
        throws
    {
        let bytes = try file(name)
        var random = SeededRandom(7)
        let legal: Set<CoderError.Code?> = [nil, .corrupt, .truncated, .unsupportedFeature, .notMine, .limitExceeded]
        var codes: Set<CoderError.Code?> = []
        for _ in 0..<200 {
            var bad = bytes
            for _ in 0..<3 {
                bad[Int.random(in: 12..<bad.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            guard let info = try? makeDecoder(bad).readHeader(), info.size.area ?? .max < 1 << 22 else { continue }
            let rect = regions(in: info.size, &random, count: 1).last ?? PixelRect(info.size)
            let code = try makeDecoder(bad).outcome(of: rect, info.nativeFormat).code
            #expect(legal.contains(code), "\(String(describing: code))")
            codes.insert(code)
        }
        #expect(codes.contains(nil), "no damaged file has pixels")
    }

    @Test(arguments: [false, true]) func `waits until the source is complete, and can be cancelled`(isLossless: Bool)
        throws
    {
        let bytes = try encoded(PixelSize(90, 70), .rgba8, ["lossless": .bool(isLossless)])
        let rect = PixelRect(x: 3, y: 2, width: 40, height: 50)
        let source = ByteSource(bytes, arrived: bytes.count - 1)
        let decoder = try WebPDecoder(DecoderSession(source: source))
        #expect(decoder.outcome(of: rect, .rgba8).code == .needsInput)
        source.arrive()
        let host = RecordingHost()
        #expect(
            decoder.outcome(of: rect, .rgba8)
                == (try makeDecoder(bytes, host: host.services())).outcome(of: rect, .rgba8))

        #expect(host.polls > 0 && host.reserved == 0 && host.mostReserved > 0)
        for allowed in 0..<host.polls {
            let stopping = RecordingHost(allowedPolls: allowed)
            #expect(try makeDecoder(bytes, host: stopping.services()).outcome(of: rect, .rgba8).code == .cancelled)
            #expect(stopping.reserved == 0)
        }
        let poor = RecordingHost(allowedMemory: host.mostReserved - 1)
        #expect(try makeDecoder(bytes, host: poor.services()).outcome(of: rect, .rgba8).code == .limitExceeded)
    }
}
