import CoderPluginKit
import ImageModel
import TestSupport
import Testing
import WebPCodec

private func file(_ name: String) throws -> [UInt8] { try #require(readFile(Repository.fixture("webp/\(name)"))) }

/// The fixtures' image: red to the right, green downwards, blue in squares, more opaque to the right.
private func gradient(_ format: PixelFormat) throws -> PixelBuffer {
    let buffer = try PixelBuffer(size: PixelSize(40, 24), format: format)
    for y in 0..<24 {
        buffer.withMutableRow(y) { row in
            for offset in row.byteOffsets {
                let x = offset / format.bytesPerPixel
                let channel = offset % format.bytesPerPixel
                let blue: UInt8 = (x / 8 + y / 8) % 2 == 1 ? 200 : 40
                let rgba = [UInt8(x * 6), UInt8(y * 10), blue, UInt8(x * 255 / 39)]
                row.storeBytes(
                    of: rgba[format.channels == .bgra && channel < 3 ? 2 - channel : channel], toByteOffset: offset,
                    as: UInt8.self)
            }
        }
    }
    return buffer
}

private func encode(
    _ buffer: PixelBuffer, _ options: CoderOptions = [:], blobs: [MetadataBlob] = []
) throws -> [UInt8] {
    let encoder = try WebPEncoder(EncoderSession(options: options))
    let sink = ByteSink()
    try encoder.begin(ImageInfo(size: buffer.size, nativeFormat: buffer.format), to: sink)
    for blob in blobs { #expect(try encoder.add(blob)) }
    let surface = Surface(buffer)
    try encoder.add(FrameInfo(index: 0, rect: PixelRect(buffer.size)), pixels: surface)
    try encoder.finish()
    return sink.written
}

/// The values in the library's configuration after the options are applied, by option key.
private func configuration(_ options: CoderOptions, maxThreads: Int = 0) throws -> [String: Double] {
    let compressor = try WebPCompressor(ByteSink(), HostServices())
    try WebPEncoder.configure(compressor, options, maxThreads: maxThreads)
    return Dictionary(uniqueKeysWithValues: WebPCompressor.knobs.map { ($0.key, compressor[$0]) })
}

@Suite struct `WebP encoder settings` {
    /// The defaults that the header of libwebp 1.2.4 documents.
    private static let defaults: [String: Double] = [
        "lossless": 0, "quality": 75, "webp.method": 4, "webp.target-size": 0, "webp.target-psnr": 0,
        "webp.segments": 4, "webp.sns-strength": 50, "webp.filter-strength": 60, "webp.filter-sharpness": 0,
        "webp.filter-type": 1, "webp.autofilter": 0, "webp.alpha-compression": 1, "webp.alpha-filtering": 1,
        "webp.alpha-quality": 100, "webp.pass": 1, "webp.show-compressed": 0, "webp.preprocessing": 0,
        "webp.partitions": 0, "webp.partition-limit": 0, "webp.thread-level": 0, "webp.low-memory": 0,
        "webp.near-lossless": 100, "webp.exact": 0, "webp.use-sharp-yuv": 0,
    ]

    /// A value for every key that is neither its default nor that of a neighbor.
    private static let others: [(String, OptionValue, Double)] = [
        ("lossless", .bool(true), 1), ("quality", .real(12.5), 12.5), ("webp.method", .integer(2), 2),
        ("webp.target-size", .integer(1234), 1234), ("webp.target-psnr", .real(41.5), 41.5),
        ("webp.segments", .integer(3), 3), ("webp.sns-strength", .integer(17), 17),
        ("webp.filter-strength", .integer(18), 18), ("webp.filter-sharpness", .integer(5), 5),
        ("webp.filter-type", .integer(0), 0), ("webp.autofilter", .bool(true), 1),
        ("webp.alpha-compression", .integer(0), 0), ("webp.alpha-filtering", .integer(2), 2),
        ("webp.alpha-quality", .integer(19), 19), ("webp.pass", .integer(7), 7),
        ("webp.show-compressed", .bool(true), 1), ("webp.preprocessing", .integer(3), 3),
        ("webp.partitions", .integer(2), 2), ("webp.partition-limit", .integer(11), 11),
        ("webp.thread-level", .integer(1), 1), ("webp.low-memory", .bool(true), 1),
        ("webp.near-lossless", .integer(60), 60), ("webp.exact", .bool(true), 1),
        ("webp.use-sharp-yuv", .bool(true), 1),
    ]

    @Test func `keep the library's defaults`() throws {
        #expect(try configuration([:]) == Self.defaults)
    }

    @Test(arguments: others.indices)
    func `reach the library one by one`(index: Int) throws {
        let (key, value, stored) = Self.others[index]
        var expected = Self.defaults
        expected[key] = stored
        if key.hasPrefix("webp.target") { expected["webp.pass"] = 6 }

        #expect(try configuration(CoderOptions([key: value])) == expected)
    }

    @Test func `reach the library together`() throws {
        let options = CoderOptions(Dictionary(uniqueKeysWithValues: Self.others.map { ($0.0, $0.1) }))
        #expect(try configuration(options) == Dictionary(uniqueKeysWithValues: Self.others.map { ($0.0, $0.2) }))
    }

    @Test(arguments: others.indices)
    func `of the wrong type are ignored`(index: Int) throws {
        #expect(try configuration(CoderOptions([Self.others[index].0: .string("1")])) == Self.defaults)
    }

    @Test(
        arguments: [
            ("webp.method", 7), ("webp.segments", 5), ("webp.segments", 0), ("webp.pass", 11), ("webp.partitions", 4),
            ("webp.alpha-quality", 101), ("quality", -1), ("effort", 10), ("webp.sns-strength", .max),
        ] as [(String, Int64)])
    func `out of range are refused by name`(key: String, value: Int64) throws {
        var failure: CoderError?
        do throws(CoderError) {
            let compressor = try WebPCompressor(ByteSink(), HostServices())
            try WebPEncoder.configure(compressor, CoderOptions([key: .integer(value)]))
        } catch { failure = error }
        #expect(failure?.code == .invalidArgument && failure?.message.contains(key) == true)
    }

    @Test(arguments: [(0, 0), (1, 1), (2, 1), (3, 2), (4, 3), (5, 3), (6, 4), (7, 5), (8, 5), (9, 6)])
    func `turn effort into a method`(effort: Int, method: Double) throws {
        let options: CoderOptions = ["effort": .integer(Int64(effort))]
        #expect(try configuration(options)["webp.method"] == method)
        var both = options
        both["webp.method"] = .integer(3)
        #expect(try configuration(both)["webp.method"] == 3)
    }

    @Test func `start no thread that the limits forbid`() throws {
        #expect(try configuration(["threads": .integer(2)])["webp.thread-level"] == 1)
        #expect(try configuration(["threads": .integer(1)])["webp.thread-level"] == 0)
        #expect(try configuration(["webp.thread-level": .integer(1)], maxThreads: 1)["webp.thread-level"] == 0)
    }
}

@Suite struct `WebP encoding` {
    private static let ways: [(String, PixelFormat, CoderOptions)] = [
        ("lossy.webp", .rgb8, ["quality": .real(90)]),
        ("lossy-alpha.webp", .rgba8, ["quality": .real(90)]),
        ("lossy-alpha.webp", .bgra8, ["quality": .real(90)]),
        ("lossy.webp", PixelFormat(.bgra, alpha: .opaque), ["quality": .real(90)]),
        ("lossless.webp", .rgb8, ["lossless": .bool(true)]),
        ("lossless.webp", PixelFormat(.rgba, alpha: .opaque), ["lossless": .bool(true)]),
        ("lossless-alpha.webp", .rgba8, ["lossless": .bool(true), "webp.exact": .bool(true)]),
    ]

    @Test(arguments: ways)
    func `writes the same bytes as libwebp's own program`(name: String, format: PixelFormat, options: CoderOptions)
        throws
    {
        #expect(try encode(gradient(format), options) == file(name))
    }

    @Test(arguments: ["webp.use-sharp-yuv", "webp.low-memory", "webp.autofilter", "webp.show-compressed"])
    func `encodes with every switch`(key: String) throws {
        let bytes = try encode(gradient(.rgba8), CoderOptions([key: .bool(true)]))
        #expect(try WebPDecoder(DecoderSession(source: ByteSource(bytes))).readHeader().size == PixelSize(40, 24))
    }

    @Test func `aims at a size`() throws {
        let large = try encode(gradient(.rgb8), ["webp.target-size": .integer(220)]).count
        let small = try encode(gradient(.rgb8), ["webp.target-size": .integer(120)]).count
        #expect(small < large)
    }

    @Test func `writes metadata at the same position as libwebp's own program`() throws {
        let bytes = try encode(
            gradient(.rgb8), ["quality": .real(90)],
            blobs: [
                MetadataBlob(.exif, ExifOrientation.blob(.right)), MetadataBlob(.xmp, Array("<x:xmpmeta/>".utf8)),
                MetadataBlob(.icc, Array("not a real profile".utf8)),
            ])
        #expect(try bytes == file("metadata.webp"))
    }

    @Test func `marks the Exif orientation as upright`() throws {
        let encoder = try WebPEncoder(EncoderSession())
        let buffer = try gradient(.rgb8)
        var info = ImageInfo(size: buffer.size, nativeFormat: .rgb8)
        info.orientation = .up
        let sink = ByteSink()
        try encoder.begin(info, to: sink)
        #expect(try encoder.add(MetadataBlob(.exif, ExifOrientation.blob(.right))))
        let surface = Surface(buffer)
        try encoder.add(FrameInfo(index: 0, rect: PixelRect(buffer.size)), pixels: surface)

        #expect(try WebPDecoder(DecoderSession(source: ByteSource(sink.written))).readHeader().orientation == .up)
    }

    @Test func `accepts metadata that it can store`() throws {
        let encoder = try WebPEncoder(EncoderSession())
        func accepted(_ format: PixelFormat) throws -> [PixelFormat] {
            try encoder.acceptedFormats(for: ImageInfo(size: PixelSize(1, 1), nativeFormat: format))
        }

        #expect(try accepted(.gray8) == [.rgb8])
        #expect(try accepted(.cmyk8) == [.rgb8])
        #expect(try accepted(.rgba16).first == .rgba8)
        #expect(try accepted(.grayAlpha8).first == .rgba8)
        #expect(try accepted(.bgra8).first == .bgra8)
        #expect(try accepted(PixelFormat(.rgba, alpha: .premultiplied)).first == .rgba8)
        #expect(try encoder.add(MetadataBlob(.iptc, [1])) == false)
    }

    @Test(arguments: [PixelSize(16_384, 1), PixelSize(1, 16_384), PixelSize(0, 1)])
    func `refuses sides that are too long`(size: PixelSize) throws {
        let encoder = try WebPEncoder(EncoderSession())
        var failure: CoderError?
        do throws(CoderError) {
            try encoder.begin(ImageInfo(size: size, nativeFormat: .rgb8), to: ByteSink())
        } catch { failure = error }
        #expect(failure?.code == .invalidArgument && failure?.message.contains("16383") == true)
    }

    @Test func `encodes the widest image it allows`() throws {
        let bytes = try encode(PixelBuffer(size: PixelSize(16_383, 1), format: .rgb8), ["effort": .integer(0)])
        #expect(try WebPDecoder(DecoderSession(source: ByteSource(bytes))).readHeader().size == PixelSize(16_383, 1))
    }
}
