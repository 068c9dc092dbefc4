import CoderPluginKit
import HEIFCodec
import ImageModel
import TestSupport
import Testing

private struct Decoded {
    let info: ImageInfo
    let pixels: PixelBuffer
    let blobs: [MetadataBlob]

    init(_ bytes: [UInt8], limits: DecodeLimits = .default) throws {
        let decoder = try HEIFDecoder(DecoderSession(source: ByteSource(bytes), limits: limits))
        info = try decoder.readHeader()
        pixels = try PixelBuffer(size: info.size, format: info.nativeFormat)
        #expect(try decoder.decode(DecodeRequest(), into: Surface(pixels)) == .complete)
        blobs = try decoder.metadata()
    }

    /// The bytes of one pixel.
    func pixel(_ x: Int, _ y: Int) -> [UInt8] {
        let count = pixels.format.bytesPerPixel
        return pixels.withRow(y) { row in
            (x * count..<(x + 1) * count).map { unsafe row.unsafeLoad(fromByteOffset: $0, as: UInt8.self) }
        }
    }

    var rows: [[UInt8]] { (0..<info.size.height).map { y in (0..<info.size.width).flatMap { pixel($0, y) } } }
}

private func fixture(_ path: String) throws -> [UInt8] {
    try #require(readFile(Repository.fixture(path)), "the fixture \(path) is missing")
}

private func failure(_ bytes: [UInt8], limits: DecodeLimits = .default) -> CoderError? {
    do {
        _ = try Decoded(bytes, limits: limits)
        return nil
    } catch {
        return error as? CoderError
    }
}

private func box(_ type: String, _ payload: [UInt8]) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8((8 + payload.count) >> $0 & 255) } + Array(type.utf8) + payload
}

/// The start of the payload of the `mini` box: behind 16 bytes of `ftyp` and 8 of its own header.
private let payload = 24

@Suite struct `HEIF files with the short header` {
    @Test(
        arguments: [
            ("heif/mini-turned-exif-icc.heic", "heif/rotated-with-thumbnail-exif-icc.heic"),
            ("avif/mini-alpha-xmp.avif", "avif/alpha.avif"),
            ("avif/mini-gray.avif", "avif/gray-limited-range.avif"),
            ("avif/mini-gray-earlier-draft.avif", "avif/gray-limited-range.avif"),
            ("avif/mini-gain-map.avif", "avif/rgb-10bit.avif"),
            ("avif/mini-gain-map-earlier-draft.avif", "avif/rgb-10bit.avif"),
        ])
    func `decode like the same image with the long header`(short: String, long: String) throws {
        let (short, long) = (try Decoded(fixture(short)), try Decoded(fixture(long)))
        #expect(short.info.size == long.info.size)
        #expect(short.info.nativeFormat == long.info.nativeFormat)
        #expect(short.info.bitDepth == long.info.bitDepth)
        #expect(short.info.hasAlpha == long.info.hasAlpha)
        #expect(short.rows == long.rows)
        #expect(short.info.color.codePoints?.isFullRange != false || long.info.color.codePoints?.isFullRange == false)
    }

    @Test func `carry Exif, XMP and a profile`() throws {
        let turned = try Decoded(fixture("heif/mini-turned-exif-icc.heic"))
        #expect(turned.info.size == PixelSize(120, 200))
        #expect(turned.info.orientation == .up && turned.info.orientationApplied)
        #expect(turned.blobs.first { $0.kind == .exif }?.bytes == ExifOrientation.blob(.right))
        let profile = try #require(turned.blobs.first { $0.kind == .icc }?.bytes)
        #expect(profile.count == 132 && Array(profile[36..<40]) == Array("acsp".utf8))
        let alpha = try Decoded(fixture("avif/mini-alpha-xmp.avif"))
        #expect(alpha.blobs.first { $0.kind == .xmp }?.bytes == Array("<x:xmpmeta/>".utf8))
    }

    @Test func `ignore compressed metadata`() throws {
        var bytes = try fixture("heif/mini-turned-exif-icc.heic")
        // Flags, sides, samples (4:4:4, eight bits) and sizes of 10, 12 and 15 bits behind their flags come first.
        let place = 16 + 31 + 1 + 3 + 10 + 12 + 15
        #expect(bytes[payload + place / 8] & UInt8(128 >> (place % 8)) == 0)
        bytes[payload + place / 8] |= UInt8(128 >> (place % 8))
        #expect(try Decoded(bytes).blobs.map(\.kind) == [.icc])
    }

    @Test(arguments: 1...8)
    func `are rotated and mirrored, with their alpha`(value: Int) throws {
        var bytes = try fixture("avif/mini-alpha-xmp.avif")
        let upright = try Decoded(bytes)
        // The last bits of the second byte.
        bytes[payload + 1] |= UInt8(value - 1)
        let turned = try Decoded(bytes)
        let orientation = try #require(Orientation(rawValue: value))
        #expect(turned.info.size == (value > 4 ? PixelSize(48, 64) : PixelSize(64, 48)))
        for y in 0..<turned.info.size.height {
            for x in 0..<turned.info.size.width {
                let source = orientation.source(x: x, y: y, in: upright.info.size)
                #expect(turned.pixel(x, y) == upright.pixel(source.x, source.y))
            }
        }
    }

    @Test func `report premultiplied alpha`() throws {
        var bytes = try fixture("avif/mini-alpha-xmp.avif")
        #expect(try Decoded(bytes).info.nativeFormat.alpha == .straight)
        // 4:4:4 with sides of 7 bits: the 33rd bit.
        bytes[payload + 4] |= 0x80
        #expect(try Decoded(bytes).info.nativeFormat.alpha == .premultiplied)
    }

    @Test(arguments: ["avif/mini-gain-map.avif", "avif/mini-gain-map-earlier-draft.avif"])
    func `list their gain map`(path: String) throws {
        let decoder = try heifDecoder(fixture(path))
        #expect(try decoder.readHeader().hasItems && decoder.itemCount() == 2)
        let item = try #require(try decoder.item(at: 1))
        #expect(item.role == .auxiliary && item.owner == 0 && item.kind == "urn:iso:std:iso:ts:21496:-1")
        // The recipe stores the image once more.
        let image = try Decoded(fixture(path))
        try decoder.select(item: 1)
        let info = try decoder.readHeader()
        #expect(info.size == image.info.size && info.bitDepth == 10)
        let map = try PixelBuffer(size: info.size, format: info.nativeFormat)
        #expect(try decoder.decode(DecodeRequest(), into: Surface(map)) == .complete)
        #expect(PixelDigest.of(map) == PixelDigest.of(try decodeHEIF(fixture("avif/rgb-10bit.avif")).pixels))
    }

    @Test func `may reach to the end of the file`() throws {
        var bytes = try fixture("avif/mini-gray.avif")
        let rows = try Decoded(bytes).rows
        bytes.replaceSubrange(16..<20, with: [0, 0, 0, 0])
        #expect(try Decoded(bytes).rows == rows)
    }

    @Test func `report their facts before the pixels arrive`() throws {
        let bytes = try fixture("heif/mini-turned-exif-icc.heic")
        let source = ByteSource(bytes, arrived: 0)
        let decoder = try HEIFDecoder(DecoderSession(source: source))
        var met: Int?
        for count in 0..<bytes.count - 1 where met == nil {
            do {
                #expect(try decoder.readHeader().size == PixelSize(120, 200))
                met = count
            } catch {
                #expect(error.code == .needsInput)
                source.arrive(1)
            }
        }
        // The profile of 132 bytes precedes the samples, and the configuration precedes the profile.
        #expect(try #require(met) < 400)
        source.arrive()
        #expect(try decoder.metadata().map(\.kind) == [.icc, .exif])
    }

    @Test func `with explicit types need no brand`() throws {
        var bytes = try fixture("avif/mini-gain-map.avif")
        let rows = try Decoded(bytes).rows
        for brand in ["heic", "none"] {
            bytes.replaceSubrange(12..<16, with: Array(brand.utf8))
            #expect(try Decoded(bytes).rows == rows)
        }
    }

    @Test func `of unsupported kinds are refused as unsupported`() throws {
        let bytes = try fixture("avif/mini-gray.avif")
        var other = bytes
        other[payload] |= 0x40
        #expect(failure(other)?.code == .unsupportedFeature, "another version")
        other = bytes
        other.replaceSubrange(12..<16, with: Array("avci".utf8))
        #expect(failure(other)?.code == .unsupportedFeature, "another codec")
        // An AV1 configuration is not valid for HEVC.
        other.replaceSubrange(12..<16, with: Array("heic".utf8))
        #expect(failure(other) != nil)
    }
}

@Suite struct `HEIF files with a damaged short header` {
    static let paths = [
        "heif/mini-turned-exif-icc.heic", "avif/mini-alpha-xmp.avif", "avif/mini-gray.avif",
        "avif/mini-gain-map.avif",
    ]
    static let codes: [CoderError.Code] = [
        .notMine, .corrupt, .truncated, .unsupportedFeature, .limitExceeded,
    ]

    @Test(arguments: paths)
    func `are refused at every length up to the metadata`(path: String) throws {
        let bytes = try fixture(path)
        // The last chunk of the box.
        let exif = path.contains("exif") ? bytes.count - ExifOrientation.blob(.right).count : nil
        var truncated = 0
        for count in 0..<bytes.count {
            let code = failure(Array(bytes[..<count]))?.code
            if let exif, count >= exif {
                // The image is complete; its Exif data is left out, with a warning.
                #expect(code == nil, "\(count) bytes")
                continue
            }
            #expect(code == (count < 8 ? .notMine : .truncated) || code == .corrupt, "\(count) bytes: \(code as Any)")
            if code == .truncated { truncated += 1 }
        }
        #expect(truncated > 8)
    }

    /// Changed sizes of sides or chunks affect every memory request.
    @Test(arguments: paths)
    func `end in pixels or in a typed error`(path: String) throws {
        let bytes = try fixture(path)
        var limits = DecodeLimits.strict
        limits.maxPixels = 1_000_000
        var refused = 0
        for place in 0..<min(bytes.count, 600) * 8 {
            var changed = bytes
            changed[place / 8] ^= UInt8(128 >> (place % 8))
            guard let error = failure(changed, limits: limits) else { continue }
            #expect(Self.codes.contains(error.code), "bit \(place): \(error)")
            refused += 1
        }
        #expect(refused > 50)
    }

    @Test func `are refused when a chunk is larger than the box`() {
        // 64 x 64, gray, one bit of zero, a codec configuration of 4 bytes; samples of 2^28.
        let fields = "00000000" + "00000000" + "0" + "0111111" + "0111111" + "0" + "0" + "1" + "100"
        let bits = fields + String(repeating: "1", count: 28)
        let header = stride(from: 0, to: bits.count / 8 * 8 + 8, by: 8).map { start in
            UInt8(bits.dropFirst(start).prefix(8).reduce(into: 0) { $0 = $0 << 1 | ($1 == "1" ? 1 : 0) })
        }
        let file = box("ftyp", Array("mif3avif".utf8)) + box("mini", header + [0x81, 0, 0x1C, 0, 0, 0])
        #expect(failure(file)?.code == .corrupt)
    }

    @Test func `keep the limits for sides`() throws {
        var limits = DecodeLimits()
        limits.maxSide = 199
        #expect(failure(try fixture("heif/mini-turned-exif-icc.heic"), limits: limits)?.code == .limitExceeded)
    }
}
