import CoderPluginKit
import ImageModel
import TIFFCodec
import TestSupport
import Testing

/// The pixels of whole files are those of the fixtures, which every bundled coder must decode.
@Suite(.timeLimit(.minutes(40))) struct `TIFF codec` {
    private static let valid = Fixture.valid.filter { $0.format == "tiff" }

    private static func little(_ value: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }

    /// One strip behind the header, then its directory; all values are SHORT, or LONG with `longs`.
    private static func file(
        _ width: Int, _ height: Int, bits: Int, samples: Int = 1, photometric: Int = 1, format: Int = 1,
        strip: [UInt8], longs: [Int: Int] = [:]
    ) -> [UInt8] {
        let padded = strip.count % 2 == 0 ? strip : strip + [0]
        var fields: [Int: (type: Int, count: Int, value: Int)] = [
            256: (3, 1, width), 257: (3, 1, height), 259: (3, 1, 1), 262: (3, 1, photometric), 273: (4, 1, 8),
            277: (3, 1, samples), 278: (3, 1, height), 279: (4, 1, strip.count), 339: (3, 1, format),
        ]
        let behind = 8 + padded.count
        fields[258] = samples < 3 ? (3, samples, bits | bits << 16) : (3, samples, behind)
        fields[339] = samples < 3 ? (3, samples, format | format << 16) : (3, samples, behind + 2 * samples)
        for (tag, value) in longs { fields[tag] = (4, 1, value) }
        let lists = [bits, format].flatMap { value in (0..<samples).flatMap { _ in little(value, 2) } }
        var bytes: [UInt8] = [0x49, 0x49, 42, 0] + little(behind + lists.count, 4) + padded + lists
        bytes += little(fields.count, 2)
        for (tag, field) in fields.sorted(by: { $0.key < $1.key }) {
            bytes += little(tag, 2) + little(field.type, 2) + little(field.count, 4) + little(field.value, 4)
        }
        return bytes + [0, 0, 0, 0]
    }

    private static func decoder(_ source: ByteSource, options: CoderOptions = [:]) throws -> TIFFDecoder {
        try TIFFDecoder(DecoderSession(source: source, options: options))
    }

    private static func pixels(_ decoder: TIFFDecoder, _ request: DecodeRequest = DecodeRequest()) throws -> [UInt8] {
        let info = try decoder.readHeader()
        let size = request.region?.size ?? request.scaledSize ?? info.size
        let buffer = try PixelBuffer(size: size, format: info.nativeFormat)
        #expect(try decoder.decode(request, into: Surface(buffer)) == .complete)
        return buffer.packed
    }

    private static func floats(_ bytes: [UInt8]) throws -> [Float] {
        let decoder = try decoder(ByteSource(bytes), options: ["tiff.float": .bool(true)])
        #expect(try decoder.readHeader().nativeFormat.numeric == .float)
        let packed = try pixels(decoder)
        return stride(from: 0, to: packed.count, by: 4).map { start in
            Float(bitPattern: (0..<4).reduce(0) { $0 | UInt32(packed[start + $1]) << (8 * UInt32($1)) })
        }
    }

    // MARK: Parts

    @Test(arguments: valid)
    func `decodes a part like the same part of the whole image`(fixture: Fixture) throws {
        let decoder = try Self.decoder(ByteSource(fixture.bytes))
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

    @Test(arguments: valid)
    func `decodes bands of any height like the whole image`(fixture: Fixture) throws {
        let decoder = try Self.decoder(ByteSource(fixture.bytes))
        let size = try decoder.readHeader().size
        var bands: [UInt8] = []
        for y in stride(from: 0, to: size.height, by: 3) {
            let band = PixelRect(x: 0, y: y, width: size.width, height: min(3, size.height - y))
            bands += try Self.pixels(decoder, DecodeRequest(region: band))
        }
        let whole = try Self.pixels(decoder)
        #expect(bands == whole)
    }

    @Test(arguments: valid)
    func `decodes a source that is read in pieces`(fixture: Fixture) throws {
        let bytes = fixture.bytes
        let pieces = ByteSource(count: bytes.count) { range throws(CoderError) in Array(bytes[range]) }

        #expect(try Self.pixels(Self.decoder(pieces)) == Self.pixels(Self.decoder(ByteSource(bytes))))
    }

    // MARK: Samples

    @Test(
        arguments: [(16, [0x00, 0x3C]), (32, [0, 0, 0x80, 0x3F]), (64, [0, 0, 0, 0, 0, 0, 0xF0, 0x3F])]
            as [(Int, [UInt8])])
    func `decodes floats of all widths`(bits: Int, one: [UInt8]) throws {
        let bytes = Self.file(2, 1, bits: bits, format: 3, strip: one + [UInt8](repeating: 0, count: bits / 8))
        let decoder = try Self.decoder(ByteSource(bytes), options: ["tiff.float": .bool(true)])

        let info = try decoder.readHeader()

        #expect(info.nativeFormat.numeric == .float)
        #expect(info.nativeFormat.bits == (bits == 16 ? 16 : 32))
        let expected: [UInt8] = bits == 16 ? [0, 0x3C, 0, 0] : [0, 0, 0x80, 0x3F, 0, 0, 0, 0]
        #expect(try Self.pixels(decoder) == expected)
    }

    /// 2, 0.5, -1, NaN: only 0 to 1 has a place in integers.
    @Test func `decodes floats as 16-bit samples by default`() throws {
        let strip: [UInt8] = [0, 0, 0, 0x40, 0, 0, 0, 0x3F, 0, 0, 0x80, 0xBF, 0, 0, 0xC0, 0x7F]
        let decoder = try Self.decoder(ByteSource(Self.file(4, 1, bits: 32, format: 3, strip: strip)))

        #expect(try decoder.readHeader().nativeFormat == .gray16)
        #expect(try Self.pixels(decoder) == [255, 255, 0, 128, 0, 0, 0, 0])
    }

    @Test func `decodes wide integers as their high bits by default`() throws {
        let strip: [UInt8] = [0, 0, 0x34, 0x12, 255, 255, 255, 255]
        let decoder = try Self.decoder(ByteSource(Self.file(2, 1, bits: 32, strip: strip)))

        #expect(try decoder.readHeader().nativeFormat == .gray16)
        #expect(try Self.pixels(decoder) == [0x34, 0x12, 255, 255])
    }

    /// 24 bits: sign, exponent + 63 in 7 bits, fraction in 16.
    @Test func `decodes floats of 24 bits`() throws {
        let values: [UInt8] = [0, 0, 63, 0, 0x80, 64, 0, 0, 0x80 | 62]

        #expect(try Self.floats(Self.file(3, 1, bits: 24, format: 3, strip: values)) == [1, 3, -0.5])
    }

    @Test(arguments: [(32, 1, [Float(0), 1]), (32, 2, [0.5, 0.5]), (24, 1, [0, 1])] as [(Int, Int, [Float])])
    func `decodes wide integers as 0 to 1`(bits: Int, format: Int, expected: [Float]) throws {
        let strip = [UInt8](repeating: 0, count: bits / 8) + [UInt8](repeating: 255, count: bits / 8)

        let values = try Self.floats(Self.file(2, 1, bits: bits, format: format, strip: strip))

        for (value, wanted) in zip(values, expected) { #expect(abs(value - wanted) < 1e-6) }
    }

    /// L* of 100 is white; a* of 80 is red, b* of -80 is blue.
    @Test func `decodes Lab as linear light`() throws {
        let lab: [UInt8] = [255, 0, 0, 0, 0, 0, 128, 80, 0, 128, 0, 176]
        let bytes = Self.file(4, 1, bits: 8, samples: 3, photometric: 8, strip: lab)
        let decoder = try Self.decoder(ByteSource(bytes))

        #expect(try decoder.readHeader().color.codePoints?.transfer == 8)
        let values = try Self.floats(bytes)

        for channel in 0..<3 {
            #expect(abs(values[channel] - 1) < 0.001)
            #expect(abs(values[3 + channel]) < 0.001)
        }
        #expect(values[6] > 2 * values[7])
        #expect(values[11] > 2 * values[10])
    }

    /// Le = 256 × (log2 Y + 64): 0x4000 is 1, 0x3E00 is 1/4. A row has its high bytes first, each plane in runs.
    @Test func `decodes LogL as linear light`() throws {
        let strip: [UInt8] = [2, 0x40, 0x3E, 2, 0, 0]
        let bytes = Self.file(
            2, 1, bits: 16, photometric: 32_844, format: 2, strip: strip, longs: [259: 34_676])
        let info = try Self.decoder(ByteSource(bytes)).readHeader()

        #expect(info.color.codePoints == CodePoints(primaries: 1, transfer: 8, matrix: 0, isFullRange: true))
        #expect(info.color.prefersCodePoints)
        let values = try Self.floats(bytes)
        // libtiff delivers the middle of a step, 1/256 of an octave.
        for (value, wanted) in zip(values, [Float(1), 0.25]) { #expect(abs(value / wanted - 1) < 0.002) }
    }

    // MARK: Items and levels

    @Test func `lists pages with their names and sizes`() throws {
        let decoder = try Self.decoder(ByteSource(Fixture.named("tiff/three-pages.tif").bytes))

        #expect(try decoder.readHeader().hasItems)
        #expect(try decoder.itemCount() == 3)
        let items = try (0..<3).map { try #require(try decoder.item(at: $0)) }
        #expect(items.map(\.role) == [.primary, .page, .page])
        #expect(items.map(\.info.size) == [PixelSize(13, 7), PixelSize(20, 9), PixelSize(13, 7)])
        #expect(items.map(\.name) == ["first", "second", nil])
        #expect(try decoder.item(at: 3) == nil)

        try decoder.select(item: 1)
        // The first pixels of the recipe: x × 5, y × 5, (x + y) × 3.
        #expect(try Self.pixels(decoder).prefix(6) == [0, 0, 0, 5, 0, 3])
        try decoder.select(item: 0)
        #expect(try decoder.readHeader().nativeFormat == .gray8)
    }

    @Test(arguments: [
        ("level-below.tif", [PixelSize(40, 24)]), ("levels.tif", [PixelSize(40, 24), PixelSize(20, 12)]),
    ])
    func `decodes the level that is large enough`(name: String, levels: [PixelSize]) throws {
        let decoder = try Self.decoder(ByteSource(Fixture.named("tiff/\(name)").bytes))
        let size = try decoder.readHeader().size

        let roles = try (1...levels.count).map { try #require(try decoder.item(at: $0)).role }
        #expect(roles.allSatisfy { $0 == .level })
        #expect(decoder.scaledSize(atLeast: PixelSize(41, 1), of: size) == size)
        for (index, level) in levels.enumerated() {
            #expect(decoder.scaledSize(atLeast: PixelSize(level.width - 1, level.height - 1), of: size) == level)
            let step = 2 << index
            let pixels = try Self.pixels(decoder, DecodeRequest(scaledSize: level))
            #expect(pixels[3..<6] == [UInt8(5 * step), 0, UInt8(3 * step)])
        }
    }

    @Test(arguments: [(4, 12), (2, 12), (1, 12)])
    func `reduces JPEG tiles one by one`(eighths: Int, tolerance: Int) throws {
        let decoder = try Self.decoder(ByteSource(Fixture.named("tiff/jpeg-tiles.tif").bytes))
        let size = try decoder.readHeader().size
        let reduced = PixelSize(size.width * eighths / 8, size.height * eighths / 8)

        #expect(decoder.scaledSize(atLeast: reduced, of: size) == reduced)
        let pixels = try Self.pixels(decoder, DecodeRequest(scaledSize: reduced))

        // The recipe's gradient: x × 2, y × 3, 128, here at the middle of each block.
        for y in 0..<reduced.height {
            for x in 0..<reduced.width {
                let start = 3 * (y * reduced.width + x)
                let middle = (8 / eighths - 1, 2 * 8 / eighths)
                let wanted = [x * middle.1 + middle.0, (y * middle.1 + middle.0) * 3 / 2, 128]
                for channel in 0..<3 { #expect(abs(Int(pixels[start + channel]) - wanted[channel]) <= tolerance) }
            }
        }
    }

    // MARK: Metadata

    @Test func `delivers metadata as streams of their own`() throws {
        let decoder = try Self.decoder(ByteSource(Fixture.named("tiff/metadata.tif").bytes))
        let info = try decoder.readHeader()
        let blobs = try decoder.metadata()

        #expect(info.density == .perMeter(x: 11_811, y: 11_811))
        #expect(blobs.first { $0.kind == .xmp }?.bytes == Array(#"<x:xmpmeta xmlns:x="adobe:ns:meta/"/>"#.utf8))
        #expect(blobs.first { $0.kind == .iptc }?.bytes.prefix(10) == [0x1C, 2, 5, 0, 5, 116, 105, 116, 108, 101])
        let stored = try #require(blobs.first { $0.kind == .exif })
        let exif = try #require(TIFFStructure(stored.bytes))
        #expect(exif.isBigEndian)
        #expect(exif.field(271, in: exif.first)?.count == 6)
        #expect(exif.field(273, in: exif.first)?.count == nil)
        let camera = try #require(exif.number(34_665, in: exif.first))
        #expect(exif.field(37_500, in: camera)?.count == 10)
        let place = try #require(exif.number(34_853, in: exif.first))
        #expect(exif.field(2, in: place)?.count == 3)
        let degrees = try #require(exif.field(2, in: place))
        #expect(exif.long(at: exif.long(at: degrees.place)) == 48)
    }

    // MARK: Damage

    @Test func `waits for the complete source`() throws {
        let bytes = Fixture.named("tiff/rgb.tif").bytes
        let source = ByteSource(bytes, arrived: 200)
        let decoder = try Self.decoder(source)

        #expect(throws: CoderError.needsInput) { try decoder.readHeader() }
        source.arrive()
        #expect(try Self.pixels(decoder).count == 13 * 7 * 3)
    }

    /// The directory comes first, so that a cut file loses strips only.
    private static func cut(strips: Int) -> [UInt8] {
        let start = 8 + 2 + 10 * 12 + 4 + 16
        var fields: [(Int, Int, Int, Int)] = [
            (256, 3, 1, 4), (257, 3, 1, 4), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1), (273, 4, 4, start - 16),
            (277, 3, 1, 1), (278, 3, 1, 1), (279, 1, 4, 0x0404_0404), (284, 3, 1, 1),
        ]
        fields.sort { $0.0 < $1.0 }
        var bytes: [UInt8] = [0x49, 0x49, 42, 0] + little(8, 4) + little(fields.count, 2)
        for field in fields {
            bytes += little(field.0, 2) + little(field.1, 2) + little(field.2, 4) + little(field.3, 4)
        }
        bytes += [0, 0, 0, 0] + (0..<4).flatMap { little(start + 4 * $0, 4) }
        return bytes + (0..<4 * strips).map { UInt8($0 + 1) }
    }

    @Test(arguments: 1..<4) func `delivers the strips of a truncated file`(strips: Int) throws {
        let decoder = try Self.decoder(ByteSource(Self.cut(strips: strips)))
        let info = try decoder.readHeader()
        let buffer = try PixelBuffer(size: info.size, format: info.nativeFormat)

        let error = #expect(throws: CoderError.self) { try decoder.decode(DecodeRequest(), into: Surface(buffer)) }
        #expect(error?.code == .truncated)
        #expect(error?.message == "\(4 - strips) of 4 strips are missing")

        let outcome = try decoder.decode(DecodeRequest(wantsPartial: true), into: Surface(buffer))
        #expect(outcome == .partial(PixelRect(info.size)))
        #expect(buffer.packed.prefix(4 * strips) == (0..<4 * strips).map { UInt8($0 + 1) }[...])
        #expect(buffer.packed.suffix(16 - 4 * strips).allSatisfy { $0 == 0 })
    }

    @Test func `rejects rare codecs if they are off`() throws {
        var bytes = Fixture.named("tiff/packbits.tif").bytes
        // Tag 259 with 32773 becomes 32809, ThunderScan.
        let place = try #require(
            (0..<bytes.count - 12).first { bytes[$0...].starts(with: [3, 1, 3, 0, 1, 0, 0, 0, 5, 128]) })
        bytes.replaceSubrange(place + 8..<place + 10, with: [0x29, 0x80])

        let error = #expect(throws: CoderError.self) {
            try Self.decoder(ByteSource(bytes), options: ["tiff.rare-codecs": .bool(false)]).readHeader()
        }

        #expect(error?.code == .unsupportedFeature)
    }

    /// Every truncation and every changed byte ends with pixels or a typed error, and never with a crash.
    @Test(arguments: ["rgb.tif", "bigtiff.tif", "lzw.tif", "large-tiles.tif", "metadata.tif", "three-pages.tif"])
    func `survives damage`(name: String) throws {
        let bytes = Fixture.named("tiff/\(name)").bytes
        func attempt(_ bytes: [UInt8]) {
            do throws(CoderError) {
                let decoder = try TIFFDecoder(DecoderSession(source: ByteSource(bytes)))
                let info = try decoder.readHeader()
                guard let area = info.size.area, area < 1 << 20 else { return }
                _ = try decoder.metadata()
                let buffer = try PixelBuffer(size: info.size, format: info.nativeFormat)
                _ = try decoder.decode(DecodeRequest(wantsPartial: true), into: Surface(buffer))
            } catch {
                #expect(error.code != .misuse && error.code != .needsInput, "\(error)")
            }
        }
        for count in stride(from: 0, to: bytes.count, by: max(1, bytes.count / 120)) { attempt(Array(bytes[..<count])) }
        for place in stride(from: 0, to: bytes.count, by: max(1, bytes.count / 400)) {
            var changed = bytes
            changed[place] ^= 0x81
            attempt(changed)
        }
    }
}
