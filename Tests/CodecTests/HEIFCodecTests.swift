import CoderPluginKit
import HEIFCodec
import ImageModel
import TestSupport
import Testing

/// Reads the pattern of `Fixtures/heif/pattern.py`: red grows to the right, green downwards, blue is half, alpha falls.
private func ramp(_ x: Int, _ y: Int, in size: PixelSize) -> [Int] {
    let red = (2 * 255 * x + size.width - 1) / (2 * (size.width - 1))
    let green = (2 * 255 * y + size.height - 1) / (2 * (size.height - 1))
    return [red, green, 128, 255 - red]
}

private func fixture(_ path: String) throws -> [UInt8] {
    try #require(readFile(Repository.fixture(path)), "the fixture \(path) is missing")
}

/// The error of decoding; nil for an image.
private func failure(_ bytes: [UInt8], limits: DecodeLimits = .default) -> CoderError.Code? {
    do {
        _ = try decodeHEIF(bytes, limits: limits)
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
    func `decodes the pattern with eight bits`(path: String) throws {
        let decoded = try decodeHEIF(try fixture(path))
        let size = path.contains("odd") ? PixelSize(33, 21) : PixelSize(64, 48)
        #expect(decoded.info.size == size)
        #expect(decoded.info.nativeFormat == (path.contains("alpha") ? .rgba8 : .rgb8))
        #expect(decoded.distance { ramp($0, $1, in: size) } <= 6)
    }

    @Test func `expands ten bits to the full range of sixteen`() throws {
        let bytes = try fixture("avif/rgb-10bit.avif")
        let decoded = try decodeHEIF(bytes)
        #expect(decoded.info.nativeFormat == .rgb16)
        #expect(decoded.info.bitDepth == 10)
        #expect(decoded.distance { ramp($0, $1, in: decoded.info.size) } <= 6)
        #expect(try decodeHEIF(bytes, as: .rgb8).distance { ramp($0, $1, in: PixelSize(64, 48)) } <= 6)
        // Ten bits repeat: the six lowest of sixteen are the six highest.
        for x in 0..<64 {
            for sample in decoded.samples(x, 20) { #expect(sample & 63 == sample >> 10) }
        }
    }

    @Test func `stretches limited-range gray`() throws {
        let decoded = try decodeHEIF(try fixture("avif/gray-limited-range.avif"))
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
    func `sets the alpha of an opaque image to its maximum`(format: PixelFormat) throws {
        let bytes = try fixture("heif/rgb-8bit.heic")
        let native = try decodeHEIF(bytes)
        let decoded = try decodeHEIF(bytes, as: format)
        for (x, y) in [(0, 0), (63, 0), (10, 40)] {
            let rgb = native.samples(x, y)
            let expected = format.channels == .bgra ? [rgb[2], rgb[1], rgb[0], 255] : rgb + [255]
            #expect(decoded.samples(x, y) == expected)
        }
    }

    @Test(arguments: ["heif/rotated-with-thumbnail-exif-icc.heic", "heif/rotated-with-size-after-the-turn.heic"])
    func `rotates once, and reports Exif as stored`(path: String) throws {
        let decoder = try heifDecoder(try fixture(path))
        let info = try decoder.readHeader()
        #expect(info.size == PixelSize(120, 200))
        #expect(info.orientationApplied)
        #expect(info.orientation == .up)

        let stored = PixelSize(200, 120)
        let decoded = try decodeHEIF(try fixture(path))
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
        let decoder = try heifDecoder(try fixture(path))
        #expect(try decoder.readHeader().hasItems)
        let item = try #require(try decoder.item(at: 1))
        let info = item.info
        #expect(item.role == .thumbnail && item.owner == 0 && info.size == PixelSize(38, 64))
        #expect(try decoder.item(at: 2) == nil)
        try decoder.select(item: 1)
        let buffer = try PixelBuffer(size: info.size, format: info.nativeFormat)
        #expect(try decoder.decode(DecodeRequest(), into: Surface(buffer)) == .complete)
        // Upright, red grows downwards and green to the left.
        let small = DecodedHEIF(info: info, pixels: buffer)
        #expect(small.samples(37, 0)[0] < 30 && small.samples(37, 63)[0] > 225)
        #expect(small.samples(0, 0)[1] > 225 && small.samples(37, 0)[1] < 30)
    }

    @Test func `decodes a still that declares the sequence brand`() throws {
        let bytes = try fixture("avif/rgb-10bit.avif")
        let still = try decodeHEIF(bytes)
        var sequence = try replacing(Array("avif".utf8), with: Array("avis".utf8), in: bytes)
        sequence = try replacing(Array("mif1".utf8), with: Array("msf1".utf8), in: sequence)
        let decoded = try decodeHEIF(sequence)
        for x in 0..<64 { #expect(decoded.samples(x, 24) == still.samples(x, 24)) }
    }
}

@Suite struct `HEIF decoder and hostile files` {
    @Test func `refuses another format as not its own`() {
        #expect(failure([]) == .notMine)
        #expect(failure([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13]) == .notMine)
        let film = box("ftyp", Array("isom\0\0\0\0isom".utf8)) + box("moov", [])
        #expect(failure(film) == .unsupportedFeature)
    }

    @Test func `reports a file cut behind the header as truncated`() throws {
        let bytes = try fixture("heif/rgb-8bit.heic")
        for count in stride(from: 0, to: bytes.count, by: 5) {
            let code = failure(Array(bytes[..<count]))
            #expect(code != nil, "\(count) bytes gave an image")
            if count > 470 { #expect(code == .truncated) }
        }
    }

    @Test(arguments: ["heif/alpha.heic", "heif/odd-size-in-a-grid.heic", "avif/alpha.avif", "avif/rgb-10bit.avif"])
    func `decodes changed bytes to an image or a typed error`(path: String) throws {
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
                _ = try decodeHEIF(changed, limits: limits)
            } catch {
                #expect(error is CoderError)
            }
        }
    }

    @Test func `shows gray if a slice is missing, and reports truncation`() throws {
        let bytes = try fixture("found/heif/slice-that-leaves-pixels-unwritten.heic")
        // The memory that decoders get next was used before.
        func pixels() throws -> [[Int]] {
            _ = try decodeHEIF(try fixture("heif/rgb-8bit.heic"))
            let decoder = try heifDecoder(bytes)
            let info = try decoder.readHeader()
            let buffer = try PixelBuffer(size: info.size, format: info.nativeFormat)
            let error = #expect(throws: CoderError.self) {
                try decoder.decode(DecodeRequest(), into: Surface(buffer))
            }
            #expect(error?.code == .truncated)
            let seen = DecodedHEIF(info: info, pixels: buffer)
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

    @Test func `refuses an image that contains itself`() {
        // libheif 1.15 follows such a circle until the stack overflows.
        #expect(failure(derivedFromItself("iden")) == .corrupt)
        #expect(failure(derivedFromItself("grid")) == .corrupt)
        #expect(failure(derivedFromItself("iovl")) == .corrupt)
    }

    @Test func `uses the size of the stream, not of the box`() throws {
        let bytes = try fixture("heif/rgb-8bit.heic")
        let large: [UInt8] = Array("ispe".utf8) + [0, 0, 0, 0, 0, 0, 0, 64, 0, 0, 0, 64]
        let small: [UInt8] = Array("ispe".utf8) + [0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 16]
        let lying = try replacing(large, with: small, in: bytes)
        var limits = DecodeLimits()
        limits.maxPixels = 64 * 48
        #expect(failure(lying, limits: limits) == .limitExceeded)
    }

    @Test func `keeps the limits of sides and metadata`() throws {
        let bytes = try fixture("heif/rotated-with-thumbnail-exif-icc.heic")
        var limits = DecodeLimits()
        limits.maxSide = 199
        #expect(failure(bytes, limits: limits) == .limitExceeded)
        limits = DecodeLimits()
        limits.maxMetadataBytes = 131
        let decoder = try heifDecoder(bytes, limits: limits)
        _ = try decoder.readHeader()
        let error = #expect(throws: CoderError.self) { try decoder.metadata() }
        #expect(error?.code == .limitExceeded)
    }

    @Test func `omits items above the limit for all metadata`() throws {
        let bytes = try fixture("heif/rotated-with-thumbnail-exif-icc.heic")
        func kinds(_ allowed: Int) throws -> [MetadataBlob.Kind] {
            var limits = DecodeLimits()
            limits.maxTotalMetadataBytes = allowed
            let decoder = try heifDecoder(bytes, limits: limits)
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

    /// One item of the kind `type` that refers to itself as its source, with the data of one tile, 64 x 64.
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
