import CoderPluginKit
import ImageModel
import JPEG2000Codec
import TestSupport
import Testing

/// The decoder has been compared with opj_decompress, so it may judge the encoder.
@Suite(.timeLimit(.minutes(40))) struct `JPEG 2000 encoder` {
    /// Samples that differ in every channel and pixel, and are smooth enough to be compressed.
    private static func image(_ format: PixelFormat, _ size: PixelSize) throws -> PixelBuffer {
        let buffer = try PixelBuffer(size: size, format: format)
        let count = format.channels.count
        for y in 0..<size.height {
            buffer.withMutableRow(y) { row in
                for at in 0..<size.width * count {
                    let value = (at / count * 3 + at % count * 50 + y * 2 + (at * y) % 7) % 256
                    if format.bits == 16 {
                        row.storeBytes(of: UInt16(value * 257 ^ 3), toByteOffset: 2 * at, as: UInt16.self)
                    } else {
                        row.storeBytes(of: UInt8(value), toByteOffset: at, as: UInt8.self)
                    }
                }
            }
        }
        return buffer
    }

    private func encoded(
        _ image: PixelBuffer, _ options: CoderOptions, blobs: [MetadataBlob] = [],
        change: (inout ImageInfo) -> Void = { _ in }
    ) throws -> [UInt8] {
        let encoder = try JP2Encoder(EncoderSession(options: options))
        var info = ImageInfo(size: image.size, nativeFormat: image.format, bitDepth: image.format.bits)
        change(&info)
        #expect(try encoder.acceptedFormats(for: info) == [image.format])
        let sink = ByteSink()
        try encoder.begin(info, to: sink)
        for blob in blobs { #expect(try encoder.add(blob)) }
        try encoder.add(FrameInfo(index: 0, rect: PixelRect(info.size)), pixels: Surface(image))
        try encoder.finish()
        return sink.written
    }

    private static let formats: [PixelFormat] = [
        .gray8, PixelFormat(.grayAlpha), .rgb8, .rgba8, PixelFormat(.cmyk), .rgb16, .rgba16,
        PixelFormat(.gray, bits: 16), PixelFormat(.rgba, alpha: .premultiplied),
    ]

    @Test(arguments: formats) func `keeps every sample without loss`(format: PixelFormat) throws {
        let image = try Self.image(format, PixelSize(45, 33))
        for tile in [0, 16, 20] {
            let bytes = try encoded(image, ["lossless": .bool(true), "jp2.tile": .integer(Int64(tile))])
            let decoder = try jp2Decoder(ByteSource(bytes))

            #expect(try decoder.readHeader().nativeFormat == format)
            #expect(try jp2Pixels(decoder).packed == image.packed, "tiles of \(tile)")
        }
    }

    @Test(arguments: [PixelSize(1, 1), PixelSize(1, 9), PixelSize(300, 2)])
    func `encodes small sides`(size: PixelSize) throws {
        let image = try Self.image(.rgb8, size)

        let decoder = try jp2Decoder(ByteSource(encoded(image, ["lossless": .bool(true)])))

        #expect(try jp2Pixels(decoder).packed == image.packed)
    }

    @Test func `encodes smaller with a lower quality, and nearer with a higher one`() throws {
        let image = try Self.image(.rgb8, PixelSize(160, 120))
        var last = (bytes: 0, error: Int.max)
        for quality in [10.0, 40, 75, 95] {
            let bytes = try encoded(image, ["quality": .real(quality)])
            let pixels = try jp2Pixels(jp2Decoder(ByteSource(bytes))).packed
            let error = zip(pixels, image.packed).reduce(0) {
                $0 + (Int($1.0) - Int($1.1)) * (Int($1.0) - Int($1.1))
            }
            #expect(bytes.count > last.bytes && error < last.error, "quality \(quality)")
            last = (bytes.count, error)
        }
    }

    @Test func `encodes to a ratio`() throws {
        let image = try Self.image(.rgb8, PixelSize(160, 120))
        let count = try encoded(image, ["jp2.ratio": .real(20)]).count

        #expect(count > 160 * 120 * 3 / 20 / 2 && count < 160 * 120 * 3 / 20 * 6 / 5)
    }

    @Test func `writes resolutions, or a bare codestream`() throws {
        let image = try Self.image(.rgb8, PixelSize(64, 48))
        let options: CoderOptions = [
            "jp2.levels": .integer(2), "jp2.codestream": .bool(true), "jp2.progression": .string("lrcp"),
        ]
        let bytes = try encoded(image, options)
        let decoder = try jp2Decoder(ByteSource(bytes))

        #expect(bytes.starts(with: [0xFF, 0x4F, 0xFF, 0x51]))
        #expect(decoder.scaledSize(atLeast: PixelSize(1, 1), of: image.size) == PixelSize(16, 12))
    }

    @Test func `writes profile, metadata, density and orientation`() throws {
        var profile = [UInt8](repeating: 0, count: 200)
        profile.replaceSubrange(16..<20, with: Array("RGB ".utf8))
        let blobs = [
            MetadataBlob(.icc, profile), MetadataBlob(.exif, ExifOrientation.blob(.up)),
            MetadataBlob(.xmp, Array("<x:xmpmeta xmlns:x='adobe:ns:meta/'/>".utf8)), MetadataBlob(.iptc, [0x1C, 2, 5]),
        ]
        let bytes = try encoded(Self.image(.rgb8, PixelSize(9, 7)), [:], blobs: blobs) {
            $0.density = .perMeter(x: 11_811, y: 600_000)
            $0.orientation = .right
        }
        let decoder = try jp2Decoder(ByteSource(bytes))
        let info = try decoder.readHeader()

        #expect(info.density == .perMeter(x: 11_811, y: 600_000) && info.orientation == .right)
        #expect(info.color == ColorDescription(hasProfile: true))
        let read = try decoder.metadata()
        #expect(read.map(\.kind) == [.icc, .exif, .xmp, .iptc])
        #expect(read[0].bytes == profile && read[1].bytes == ExifOrientation.blob(.right))
    }

    @Test(
        arguments: [
            ["jp2.tile": .integer(8)], ["jp2.levels": .integer(33)], ["quality": .real(101)],
            ["jp2.progression": .string("xyz")], ["lossless": .bool(true), "jp2.ratio": .real(10)],
        ] as [CoderOptions])
    func `refuses invalid options`(options: CoderOptions) throws {
        let error = try #require(throws: CoderError.self) { try JP2Encoder(EncoderSession(options: options)) }
        #expect(error.code == .invalidArgument)
    }

    /// Found by the conformance kit: the encoder was freed twice.
    @Test func `stops when the output passes its limit`() throws {
        var limits = DecodeLimits.default
        limits.maxOutputBytes = 500
        let image = try Self.image(.rgb8, PixelSize(160, 120))
        let encoder = try JP2Encoder(EncoderSession(options: ["lossless": .bool(true)], limits: limits))
        let info = ImageInfo(size: image.size, nativeFormat: .rgb8)
        try encoder.begin(info, to: ByteSink())
        let error = try #require(throws: CoderError.self) {
            try encoder.add(FrameInfo(index: 0, rect: PixelRect(info.size)), pixels: Surface(image))
        }
        #expect(error.code == .limitExceeded)
    }
}
