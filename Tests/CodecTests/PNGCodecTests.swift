import CoderPluginKit
import ImageModel
import PNGCodec
import TestSupport
import Testing

// MARK: A file made by hand

/// Writes PNG chunk by chunk, with stored deflate blocks, so that every byte of a test's input is known.
private struct HandmadePNG {
    static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    var header: [UInt8]
    var before: [[UInt8]] = []
    /// Rows with their filter bytes.
    var rows: [UInt8]
    var after: [[UInt8]] = []

    init(_ width: Int, _ height: Int, depth: UInt8, type: UInt8, interlaced: Bool = false, rows: [UInt8]) {
        header = be32(width) + be32(height) + [depth, type, 0, 0, interlaced ? 1 : 0]
        self.rows = rows
    }

    var bytes: [UInt8] {
        Self.signature + chunk("IHDR", header) + before.joined() + chunk("IDAT", zlib(rows)) + after.joined()
            + chunk("IEND", [])
    }

    /// Where the data of the IDAT begins.
    var dataOffset: Int { 8 + 25 + before.joined().count + 8 }
}

private func be32(_ value: Int) -> [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) } }

private func crc(_ bytes: [UInt8]) -> Int {
    var crc: UInt32 = ~0
    for byte in bytes {
        crc ^= UInt32(byte)
        for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
    }
    return Int(~crc)
}

private func chunk(_ name: String, _ data: [UInt8], damaged: Bool = false) -> [UInt8] {
    let body = Array(name.utf8) + data
    return be32(data.count) + body + be32(crc(body) ^ (damaged ? 1 : 0))
}

/// A zlib stream of one stored block (RFC 1950, RFC 1951 section 3.2.4).
private func zlib(_ data: [UInt8]) -> [UInt8] {
    precondition(data.count < 0x1_0000)
    var (a, b) = (1, 0)
    for byte in data {
        a = (a + Int(byte)) % 65521
        b = (b + a) % 65521
    }
    let low = UInt8(data.count & 0xFF)
    let high = UInt8(data.count >> 8)
    return [0x78, 0x01, 0x01, low, high, ~low, ~high] + data + be32(b << 16 | a)
}

/// A profile without tags, as libpng wants it (ICC.1, 7.2); what follows keeps it from being deflated to less than 92
/// bytes, which libpng takes for too short.
private func profile() -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 132) + (0..<200).map { UInt8(truncatingIfNeeded: $0 * $0 * 73 >> 3) }
    bytes.replaceSubrange(0..<4, with: be32(332))
    bytes[8] = 4
    bytes.replaceSubrange(12..<24, with: Array("mntrRGB XYZ ".utf8))
    bytes.replaceSubrange(36..<40, with: Array("acsp".utf8))
    bytes.replaceSubrange(68..<80, with: [0, 0, 0xF6, 0xD6, 0, 1, 0, 0, 0, 0, 0xD3, 0x2D])
    return bytes
}

private func dot(before: [[UInt8]] = [], after: [[UInt8]] = []) -> HandmadePNG {
    var file = HandmadePNG(1, 1, depth: 8, type: 2, rows: [0, 10, 20, 30])
    file.before = before
    file.after = after
    return file
}

// MARK: Decoding and encoding

private struct Picture {
    var info: ImageInfo
    var buffer: PixelBuffer
    var blobs: [MetadataBlob]

    /// All samples in order, 16-bit ones whole.
    var samples: [Int] {
        (0..<info.size.height).flatMap { y in
            buffer.withRow(y) { row in
                stride(from: 0, to: row.byteCount, by: buffer.format.bytesPerSample).map {
                    buffer.format.bits == 8
                        ? Int(row.byte(at: $0)) : Int(unsafe row.unsafeLoadUnaligned(fromByteOffset: $0, as: UInt16.self))
                }
            }
        }
    }

    func blob(_ kind: MetadataBlob.Kind, _ key: String? = nil) -> [UInt8]? {
        blobs.first { $0.kind == kind && (key == nil || $0.key == key) }?.bytes
    }
}

private func decode(
    _ bytes: [UInt8], as format: PixelFormat? = nil, limits: DecodeLimits = .default
) throws -> Picture {
    let decoder = try PNGDecoder(DecoderSession(source: ByteSource(bytes), limits: limits))
    let info = try decoder.readHeader()
    let buffer = try PixelBuffer(size: info.size, format: format ?? info.nativeFormat)
    #expect(try decoder.decode(DecodeRequest(), into: Surface(buffer)) == .complete)
    return Picture(info: info, buffer: buffer, blobs: try decoder.metadata())
}

private func failure(_ bytes: [UInt8], limits: DecodeLimits = .default) -> CoderError.Code? {
    do {
        _ = try decode(bytes, limits: limits)
        return nil
    } catch {
        return (error as? CoderError)?.code
    }
}

private func encode(
    _ buffer: PixelBuffer, _ options: CoderOptions = [:], blobs: [MetadataBlob] = [],
    describe: (inout ImageInfo) -> Void = { _ in }
) throws -> [UInt8] {
    let encoder = try PNGEncoder(EncoderSession(options: options))
    var info = ImageInfo(size: buffer.size, nativeFormat: buffer.format)
    describe(&info)
    #expect(try encoder.acceptedFormats(for: info).first == buffer.format)
    let sink = ByteSink()
    try encoder.begin(info, to: sink)
    for blob in blobs { #expect(try encoder.add(blob), "\(blob.kind) is carried") }
    try encoder.add(FrameInfo(index: 0, rect: PixelRect(buffer.size)), pixels: Surface(buffer))
    try encoder.finish()
    return sink.written
}

/// Names and data of the chunks of a file.
private func chunks(_ bytes: [UInt8]) -> [(name: String, data: [UInt8])] {
    var found: [(String, [UInt8])] = []
    var offset = 8
    while offset + 12 <= bytes.count {
        let length = bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
        found.append(
            (String(decoding: bytes[offset + 4..<offset + 8], as: UTF8.self), Array(bytes[offset + 8..<offset + 8 + length])))
        offset += 12 + length
    }
    return found
}

/// A picture whose every byte follows from its place.
private func pattern(_ size: PixelSize, _ format: PixelFormat) throws -> PixelBuffer {
    let buffer = try PixelBuffer(size: size, format: format)
    for y in 0..<size.height {
        buffer.withMutableRow(y) { row in
            for offset in 0..<row.byteCount {
                row.storeBytes(of: UInt8(truncatingIfNeeded: offset * 7 + y * 31), toByteOffset: offset, as: UInt8.self)
            }
        }
    }
    return buffer
}

private struct Sample: Sendable, CustomTestStringConvertible {
    var depth: UInt8
    var type: UInt8
    var row: [UInt8]
    var width: Int
    var palette: [UInt8] = []
    var transparency: [UInt8] = []
    var format: PixelFormat
    var samples: [Int]

    var testDescription: String { "type \(type), \(depth) bits, tRNS \(transparency)" }

    var bytes: [UInt8] {
        var file = HandmadePNG(width, 1, depth: depth, type: type, rows: [0] + row)
        if !palette.isEmpty { file.before.append(chunk("PLTE", palette)) }
        if !transparency.isEmpty { file.before.append(chunk("tRNS", transparency)) }
        return file.bytes
    }
}

/// Worked out from PNG 3rd edition, tables 8 and 13.12: samples of n bits stand for value × 255 ÷ (2ⁿ − 1).
private let samples: [Sample] = [
    Sample(depth: 1, type: 0, row: [0b1010_0000], width: 3, format: .gray8, samples: [255, 0, 255]),
    Sample(depth: 2, type: 0, row: [0b0001_1011], width: 4, format: .gray8, samples: [0, 85, 170, 255]),
    Sample(depth: 4, type: 0, row: [0x0F, 0x80], width: 3, format: .gray8, samples: [0, 255, 136]),
    Sample(depth: 8, type: 0, row: [7, 200], width: 2, format: .gray8, samples: [7, 200]),
    Sample(depth: 16, type: 0, row: [0x12, 0x34, 0xFE, 0xDC], width: 2, format: .gray16, samples: [0x1234, 0xFEDC]),
    Sample(
        depth: 1, type: 0, row: [0b1000_0000], width: 2, transparency: [0, 1], format: .grayAlpha8,
        samples: [255, 0, 0, 255]),
    Sample(depth: 8, type: 0, row: [7, 8], width: 2, transparency: [0, 7], format: .grayAlpha8, samples: [7, 0, 8, 255]),
    Sample(
        depth: 16, type: 0, row: [0, 7, 1, 7], width: 2, transparency: [0, 7], format: .grayAlpha16,
        samples: [7, 0, 0x107, 65535]),
    Sample(depth: 8, type: 2, row: [1, 2, 3, 4, 5, 6], width: 2, format: .rgb8, samples: [1, 2, 3, 4, 5, 6]),
    Sample(
        depth: 8, type: 2, row: [1, 2, 3, 4, 5, 6], width: 2, transparency: [0, 4, 0, 5, 0, 6], format: .rgba8,
        samples: [1, 2, 3, 255, 4, 5, 6, 0]),
    Sample(depth: 16, type: 2, row: [1, 2, 3, 4, 5, 6], width: 1, format: .rgb16, samples: [0x102, 0x304, 0x506]),
    Sample(
        depth: 16, type: 2, row: [1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 7], width: 2, transparency: [1, 2, 3, 4, 5, 6],
        format: .rgba16, samples: [0x102, 0x304, 0x506, 0, 0x102, 0x304, 0x507, 65535]),
    Sample(
        depth: 2, type: 3, row: [0b0110_0000], width: 2, palette: [0, 0, 0, 9, 8, 7, 6, 5, 4], format: .rgb8,
        samples: [9, 8, 7, 6, 5, 4]),
    Sample(
        depth: 8, type: 3, row: [0, 1], width: 2, palette: [3, 2, 1, 9, 8, 7], transparency: [128], format: .rgba8,
        samples: [3, 2, 1, 128, 9, 8, 7, 255]),
    Sample(depth: 8, type: 4, row: [10, 20], width: 1, format: .grayAlpha8, samples: [10, 20]),
    Sample(depth: 16, type: 4, row: [1, 2, 3, 4], width: 1, format: .grayAlpha16, samples: [0x102, 0x304]),
    Sample(depth: 8, type: 6, row: [1, 2, 3, 4], width: 1, format: .rgba8, samples: [1, 2, 3, 4]),
    Sample(
        depth: 16, type: 6, row: [1, 2, 3, 4, 5, 6, 7, 8], width: 1, format: .rgba16,
        samples: [0x102, 0x304, 0x506, 0x708]),
]

@Suite struct `PNG decoder` {
    @Test(arguments: samples)
    fileprivate func `keeps every sample of a type and depth`(_ sample: Sample) throws {
        let picture = try decode(sample.bytes)
        #expect(picture.info.nativeFormat == sample.format)
        #expect(picture.info.bitDepth == Int(sample.depth))
        #expect(picture.info.hasAlpha == sample.format.hasTransparency)
        #expect(picture.samples == sample.samples)
    }

    @Test(arguments: samples)
    fileprivate func `widens any type to RGBA and halves 16 bits by dropping the lower ones`(
        _ sample: Sample
    ) throws {
        let native = try decode(sample.bytes)
        let rgba = try decode(sample.bytes, as: .rgba8)
        let eight = sample.samples.map { sample.format.bits == 16 ? $0 >> 8 : $0 }
        let count = sample.format.channels.count
        let expected = stride(from: 0, to: eight.count, by: count).flatMap { at -> [Int] in
            switch count {
            case 1: [eight[at], eight[at], eight[at], 255]
            case 2: [eight[at], eight[at], eight[at], eight[at + 1]]
            case 3: Array(eight[at..<at + 3]) + [255]
            default: Array(eight[at..<at + 4])
            }
        }
        #expect(rgba.samples == expected)
        #expect(rgba.info == native.info)
    }

    @Test func `offers the native format first and what libpng makes of it`() throws {
        func offers(_ sample: Sample) throws -> [PixelFormat] {
            let decoder = try PNGDecoder(DecoderSession(source: ByteSource(sample.bytes)))
            _ = try decoder.readHeader()
            return decoder.pixelFormats
        }
        #expect(try offers(samples[3]) == [.gray8, .rgba8, .rgb8])
        #expect(try offers(samples[4]) == [.gray16, .gray8, .rgba16, .rgba8, .rgb8])
        #expect(try offers(samples[17]) == [.rgba16, .rgba8])
    }

    /// Every width and height up to 9, since small pictures leave some of the seven passes empty.
    @Test(arguments: 1...9, 1...9)
    func `puts the pixels of interlaced pictures into place`(_ width: Int, _ height: Int) throws {
        // First column, first row, and steps of the passes (PNG 3rd edition, 8.2).
        let passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
        func value(_ x: Int, _ y: Int) -> UInt8 { UInt8(y * 16 + x + 1) }
        var rows: [UInt8] = []
        for (left, top, dx, dy) in passes where left < width {
            for y in stride(from: top, to: height, by: dy) {
                rows += [0] + stride(from: left, to: width, by: dx).map { value($0, y) }
            }
        }
        let bytes = HandmadePNG(width, height, depth: 8, type: 0, interlaced: true, rows: rows).bytes
        let expected = (0..<height).flatMap { y in (0..<width).map { Int(value($0, y)) } }
        #expect(try decode(bytes).samples == expected)
        #expect(try decode(bytes, as: .rgb8).samples == expected.flatMap { [$0, $0, $0] })
        // The look at an unfinished picture must end in the same pixels.
        #expect(try grow(bytes, by: 3).last == expected)
    }

    @Test func `writes nothing behind the end of a row`() throws {
        let file = HandmadePNG(2, 2, depth: 8, type: 0, rows: [0, 1, 2, 0, 3, 4])
        let memory = UnsafeMutableRawPointer.allocate(byteCount: 16, alignment: 16)
        unsafe memory.initializeMemory(as: UInt8.self, repeating: 0xAA, count: 16)
        let buffer = unsafe PixelBuffer(
            size: PixelSize(2, 2), format: .gray8, stride: 8, memory: memory, byteCount: 16
        ) { memory, _ in unsafe memory.deallocate() }
        let decoder = try PNGDecoder(DecoderSession(source: ByteSource(file.bytes)))
        _ = try decoder.readHeader()
        _ = try decoder.decode(DecodeRequest(), into: Surface(buffer))
        let all = unsafe buffer.withUnsafeMutableBytes { unsafe Array($0) }
        #expect(all == [1, 2] + [UInt8](repeating: 0xAA, count: 6) + [3, 4] + [UInt8](repeating: 0xAA, count: 6))
    }

    @Test func `decodes twice into different surfaces`() throws {
        let decoder = try PNGDecoder(DecoderSession(source: ByteSource(samples[8].bytes)))
        let info = try decoder.readHeader()
        for format in [PixelFormat.rgb8, .rgba8, .rgb8] {
            let buffer = try PixelBuffer(size: info.size, format: format)
            #expect(try decoder.decode(DecodeRequest(), into: Surface(buffer)) == .complete)
            let picture = Picture(info: info, buffer: buffer, blobs: [])
            #expect(picture.samples == (format == .rgb8 ? [1, 2, 3, 4, 5, 6] : [1, 2, 3, 255, 4, 5, 6, 255]))
        }
    }

    @Test(arguments: Fixture.valid("png"))
    func `gives the pixels that another decoder gives`(_ fixture: Fixture) throws {
        let picture = try decode(fixture.bytes)
        let expected = try #require(fixture.expect)
        #expect(picture.info.size == expected.size)
        if let digest = expected.pixelSHA256 { #expect(PixelDigest.of(picture.buffer) == digest) }
        if let depth = expected.bitDepth { #expect(picture.info.bitDepth == depth) }
        if let alpha = expected.hasAlpha { #expect(picture.info.hasAlpha == alpha) }
        #expect(picture.info.orientation?.rawValue == expected.orientation)
        #expect(picture.info.color.hasProfile == (expected.colorProfile != nil))
    }

    @Test(arguments: Fixture.bad("png"))
    func `refuses what is damaged`(_ fixture: Fixture) throws {
        // The two limits that the host watches are not the codec's.
        if fixture.errors == ["limitExceeded"] { return }
        let code = try #require(failure(fixture.bytes))
        #expect(fixture.errors.contains(code.description))
    }
}

// MARK: Growing and broken files

/// The samples of the surface after each step of a source that grows.
private func grow(_ bytes: [UInt8], by step: Int) throws -> [[Int]] {
    let source = ByteSource(bytes, arrived: 0)
    let decoder = try PNGDecoder(DecoderSession(source: source))
    var info: ImageInfo?
    var buffer: PixelBuffer?
    var states: [[Int]] = []
    while true {
        do {
            if info == nil { info = try decoder.readHeader() }
            let known = try #require(info)
            let surface = try buffer ?? PixelBuffer(size: known.size, format: known.nativeFormat)
            buffer = surface
            let outcome = try decoder.decode(DecodeRequest(wantsPartial: true), into: Surface(surface))
            states.append(Picture(info: known, buffer: surface, blobs: []).samples)
            if outcome == .complete { return states }
        } catch let error as CoderError where error.code == .needsInput {
            try #require(!source.isComplete)
        }
        source.arrive(step)
    }
}

@Suite struct `PNG from a growing source` {
    private static let rows = (0..<20).flatMap { y -> [UInt8] in [0, UInt8(y + 1), UInt8(y + 101)] }
    private static let file = HandmadePNG(2, 20, depth: 8, type: 0, rows: rows)
    private static let samples = (0..<20).flatMap { y -> [Int] in [y + 1, y + 101] }

    @Test(arguments: [1, 2, 7, 50])
    func `shows rows from the top as they arrive`(_ step: Int) throws {
        let states = try grow(Self.file.bytes, by: step)
        #expect(states.last == Self.samples)
        #expect(step > 2 || states.count >= 20)
        for state in states {
            let filled = state.prefix { $0 != 0 }
            #expect(Array(filled) == Array(Self.samples.prefix(filled.count)))
            #expect(state.dropFirst(filled.count).allSatisfy { $0 == 0 })
        }
    }

    @Test func `needs input until the first byte of pixels is near`() throws {
        for count in 0..<Self.file.dataOffset {
            let source = ByteSource(Self.file.bytes, arrived: count)
            let decoder = try PNGDecoder(DecoderSession(source: source))
            #expect(throws: CoderError.needsInput) { try decoder.readHeader() }
        }
    }

    @Test func `first shows an interlaced picture as blocks`() throws {
        // 8 × 8 in one pass of one pixel: the block covers everything.
        let file = HandmadePNG(8, 8, depth: 8, type: 0, interlaced: true, rows: [0, 200] + [0, 100, 0, 50, 60])
        let source = ByteSource(file.bytes, arrived: file.dataOffset + 7 + 2)
        let decoder = try PNGDecoder(DecoderSession(source: source))
        let info = try decoder.readHeader()
        let buffer = try PixelBuffer(size: info.size, format: .gray8)
        let outcome = try decoder.decode(DecodeRequest(wantsPartial: true), into: Surface(buffer))
        #expect(outcome == .partial(PixelRect(x: 0, y: 0, width: 8, height: 8)))
        #expect(Picture(info: info, buffer: buffer, blobs: []).samples == [Int](repeating: 200, count: 64))
    }
}

@Suite struct `PNG that is broken` {
    private static let file = HandmadePNG(2, 4, depth: 8, type: 0, rows: [0, 1, 2, 0, 3, 4, 0, 5, 6, 0, 7, 8])

    @Test func `keeps the rows in front of the place where the file ends`() throws {
        let bytes = Array(Self.file.bytes.prefix(Self.file.dataOffset + 7 + 7))
        let decoder = try PNGDecoder(DecoderSession(source: ByteSource(bytes)))
        let info = try decoder.readHeader()
        let buffer = try PixelBuffer(size: info.size, format: .gray8)
        #expect { try decoder.decode(DecodeRequest(), into: Surface(buffer)) } throws: {
            ($0 as? CoderError)?.code == .truncated
        }
        #expect(Picture(info: info, buffer: buffer, blobs: []).samples == [1, 2, 3, 4, 0, 0, 0, 0])
    }

    @Test func `reports every cut as truncated, or as complete once all rows are there`() throws {
        let bytes = Self.file.bytes
        for count in 8..<bytes.count {
            let code = failure(Array(bytes.prefix(count)))
            #expect(code == .truncated || code == nil && count >= Self.file.dataOffset + 19, "cut at \(count)")
        }
    }

    @Test func `is truncated when the compressed data ends in front of the last row`() {
        var short = Self.file
        short.rows.removeLast(3)
        #expect(failure(short.bytes) == .truncated)
    }

    @Test func `is corrupt when a critical chunk has another checksum`() {
        for offset in [16, Self.file.dataOffset + 9] {
            var bytes = Self.file.bytes
            bytes[offset + 3] ^= 1
            #expect(failure(bytes) == .corrupt, "offset \(offset)")
        }
    }

    @Test func `loses an ancillary chunk with another checksum and nothing else`() throws {
        let damaged = ["pHYs": be32(1) + be32(1) + [1], "eXIf": ExifOrientation.blob(.left), "tEXt": [0x41, 0, 0x42]]
        for (name, data) in damaged {
            let picture = try decode(dot(before: [chunk(name, data, damaged: true)]).bytes)
            #expect(picture.samples == [10, 20, 30])
            #expect(picture.info.density == nil && picture.info.orientation == nil && picture.blobs.isEmpty)
        }
    }

    @Test func `is refused by its header`() {
        #expect(failure([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0B] + Self.file.bytes.dropFirst(8)) == .notMine)
        #expect(failure(HandmadePNG.signature + chunk("IDAT", [])) == .corrupt)
        #expect(failure(HandmadePNG.signature + chunk("CgBI", [0, 0, 0, 0])) == .unsupportedFeature)
        #expect(failure(HandmadePNG(0, 1, depth: 8, type: 0, rows: []).bytes) == .corrupt)
        #expect(failure(HandmadePNG(1, 1, depth: 8, type: 3, rows: [0, 0]).bytes) == .corrupt)
        #expect(failure(HandmadePNG(1, 1, depth: 4, type: 2, rows: [0, 0]).bytes) == .corrupt)
        #expect(failure(dot(before: [chunk("QqQq", [])]).bytes) == .corrupt)
        var limits = DecodeLimits.default
        limits.maxSide = 1
        #expect(failure(Self.file.bytes, limits: limits) == .limitExceeded)
    }
}

// MARK: Metadata

@Suite struct `PNG metadata` {
    @Test func `is handed out verbatim`() throws {
        let exif = ExifOrientation.blob(.right)
        let latin: [UInt8] = Array("Title".utf8) + [0, 0xE9]
        let international = Array("Author".utf8) + [0, 0, 0, 0, 0] + Array("Žofie".utf8)
        let packed = Array("Note".utf8) + [0, 0] + zlib(Array("deflated".utf8))
        let xmp = Array("XML:com.adobe.xmp".utf8) + [0, 0, 0, 0, 0] + Array("<x/>".utf8)
        let picture = try decode(
            dot(
                before: [
                    chunk("iCCP", Array("p".utf8) + [0, 0] + zlib(profile())), chunk("gAMA", be32(45455)),
                    chunk("tEXt", latin), chunk("zTXt", packed), chunk("pHYs", be32(2835) + be32(5669) + [1]),
                ], after: [chunk("iTXt", international), chunk("iTXt", xmp), chunk("eXIf", exif)]
            ).bytes)
        #expect(picture.samples == [10, 20, 30])
        #expect(picture.info.color == ColorDescription(hasProfile: true))
        #expect(picture.info.density == .perMeter(x: 2835, y: 5669))
        #expect(picture.info.orientation == .right)
        #expect(picture.blob(.icc) == profile())
        #expect(picture.blob(.exif) == exif)
        #expect(picture.blob(.xmp) == Array("<x/>".utf8))
        #expect(picture.blob(.text, "Title") == Array("é".utf8))
        #expect(picture.blob(.text, "Author") == Array("Žofie".utf8))
        #expect(picture.blob(.text, "Note") == Array("deflated".utf8))
        #expect(picture.blob(.raw, "gAMA") == be32(45455))
        #expect(picture.blobs.count == 7)
    }

    @Test func `says what the colours mean`() throws {
        let cicp = chunk("cICP", [9, 16, 0, 1])
        let points = CodePoints(primaries: 9, transfer: 16, matrix: 0, isFullRange: true)
        #expect(try decode(dot().bytes).info.color == ColorDescription())
        #expect(try decode(dot(before: [chunk("sRGB", [0])]).bytes).info.color == ColorDescription(codePoints: .sRGB))
        let preferred = ColorDescription(codePoints: points, prefersCodePoints: true)
        #expect(try decode(dot(before: [cicp]).bytes).info.color == preferred)
        #expect(try decode(dot(before: [cicp, chunk("sRGB", [0])]).bytes).info.color == preferred)
        #expect(try decode(dot(before: [chunk("sRGB", [0]), cicp]).bytes).info.color == preferred)
    }

    @Test func `leaves a broken profile out`() throws {
        var wrong = profile()
        wrong[36] = 0x41
        let files = [
            chunk("iCCP", Array("p".utf8) + [0, 0] + zlib(wrong)),
            chunk("iCCP", Array("p".utf8) + [0, 0, 0x78, 0x01, 0xFF]),
            chunk("iCCP", Array("p".utf8) + [0, 0] + zlib(profile()), damaged: true),
        ]
        for broken in files {
            let picture = try decode(dot(before: [broken]).bytes)
            #expect(picture.samples == [10, 20, 30])
            #expect(!picture.info.color.hasProfile && picture.blob(.icc) == nil)
        }
    }

    @Test func `is bounded, packed and unpacked`() throws {
        var limits = DecodeLimits.default
        limits.maxMetadataBytes = 1000
        // zlib of 20 000 times "a", from Python's zlib.compress(b"a" * 20000, 9).
        let bomb = bombOfLetters
        let file = dot(
            before: [
                chunk("zTXt", Array("Bomb".utf8) + [0, 0] + bomb),
                chunk("tEXt", Array("Long".utf8) + [0] + [UInt8](repeating: 0x61, count: 2000)),
                chunk("tEXt", Array("Short".utf8) + [0, 0x61]),
            ])
        #expect(try decode(file.bytes).blob(.text, "Bomb")?.count == 20000)
        let bounded = try decode(file.bytes, limits: limits)
        #expect(bounded.blobs.allSatisfy { $0.bytes.count <= 1000 })
        #expect(bounded.blob(.text, "Short") == [0x61])
        // Many texts within the limit of one are not all within it.
        let many = dot(
            before: (0..<20).map { chunk("tEXt", Array("T\($0)".utf8) + [0] + [UInt8](repeating: 0x61, count: 200)) })
        #expect(try decode(many.bytes, limits: limits).blobs.count == 5)
    }

    @Test func `of an animation does not keep the default image from being a still`() throws {
        let file = dot(before: [chunk("acTL", be32(2) + be32(0)), chunk("fcTL", [UInt8](repeating: 0, count: 26))])
        let info = try decode(file.bytes).info
        #expect(info.isAnimated && info.frameCount == 1)
    }
}

private let bombOfLetters: [UInt8] = [
    0x78, 0xDA, 0xED, 0xC1, 0x31, 0x01, 0x00, 0x00, 0x00, 0xC2, 0xA0, 0xAC, 0xEB, 0x5F, 0xC2, 0x1A,
    0x1E, 0x40, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0xF0, 0x60, 0x62, 0xF9, 0x9B, 0xD4,
]

// MARK: Encoder

@Suite struct `PNG encoder` {
    private static let formats: [PixelFormat] = [
        .gray8, .grayAlpha8, .rgb8, .rgba8, .gray16, .grayAlpha16, .rgb16, .rgba16,
    ]
    private static let options: [CoderOptions] = [
        [:], ["png.interlaced": .bool(true)], ["effort": .integer(0)], ["effort": .integer(9)],
        ["png.filter": .string("none")], ["png.filter": .string("sub")], ["png.filter": .string("up")],
        ["png.filter": .string("avg")], ["png.filter": .string("paeth"), "png.interlaced": .bool(true)],
    ]

    @Test(arguments: formats, options)
    func `gives back every sample`(_ format: PixelFormat, _ options: CoderOptions) throws {
        let source = try pattern(PixelSize(37, 70), format)
        let bytes = try encode(source, options)
        let picture = try decode(bytes)
        #expect(picture.info.nativeFormat == format)
        #expect(picture.samples == Picture(info: picture.info, buffer: source, blobs: []).samples)
        #expect(chunks(bytes)[0].data[12] == (options.bool("png.interlaced") == true ? 1 : 0))
    }

    @Test func `drops an alpha channel that is full everywhere by its format`() throws {
        for (format, type) in [(PixelFormat(.rgba, alpha: .opaque), 2), (PixelFormat(.grayAlpha, bits: 16, alpha: .opaque), 0)] {
            let source = try pattern(PixelSize(3, 2), format)
            let bytes = try encode(source)
            #expect(Int(chunks(bytes)[0].data[9]) == type)
            let count = format.channels.count
            let picture = try decode(bytes)
            let all = Picture(info: picture.info, buffer: source, blobs: []).samples
            #expect(picture.samples == all.enumerated().filter { $0.offset % count != count - 1 }.map(\.element))
        }
    }

    @Test(arguments: [(1, 1), (2, 1), (3, 2), (16, 4), (17, 8), (256, 8)])
    func `writes the smallest palette that is exact`(_ colors: Int, _ depth: Int) throws {
        let source = try PixelBuffer(size: PixelSize(colors, 2), format: .rgba8)
        for y in 0..<2 {
            source.withMutableRow(y) { row in
                for x in 0..<colors {
                    let pixel: [UInt8] = [UInt8(x), UInt8(255 - x), 7, x % 3 == 1 ? UInt8(x / 2) : 255]
                    for (place, value) in pixel.enumerated() {
                        row.storeBytes(of: value, toByteOffset: 4 * x + place, as: UInt8.self)
                    }
                }
            }
        }
        for interlaced in [false, true] {
            let bytes = try encode(source, ["png.palette": .bool(true), "png.interlaced": .bool(interlaced)])
            #expect(chunks(bytes)[0].data[8...9] == [UInt8(depth), 3])
            #expect(chunks(bytes).first { $0.name == "PLTE" }?.data.count == 3 * colors)
            let picture = try decode(bytes, as: .rgba8)
            #expect(picture.samples == Picture(info: picture.info, buffer: source, blobs: []).samples)
        }
    }

    @Test func `writes no palette for 257 colours`() throws {
        let source = try PixelBuffer(size: PixelSize(257, 1), format: .rgb8)
        source.withMutableRow(0) { row in
            for x in 0..<257 {
                row.storeBytes(of: UInt8(x & 0xFF), toByteOffset: 3 * x, as: UInt8.self)
                row.storeBytes(of: UInt8(x >> 8), toByteOffset: 3 * x + 1, as: UInt8.self)
            }
        }
        let bytes = try encode(source, ["png.palette": .bool(true)])
        #expect(chunks(bytes)[0].data[9] == 2)
        #expect(try decode(bytes).samples == Picture(info: decode(bytes).info, buffer: source, blobs: []).samples)
    }

    @Test func `works harder when told to`() throws {
        let source = try pattern(PixelSize(200, 200), .rgb8)
        let sizes = try [0, 1, 9].map { try encode(source, ["effort": .integer(Int64($0))]).count }
        #expect(sizes[0] > 200 * 200 * 3 && sizes[1] < sizes[0] / 10 && sizes[2] <= sizes[1])
        #expect(throws: CoderError.self) { try encode(source, ["effort": .integer(10)]) }
        #expect(throws: CoderError.self) { try encode(source, ["png.filter": .string("best")]) }
    }

    @Test func `carries metadata`() throws {
        let blobs = [
            MetadataBlob(.icc, profile()), MetadataBlob(.exif, ExifOrientation.blob(.left)),
            MetadataBlob(.xmp, Array("<ž/>".utf8)), MetadataBlob(.text, Array("plain".utf8), key: "Comment"),
            MetadataBlob(.text, Array("Žofie".utf8), key: "Author"),
            MetadataBlob(.text, [UInt8](repeating: 0x61, count: 5000), key: "Long"),
        ]
        let bytes = try encode(try pattern(PixelSize(2, 2), .rgb8), blobs: blobs) {
            $0.density = .perMeter(x: 2835, y: 2836)
        }
        let picture = try decode(bytes)
        #expect(Set(picture.blobs) == Set(blobs) && picture.blobs.count == blobs.count)
        #expect(picture.info.density == .perMeter(x: 2835, y: 2836))
        #expect(picture.info.orientation == .left)
        #expect(picture.info.color == ColorDescription(hasProfile: true))
        #expect(bytes.count < 5000, "long text is deflated")
    }

    @Test func `carries what the colours mean, in front of the pixels`() throws {
        let source = try pattern(PixelSize(2, 2), .rgb16)
        let srgb = try encode(source) { $0.color = ColorDescription(codePoints: .sRGB) }
        #expect(chunks(srgb).map(\.name).contains("sRGB"))
        #expect(try decode(srgb).info.color.codePoints == .sRGB)
        let video = CodePoints(primaries: 9, transfer: 18, matrix: 9, isFullRange: false)
        let hlg = try encode(source) { $0.color = ColorDescription(codePoints: video, prefersCodePoints: true) }
        #expect(chunks(hlg)[1].name == "cICP" && chunks(hlg)[1].data == [9, 18, 0, 1])
    }

    @Test func `refuses what PNG cannot hold`() throws {
        let encoder = try PNGEncoder(EncoderSession())
        try encoder.begin(ImageInfo(size: PixelSize(1, 1), nativeFormat: .rgb8), to: ByteSink())
        #expect(try !encoder.add(MetadataBlob(.iptc, [1, 2, 3])))
        #expect(try !encoder.add(MetadataBlob(.text, [0x61], key: "")))
        #expect(try !encoder.add(MetadataBlob(.text, [0x61, 0, 0x62], key: "Nul")))
        #expect(try !encoder.add(MetadataBlob(.text, [0xFF], key: "NotUTF8")))
        #expect(throws: CoderError.self) { try encoder.finish() }
        let animation = ImageInfo(size: PixelSize(1, 1), nativeFormat: .rgb8, frameCount: 2)
        #expect(throws: CoderError.self) { try PNGEncoder(EncoderSession()).begin(animation, to: ByteSink()) }
        let float = ImageInfo(size: PixelSize(1, 1), nativeFormat: PixelFormat(.rgba, bits: 32, numeric: .float))
        #expect(try PNGEncoder(EncoderSession()).acceptedFormats(for: float) == [.rgba16, .rgba8])
    }
}
