import CoderPluginKit
import GIFCodec
import ImageModel
import Testing

struct GivenFrame {
    var pixels: [UInt8]
    var info: FrameInfo

    init(pixels: [UInt8], info: FrameInfo) {
        self.pixels = pixels
        self.info = info
    }

    /// Whole canvases with their durations.
    static func sequence(_ images: [[UInt8]], _ size: PixelSize, each duration: FrameDuration) -> [GivenFrame] {
        images.enumerated().map {
            GivenFrame(
                pixels: $0.element, info: FrameInfo(index: $0.offset, rect: PixelRect(size), duration: duration))
        }
    }
}

func encodeGIF(
    _ size: PixelSize, _ format: PixelFormat, _ frames: [GivenFrame], loops: LoopCount = .unknown,
    options: CoderOptions = [:], blobs: [MetadataBlob] = []
) throws -> [UInt8] {
    let encoder = try GIFEncoder(EncoderSession(options: options))
    let sink = ByteSink()
    var info = ImageInfo(size: size, nativeFormat: format)
    info.loopCount = loops
    info.frameCount = frames.count
    try encoder.begin(info, to: sink)
    for blob in blobs { #expect(try encoder.add(blob)) }
    for frame in frames {
        let buffer = try PixelBuffer(size: frame.info.rect.size, format: format)
        let stride = buffer.bytesPerRow
        for y in 0..<buffer.size.height {
            buffer.withMutableRow(y) { row in
                for x in 0..<stride {
                    row.storeBytes(of: frame.pixels[y * stride + x], toByteOffset: x, as: UInt8.self)
                }
            }
        }
        try encoder.add(frame.info, pixels: Surface(buffer))
    }
    try encoder.finish()
    return sink.written
}

/// Frames of the same size, composited by their disposal.
func composited(_ frames: [DecodedFrame], _ size: PixelSize) -> [[UInt8]] {
    var canvas = [UInt8](repeating: 0, count: size.width * size.height * 4)
    return frames.map { frame in
        let before = canvas
        let rect = frame.info.rect
        func each(_ body: (Int, Int) -> Void) {
            for y in 0..<rect.height {
                for x in 0..<rect.width {
                    body((y * rect.width + x) * 4, ((rect.y + y) * size.width + rect.x + x) * 4)
                }
            }
        }
        each { from, to in
            if frame.pixels[from + 3] != 0 { canvas.replaceSubrange(to..<to + 4, with: frame.pixels[from..<from + 4]) }
        }
        defer {
            switch frame.info.disposal {
            case .keep: break
            case .background: each { _, to in canvas.replaceSubrange(to..<to + 4, with: [0, 0, 0, 0]) }
            case .previous: canvas = before
            }
        }
        return canvas
    }
}

@Suite struct `GIF encoder` {
    private static let canvas = PixelRect(x: 0, y: 0, width: 2, height: 2)

    @Test(arguments: [1, 2, 3, 5, 17, 200, 256])
    func `keeps up to 256 colors exactly`(_ count: Int) throws {
        let size = PixelSize(67, 41)
        let pixels = (0..<67 * 41).flatMap { index -> [UInt8] in
            let color = index * 7 % count
            return color == 3 ? [0, 0, 0, 0] : [UInt8(color), UInt8(255 - color), UInt8(color / 2), 255]
        }
        let bytes = try encodeGIF(
            size, .rgba8, [GivenFrame(pixels: pixels, info: FrameInfo(index: 0, rect: PixelRect(size)))])
        let (info, frames) = try decodeGIF(bytes)
        #expect(info.hasAlpha == (count > 3) && info.loopCount == .plays(1))
        #expect(frames.map(\.pixels) == [pixels])
        #expect(giflibFrames(bytes)?.map(\.pixels) == [pixels])
    }

    /// Long enough to fill the code table several times, with runs whose codes are not known yet.
    @Test(arguments: [1, 2, 200]) func `packs pixels so that giflib unpacks them`(_ run: Int) throws {
        let size = PixelSize(300, 200)
        var state: UInt32 = 1
        let pixels = (0..<60000).map { index -> UInt8 in
            if index % run == 0 { state = state &* 1_664_525 &+ 1_013_904_223 }
            return UInt8(state >> 24)
        }
        let bytes = try encodeGIF(
            size, .gray8, [GivenFrame(pixels: pixels, info: FrameInfo(index: 0, rect: PixelRect(size)))])
        let expected = pixels.flatMap { gray -> [UInt8] in [gray, gray, gray, 255] }
        #expect(giflibFrames(bytes)?.first?.pixels == expected)
        #expect(try decodeGIF(bytes).frames.first?.pixels == expected)
    }

    @Test func `reduces many colors to 256 close ones`() throws {
        let size = PixelSize(64, 64)
        let pixels = (0..<4096).flatMap { index -> [UInt8] in
            let (x, y) = (UInt8(index % 64), UInt8(index / 64))
            return [x * 4, y * 4, (x + y) * 2]
        }
        for dither in ["none", "ordered", "diffusion", "auto"] {
            let bytes = try encodeGIF(
                size, .rgb8, [GivenFrame(pixels: pixels, info: FrameInfo(index: 0, rect: PixelRect(size)))],
                options: ["gif.dither": .string(dither)])
            let got = try decodeGIF(bytes).frames[0].pixels
            var (total, drift) = (0, [0, 0, 0])
            for index in 0..<4096 {
                for channel in 0..<3 {
                    let difference = Int(got[index * 4 + channel]) - Int(pixels[index * 3 + channel])
                    total += abs(difference)
                    drift[channel] += difference
                }
            }
            // 256 colors over a plane of 64 × 64 steps: a cell is four steps of 4 wide, the mean distance about 4.
            #expect(total / (3 * 4096) <= 8)
            // Dithering distributes errors; it must not make the image brighter or darker.
            #expect(drift.allSatisfy { abs($0) / 4096 <= 1 })
        }
    }

    @Test func `makes half transparent pixels transparent or opaque`() throws {
        let pixels: [UInt8] = [1, 2, 3, 128, 1, 2, 3, 127, 1, 2, 3, 255, 9, 9, 9, 0]
        let bytes = try encodeGIF(
            PixelSize(2, 2), .rgba8, [GivenFrame(pixels: pixels, info: FrameInfo(index: 0, rect: Self.canvas))])
        #expect(try decodeGIF(bytes).frames[0].pixels == [1, 2, 3, 255, 0, 0, 0, 0, 1, 2, 3, 255, 0, 0, 0, 0])
    }

    @Test(arguments: [LoopCount.infinite, .plays(1), .plays(2), .plays(65536)])
    func `keeps the loop count`(_ count: LoopCount) throws {
        let frame = GivenFrame(pixels: [1, 2, 3], info: FrameInfo(index: 0, rect: PixelRect(PixelSize(1, 1))))
        #expect(try decodeGIF(encodeGIF(PixelSize(1, 1), .rgb8, [frame], loops: count)).info.loopCount == count)
    }

    @Test func `carries comments and XMP`() throws {
        let blobs = [
            MetadataBlob(.xmp, Array("<x:xmpmeta>ž</x:xmpmeta>".utf8)),
            MetadataBlob(.text, [UInt8](repeating: 0x62, count: 700), key: "Comment"),
        ]
        let frame = GivenFrame(pixels: [1, 2, 3], info: FrameInfo(index: 0, rect: PixelRect(PixelSize(1, 1))))
        let bytes = try encodeGIF(PixelSize(1, 1), .rgb8, [frame], blobs: blobs)
        let decoder = try GIFDecoder(DecoderSession(source: ByteSource(bytes)))
        _ = try decoder.readHeader()
        #expect(try decoder.metadata() == blobs)
        #expect(giflibFrames(bytes)?.count == 1)
    }

    @Test func `refuses images that GIF cannot store`() throws {
        let large = ImageInfo(size: PixelSize(65536, 1), nativeFormat: .rgb8)
        #expect(throws: CoderError.self) { try GIFEncoder(EncoderSession()).begin(large, to: ByteSink()) }
        let encoder = try GIFEncoder(EncoderSession())
        let deep = ImageInfo(size: PixelSize(1, 1), nativeFormat: .rgba16)
        #expect(try encoder.acceptedFormats(for: deep) == [.rgba8])
        try encoder.begin(ImageInfo(size: PixelSize(1, 1), nativeFormat: .rgb8), to: ByteSink())
        #expect(try !encoder.add(MetadataBlob(.icc, [1])))
        #expect(throws: CoderError.self) { try encoder.finish() }
        for (key, value) in [
            ("gif.colors", OptionValue.integer(1)), ("gif.colors", .integer(257)), ("gif.dither", .string("some")),
            ("gif.palette", .string("none")),
        ] {
            #expect(throws: CoderError.self) { try GIFEncoder(EncoderSession(options: CoderOptions([key: value]))) }
        }
    }
}
