import AVIFCodec
import CoderPluginKit
import ImageModel
import TestSupport
import Testing

/// An image whose samples follow from their position; `phase` moves it.
private func drawn(_ size: PixelSize, _ format: PixelFormat, phase: Int = 0) throws -> PixelBuffer {
    let buffer = try PixelBuffer(size: size, format: format)
    let surface = Surface(buffer)
    let channels = format.channels.count
    for y in 0..<size.height {
        surface.withMutableRow(y) { row in
            for x in 0..<size.width {
                for channel in 0..<channels {
                    let value = (x * 5 + y * 3 + channel * 60 + phase * 20) % 256
                    let index = x * channels + channel
                    if format.bits == 8 {
                        row.storeBytes(of: UInt8(value), toByteOffset: index, as: UInt8.self)
                    } else {
                        row.storeBytes(of: UInt16(value) * 257, toByteOffset: index * 2, as: UInt16.self)
                    }
                }
            }
        }
    }
    return buffer
}

private func encode(
    _ frames: [(PixelBuffer, FrameDuration)], loopCount: LoopCount = .unknown, announced: Int? = nil,
    isAnimated: Bool = true, blobs: [MetadataBlob] = [], options: CoderOptions = [:]
) throws -> [UInt8] {
    var options = options
    if options[OptionKey.effort] == nil { options[OptionKey.effort] = .integer(0) }
    let encoder = try AVIFEncoder(EncoderSession(options: options))
    let first = frames[0].0
    var info = ImageInfo(size: first.size, nativeFormat: first.format, loopCount: loopCount, isAnimated: isAnimated)
    info.frameCount = announced
    #expect(try encoder.acceptedFormats(for: info).first == first.format)
    let sink = ByteSink()
    try encoder.begin(info, to: sink)
    for blob in blobs { #expect(try encoder.add(blob)) }
    for (index, (pixels, duration)) in frames.enumerated() {
        try encoder.add(
            FrameInfo(index: index, rect: PixelRect(first.size), duration: duration), pixels: Surface(pixels))
    }
    try encoder.finish()
    return sink.written
}

private func still(
    _ pixels: PixelBuffer, blobs: [MetadataBlob] = [], options: CoderOptions = [:]
) throws -> [UInt8] {
    try encode([(pixels, .unknown)], announced: 1, isAnimated: false, blobs: blobs, options: options)
}

private func decoder(_ bytes: [UInt8]) throws -> AVIFDecoder {
    try AVIFDecoder(DecoderSession(source: ByteSource(bytes)))
}

private func pixels(_ decoder: AVIFDecoder) throws -> PixelBuffer {
    let info = try decoder.readHeader()
    let buffer = try PixelBuffer(size: info.size, format: info.nativeFormat)
    #expect(try decoder.decode(DecodeRequest(), into: Surface(buffer)) == .complete)
    return buffer
}

private func difference(_ a: PixelBuffer, _ b: PixelBuffer) -> Double {
    let (left, right) = (PixelDigest.rgba8(a), PixelDigest.rgba8(b))
    guard left.count == right.count else { return .infinity }
    return Double(zip(left, right).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }) / Double(left.count)
}

@Suite struct `Encoded AVIF stills` {
    @Test(arguments: [PixelFormat.rgb8, .rgba8, .gray8])
    func `keep every sample if lossless`(format: PixelFormat) throws {
        let image = try drawn(PixelSize(37, 21), format)
        let again = try pixels(decoder(still(image, options: [OptionKey.lossless: .bool(true)])))
        #expect(again.format == format)
        #expect(PixelDigest.rgba8(again) == PixelDigest.rgba8(image))
    }

    @Test(arguments: [8, 10, 12], ["420", "422", "444"])
    func `keep their bit depth and colors`(depth: Int, chroma: String) throws {
        let image = try drawn(PixelSize(41, 23), depth == 8 ? .rgb8 : .rgb16)
        let options: CoderOptions = [
            "avif.bit-depth": .integer(Int64(depth)), "avif.chroma": .string(chroma), "quality": .real(95),
        ]
        let again = try decoder(still(image, options: options))
        let info = try again.readHeader()
        #expect(info.bitDepth == depth && info.nativeFormat == image.format && info.frameCount == 1)
        #expect(!info.isAnimated)
        #expect(try difference(pixels(again), image) < 12)
    }

    @Test func `carry Exif, XMP and a profile`() throws {
        let blobs = [
            MetadataBlob(.exif, ExifOrientation.blob(.right)), MetadataBlob(.xmp, Array("<x:xmpmeta/>".utf8)),
            MetadataBlob(.icc, (0..<200).map { UInt8($0) }),
        ]
        let again = try decoder(still(drawn(PixelSize(16, 8), .rgb8), blobs: blobs))
        #expect(Set(try again.metadata()) == Set(blobs))
        // Only the transforms of the format rotate.
        #expect(try again.readHeader().size == PixelSize(16, 8) && again.readHeader().orientation == .up)
        #expect(try again.readHeader().color.hasProfile)
    }

    @Test func `of an animation with one frame are stills`() throws {
        for announced in [1, nil] {
            let bytes = try encode(
                [(drawn(PixelSize(16, 16), .rgba8), .milliseconds(40))], loopCount: .infinite, announced: announced)
            #expect(bytes[8..<12].elementsEqual("avif".utf8))
            #expect(try decoder(bytes).readHeader().isAnimated == false)
        }
    }

    @Test func `refuse invalid settings`() throws {
        for options in [
            ["avif.bit-depth": .integer(9)], ["avif.chroma": .string("411")], ["quality": .real(101)],
            ["lossless": .bool(true), "avif.chroma": .string("420")],
        ] as [CoderOptions] {
            let error = #expect(throws: CoderError.self) { try still(drawn(PixelSize(8, 8), .rgb8), options: options) }
            #expect(error?.code == .invalidArgument)
        }
    }
}

@Suite struct `Encoded AVIF sequences` {
    @Test(arguments: [LoopCount.unknown, .plays(1), .plays(7), .infinite])
    func `store the loop count, and keep every frame`(loopCount: LoopCount) throws {
        let size = PixelSize(32, 24)
        let frames = try (0..<5).map { (try drawn(size, .rgba8, phase: $0), FrameDuration(UInt32($0) + 1, over: 25)) }
        let bytes = try encode(frames, loopCount: loopCount, options: [OptionKey.lossless: .bool(true)])
        let again = try decoder(bytes)
        let info = try again.readHeader()
        #expect(info.loopCount == loopCount && info.frameCount == 5 && info.isAnimated && info.hasAlpha)
        for (image, duration) in frames {
            let frame = try #require(try again.nextFrame())
            // The same fraction in another unit.
            #expect(
                UInt64(frame.duration.numerator) * UInt64(duration.denominator)
                    == UInt64(duration.numerator) * UInt64(frame.duration.denominator))
            #expect(PixelDigest.of(try pixels(again)) == PixelDigest.of(image))
        }
        #expect(try again.nextFrame() == nil)

        // By its first brand a reader shows the still instead, which has its own position.
        var item = bytes
        item.replaceSubrange(8..<12, with: Array("avif".utf8))
        #expect(try decoder(item).readHeader().frameCount == 1)
        #expect(PixelDigest.of(try pixels(decoder(item))) == PixelDigest.of(frames[0].0))
    }

    @Test(arguments: [
        FrameDuration(1, over: 24), FrameDuration(1001, over: 24_000), FrameDuration(33, over: 1000),
        FrameDuration(7, over: 100), FrameDuration(1024, over: 10_240), FrameDuration(1, over: 7),
    ])
    func `keep durations exactly`(duration: FrameDuration) throws {
        let frames = try (0..<3).map { (try drawn(PixelSize(16, 16), .rgb8, phase: $0), duration) }
        let again = try decoder(encode(frames))
        while let frame = try again.nextFrame() {
            #expect(
                UInt64(frame.duration.numerator) * UInt64(duration.denominator)
                    == UInt64(duration.numerator) * UInt64(frame.duration.denominator))
        }
    }

    @Test func `round durations without a common unit, without drift`() throws {
        let odd = [FrameDuration(1, over: 1000)] + Array(repeating: FrameDuration(1, over: 7_777), count: 30)
        let again = try decoder(encode(odd.map { (try drawn(PixelSize(16, 16), .rgb8), $0) }))
        var sum = 0.0
        var unit = 0.0
        while let frame = try again.nextFrame() {
            sum += Double(frame.duration.numerator) / Double(frame.duration.denominator)
            unit = 1 / Double(frame.duration.denominator)
        }
        #expect(abs(sum - (0.001 + 30.0 / 7_777)) <= unit)
    }

    @Test func `have key frames at the requested interval`() throws {
        let frames = try (0..<9).map { (try drawn(PixelSize(32, 32), .rgb8, phase: $0), FrameDuration(1, over: 10)) }
        let again = try decoder(encode(frames, options: ["avif.key-interval": .integer(3)]))
        var keys: [Bool] = []
        while let frame = try again.nextFrame() { keys.append(frame.isIndependent) }
        #expect(keys[0] && keys[3] && keys[6])
    }

    @Test func `keep ten bits`() throws {
        let frames = try (0..<3).map { (try drawn(PixelSize(32, 24), .rgba16, phase: $0), FrameDuration(1, over: 10)) }
        let again = try decoder(encode(frames, options: ["quality": .real(95), "avif.chroma": .string("444")]))
        #expect(try again.readHeader().nativeFormat == .rgba16 && again.readHeader().bitDepth == 10)
        for (image, _) in frames {
            #expect(try again.nextFrame() != nil)
            #expect(try difference(pixels(again), image) < 6)
        }
    }
}
