import CoderPluginKit
import EXRCodec
import ImageModel
import TestSupport
import Testing

/// The pixels of whole files are those of the fixtures, which every bundled coder must decode.
@Suite(.timeLimit(.minutes(40))) struct `EXR codec` {
    private static let valid = Fixture.valid.filter { $0.format == "exr" }
    private static let float: CoderOptions = ["exr.float": .bool(true)]

    private static func bytes(_ name: String) throws -> [UInt8] {
        try #require(readFile(Repository.fixture("exr/\(name).exr")), "the fixture \(name) is missing")
    }

    private static func decoder(
        _ bytes: [UInt8], options: CoderOptions = [:], limits: DecodeLimits = .default
    ) throws -> EXRDecoder {
        try EXRDecoder(DecoderSession(source: ByteSource(bytes), options: options, limits: limits))
    }

    private static func pixels(
        _ decoder: EXRDecoder, _ request: DecodeRequest = DecodeRequest(), _ info: ImageInfo? = nil,
        as format: PixelFormat? = nil
    ) throws -> [UInt8] {
        let info = try info ?? decoder.readHeader()
        let size = request.region?.size ?? request.scaledSize ?? info.size
        let buffer = try PixelBuffer(size: size, format: format ?? info.nativeFormat)
        #expect(try decoder.decode(request, into: Surface(buffer)) == .complete)
        return buffer.packed
    }

    private static func halves(_ bytes: [UInt8]) -> [Float] {
        stride(from: 0, to: bytes.count, by: 2).map { at in
            Float(Float16(bitPattern: UInt16(bytes[at]) | UInt16(bytes[at + 1]) << 8))
        }
    }

    private static func floats(_ bytes: [UInt8]) -> [Float] {
        stride(from: 0, to: bytes.count, by: 4).map { at in
            var bits: UInt32 = 0
            for byte in 0..<4 { bits |= UInt32(bytes[at + byte]) << UInt32(8 * byte) }
            return Float(bitPattern: bits)
        }
    }

    // MARK: Light

    /// x / 21, y / 19 and (7 x + 5 y) mod 32 / 31, as `recipes/exr.py` has them, rounded to halves.
    private static func light(_ x: Int, _ y: Int) -> [Float] {
        let light: [Float] = [Float(x) / 21, Float(y) / 19, Float((x * 7 + y * 5) % 32) / 31]
        return light.map { Float(Float16($0)) }
    }

    @Test(arguments: ["half-zip", "half-none", "half-piz", "rows-from-the-bottom"])
    func `delivers halves as stored`(name: String) throws {
        let decoder = try Self.decoder(Self.bytes(name), options: Self.float)
        let info = try decoder.readHeader()

        #expect(info.nativeFormat == PixelFormat(.rgb, bits: 16, numeric: .float))
        #expect(info.color.codePoints?.transfer == 8)
        let samples = Self.halves(try Self.pixels(decoder))
        for y in 0..<19 {
            for x in 0..<21 {
                let start = 3 * (y * 21 + x)
                #expect(Array(samples[start..<start + 3]) == Self.light(x, y))
            }
        }
    }

    @Test func `delivers floats as stored`() throws {
        let decoder = try Self.decoder(Self.bytes("float-zips"), options: Self.float)

        let samples = Self.floats(try Self.pixels(decoder))

        let second: [Float] = [1 / Float(21), 0, 7 / Float(31)]
        #expect(Array(samples[3..<6]) == second)
        #expect(samples.count == 3 * 21 * 19)
    }

    @Test func `delivers integers as the floats of their values`() throws {
        let decoder = try Self.decoder(Self.bytes("integers"), options: Self.float)

        let samples = Self.floats(try Self.pixels(decoder))

        let bits: [Float] = [0, 0, 0, 1, 0, 0, 0, 1, 0]
        #expect(Array(samples[..<9]) == bits)
    }

    /// -1, -0.8 … 3: the curve of sRGB takes 0.2 to 0.4845292, and 3 to 1.055 · 3^(1 / 2.4) - 0.055 = 1.61245.
    @Test func `keeps light above 1 in floats with a curve`() throws {
        let decoder = try Self.decoder(Self.bytes("light-above-1"))
        _ = try decoder.readHeader()
        let format = PixelFormat(.gray, bits: 32, numeric: .float)
        #expect(decoder.pixelFormats.contains(format))

        let samples = Self.floats(try Self.pixels(decoder, as: format))
        let integers = try Self.pixels(decoder)

        #expect(abs(samples[6] - 0.484_529_2) < 0.000_2)
        #expect(abs(samples[20] - 1.612_45) < 0.001)
        #expect(abs(samples[0] + 1) < 0.000_1)
        #expect(Array(integers[..<2]) == [0, 0])
        #expect(Array(integers[40..<42]) == [255, 255])
    }

    @Test func `divides colors by alpha`() throws {
        let decoder = try Self.decoder(Self.bytes("alpha"))
        let (info, samples) = (try decoder.readHeader(), try Self.pixels(decoder))

        #expect(info.nativeFormat == .rgba16)
        // Column 6, row 1: alpha is 0.25 and red 6 / 21, whose sample is 0.571 of the range.
        let at = 8 * (21 + 6)
        #expect(samples[at + 7] == 0x40)
        #expect(abs(Int(samples[at + 1]) - 146) <= 1)
        let whole = try Self.decoder(Self.bytes("alpha"), options: Self.float)
        #expect(try whole.readHeader().nativeFormat.alpha == .premultiplied)
    }

    /// Luminance L with (R - L) / L = (x - y) / 64 and (B - L) / L = (y - x) / 64.
    @Test func `interpolates colors between their samples`() throws {
        let decoder = try Self.decoder(Self.bytes("luminance"), options: Self.float)
        let info = try decoder.readHeader()
        #expect(info.nativeFormat == PixelFormat(.rgb, bits: 32, numeric: .float))
        let samples = Self.floats(try Self.pixels(decoder))

        for y in 0..<20 {
            for x in 0..<22 {
                let light = Self.light(x, y)[2]
                let share = Float(min(x, 20) - min(y, 18)) / 64
                let (red, blue) = (light * (1 + share), light * (1 - share))
                let green = (light - 0.212_639 * red - 0.072_192 * blue) / 0.715_169
                let start = 3 * (y * 22 + x)
                for (sample, expected) in zip(samples[start..<start + 3], [red, green, blue]) {
                    #expect(abs(sample - expected) < 0.000_5)
                }
            }
        }
    }

    // MARK: Windows

    /// The data window begins at (-3, 2), and the display window at (-7, -4).
    @Test func `leaves pixels outside the data window transparent`() throws {
        let decoder = try Self.decoder(Self.bytes("data-window-inside"), options: Self.float)
        let info = try decoder.readHeader()
        let samples = Self.halves(try Self.pixels(decoder))
        func pixel(_ x: Int, _ y: Int) -> [Float] {
            let start = 4 * (y * info.size.width + x)
            return Array(samples[start..<start + 4])
        }

        #expect(info.size == PixelSize(33, 29))
        let nothing: [Float] = [0, 0, 0, 0]
        let (first, last) = (Self.light(0, 0) + [Float(1)], Self.light(20, 18) + [Float(1)])
        #expect(pixel(3, 6) == nothing)
        #expect(pixel(4, 5) == nothing)
        #expect(pixel(4, 6) == first)
        #expect(pixel(24, 24) == last)
        #expect(pixel(25, 24) == nothing)
    }

    // MARK: Parts of the canvas

    @Test(arguments: valid, [false, true])
    func `decodes a part like the same part of the whole image`(fixture: Fixture, keepsFloats: Bool) throws {
        let decoder = try Self.decoder(fixture.bytes, options: keepsFloats ? Self.float : [:])
        let info = try decoder.readHeader()
        let all = try Self.pixels(decoder)
        let bytes = info.nativeFormat.bytesPerPixel
        let part = PixelRect(x: 3, y: 2, width: info.size.width - 5, height: info.size.height - 3)

        var expected: [UInt8] = []
        for y in part.y..<part.y + part.height {
            let start = (y * info.size.width + part.x) * bytes
            expected += all[start..<start + part.width * bytes]
        }
        #expect(try Self.pixels(decoder, DecodeRequest(region: part)) == expected)
    }

    @Test(arguments: valid, [3, 7, 16])
    func `decodes bands of any height like the whole image`(fixture: Fixture, height: Int) throws {
        let decoder = try Self.decoder(fixture.bytes)
        let size = try decoder.readHeader().size
        var bands: [UInt8] = []
        for y in stride(from: 0, to: size.height, by: height) {
            let band = PixelRect(x: 0, y: y, width: size.width, height: min(height, size.height - y))
            bands += try Self.pixels(decoder, DecodeRequest(region: band))
        }
        let whole = try Self.pixels(decoder)
        #expect(bands == whole)
    }

    @Test(arguments: valid)
    func `decodes a source that is read in pieces`(fixture: Fixture) throws {
        let bytes = fixture.bytes
        let pieces = ByteSource(count: bytes.count) { range throws(CoderError) in Array(bytes[range]) }
        let decoder = try EXRDecoder(DecoderSession(source: pieces))

        #expect(try Self.pixels(decoder) == Self.pixels(Self.decoder(bytes)))
    }

    // MARK: Items

    private static func items(_ decoder: EXRDecoder) throws -> [ImageItem] {
        let count = try #require(try decoder.itemCount())
        return try (0..<count).map { try #require(try decoder.item(at: $0)) }
    }

    @Test func `lists the levels of a pyramid and decodes them as smaller sizes`() throws {
        let decoder = try Self.decoder(Self.bytes("levels"), options: Self.float)
        let info = try decoder.readHeader()

        let items = try Self.items(decoder)

        #expect(items.map(\.role) == [.primary] + [ImageItem.Role](repeating: .level, count: 6))
        #expect(items[1].info.size == PixelSize(32, 24))
        #expect(decoder.scaledSize(atLeast: PixelSize(20, 20), of: info.size) == PixelSize(32, 24))
        // Level 1 has every second pixel.
        let small = Self.halves(try Self.pixels(decoder, DecodeRequest(scaledSize: PixelSize(32, 24))))
        let large = Self.halves(try Self.pixels(decoder))
        for y in 0..<24 {
            for x in 0..<32 {
                let (a, b) = (3 * (y * 32 + x), 3 * (2 * y * 64 + 2 * x))
                #expect(Array(small[a..<a + 3]) == Array(large[b..<b + 3]))
            }
        }
    }

    @Test func `lists parts as pages`() throws {
        let decoder = try Self.decoder(Self.bytes("parts"), options: Self.float)
        _ = try decoder.readHeader()

        let items = try Self.items(decoder)
        #expect(items.map(\.role) == [.primary, .page])
        #expect(items.map(\.name) == ["left", "depth"])
        try decoder.select(item: 1)

        // A data window of 12x9 on a canvas of 21x19.
        #expect(items[1].info.nativeFormat.channels == .grayAlpha)
        let samples = Self.floats(try Self.pixels(decoder, DecodeRequest(), items[1].info))
        let (second, outside): ([Float], [Float]) = ([1 / Float(21), 1], [0, 0])
        #expect(Array(samples[2..<4]) == second)
        #expect(Array(samples[24..<26]) == outside)
    }

    @Test func `lists the views of a part as pages`() throws {
        let decoder = try Self.decoder(Self.bytes("views"), options: Self.float)
        _ = try decoder.readHeader()

        let items = try Self.items(decoder)
        #expect(items.map(\.name) == ["left", "right"])
        let left = Self.halves(try Self.pixels(decoder))
        try decoder.select(item: 1)
        let right = Self.halves(try Self.pixels(decoder, DecodeRequest(), items[1].info))

        // The right view has red and blue exchanged.
        #expect(Array(left[3..<6]) == Array(right[3..<6].reversed()))
        #expect(left != right)
    }

    @Test func `decodes the preview as a thumbnail`() throws {
        let decoder = try Self.decoder(Self.bytes("preview"))
        _ = try decoder.readHeader()

        let item = try #require(try Self.items(decoder).first { $0.role == .thumbnail })
        #expect(item.info.size == PixelSize(5, 4))
        try decoder.select(item: 1)

        let pixels = try Self.pixels(decoder, DecodeRequest(), item.info)
        let first: [UInt8] = [0, 0, 128, 255, 50, 0, 128, 255]
        #expect(Array(pixels[..<8]) == first)
    }

    @Test func `delivers texts as metadata`() throws {
        let blobs = try Self.decoder(Self.bytes("texts")).metadata()

        #expect(blobs.map(\.key) == ["comments", "owner"])
        #expect(blobs.map { String(decoding: $0.bytes, as: UTF8.self) } == ["a gradient", "nobody"])
    }

    @Test func `reports known primaries as code points`() throws {
        let points = try Self.decoder(Self.bytes("wide-colors")).readHeader().color.codePoints

        #expect(points?.primaries == 9)
        #expect(points?.transfer == 13)
    }

    // MARK: Damage

    @Test func `names what it refuses`() throws {
        for (name, word) in [("dwaa", "DWAA"), ("deep", "deep")] {
            let error = #expect(throws: CoderError.self) {
                _ = try Self.decoder(Self.bytes("bad/\(name)")).readHeader()
            }
            #expect(error?.code == .unsupportedFeature)
            #expect(error?.message.contains(word) == true)
        }
    }

    @Test(arguments: [false, true])
    func `delivers the rows of a cut file only as a part`(wantsPartial: Bool) throws {
        let decoder = try Self.decoder(Self.bytes("bad/cut"))
        let info = try decoder.readHeader()
        let buffer = try PixelBuffer(size: info.size, format: info.nativeFormat)
        let request = DecodeRequest(wantsPartial: wantsPartial)

        if wantsPartial {
            #expect(try decoder.decode(request, into: Surface(buffer)) == .partial(PixelRect(info.size)))
            let whole = try Self.pixels(Self.decoder(Self.bytes("half-zip")))
            #expect(Array(buffer.packed[6..<8]) == Array(whole[6..<8]))
        } else {
            let error = #expect(throws: CoderError.self) { _ = try decoder.decode(request, into: Surface(buffer)) }
            #expect(error?.code == .truncated)
        }
    }

    @Test func `keeps the limits of the session`() throws {
        var limits = DecodeLimits.default
        limits.maxSide = 20
        let error = #expect(throws: CoderError.self) {
            _ = try Self.decoder(Self.bytes("half-zip"), limits: limits).readHeader()
        }
        #expect(error?.code == .limitExceeded)

        limits.maxSide = 0
        limits.maxDecodedBytes = 3000
        #expect(throws: CoderError.self) { _ = try Self.pixels(Self.decoder(Self.bytes("half-piz"), limits: limits)) }
    }

    @Test(arguments: [100, 500, 1000])
    func `tells how much memory the library asks for`(allowed: Int) throws {
        var limits = DecodeLimits.default
        limits.maxDecodedBytes = allowed

        let error = #expect(throws: CoderError.self) {
            _ = try Self.decoder(Self.bytes("half-piz"), limits: limits).readHeader()
        }

        #expect(error?.code == .limitExceeded)
        let limit = try #require(error?.limit)
        #expect(limit.allowed == UInt64(allowed))
        #expect(limit.requested > limit.allowed)
    }

    /// OpenEXRCore has one error code for a lack of memory and for PIZ codes that need more room than there is.
    @Test func `takes a damaged chunk for damage where the library takes it for a lack of memory`() throws {
        let bytes = try Self.bytes("half-piz")
        for place in bytes.indices.dropFirst(1584) {
            for value: UInt8 in [0, 4, 127] {
                var changed = bytes
                changed[place] = value
                do {
                    _ = try Self.pixels(Self.decoder(changed))
                } catch let error as CoderError {
                    #expect(error.code == .corrupt || error.code == .truncated, "byte \(place) is \(value): \(error)")
                }
            }
        }
    }

    @Test func `asks for input while the file is not complete`() throws {
        let bytes = try Self.bytes("half-zip")
        let decoder = try EXRDecoder(DecoderSession(source: ByteSource(bytes, arrived: 3)))

        let error = #expect(throws: CoderError.self) { _ = try decoder.readHeader() }
        #expect(error?.code == .needsInput)
    }

    @Test(arguments: valid)
    func `survives changed bytes`(fixture: Fixture) throws {
        var random = SeededRandom(UInt64(fixture.byteCount))
        for _ in 0..<60 {
            let bytes = fixture.bytes.mutated([0, 1, 2, 4, 127, 128, 255], &random)
            guard let decoder = try? Self.decoder(bytes), let info = try? decoder.readHeader(),
                info.size.area ?? .max < 1 << 20,
                let buffer = try? PixelBuffer(size: info.size, format: info.nativeFormat)
            else { continue }
            _ = try? decoder.decode(DecodeRequest(), into: Surface(buffer))
        }
    }
}
