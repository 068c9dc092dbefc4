import CoderPluginKit
import ImageModel
import JPEGCodec
import TestSupport
import Testing

private func file(_ name: String) throws -> [UInt8] { try #require(readFile(Repository.fixture("jpeg/\(name)"))) }

private func samples(_ name: String) throws -> [UInt8] {
    let bytes = try file(name)
    return Array(bytes.split(separator: 0x0A, maxSplits: 3, omittingEmptySubsequences: false)[3])
}

private func pixels(_ buffer: PixelBuffer) -> [UInt8] {
    (0..<buffer.size.height).flatMap { y in
        buffer.withRow(y) { row in row.byteOffsets.map { unsafe row.unsafeLoad(fromByteOffset: $0, as: UInt8.self) } }
    }
}

private func segment(_ marker: UInt8, _ body: [UInt8]) -> [UInt8] {
    [0xFF, marker, UInt8((body.count + 2) >> 8), UInt8((body.count + 2) & 0xFF)] + body
}

private func u16(_ value: Int, _ big: Bool) -> [UInt8] {
    let bytes = [UInt8(truncatingIfNeeded: value >> 8), UInt8(truncatingIfNeeded: value)]
    return big ? bytes : bytes.reversed()
}

private func u32(_ value: Int, _ big: Bool) -> [UInt8] {
    let (high, low) = (u16(value >> 16, big), u16(value, big))
    return big ? high + low : low + high
}

/// Exif with an orientation in IFD0 and the given entries of IFD1; the thumbnail is at the start of IFD1's data.
private func exif(
    _ thumbnail: [UInt8], big: Bool = false, orientation: Int = 6, start: Int? = nil, length: Int? = nil,
    compression: Int? = 6, next: Int? = nil, entries: Int? = nil
) -> [UInt8] {
    func entry(_ tag: Int, _ type: Int, _ value: Int) -> [UInt8] {
        u16(tag, big) + u16(type, big) + u32(1, big) + (type == 3 ? u16(value, big) + [0, 0] : u32(value, big))
    }
    var list: [[UInt8]] = compression.map { [entry(0x0103, 3, $0)] } ?? []
    let count = list.count + 2
    let data = 26 + 2 + count * 12 + 4
    list += [entry(0x0201, 4, start ?? data), entry(0x0202, 4, length ?? thumbnail.count)]
    var bytes: [UInt8] = big ? [0x4D, 0x4D, 0, 42] : [0x49, 0x49, 42, 0]
    bytes += u32(8, big)
    bytes += u16(1, big) + entry(0x0112, 3, orientation) + u32(next ?? 26, big)
    bytes += u16(entries ?? count, big)
    for entry in list { bytes += entry }
    return bytes + u32(0, big) + thumbnail
}

private func inserting(_ exif: [UInt8], into bytes: [UInt8]) -> [UInt8] {
    Array(bytes[..<2]) + segment(0xE1, Array("Exif\0\0".utf8) + exif) + Array(bytes[2...])
}

private func decoder(_ bytes: [UInt8], limits: DecodeLimits = .default) throws -> JPEGDecoder {
    try JPEGDecoder(DecoderSession(source: ByteSource(bytes), limits: limits))
}

/// Decodes the only thumbnail.
private func thumbnail(_ bytes: [UInt8], limits: DecodeLimits = .default) throws -> (info: ImageInfo, pixels: [UInt8]) {
    let decoder = try decoder(bytes, limits: limits)
    try #require(try decoder.readHeader().hasItems)
    let item = try #require(try decoder.item(at: 1))
    #expect(item.role == .thumbnail && item.owner == 0)
    #expect(try decoder.item(at: 2) == nil)
    return (item.info, try selected(1, of: decoder))
}

/// The pixels of an item.
private func selected(_ index: Int, of decoder: JPEGDecoder) throws -> [UInt8] {
    try decoder.select(item: index)
    let info = try decoder.readHeader()
    let buffer = try PixelBuffer(size: info.size, format: info.nativeFormat)
    #expect(try decoder.decode(DecodeRequest(), into: Surface(buffer)) == .complete)
    return pixels(buffer)
}

@Suite struct `JPEG thumbnails` {
    @Test(arguments: [true, false]) func `of Exif equal the colors of another program`(big: Bool) throws {
        let bytes = inserting(exif(try file("baseline-420.jpg"), big: big), into: try file("baseline-444-restart.jpg"))
        let found = try thumbnail(bytes)

        #expect(found.info.size == PixelSize(40, 24) && found.info.nativeFormat == .rgb8)
        #expect(try found.pixels == samples("baseline-420.ppm"))
        #expect(try decoder(bytes).readHeader().orientation == Orientation(rawValue: 6))
    }

    @Test(arguments: [("gray.jpg", "gray.pgm"), ("progressive-422.jpg", "progressive-422.ppm")])
    func `may be gray or progressive, and need not declare to be JPEG`(name: String, expected: String) throws {
        let bytes = inserting(exif(try file(name), compression: nil), into: try file("baseline-420.jpg"))
        #expect(try thumbnail(bytes).pixels == samples(expected))
    }

    @Test func `do not affect their image`() throws {
        let bytes = inserting(exif(try file("gray.jpg")), into: try file("baseline-420.jpg"))
        let decoder = try decoder(bytes)
        for _ in 0..<2 {
            #expect(try selected(1, of: decoder) == samples("gray.pgm"))
            #expect(try selected(0, of: decoder) == samples("baseline-420.ppm"))
        }
    }

    @Test func `of JFIF are rows of RGB`() throws {
        let rows = (0..<30).map { UInt8($0 * 8) }
        let plain = Array("JFIF\0".utf8) + [1, 2, 0, 0, 1, 0, 1, 5, 2] + rows
        let extended = Array("JFXX\0".utf8) + [0x13, 2, 5] + rows
        let packed = Array("JFXX\0".utf8) + [0x10] + (try file("gray.jpg"))
        let body = try file("baseline-420.jpg")

        let first = try thumbnail(Array(body[..<2]) + segment(0xE0, plain) + Array(body[2...]))
        #expect(first.info.size == PixelSize(5, 2) && first.pixels == rows)
        let second = try thumbnail(Array(body[..<2]) + segment(0xE0, extended) + Array(body[2...]))
        #expect(second.info.size == PixelSize(2, 5) && second.pixels == rows)
        #expect(
            try thumbnail(Array(body[..<2]) + segment(0xE0, packed) + Array(body[2...])).pixels == samples("gray.pgm"))
        for damaged in [Array(plain.dropLast()), Array(extended.dropLast()), Array(packed[..<30])] {
            let bytes = Array(body[..<2]) + segment(0xE0, damaged) + Array(body[2...])
            #expect(try decoder(bytes).readHeader().hasItems == false)
        }
    }

    @Test func `that are invalid are not listed`() throws {
        let small = try file("gray.jpg")
        let whole = exif(small).count
        let impossible: [(String, [UInt8])] = [
            ("begins behind the end", exif(small, start: whole)),
            ("begins far behind the end", exif(small, start: 0xFFFF_FFF0)),
            ("begins in the header", exif(small, start: 4)),
            ("begins at a wrong position", exif(small, start: 70)),
            ("is longer than the blob", exif(small, length: small.count + 1)),
            ("has the maximum length", exif(small, length: 0xFFFF_FFFF)),
            ("is empty", exif(small, length: 0)),
            ("ends in its header", exif(small, length: 40)),
            ("is not compressed", exif(small, compression: 1)),
            ("has a circle of directories", exif(small, next: 8)),
            ("has its directory behind the end", exif(small, next: whole - 3)),
            ("has its directory far behind the end", exif(small, next: 0xFFFF_FFFF)),
            ("has its directory in the header", exif(small, next: 2)),
            ("has too many entries", exif(small, entries: 0xFFFF)),
            ("has no entries", exif(small, entries: 0)),
            ("has no further directory", exif(small, next: 0)),
            ("is not a JPEG", exif([UInt8](repeating: 0x20, count: 300))),
            ("has four components", exif(try file("cmyk.jpg"))),
        ]
        for (name, blob) in impossible {
            let decoder = try decoder(inserting(blob, into: try file("baseline-420.jpg")))
            #expect(try decoder.readHeader().hasItems == false, "\(name)")
            #expect(try decoder.item(at: 1) == nil, "\(name)")
        }
    }

    @Test func `have the size of their own data, within the image and the limits`() throws {
        var lying = try file("gray.jpg")
        // ITU-T T.81 B.2.2: behind FFC0, the length and the precision come height and width.
        let frame = try #require(lying.indices.dropLast().first { lying[$0] == 0xFF && lying[$0 + 1] == 0xC0 })
        lying.replaceSubrange(frame + 5..<frame + 9, with: [0xFF, 0xDC, 0xFF, 0xDC])
        let larger = inserting(exif(lying), into: try file("baseline-420.jpg"))
        #expect(try decoder(larger).readHeader().hasItems == false)

        var limits = DecodeLimits.default
        limits.maxPixels = 40 * 24 - 1
        let bytes = inserting(exif(try file("gray.jpg")), into: try file("baseline-420.jpg"))
        #expect(try decoder(bytes, limits: limits).readHeader().hasItems == false)
    }

    @Test func `that are cut are truncated`() throws {
        let small = try file("baseline-420.jpg")
        let bytes = inserting(exif(Array(small[..<(small.count - 200)])), into: try file("baseline-444-restart.jpg"))
        var code: CoderError.Code?
        do throws(CoderError) {
            let decoder = try JPEGDecoder(DecoderSession(source: ByteSource(bytes)))
            try decoder.select(item: 1)
            _ = try decoder.decode(
                DecodeRequest(), into: Surface(PixelBuffer(size: PixelSize(40, 24), format: .rgb8)))
        } catch { code = error.code }
        #expect(code == .truncated)
    }

    @Test func `end for any damage`() throws {
        let bytes = inserting(exif(try file("gray.jpg")), into: try file("baseline-420.jpg"))
        var random = SeededRandom(11)
        var decoded = 0
        for _ in 0..<400 {
            var hurt = bytes
            for _ in 0..<4 {
                hurt[Int.random(in: 12..<200, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            do throws(CoderError) {
                let decoder = try JPEGDecoder(DecoderSession(source: ByteSource(hurt)))
                for index in 1..<(try decoder.readHeader().hasItems ? 8 : 1) {
                    guard let info = try decoder.item(at: index)?.info else { continue }
                    #expect(info.size.width * info.size.height <= 40 * 24)
                    try decoder.select(item: index)
                    _ = try decoder.decode(
                        DecodeRequest(), into: Surface(PixelBuffer(size: info.size, format: info.nativeFormat)))
                    decoded += 1
                }
            } catch {
                #expect(error.code != .misuse && error.code != .pluginFault)
            }
        }
        #expect(decoded > 20)
    }
}

@Suite struct `Embedding a JPEG thumbnail` {
    /// A flat image with a thumbnail of another color.
    private func encode(
        exif: [UInt8]? = nil, orientation: Orientation? = nil, size: PixelSize = PixelSize(32, 20),
        format: PixelFormat = .rgb8, noise: Bool = false
    ) throws -> [UInt8] {
        let encoder = try JPEGEncoder(EncoderSession())
        let sink = ByteSink()
        let whole = PixelSize(max(64, size.width), max(40, size.height))
        try encoder.begin(ImageInfo(size: whole, nativeFormat: format, orientation: orientation), to: sink)
        let small = try PixelBuffer(size: size, format: format)
        var random = SeededRandom(3)
        for y in 0..<size.height {
            small.withMutableRow(y) { row in
                for at in row.byteOffsets {
                    let value = noise ? UInt8.random(in: 0...255, using: &random) : UInt8(60 * (at % 3) + 40)
                    row.storeBytes(of: value, toByteOffset: at, as: UInt8.self)
                }
            }
        }
        let thumbnail = Surface(small)
        try encoder.addThumbnail(pixels: thumbnail)
        if let exif { #expect(try encoder.add(MetadataBlob(.exif, exif))) }
        let surface = Surface(try PixelBuffer(size: whole, format: format))
        try encoder.add(FrameInfo(index: 0, rect: PixelRect(whole)), pixels: surface)
        try encoder.finish()
        return sink.written
    }

    private func blob(_ bytes: [UInt8]) throws -> [UInt8] {
        try #require(try decoder(bytes).metadata().first { $0.kind == .exif }).bytes
    }

    @Test func `makes new Exif data for it`() throws {
        let bytes = try encode()
        let found = try thumbnail(bytes)
        #expect(found.info.size == PixelSize(32, 20))
        let off = found.pixels.indices.map { abs(Int(found.pixels[$0]) - (60 * ($0 % 3) + 40)) }
        #expect(off.max()! <= 3)

        // Little endian, IFD0 with the orientation at 8, IFD1 behind it: CIPA DC-008 table 4's order of tags.
        let exif = try blob(bytes)
        #expect(exif[..<8] == [0x49, 0x49, 42, 0, 8, 0, 0, 0])
        #expect(exif[22..<26] == [26, 0, 0, 0])
        func number(at place: Int) -> Int { Int(exif[place]) | Int(exif[place + 1]) << 8 }
        #expect((0..<6).map { number(at: 28 + 12 * $0) } == [0x0103, 0x011A, 0x011B, 0x0128, 0x0201, 0x0202])
        let start = number(at: 28 + 48 + 8)
        let length = number(at: 28 + 60 + 8)
        #expect(start + length == exif.count)
        #expect(exif[start..<start + 2] == [0xFF, 0xD8] && exif[(exif.count - 2)...] == [0xFF, 0xD9])
    }

    @Test(arguments: [true, false]) func `keeps the Exif tags, and drops the old thumbnail`(big: Bool) throws {
        let marker = Array("what was cut away".utf8)
        let old = (try file("gray.jpg")) + marker + [0xFF, 0xD9]
        for (before, isLast) in [(exif(old, big: big), true), (exif(old, big: big) + [1, 2, 3, 4], false)] {
            let bytes = try encode(exif: before, orientation: Orientation(rawValue: 8))
            let after = try blob(bytes)

            #expect(try thumbnail(bytes).info.size == PixelSize(32, 20))
            #expect(try decoder(bytes).readHeader().orientation == Orientation(rawValue: 8))
            // IFD0 keeps its position; only the orientation's value and the following link differ.
            #expect(after[..<18] == before[..<18])
            #expect(!after.indices.contains { after[$0...].starts(with: marker) })
            if !isLast { #expect(after[before.count - 4..<before.count] == [1, 2, 3, 4]) }
        }
    }

    @Test func `may be gray`() throws {
        let found = try thumbnail(encode(format: .gray8))
        #expect(found.info.nativeFormat == .gray8)
    }

    @Test func `lowers its quality until it fits, or omits it`() throws {
        let noisy = try encode(size: PixelSize(320, 240), noise: true)
        #expect(try thumbnail(noisy).info.size == PixelSize(320, 240))
        #expect(try blob(noisy).count <= 65_533 - 6)

        // If Exif nearly fills a segment, no thumbnail fits.
        let full = ExifOrientation.blob(.up) + [UInt8](repeating: 0, count: 65_400)
        let bytes = try encode(exif: full)
        #expect(try decoder(bytes).readHeader().hasItems == false)
        #expect(try blob(bytes) == full)
    }

    @Test func `keeps invalid Exif data unchanged`() throws {
        let strange = Array("no TIFF structure".utf8)
        let bytes = try encode(exif: strange)
        #expect(try blob(bytes) == strange)
        #expect(try decoder(bytes).readHeader().hasItems == false)
    }
}
