import CoderPluginKit
import ImageModel
import JPEGCodec
import TestSupport
import Testing

/// The result of a rewrite.
struct Rewritten {
    var bytes: [UInt8]
    var kept: PixelRect
    var droppedItems: Bool
    var warnings: [String]
}

func rewrite(
    _ bytes: [UInt8], _ request: RewriteRequest = RewriteRequest(), limits: DecodeLimits = .default,
    host: RecordingHost = RecordingHost()
) throws -> Rewritten {
    let sink = ByteSink()
    let session = RewriteSession(
        source: ByteSource(bytes), sink: sink, limits: limits, host: try host.services())
    let outcome = try JPEGRewriter.rewrite(request, session)
    return Rewritten(
        bytes: sink.written, kept: outcome.kept, droppedItems: outcome.droppedItems, warnings: host.warnings)
}

/// The error of a rewrite; nil for none.
func refusal(
    _ bytes: [UInt8], _ request: RewriteRequest = RewriteRequest(), limits: DecodeLimits = .default,
    host: RecordingHost = RecordingHost()
) -> CoderError? {
    do {
        _ = try rewrite(bytes, request, limits: limits, host: host)
        return nil
    } catch {
        return error as? CoderError
    }
}

func jpegFixture(_ name: String) throws -> [UInt8] { try #require(readFile(Repository.fixture(name))) }

/// All metadata of a file, as the decoder reports it.
func metadata(of bytes: [UInt8]) throws -> [MetadataBlob] {
    try JPEGDecoder(DecoderSession(source: ByteSource(bytes))).metadata()
}

/// The pixels of a file in its own format.
func pixels(of bytes: [UInt8]) throws -> (size: PixelSize, channels: Int, samples: [UInt8]) {
    let decoder = try JPEGDecoder(DecoderSession(source: ByteSource(bytes)))
    let info = try decoder.readHeader()
    let buffer = try PixelBuffer(size: info.size, format: info.nativeFormat)
    let surface = Surface(buffer)
    #expect(try decoder.decode(DecodeRequest(), into: surface) == .complete)
    let samples = (0..<info.size.height).flatMap { y in
        buffer.withRow(y) { row in row.byteOffsets.map { row.byte(at: $0) } }
    }
    return (info.size, info.nativeFormat.channels.count, samples)
}

/// A synthetic photograph, smooth with some noise, encoded.
func photograph(
    _ width: Int, _ height: Int, _ format: PixelFormat = .rgb8, options: CoderOptions = [:]
) throws -> [UInt8] {
    let size = PixelSize(width, height)
    let buffer = try PixelBuffer(size: size, format: format)
    var random = SeededRandom(11)
    for y in 0..<height {
        buffer.withMutableRow(y) { row in
            for offset in row.byteOffsets {
                let slope = (offset / format.bytesPerPixel * 2 + y * 3) % 150
                let value = UInt8(40 + slope + Int.random(in: 0..<12, using: &random))
                row.storeBytes(of: value, toByteOffset: offset, as: UInt8.self)
            }
        }
    }
    var options = options
    options["jpeg.subsampling"] = options["jpeg.subsampling"] ?? .string("444")
    let encoder = try JPEGEncoder(EncoderSession(options: options))
    let sink = ByteSink()
    try encoder.begin(ImageInfo(size: size, nativeFormat: format), to: sink)
    let surface = Surface(buffer)
    try encoder.add(FrameInfo(index: 0, rect: PixelRect(size)), pixels: surface)
    try encoder.finish()
    return sink.written
}

/// A kind of image: the sampling factors of its components.
struct Sampling: Sendable, CustomTestStringConvertible {
    var name: String
    var factors: [(across: Int, down: Int)]
    /// The distance in pixels between edges that are block edges of all components.
    var unit: PixelSize
    var isSeparate = false

    var testDescription: String { name }

    func image(_ width: Int, _ height: Int, seed: UInt64 = 1) -> HandmadeJPEG {
        let components = factors.enumerated().map { index, factor in
            HandmadeJPEG.Component(across: factor.across, down: factor.down, table: min(index, 2))
        }
        var image = HandmadeJPEG(width, height, components, seed: seed)
        image.isSeparate = isSeparate
        return image
    }

    static let gray = Sampling(name: "gray", factors: [(1, 1)], unit: PixelSize(8, 8))
    static let full = Sampling(name: "4:4:4", factors: [(1, 1), (1, 1), (1, 1)], unit: PixelSize(8, 8))
    static let quarter = Sampling(name: "4:2:0", factors: [(2, 2), (1, 1), (1, 1)], unit: PixelSize(16, 16))
    static let mixed = Sampling(name: "mixed", factors: [(2, 2), (2, 1), (1, 2)], unit: PixelSize(16, 16))
    static let all: [Sampling] = [
        gray, full, quarter,
        Sampling(name: "gray with factors of 2", factors: [(2, 2)], unit: PixelSize(8, 8)),
        Sampling(name: "4:2:2", factors: [(2, 1), (1, 1), (1, 1)], unit: PixelSize(16, 8)),
        Sampling(name: "4:4:0", factors: [(1, 2), (1, 1), (1, 1)], unit: PixelSize(8, 16)),
        Sampling(name: "4:1:1", factors: [(4, 1), (1, 1), (1, 1)], unit: PixelSize(32, 8)),
        Sampling(name: "4:1:0", factors: [(4, 2), (1, 1), (1, 1)], unit: PixelSize(32, 16)),
        Sampling(name: "4:4:4 with factors of 2", factors: [(2, 1), (2, 1), (2, 1)], unit: PixelSize(8, 8)),
        mixed,
        Sampling(name: "thirds", factors: [(3, 1), (2, 1), (1, 1)], unit: PixelSize(24, 8)),
        Sampling(name: "two components", factors: [(2, 1), (1, 1)], unit: PixelSize(16, 8)),
        Sampling(name: "CMYK", factors: [(1, 1), (1, 1), (1, 1), (1, 1)], unit: PixelSize(8, 8)),
        Sampling(name: "YCCK 4:2:0", factors: [(2, 2), (1, 1), (1, 1), (2, 2)], unit: PixelSize(16, 16)),
        Sampling(
            name: "CMYK in four scans", factors: [(2, 2), (2, 2), (2, 2), (1, 2)], unit: PixelSize(16, 8),
            isSeparate: true),
    ]
}
