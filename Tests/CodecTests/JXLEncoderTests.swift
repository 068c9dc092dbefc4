import CoderPluginKit
import ImageModel
import JXLCodec
import TestSupport
import Testing

/// The decoder has been compared with djxl, so it may judge the encoder.
@Suite(.timeLimit(.minutes(40))) struct `JPEG XL encoder` {
    /// Samples that differ in every channel and pixel.
    private static func image(_ format: PixelFormat, _ size: PixelSize, shift: Int = 0) throws -> PixelBuffer {
        let buffer = try PixelBuffer(size: size, format: format)
        for y in 0..<size.height {
            buffer.withMutableRow(y) { row in
                for at in 0..<size.width * format.channels.count {
                    let value = (at * 37 + y * 91 + shift * 53) % 256
                    switch (format.numeric, format.bits) {
                    case (.float, 32): row.storeBytes(of: Float(value) / 200, toByteOffset: 4 * at, as: Float.self)
                    case (_, 16): row.storeBytes(of: UInt16(value * 257 ^ 3), toByteOffset: 2 * at, as: UInt16.self)
                    default: row.storeBytes(of: UInt8(value), toByteOffset: at, as: UInt8.self)
                    }
                }
            }
        }
        return buffer
    }

    private func encoded(
        _ frames: [PixelBuffer], options: CoderOptions = CoderOptions(), blobs: [MetadataBlob] = [],
        durations: [FrameDuration] = [], change: (inout ImageInfo) -> Void = { _ in }
    ) throws -> [UInt8] {
        let encoder = try JXLEncoder(EncoderSession(options: options))
        let format = frames[0].format
        var info = ImageInfo(
            size: frames[0].size, nativeFormat: format, bitDepth: format.bits, frameCount: frames.count,
            loopCount: frames.count > 1 ? .plays(3) : .unknown, isAnimated: frames.count > 1)
        change(&info)
        #expect(try encoder.acceptedFormats(for: info) == [format])
        let sink = ByteSink()
        try encoder.begin(info, to: sink)
        for blob in blobs { #expect(try encoder.add(blob)) }
        for (index, frame) in frames.enumerated() {
            let duration = index < durations.count ? durations[index] : .unknown
            try encoder.add(
                FrameInfo(index: index, rect: PixelRect(info.size), duration: duration), pixels: Surface(frame))
        }
        try encoder.finish()
        return sink.written
    }

    private static let formats: [PixelFormat] = [
        .gray8, PixelFormat(.grayAlpha), .rgb8, .rgba8, .rgb16, .rgba16,
        PixelFormat(.gray, bits: 16), PixelFormat(.rgb, bits: 32, numeric: .float),
    ]

    @Test(arguments: formats) func `keeps every sample without loss`(format: PixelFormat) throws {
        let image = try Self.image(format, PixelSize(19, 13))
        let decoder = try jxlDecoder(encoded([image], options: ["lossless": .bool(true)]))

        _ = try decoder.readHeader()
        #expect(decoder.pixelFormats.contains(format))
        #expect(try jxlImage(decoder, as: format).packed == image.packed)
    }

    @Test func `stores more bytes for a higher quality`() throws {
        let image = try Self.image(.rgb8, PixelSize(64, 64))
        let sizes = try [10, 50, 90, 100].map { try encoded([image], options: ["quality": .integer($0)]).count }

        #expect(sizes == sizes.sorted() && Set(sizes).count == 4)
    }

    @Test(arguments: [false, true]) func `keeps the image nearly with loss`(isProgressive: Bool) throws {
        let photo = try jxlImage(jxlDecoder(jxlFixture("progressive")))
        let bytes = try encoded([photo], options: ["quality": .real(95), "jxl.progressive": .bool(isProgressive)])
        let again = try jxlImage(jxlDecoder(bytes)).packed

        let differences = zip(photo.packed, again).map { abs(Int($0) - Int($1)) }
        #expect(Double(differences.reduce(0, +)) / Double(differences.count) < 3)
        #expect(bytes.count < photo.packed.count / 3)
    }

    @Test func `refuses options out of range`() throws {
        let image = try Self.image(.rgb8, PixelSize(2, 2))
        for options in [["quality": .real(101)], ["effort": .integer(10)], ["jxl.decoding-speed": .integer(5)]]
            as [CoderOptions]
        {
            let error = #expect(throws: CoderError.self) { try encoded([image], options: options) }
            #expect(error?.code == .invalidArgument)
        }
    }

    @Test(arguments: [(9, 16), (9, 18), (12, 13), (1, 8), (1, 13), (1, 1)])
    func `declares colors by code points`(primaries: UInt8, transfer: UInt8) throws {
        let points = CodePoints(primaries: primaries, transfer: transfer, matrix: 0, isFullRange: true)
        let bytes = try encoded([Self.image(.rgb16, PixelSize(8, 8))]) {
            $0.color = ColorDescription(codePoints: points)
        }

        #expect(try jxlDecoder(bytes).readHeader().color.codePoints == points)
    }

    @Test func `embeds metadata and the orientation`() throws {
        let profile = try #require(
            try jxlDecoder(jxlFixture("wide-profile-lossless")).metadata().first { $0.kind == .icc })
        let blobs = [
            MetadataBlob(.exif, ExifOrientation.blob(.up)), MetadataBlob(.xmp, Array("<x/>".utf8)), profile,
            MetadataBlob(.raw, [1, 2, 3], key: "jumb"),
        ]
        let bytes = try encoded(
            [Self.image(.rgb8, PixelSize(8, 8))], options: ["lossless": .bool(true)], blobs: blobs
        ) { $0.orientation = .left }

        let decoder = try jxlDecoder(bytes)
        #expect(try decoder.readHeader().orientation == .left)
        let found = try decoder.metadata()
        #expect(found.first { $0.kind == .icc } == profile)
        #expect(found.first { $0.kind == .exif }?.bytes == ExifOrientation.blob(.left))
        #expect(found.first { $0.kind == .xmp } == blobs[1] && found.first { $0.kind == .raw } == blobs[3])
    }

    // MARK: Animations

    @Test func `encodes frames, durations and loops`() throws {
        let frames = try (0..<3).map { try Self.image(.rgba8, PixelSize(11, 7), shift: $0) }
        let durations = [FrameDuration(1, over: 24), FrameDuration(1001, over: 24000), FrameDuration(2, over: 5)]
        let decoder = try jxlDecoder(encoded(frames, options: ["lossless": .bool(true)], durations: durations))
        let info = try decoder.readHeader()

        #expect(info.frameCount == 3 && info.loopCount == .plays(3))
        for (frame, duration) in zip(frames, durations) {
            let found = try #require(try decoder.nextFrame())
            #expect(abs(found.duration.milliseconds - duration.milliseconds) < 0.02)
            #expect(try jxlImage(decoder).packed == frame.packed)
        }
    }

    @Test func `gives a frame without duration one tick`() throws {
        let frames = try (0..<2).map { try Self.image(.rgb8, PixelSize(4, 4), shift: $0) }
        let bytes = try encoded(frames, durations: [FrameDuration(0, over: 1), FrameDuration(1, over: 10)])

        #expect(try jxlDecoder(bytes).readHeader().frameCount == 2)
    }
}
