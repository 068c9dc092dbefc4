import CoderPluginKit
import HEIFCodec
import ImageModel
import TestSupport
import Testing

/// Reads what `Fixtures/heif/pattern.py` drew: red grows to the right, green downwards, blue is half, alpha falls.
private func ramp(_ x: Int, _ y: Int, in size: PixelSize) -> [Int] {
    let red = (2 * 255 * x + size.width - 1) / (2 * (size.width - 1))
    let green = (2 * 255 * y + size.height - 1) / (2 * (size.height - 1))
    return [red, green, 128, 255 - red]
}

private struct Decoded {
    let info: ImageInfo
    let pixels: PixelBuffer

    /// The samples of one pixel, 16-bit ones whole.
    func samples(_ x: Int, _ y: Int) -> [Int] {
        let count = pixels.format.channels.count
        let wide = pixels.format.bits == 16
        return pixels.withRow(y) { row in
            (0..<count).map { channel in
                let index = x * count + channel
                return wide
                    ? Int(row.word(at: index)) : Int(row.byte(at: index))
            }
        }
    }

    /// The largest difference to what the pattern says, in 8-bit steps.
    func distance(to expected: (Int, Int) -> [Int]) -> Int {
        var largest = 0
        let scale = pixels.format.bits == 16 ? 257 : 1
        for y in 0..<info.size.height {
            for x in 0..<info.size.width {
                for (got, want) in zip(samples(x, y), expected(x, y)) {
                    largest = max(largest, abs(got - want * scale) / scale)
                }
            }
        }
        return largest
    }
}

extension RawSpan {
    fileprivate func byte(at index: Int) -> UInt8 { unsafe unsafeLoad(fromByteOffset: index, as: UInt8.self) }
    fileprivate func word(at index: Int) -> UInt16 {
        unsafe unsafeLoadUnaligned(fromByteOffset: 2 * index, as: UInt16.self)
    }
}

private func fixture(_ path: String) throws -> [UInt8] {
    try #require(readFile(Repository.fixture(path)), "the fixture \(path) is missing")
}

private func decoder(_ bytes: [UInt8], limits: DecodeLimits = .default) throws -> HEIFDecoder {
    try HEIFDecoder(DecoderSession(source: ByteSource(bytes), limits: limits))
}

private func decode(
    _ bytes: [UInt8], as format: PixelFormat? = nil, limits: DecodeLimits = .default
) throws -> Decoded {
    let decoder = try decoder(bytes, limits: limits)
    let info = try decoder.readHeader()
    let buffer = try PixelBuffer(size: info.size, format: format ?? info.nativeFormat)
    #expect(try decoder.decode(DecodeRequest(), into: Surface(buffer)) == .complete)
    return Decoded(info: info, pixels: buffer)
}

/// The error that decoding answers; nil for a picture.
private func failure(_ bytes: [UInt8], limits: DecodeLimits = .default) -> CoderError.Code? {
    do {
        _ = try decode(bytes, limits: limits)
        return nil
    } catch {
        return (error as? CoderError)?.code
    }
}

private func replacing(_ pattern: [UInt8], with bytes: [UInt8], in file: [UInt8]) throws -> [UInt8] {
    var copy = file
    let places = (0...(file.count - pattern.count)).filter { Array(file[$0..<$0 + pattern.count]) == pattern }
    try #require(!places.isEmpty)
    for place in places { copy.replaceSubrange(place..<place + pattern.count, with: bytes) }
    return copy
}

@Suite struct `HEIF decoder` {
    @Test(arguments: ["heif/rgb-8bit.heic", "heif/alpha.heic", "avif/alpha.avif", "heif/odd-size-in-a-grid.heic"])
    func `shows the pattern with eight bits`(path: String) throws {
        let decoded = try decode(try fixture(path))
        let size = path.contains("odd") ? PixelSize(33, 21) : PixelSize(64, 48)
        #expect(decoded.info.size == size)
        #expect(decoded.info.nativeFormat == (path.contains("alpha") ? .rgba8 : .rgb8))
        #expect(decoded.distance { ramp($0, $1, in: size) } <= 6)
    }

    @Test func `expands ten bits to the whole range of sixteen`() throws {
        let bytes = try fixture("avif/rgb-10bit.avif")
        let decoded = try decode(bytes)
        #expect(decoded.info.nativeFormat == .rgb16)
        #expect(decoded.info.bitDepth == 10)
        #expect(decoded.distance { ramp($0, $1, in: decoded.info.size) } <= 6)
        #expect(try decode(bytes, as: .rgb8).distance { ramp($0, $1, in: PixelSize(64, 48)) } <= 6)
        // Ten bits repeat: the six lowest of sixteen are the six highest.
        for x in 0..<64 {
            for sample in decoded.samples(x, 20) { #expect(sample & 63 == sample >> 10) }
        }
    }

    @Test func `stretches gray of the limited range`() throws {
        let decoded = try decode(try fixture("avif/gray-limited-range.avif"))
        #expect(decoded.info.nativeFormat == .gray8)
        #expect(decoded.info.color.codePoints?.isFullRange == false)
        let distance = decoded.distance { x, y in
            let luma = ramp(x, y, in: PixelSize(64, 48))[0]
            return [min(255, max(0, (luma - 16) * 255 / 219))]
        }
        #expect(distance <= 6)
        #expect(decoded.samples(0, 0) == [0])
        #expect(decoded.samples(63, 0) == [255])
    }

    @Test(arguments: [PixelFormat(.rgba, alpha: .opaque), PixelFormat(.bgra, alpha: .opaque)])
    func `fills the alpha of an opaque picture`(format: PixelFormat) throws {
        let bytes = try fixture("heif/rgb-8bit.heic")
        let native = try decode(bytes)
        let decoded = try decode(bytes, as: format)
        for (x, y) in [(0, 0), (63, 0), (10, 40)] {
            let rgb = native.samples(x, y)
            let expected = format.channels == .bgra ? [rgb[2], rgb[1], rgb[0], 255] : rgb + [255]
            #expect(decoded.samples(x, y) == expected)
        }
    }

    @Test(arguments: ["heif/rotated-with-thumbnail-exif-icc.heic", "heif/rotated-with-size-after-the-turn.heic"])
    func `turns once, and only shows what Exif says`(path: String) throws {
        let decoder = try decoder(try fixture(path))
        let info = try decoder.readHeader()
        #expect(info.size == PixelSize(120, 200))
        #expect(info.orientationApplied)
        #expect(info.orientation == .right)

        let stored = PixelSize(200, 120)
        let decoded = try decode(try fixture(path))
        let distance = decoded.distance { x, y in
            let source = Orientation.right.source(x: x, y: y, in: stored)
            return ramp(source.x, source.y, in: stored)
        }
        #expect(distance <= 6)

        let blobs = try decoder.metadata()
        #expect(blobs.first { $0.kind == .exif }?.bytes == ExifOrientation.blob(.right))
        let profile = try #require(blobs.first { $0.kind == .icc }?.bytes)
        #expect(profile.count == 132 && Array(profile[36..<40]) == Array("acsp".utf8))
        #expect(info.color.hasProfile)
    }

    @Test(arguments: ["heif/rotated-with-thumbnail-exif-icc.heic", "heif/rotated-with-size-after-the-turn.heic"])
    func `decodes an embedded thumbnail`(path: String) throws {
        let decoder = try decoder(try fixture(path))
        #expect(try decoder.readHeader().hasItems)
        let item = try #require(try decoder.item(at: 1))
        let info = item.info
        #expect(item.role == .thumbnail && item.owner == 0 && info.size == PixelSize(38, 64))
        #expect(try decoder.item(at: 2) == nil)
        try decoder.select(item: 1)
        let buffer = try PixelBuffer(size: info.size, format: info.nativeFormat)
        #expect(try decoder.decode(DecodeRequest(), into: Surface(buffer)) == .complete)
        // Shown upright, red grows downwards and green to the left.
        let small = Decoded(info: info, pixels: buffer)
        #expect(small.samples(37, 0)[0] < 30 && small.samples(37, 63)[0] > 225)
        #expect(small.samples(0, 0)[1] > 225 && small.samples(37, 0)[1] < 30)
    }

    @Test func `serves a file that only says it is a sequence`() throws {
        let bytes = try fixture("avif/rgb-10bit.avif")
        let still = try decode(bytes)
        var sequence = try replacing(Array("avif".utf8), with: Array("avis".utf8), in: bytes)
        sequence = try replacing(Array("mif1".utf8), with: Array("msf1".utf8), in: sequence)
        let decoded = try decode(sequence)
        for x in 0..<64 { #expect(decoded.samples(x, 24) == still.samples(x, 24)) }
    }
}

@Suite struct `HEIF decoder and hostile files` {
    @Test func `passes on what is another format`() {
        #expect(failure([]) == .notMine)
        #expect(failure([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13]) == .notMine)
        let film = box("ftyp", Array("isom\0\0\0\0isom".utf8)) + box("moov", [])
        #expect(failure(film) == .unsupportedFeature)
    }

    @Test func `says truncated behind the header and never shows a cut file`() throws {
        let bytes = try fixture("heif/rgb-8bit.heic")
        for count in stride(from: 0, to: bytes.count, by: 5) {
            let code = failure(Array(bytes[..<count]))
            #expect(code != nil, "\(count) bytes gave a picture")
            if count > 470 { #expect(code == .truncated) }
        }
    }

    @Test(arguments: ["heif/alpha.heic", "heif/odd-size-in-a-grid.heic", "avif/alpha.avif", "avif/rgb-10bit.avif"])
    func `answers changed bytes with a picture or an error of its own`(path: String) throws {
        let bytes = try fixture(path)
        var state: UInt64 = 0x9E37_79B9_7F4A_7C15
        func next(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        var limits = DecodeLimits.strict
        limits.maxPixels = 1_000_000
        for _ in 0..<150 {
            var changed = bytes
            for _ in 0...next(4) { changed[next(changed.count)] = UInt8(next(256)) }
            do {
                _ = try decode(changed, limits: limits)
            } catch {
                #expect(error is CoderError)
            }
        }
    }

    @Test func `shows grey where no slice wrote, and says truncated`() throws {
        let bytes = try fixture("found/heif/slice-that-leaves-pixels-unwritten.heic")
        // Memory that decoders get next has been used for something else.
        func pixels() throws -> [[Int]] {
            _ = try decode(try fixture("heif/rgb-8bit.heic"))
            let decoder = try decoder(bytes)
            let info = try decoder.readHeader()
            let buffer = try PixelBuffer(size: info.size, format: info.nativeFormat)
            let error = #expect(throws: CoderError.self) {
                try decoder.decode(DecodeRequest(), into: Surface(buffer))
            }
            #expect(error?.code == .truncated)
            let seen = Decoded(info: info, pixels: buffer)
            return (0..<48).flatMap { y in (0..<64).map { seen.samples($0, y) } }
        }
        let first = try pixels()
        for _ in 0..<5 { #expect(try pixels() == first) }
    }

    @Test func `refuses a grid that its tiles do not cover`() throws {
        let bytes = try fixture("heif/rgb-8bit.heic")
        // The canvas of the grid: one row, one column, 64 x 48.
        let wider = try replacing([0, 0, 0, 0, 0, 64, 0, 48], with: [0, 0, 0, 0, 0, 80, 0, 48], in: bytes)
        #expect(failure(wider) == .corrupt)
    }

    @Test func `refuses a picture made of itself`() {
        // libheif 1.15 follows such a circle until the stack ends.
        #expect(failure(derivedFromItself("iden")) == .corrupt)
        #expect(failure(derivedFromItself("grid")) == .corrupt)
        #expect(failure(derivedFromItself("iovl")) == .corrupt)
    }

    @Test func `believes the stream, not the box, about its size`() throws {
        let bytes = try fixture("heif/rgb-8bit.heic")
        let large: [UInt8] = Array("ispe".utf8) + [0, 0, 0, 0, 0, 0, 0, 64, 0, 0, 0, 64]
        let small: [UInt8] = Array("ispe".utf8) + [0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 16]
        let lying = try replacing(large, with: small, in: bytes)
        var limits = DecodeLimits()
        limits.maxPixels = 64 * 48
        #expect(failure(lying, limits: limits) == .limitExceeded)
    }

    @Test func `keeps its limits for sides and metadata`() throws {
        let bytes = try fixture("heif/rotated-with-thumbnail-exif-icc.heic")
        var limits = DecodeLimits()
        limits.maxSide = 199
        #expect(failure(bytes, limits: limits) == .limitExceeded)
        limits = DecodeLimits()
        limits.maxMetadataBytes = 131
        let decoder = try decoder(bytes, limits: limits)
        _ = try decoder.readHeader()
        let error = #expect(throws: CoderError.self) { try decoder.metadata() }
        #expect(error?.code == .limitExceeded)
    }

    @Test func `leaves out items above the limit for all metadata`() throws {
        let bytes = try fixture("heif/rotated-with-thumbnail-exif-icc.heic")
        func kinds(_ allowed: Int) throws -> [MetadataBlob.Kind] {
            var limits = DecodeLimits()
            limits.maxTotalMetadataBytes = allowed
            let decoder = try decoder(bytes, limits: limits)
            _ = try decoder.readHeader()
            return try decoder.metadata().map(\.kind)
        }

        #expect(try kinds(0).contains(.exif))
        #expect(try !kinds(10).contains(.exif))
        #expect(try kinds(10).contains(.icc))
    }

    private func box(_ type: String, _ payload: [UInt8]) -> [UInt8] {
        u32(8 + payload.count) + Array(type.utf8) + payload
    }

    private func u32(_ value: Int) -> [UInt8] { [24, 16, 8, 0].map { UInt8(value >> $0 & 255) } }

    /// One item of the kind `type` that names itself as its source, with a rule of one tile, 64 x 64.
    private func derivedFromItself(_ type: String) -> [UInt8] {
        let entry = box("infe", [2, 0, 0, 0, 0, 1, 0, 0] + Array(type.utf8) + [0])
        let meta =
            box("hdlr", [UInt8](repeating: 0, count: 8) + Array("pict".utf8) + [UInt8](repeating: 0, count: 13))
            + box("pitm", [0, 0, 0, 0, 0, 1])
            + box("iinf", [0, 0, 0, 0, 0, 1] + entry)
            + box("idat", [0, 0, 0, 0, 0, 64, 0, 64, 0, 0, 0, 64, 0, 64, 0, 0, 0, 0])
            + box("iloc", [1, 0, 0, 0, 0x44, 0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 1] + u32(0) + u32(18))
            + box("iref", [0, 0, 0, 0] + box("dimg", [0, 1, 0, 1, 0, 1]))
            + box(
                "iprp",
                box("ipco", box("ispe", u32(0) + u32(64) + u32(64))) + box("ipma", u32(0) + u32(1) + [0, 1, 1, 1]))
        return box("ftyp", Array("heic\0\0\0\0mif1heic".utf8)) + box("meta", u32(0) + meta)
    }
}

// MARK: Encoding

private enum Kind: CaseIterable, Sendable {
    case heic, avif

    func make(_ options: CoderOptions) throws -> any ImageEncoder {
        let session = EncoderSession(options: options)
        return switch self {
        case .heic: try HEICEncoder(session)
        case .avif: try AVIFEncoder(session)
        }
    }

    var name: String { self == .heic ? "heif" : "heif-avif" }
}

/// Pixels with structure that no codec guesses: a ramp, or noise from a fixed seed.
private func picture(_ size: PixelSize, _ format: PixelFormat, noise: Bool = false) throws -> PixelBuffer {
    let buffer = try PixelBuffer(size: size, format: format)
    var state: UInt32 = 12345
    for y in 0..<size.height {
        buffer.withMutableRow(y) { (row: inout MutableRawSpan) in
            for x in 0..<size.width {
                for channel in 0..<format.channels.count {
                    state = state &* 1_664_525 &+ 1_013_904_223
                    let ramps = [
                        x * 160 / size.width + 40, y * 160 / size.height + 40, 128, 255 - x * 200 / size.width,
                    ]
                    let value = noise ? Int(state >> 24) : ramps[channel]
                    let index = x * format.channels.count + channel
                    if format.bits == 8 {
                        row.storeBytes(of: UInt8(value), toByteOffset: index, as: UInt8.self)
                    } else {
                        row.storeBytes(of: UInt16(value * 257), toByteOffset: 2 * index, as: UInt16.self)
                    }
                }
            }
        }
    }
    return buffer
}

private func encode(
    _ buffer: PixelBuffer, _ kind: Kind, _ options: CoderOptions = [:], blobs: [MetadataBlob] = [],
    color: ColorDescription = ColorDescription()
) throws -> [UInt8] {
    let encoder = try kind.make(options)
    let info = ImageInfo(size: buffer.size, nativeFormat: buffer.format, color: color)
    let accepted = try encoder.acceptedFormats(for: info)
    try #require(accepted.contains(buffer.format))
    let sink = ByteSink()
    try encoder.begin(info, to: sink)
    for blob in blobs { #expect(try encoder.add(blob)) }
    try encoder.add(FrameInfo(index: 0, rect: PixelRect(buffer.size)), pixels: Surface(buffer))
    try encoder.finish()
    return sink.written
}

/// The largest and the mean difference in 8-bit steps.
private func difference(_ decoded: Decoded, _ source: PixelBuffer) -> (largest: Int, mean: Double) {
    let original = Decoded(info: decoded.info, pixels: source)
    var largest = 0
    var sum = 0
    var count = 0
    for y in 0..<source.size.height {
        for x in 0..<source.size.width {
            let got = decoded.samples(x, y).map { decoded.pixels.format.bits == 16 ? $0 / 257 : $0 }
            let want = original.samples(x, y).map { source.format.bits == 16 ? $0 / 257 : $0 }
            for (a, b) in zip(got, want) {
                largest = max(largest, abs(a - b))
                sum += abs(a - b)
                count += 1
            }
        }
    }
    return (largest, Double(sum) / Double(count))
}

@Suite struct `HEIC and AVIF encoders` {
    @Test(
        arguments: Kind.allCases,
        [PixelSize(64, 48), PixelSize(33, 21), PixelSize(1, 1), PixelSize(17, 150), PixelSize(130, 70)])
    private func `keep the size and the look of a picture`(kind: Kind, size: PixelSize) throws {
        for format in [PixelFormat.rgb8, .rgba8] {
            let source = try picture(size, format)
            let decoded = try decode(try encode(source, kind, [OptionKey.effort: .integer(2)]))
            #expect(decoded.info.size == size)
            #expect(decoded.info.nativeFormat == format)
            #expect(difference(decoded, source).mean < 3)
        }
    }

    @Test(arguments: Kind.allCases, [PixelFormat.rgb8, .rgba8, .gray8])
    private func `keep every sample when asked to`(kind: Kind, format: PixelFormat) throws {
        for size in [PixelSize(64, 64), PixelSize(37, 23)] {
            let source = try picture(size, format, noise: true)
            let bytes = try encode(source, kind, [OptionKey.lossless: .bool(true), OptionKey.effort: .integer(1)])
            let decoder = try decoder(bytes)
            let info = try decoder.readHeader()
            // A gray picture that had to be cut comes back as three equal channels.
            let decoded = try decode(bytes)
            let original = Decoded(info: info, pixels: source)
            for y in 0..<size.height {
                for x in 0..<size.width {
                    let want = original.samples(x, y)
                    let got = decoded.samples(x, y)
                    #expect(got == want || (format == .gray8 && got == [want[0], want[0], want[0]]))
                }
            }
        }
    }

    @Test(arguments: Kind.allCases, [10, 12])
    private func `keep more than eight bits of sixteen`(kind: Kind, depth: Int) throws {
        for chroma in ["420", "422", "444"] {
            for format in [PixelFormat.rgb16, .rgba16] {
                let source = try picture(PixelSize(66, 50), format)
                var options: CoderOptions = [
                    OptionKey.quality: .real(95), OptionKey.effort: .integer(2), "\(kind.name).chroma": .string(chroma),
                ]
                if depth != 10 { options["\(kind.name).bit-depth"] = .integer(Int64(depth)) }
                let decoded = try decode(try encode(source, kind, options))
                #expect(decoded.info.bitDepth == depth)
                #expect(decoded.info.nativeFormat == format)
                #expect(difference(decoded, source).mean < 2)
            }
        }
    }

    @Test(arguments: Kind.allCases)
    private func `keep gray of ten bits in one plane`(kind: Kind) throws {
        let source = try picture(PixelSize(64, 64), .gray16)
        let decoded = try decode(try encode(source, kind, [OptionKey.effort: .integer(2)]))
        #expect(decoded.info.nativeFormat == .gray16)
        #expect(difference(decoded, source).mean < 2)
    }

    @Test(arguments: Kind.allCases)
    private func `carry metadata unchanged`(kind: Kind) throws {
        let exif = ExifOrientation.blob(.left)
        let xmp = Array("<x:xmpmeta xmlns:x=\"adobe:ns:meta/\"/>".utf8)
        var profile = [UInt8](repeating: 0, count: 200)
        profile.replaceSubrange(36..<40, with: Array("acsp".utf8))
        let bytes = try encode(
            try picture(PixelSize(64, 48), .rgb8), kind, [OptionKey.effort: .integer(1)],
            blobs: [MetadataBlob(.exif, exif), MetadataBlob(.xmp, xmp), MetadataBlob(.icc, profile)],
            color: ColorDescription(
                codePoints: CodePoints(primaries: 12, transfer: 13, matrix: 0, isFullRange: true), hasProfile: true))
        let decoder = try decoder(bytes)
        let info = try decoder.readHeader()
        let blobs = try decoder.metadata()
        #expect(blobs.first { $0.kind == .exif }?.bytes == exif)
        #expect(blobs.first { $0.kind == .xmp }?.bytes == xmp)
        #expect(blobs.first { $0.kind == .icc }?.bytes == profile)
        // Not turned: the orientation is only written down.
        #expect(info.size == PixelSize(64, 48) && info.orientation == .left)
        #expect(info.color.codePoints?.primaries == 12 && info.color.codePoints?.transfer == 13)
        // The picture is coded with loss, so it was given a matrix.
        #expect(info.color.codePoints?.matrix == 6)
    }

    @Test(arguments: Kind.allCases)
    private func `embed a thumbnail within its bound`(kind: Kind) throws {
        let source = try picture(PixelSize(144, 96), .rgba8)
        let options: CoderOptions = ["\(kind.name).thumbnail": .integer(32), OptionKey.effort: .integer(1)]
        let decoder = try decoder(try encode(source, kind, options))
        #expect(try decoder.readHeader().hasItems)
        // 96 x 32 / 144 = 21, made even.
        let info = try #require(try decoder.item(at: 1)).info
        #expect(info.size == PixelSize(32, 20))
        try decoder.select(item: 1)
        let buffer = try PixelBuffer(size: info.size, format: info.nativeFormat)
        #expect(try decoder.decode(DecodeRequest(), into: Surface(buffer)) == .complete)
        let small = Decoded(info: info, pixels: buffer)
        #expect(abs(small.samples(0, 0)[0] - 40) < 20 && abs(small.samples(31, 10)[0] - 200) < 20)
    }

    @Test(arguments: Kind.allCases)
    private func `say that alpha is premultiplied`(kind: Kind) throws {
        let format = PixelFormat(.rgba, alpha: .premultiplied)
        let decoded = try decode(try encode(try picture(PixelSize(64, 64), format), kind))
        #expect(decoded.info.nativeFormat == format)
    }

    @Test(arguments: Kind.allCases)
    private func `make smaller files of lower quality`(kind: Kind) throws {
        let source = try picture(PixelSize(96, 96), .rgb8, noise: true)
        let sizes = try [10.0, 50, 90].map {
            try encode(source, kind, [OptionKey.quality: .real($0), OptionKey.effort: .integer(1)]).count
        }
        #expect(sizes[0] < sizes[1] && sizes[1] < sizes[2])
    }

    @Test(arguments: Kind.allCases)
    private func `refuse what cannot be kept`(kind: Kind) throws {
        func code(_ format: PixelFormat, _ options: CoderOptions) throws -> CoderError.Code? {
            let source = try picture(PixelSize(16, 16), format)
            let error = #expect(throws: CoderError.self) { try encode(source, kind, options) }
            return error?.code
        }
        #expect(try code(.rgb16, [OptionKey.lossless: .bool(true)]) == .invalidArgument)
        let chroma: CoderOptions = [OptionKey.lossless: .bool(true), "\(kind.name).chroma": .string("420")]
        #expect(try code(.rgb8, chroma) == .invalidArgument)
        #expect(try code(.rgb8, ["\(kind.name).bit-depth": .integer(9)]) == .invalidArgument)
        #expect(try code(.rgb8, [OptionKey.quality: .real(101)]) == .invalidArgument)
    }

    @Test(arguments: Kind.allCases)
    private func `take one frame and no more`(kind: Kind) throws {
        let source = try picture(PixelSize(16, 16), .rgb8)
        let encoder = try kind.make([OptionKey.effort: .integer(0)])
        try encoder.begin(ImageInfo(size: source.size, nativeFormat: source.format), to: ByteSink())
        try encoder.add(FrameInfo(index: 0, rect: PixelRect(source.size)), pixels: Surface(source))
        let error = #expect(throws: CoderError.self) {
            try encoder.add(FrameInfo(index: 1, rect: PixelRect(source.size)), pixels: Surface(source))
        }
        #expect(error?.code == .unsupportedFeature)
    }
}
