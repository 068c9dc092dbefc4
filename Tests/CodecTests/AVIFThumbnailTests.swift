import AVIFCodec
import CoderPluginKit
import HEIFCodec
import ImageModel
import TestSupport
import Testing

private func fixture(_ path: String) throws -> [UInt8] {
    try #require(readFile(Repository.fixture(path)), "the fixture \(path) is missing")
}

private func session(_ bytes: [UInt8], limits: DecodeLimits = .default) -> DecoderSession {
    DecoderSession(source: ByteSource(bytes), limits: limits)
}

private func samples(_ buffer: PixelBuffer) -> [UInt8] {
    (0..<buffer.size.height).flatMap { y in
        buffer.withRow(y) { row in row.byteOffsets.map { unsafe row.unsafeLoad(fromByteOffset: $0, as: UInt8.self) } }
    }
}

/// Decodes a thumbnail of the primary image, which follows it in the list of items.
private func thumbnail(
    _ decoder: some ItemDecoder, _ index: Int = 0
) throws(CoderError) -> (info: ImageInfo, pixels: [UInt8])? {
    _ = try decoder.readHeader()
    guard let item = try decoder.item(at: index + 1), item.role == .thumbnail else { return nil }
    try decoder.select(item: index + 1)
    let pixels = try decode(decoder)
    try decoder.select(item: 0)
    return (item.info, pixels)
}

private func decode(_ decoder: some ImageDecoder) throws(CoderError) -> [UInt8] {
    let info = try decoder.readHeader()
    let buffer = try PixelBuffer(size: info.size, format: info.nativeFormat)
    let outcome = try decoder.decode(DecodeRequest(), into: Surface(buffer))
    #expect(outcome == .complete)
    return samples(buffer)
}

private func largest(_ one: [UInt8], _ other: [UInt8]) -> Int {
    one.count == other.count ? zip(one, other).map { abs(Int($0) - Int($1)) }.max() ?? 0 : .max
}

/// A ramp: red to the right, green downwards; or gray to the right.
private func ramp(_ size: PixelSize, _ format: PixelFormat) throws -> PixelBuffer {
    let buffer = try PixelBuffer(size: size, format: format)
    for y in 0..<size.height {
        buffer.withMutableRow(y) { row in
            for at in row.byteOffsets {
                let (x, channel) = (at / format.bytesPerPixel, at % format.bytesPerPixel)
                let value = channel == 0 ? x * 255 / size.width : channel == 1 ? y * 255 / size.height : 40
                row.storeBytes(of: UInt8(value), toByteOffset: at, as: UInt8.self)
            }
        }
    }
    return buffer
}

private enum Writer: String, CaseIterable {
    case avif, heic, heifAVIF

    func encoder(_ options: CoderOptions) throws -> any ThumbnailEncoder {
        let session = EncoderSession(options: options)
        return switch self {
        case .avif: try AVIFCodec.AVIFEncoder(session)
        case .heic: try HEICEncoder(session)
        case .heifAVIF: try HEIFCodec.AVIFEncoder(session)
        }
    }
}

private func encode(
    _ writer: Writer, _ format: PixelFormat = .rgb8, small: PixelFormat? = nil, frames: Int = 1,
    blobs: [MetadataBlob] = [], options: CoderOptions = [:], loopCount: LoopCount = .unknown
) throws -> [UInt8] {
    var options = options
    options[OptionKey.effort] = .integer(1)
    options[OptionKey.quality] = .real(95)
    let encoder = try writer.encoder(options)
    let sink = ByteSink()
    let size = PixelSize(144, 96)
    var info = ImageInfo(size: size, nativeFormat: format, loopCount: loopCount, isAnimated: frames > 1)
    info.frameCount = frames
    try encoder.begin(info, to: sink)
    let thumbnail = Surface(try ramp(PixelSize(45, 30), small ?? format))
    try encoder.addThumbnail(pixels: thumbnail)
    for blob in blobs { #expect(try encoder.add(blob)) }
    let image = Surface(try ramp(size, format))
    for index in 0..<frames {
        try encoder.add(
            FrameInfo(index: index, rect: PixelRect(size), duration: .milliseconds(40)), pixels: image)
    }
    try encoder.finish()
    return sink.written
}

@Suite struct `AVIF thumbnails` {
    @Test func `equal the thumbnails that another library finds`() throws {
        let bytes = try fixture("avif/with-thumbnail.avif")
        let decoder = try AVIFDecoder(session(bytes))
        #expect(try decoder.readHeader().hasItems)
        let found = try #require(try thumbnail(decoder))
        let other = try #require(try thumbnail(HEIFDecoder(session(bytes))))

        #expect(found.info.size == PixelSize(32, 20) && found.info.nativeFormat == .rgb8)
        #expect(found.pixels == other.pixels)
        #expect(found.pixels[0] < 20 && found.pixels[31 * 3] > 230 && found.pixels[19 * 96 + 1] > 230)
        #expect(try decoder.item(at: 2) == nil)
    }

    @Test func `do not affect their image`() throws {
        let bytes = try fixture("avif/with-thumbnail.avif")
        let decoder = try AVIFDecoder(session(bytes))
        _ = try thumbnail(decoder)
        let pixels = try decode(decoder)
        #expect(try pixels == decode(AVIFDecoder(session(bytes))))
        #expect(pixels.count == 96 * 64 * 3)
    }

    @Test func `that are invalid are not listed, and damage is an error`() throws {
        let bytes = try fixture("avif/with-thumbnail.avif")
        let reference = try #require(bytes.indices.first { bytes[$0...].starts(with: Array("thmb".utf8)) })
        // Without its reference it is a separate image; a thumbnail of a missing image belongs to no image.
        for (offset, value, role) in [(5, 9, .page), (9, 9, nil)] as [(Int, UInt8, ImageItem.Role?)] {
            // ISO/IEC 14496-12 section 8.11.12: from 2, count 2, to 2.
            var changed = bytes
            changed[reference + offset] = value
            let decoder = try AVIFDecoder(session(changed))
            _ = try decoder.readHeader()
            #expect(try decoder.item(at: 1)?.role == role, "\(offset)")
        }
        var limits = DecodeLimits.default
        limits.maxPixels = 96 * 64
        #expect(try AVIFDecoder(session(bytes, limits: limits)).readHeader().hasItems)

        var random = SeededRandom(9)
        var (decoded, refused) = (0, 0)
        for _ in 0..<400 {
            var hurt = bytes
            for _ in 0..<3 {
                hurt[Int.random(in: 40..<500, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            do throws(CoderError) {
                let decoder = try AVIFDecoder(session(hurt))
                for index in 0..<(try decoder.readHeader().hasItems ? 8 : 0) {
                    guard let item = try decoder.item(at: index), (item.info.size.area ?? 0) < 100_000 else { continue }
                    try decoder.select(item: index)
                    _ = try decode(decoder)
                    decoded += 1
                }
            } catch {
                #expect(error.code != .misuse && error.code != .pluginFault)
                refused += 1
            }
        }
        #expect(decoded > 20 && refused > 20, "\(decoded) decoded, \(refused) refused")
    }

    @Test func `that are cut wait for input, then are truncated`() throws {
        let bytes = try fixture("avif/with-thumbnail.avif")
        // The data of the thumbnail is behind that of the image.
        let source = ByteSource(bytes, arrived: bytes.count - 3)
        let decoder = try AVIFDecoder(DecoderSession(source: source))
        func code(_ decoder: AVIFDecoder) -> CoderError.Code? {
            do throws(CoderError) { _ = try thumbnail(decoder) } catch { return error.code }
            return nil
        }
        #expect(code(decoder) == .needsInput)
        source.arrive()
        #expect(code(decoder) == nil)
        #expect(try code(AVIFDecoder(session(Array(bytes.dropLast(3))))) == .truncated)
    }
}

@Suite struct `Embedding AVIF and HEIC thumbnails` {
    @Test(arguments: Writer.allCases, [PixelFormat.rgb8, .gray8])
    private func `keeps the given pixels`(writer: Writer, format: PixelFormat) throws {
        let bytes = try encode(writer, format)
        let expected = samples(try ramp(PixelSize(45, 30), format))
        let found = try #require(try thumbnail(HEIFDecoder(session(bytes))))
        #expect(found.info.size == PixelSize(45, 30))
        #expect(found.info.nativeFormat == format)
        #expect(largest(found.pixels, expected) <= 24)
        let image = try decode(HEIFDecoder(session(bytes)))
        #expect(try largest(image, samples(ramp(PixelSize(144, 96), format))) <= 24)
    }

    @Test(arguments: [Writer.avif, .heifAVIF], [PixelFormat.rgb8, .gray8])
    private func `keeps the given pixels for the AVIF coder`(writer: Writer, format: PixelFormat) throws {
        let bytes = try encode(writer, format)
        let decoder = try AVIFDecoder(session(bytes))
        #expect(try decoder.readHeader().hasItems)
        let found = try #require(try thumbnail(decoder))
        #expect(try largest(found.pixels, samples(ramp(PixelSize(45, 30), format))) <= 24)
        #expect(try largest(decode(decoder), decode(HEIFDecoder(session(bytes)))) <= 3)
    }

    @Test(arguments: Writer.allCases)
    private func `works with alpha, metadata and lossless samples`(writer: Writer) throws {
        let exif = ExifOrientation.blob(.left)
        let xmp = Array("<x:xmpmeta xmlns:x=\"adobe:ns:meta/\"/>".utf8)
        let bytes = try encode(
            writer, .rgba8, small: .rgb8, blobs: [MetadataBlob(.exif, exif), MetadataBlob(.xmp, xmp)],
            options: [OptionKey.lossless: .bool(true)])
        let decoder = try HEIFDecoder(session(bytes))
        #expect(try decode(decoder) == samples(ramp(PixelSize(144, 96), .rgba8)))
        #expect(try decoder.metadata().first { $0.kind == .exif }?.bytes == exif)
        #expect(try decoder.metadata().first { $0.kind == .xmp }?.bytes == xmp)
        let found = try #require(try thumbnail(decoder))
        #expect(try largest(found.pixels, samples(ramp(PixelSize(45, 30), .rgb8))) <= 24)
        if writer == .heic {
            #expect(throws: CoderError.self) { try AVIFDecoder(session(bytes)).readHeader() }
        } else {
            #expect(try decode(AVIFDecoder(session(bytes))) == samples(ramp(PixelSize(144, 96), .rgba8)))
        }
    }

    @Test func `puts the thumbnail in front of the image, so that it arrives first`() throws {
        let bytes = try encode(.avif)
        let source = ByteSource(bytes, arrived: bytes.count - 1)
        let decoder = try AVIFDecoder(DecoderSession(source: source))
        let found = try #require(try thumbnail(decoder))
        #expect(try largest(found.pixels, samples(ramp(PixelSize(45, 30), .rgb8))) <= 24)
        #expect(throws: CoderError.needsInput) { try decode(decoder) }
        source.arrive()
        #expect(try largest(decode(decoder), samples(ramp(PixelSize(144, 96), .rgb8))) <= 24)
    }

    @Test func `works with a sequence that is played three times`() throws {
        let bytes = try encode(.avif, frames: 3, loopCount: .plays(3))
        let decoder = try AVIFDecoder(session(bytes))
        let info = try decoder.readHeader()
        #expect(info.frameCount == 3 && info.loopCount == .plays(3) && info.hasItems)
        let found = try #require(try thumbnail(decoder))
        #expect(try largest(found.pixels, samples(ramp(PixelSize(45, 30), .rgb8))) <= 24)
        for _ in 0..<3 { #expect(try decoder.nextFrame() != nil) }
        #expect(try largest(decode(decoder), samples(ramp(PixelSize(144, 96), .rgb8))) <= 24)
    }

    @Test(arguments: Writer.allCases)
    private func `refuses a thumbnail larger than the image, and the session continues`(writer: Writer) throws {
        let encoder = try writer.encoder([OptionKey.effort: .integer(1)])
        let sink = ByteSink()
        let size = PixelSize(64, 48)
        try encoder.begin(ImageInfo(size: size, nativeFormat: .rgb8), to: sink)
        var code: CoderError.Code?
        do throws(CoderError) {
            try encoder.addThumbnail(pixels: Surface(PixelBuffer(size: PixelSize(65, 48), format: .rgb8)))
        } catch { code = error.code }
        #expect(code == .refused)
        try encoder.add(FrameInfo(index: 0, rect: PixelRect(size)), pixels: Surface(ramp(size, .rgb8)))
        try encoder.finish()
        #expect(try HEIFDecoder(session(sink.written)).readHeader().hasItems == false)
    }
}
