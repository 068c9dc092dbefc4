import CoderPluginKit
import GIFCodec
import ImageModel
import TestSupport
import Testing

private func optimized(_ bytes: [UInt8], host: RecordingHost = RecordingHost()) throws -> [UInt8] {
    let sink = ByteSink()
    let session = RewriteSession(source: ByteSource(bytes), sink: sink, host: try host.services())
    _ = try GIFRewriter.rewrite(RewriteRequest(optimizes: true), session)
    return sink.written
}

/// Full frames of 64 x 64 pixels in which a square moves over a pattern.
private func moving(frames: Int, disposal: UInt8) -> HandmadeGIF {
    var file = HandmadeGIF(64, 64)
    file.loops(0)
    for frame in 0..<frames {
        let pixels = (0..<64 * 64).map { place -> UInt8 in
            let (x, y) = (place % 64, place / 64)
            return (frame..<frame + 8).contains(x) && (20..<28).contains(y) ? 3 : UInt8((x * x + y * 3) / 7 % 3)
        }
        file.control(delay: frame + 2, disposal: disposal)
        file.frame(0, 0, 64, 64, pixels)
    }
    file.end()
    return file
}

@Suite(.timeLimit(.minutes(40))) struct `GIF frames as differences` {
    /// Disposal 2 clears each frame, so that only another disposal allows a difference.
    @Test(arguments: [0, 1, 2, 3] as [UInt8]) func `make full frames as small as an encoder does`(disposal: UInt8)
        throws
    {
        let source = moving(frames: 24, disposal: disposal).bytes
        let result = try optimized(source)
        let (before, after) = (ShownGIF(source), ShownGIF(result))
        #expect(after.shows(before) && before.canvases.count == 24 && before.code == nil)

        let encoder = try GIFEncoder(EncoderSession(options: [:]))
        let sink = ByteSink()
        var info = ImageInfo(
            size: PixelSize(64, 64), nativeFormat: .rgba8, loopCount: before.loopCount, isAnimated: true)
        info.frameCount = 24
        try encoder.begin(info, to: sink)
        for (index, canvas) in before.canvases.enumerated() {
            let buffer = try PixelBuffer(size: info.size, format: .rgba8)
            for y in 0..<64 {
                buffer.withMutableRow(y) { row in
                    for x in 0..<256 { row.storeBytes(of: canvas[y * 256 + x], toByteOffset: x, as: UInt8.self) }
                }
            }
            let frame = FrameInfo(index: index, rect: PixelRect(info.size), duration: before.durations[index])
            try encoder.add(frame, pixels: Surface(buffer))
        }
        try encoder.finish()
        #expect(result.count <= sink.written.count + 64, "\(result.count) bytes, the encoder \(sink.written.count)")
        #expect(result.count < source.count / 15)
        #expect(try optimized(result).count <= result.count)
    }

    @Test(arguments: 0..<20) func `keep every shown pixel of any animation`(seed: Int) throws {
        var random = SeededRandom(UInt64(seed))
        for round in 0..<40 {
            var file = HandmadeGIF(9, 7, hasPalette: round % 5 > 0)
            if round % 2 == 0 { file.loops(Int.random(in: 0...9, using: &random)) }
            for _ in 0..<Int.random(in: 2...6, using: &random) {
                let isFull = Bool.random(using: &random)
                let x = isFull ? 0 : Int.random(in: 0...8, using: &random)
                let y = isFull ? 0 : Int.random(in: 0...6, using: &random)
                let width = isFull ? 9 : Int.random(in: 1...9 - x, using: &random)
                let height = isFull ? 7 : Int.random(in: 1...7 - y, using: &random)
                if Int.random(in: 0..<4, using: &random) > 0 {
                    file.control(
                        delay: Int.random(in: 0...70, using: &random),
                        disposal: UInt8.random(in: 0...3, using: &random),
                        transparent: Bool.random(using: &random) ? UInt8.random(in: 0...3, using: &random) : nil)
                }
                file.bytes += [0x21, 0xFE, 3] + Array("abc".utf8) + [0]
                let most = UInt8.random(in: 0...3, using: &random)
                let needsPalette = round % 5 == 0 || Bool.random(using: &random)
                let local = needsPalette ? (0..<12).map { _ in UInt8.random(in: 0...2, using: &random) * 80 } : []
                let pixels = (0..<width * height).map { _ in UInt8.random(in: 0...most, using: &random) }
                file.frame(x, y, width, height, pixels, interlaced: Bool.random(using: &random), palette: local)
            }
            file.end()
            let result = try optimized(file.bytes)
            let (before, after) = (ShownGIF(file.bytes), ShownGIF(result))
            #expect(after.shows(before), "round \(round)")
            #expect(result.count <= file.bytes.count)
            let comments = ShownGIF.comments(file.bytes)
            #expect(ShownGIF.comments(result) == comments && comments.count == before.frames.count)
        }
    }

    @Test(arguments: ["three-frames.gif", "f.gif"]) func `keep the frames of fixtures`(name: String) throws {
        let source = try #require(readFile(Repository.fixture("images/\(name)")))
        let result = try optimized(source)
        #expect(ShownGIF(result).shows(ShownGIF(source)))
        #expect(result.count <= source.count)
    }

    /// Plain text is drawn by some viewers; a frame behind the edge enlarges the canvas in some.
    @Test(arguments: [0, 1]) func `are not made where viewers may differ`(kind: Int) throws {
        var file = HandmadeGIF(8, 8)
        for index in 0..<3 {
            file.frame(0, 0, 8, 8, [UInt8](repeating: UInt8(index), count: 64))
            if kind == 0 { file.bytes += [0x21, 0x01, 12] + [UInt8](repeating: 1, count: 12) + [1, 65, 0] }
        }
        if kind == 1 { file.frame(7, 0, 2, 2, [1, 1, 1, 1]) }
        file.end()
        let result = try optimized(file.bytes)
        #expect(ShownGIF(result).frames == ShownGIF(file.bytes).frames)
        #expect(result.count < file.bytes.count)
    }

    @Test func `give way to single frames without memory for the canvases`() throws {
        let file = moving(frames: 4, disposal: 1)
        let result = try optimized(file.bytes, host: RecordingHost(allowedMemory: 60_000))
        #expect(ShownGIF(result).frames == ShownGIF(file.bytes).frames)
        #expect(result.count < file.bytes.count)
    }
}
