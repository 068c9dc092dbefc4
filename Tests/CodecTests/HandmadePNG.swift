import CoderPluginKit
import ImageModel
import PNGCodec
import Testing

// MARK: A file made by hand

/// Writes PNG chunk by chunk, with stored deflate blocks, so that every byte of a test's input is known.
struct HandmadePNG {
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
        Self.signature + pngChunk("IHDR", header) + before.joined() + pngChunk("IDAT", storedZlib(rows))
            + after.joined()
            + pngChunk("IEND", [])
    }

    /// The position of the IDAT data.
    var dataOffset: Int { 8 + 25 + before.joined().count + 8 }
}

func be32(_ value: Int) -> [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) } }

func pngChecksum(_ bytes: [UInt8]) -> Int {
    var crc: UInt32 = ~0
    for byte in bytes {
        crc ^= UInt32(byte)
        for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
    }
    return Int(~crc)
}

func pngChunk(_ name: String, _ data: [UInt8], damaged: Bool = false) -> [UInt8] {
    let body = Array(name.utf8) + data
    return be32(data.count) + body + be32(pngChecksum(body) ^ (damaged ? 1 : 0))
}

/// A zlib stream of one stored block (RFC 1950, RFC 1951 section 3.2.4).
func storedZlib(_ data: [UInt8]) -> [UInt8] {
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

/// A profile without tags, as libpng requires it (ICC.1, 7.2). The bytes behind it keep it from being deflated to less
/// than 92 bytes, which libpng rejects as too short.
func iccProfile() -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 132) + (0..<200).map { UInt8(truncatingIfNeeded: $0 * $0 * 73 >> 3) }
    bytes.replaceSubrange(0..<4, with: be32(332))
    bytes[8] = 4
    bytes.replaceSubrange(12..<24, with: Array("mntrRGB XYZ ".utf8))
    bytes.replaceSubrange(36..<40, with: Array("acsp".utf8))
    bytes.replaceSubrange(68..<80, with: [0, 0, 0xF6, 0xD6, 0, 1, 0, 0, 0, 0, 0xD3, 0x2D])
    return bytes
}

func onePixelPNG(before: [[UInt8]] = [], after: [[UInt8]] = []) -> HandmadePNG {
    var file = HandmadePNG(1, 1, depth: 8, type: 2, rows: [0, 10, 20, 30])
    file.before = before
    file.after = after
    return file
}

// MARK: Decoding and encoding

struct DecodedPNG {
    var info: ImageInfo
    var buffer: PixelBuffer
    var blobs: [MetadataBlob]

    /// All samples in order, 16-bit ones whole.
    var samples: [Int] {
        (0..<info.size.height).flatMap { y in
            buffer.withRow(y) { row in
                stride(from: 0, to: row.byteCount, by: buffer.format.bytesPerSample).map {
                    buffer.format.bits == 8
                        ? Int(row.byte(at: $0))
                        : Int(unsafe row.unsafeLoadUnaligned(fromByteOffset: $0, as: UInt16.self))
                }
            }
        }
    }

    func blob(_ kind: MetadataBlob.Kind, _ key: String? = nil) -> [UInt8]? {
        blobs.first { $0.kind == kind && (key == nil || $0.key == key) }?.bytes
    }
}

func decodePNG(
    _ bytes: [UInt8], as format: PixelFormat? = nil, limits: DecodeLimits = .default
) throws -> DecodedPNG {
    let decoder = try PNGDecoder(DecoderSession(source: ByteSource(bytes), limits: limits))
    let info = try decoder.readHeader()
    let buffer = try PixelBuffer(size: info.size, format: format ?? info.nativeFormat)
    #expect(try decoder.decode(DecodeRequest(), into: Surface(buffer)) == .complete)
    return DecodedPNG(info: info, buffer: buffer, blobs: try decoder.metadata())
}

func pngFailure(_ bytes: [UInt8], limits: DecodeLimits = .default) -> CoderError.Code? {
    do {
        _ = try decodePNG(bytes, limits: limits)
        return nil
    } catch {
        return (error as? CoderError)?.code
    }
}

func encodePNG(
    _ buffer: PixelBuffer, _ options: CoderOptions = [:], blobs: [MetadataBlob] = [],
    describe: (inout ImageInfo) -> Void = { _ in }
) throws -> [UInt8] {
    let encoder = try PNGEncoder(EncoderSession(options: options))
    var info = ImageInfo(size: buffer.size, nativeFormat: buffer.format)
    describe(&info)
    #expect(try encoder.acceptedFormats(for: info).first == buffer.format)
    let sink = ByteSink()
    try encoder.begin(info, to: sink)
    for blob in blobs { #expect(try encoder.add(blob), "\(blob.kind) is accepted") }
    try encoder.add(FrameInfo(index: 0, rect: PixelRect(buffer.size)), pixels: Surface(buffer))
    try encoder.finish()
    return sink.written
}

/// Names and data of the chunks of a file.
func pngChunks(_ bytes: [UInt8]) -> [(name: String, data: [UInt8])] {
    var found: [(String, [UInt8])] = []
    var offset = 8
    while offset + 12 <= bytes.count {
        let length = bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
        found.append(
            (
                String(decoding: bytes[offset + 4..<offset + 8], as: UTF8.self),
                Array(bytes[offset + 8..<offset + 8 + length])
            ))
        offset += 12 + length
    }
    return found
}

/// An image whose bytes follow from their position.
func pngPattern(_ size: PixelSize, _ format: PixelFormat) throws -> PixelBuffer {
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

/// The samples of the surface after each step of a growing source.
func growPNG(_ bytes: [UInt8], by step: Int) throws -> [[Int]] {
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
            states.append(DecodedPNG(info: known, buffer: surface, blobs: []).samples)
            if outcome == .complete { return states }
        } catch let error as CoderError where error.code == .needsInput {
            try #require(!source.isComplete)
        }
        source.arrive(step)
    }
}
