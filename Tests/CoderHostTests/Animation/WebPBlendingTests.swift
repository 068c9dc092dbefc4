import CoderHost
import ImageModel
import TestSupport
import Testing

/// Every composited frame compared with `WebPAnimDecoder`, colors of transparent pixels included.
@Suite struct `Composited WebP frames` {
    private static func little(_ value: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }

    private static func chunk(_ tag: String, _ payload: [UInt8]) -> [UInt8] {
        Array(tag.utf8) + little(payload.count, 4) + payload + (payload.count % 2 == 0 ? [] : [0])
    }

    struct Frame {
        var rect: PixelRect
        var rgba: [UInt8]
        var replaces = false
        var clears = false
    }

    /// An animated WebP of lossless frames.
    private static func file(_ canvas: PixelSize, _ frames: [Frame]) throws -> [UInt8] {
        // Animation and alpha.
        var chunks = chunk("VP8X", [0x12, 0, 0, 0] + little(canvas.width - 1, 3) + little(canvas.height - 1, 3))
        chunks += chunk("ANIM", [0, 0, 0, 0, 0, 0])
        for frame in frames {
            let rect = frame.rect
            let still = try #require(WebPPlayer.still(frame.rgba, width: rect.width, height: rect.height))
            let place = little(rect.x / 2, 3) + little(rect.y / 2, 3) + little(rect.width - 1, 3)
            chunks += chunk(
                "ANMF",
                place + little(rect.height - 1, 3) + little(40, 3)
                    + [(frame.replaces ? 2 : 0) | (frame.clears ? 1 : 0)] + still[12...])
        }
        return Array("RIFF".utf8) + little(chunks.count + 4, 4) + Array("WEBP".utf8) + chunks
    }

    private static func compare(_ canvas: PixelSize, _ frames: [Frame], _ comment: Comment) throws {
        let file = try file(canvas, frames)
        let expected = try #require(
            WebPPlayer.canvases(file, frames: frames.count, bytes: canvas.width * canvas.height * 4), comment)
        let image = try Bench.open(file)
        try #require(image.frameCount == frames.count, comment)
        // In order, then backward, so that the canvas is rebuilt from key frames.
        for index in Array(frames.indices) + frames.indices.reversed() {
            let pixels = try image.frame(at: index).pixels
            try #require(pixels.format == .rgba8 && pixels.size == canvas)
            // The macro would print every byte.
            let isSame = pixels.isSame(as: expected[index])
            #expect(isSame, "\(comment), frame \(index)")
        }
    }

    /// Every alpha (x) over every alpha (y), in four colors.
    @Test(arguments: [[0, 255, 128], [255, 0, 127], [1, 254, 77], [200, 100, 3]] as [[UInt8]])
    func `have every alpha over every alpha as in libwebp`(color: [UInt8]) throws {
        let below = (0..<65536).flatMap { at in color.reversed() + [UInt8(at / 256)] }
        let above = (0..<65536).flatMap { at in color + [UInt8(at % 256)] }
        let canvas = PixelSize(256, 256)
        let whole = PixelRect(canvas)

        try Self.compare(canvas, [Frame(rect: whole, rgba: below), Frame(rect: whole, rgba: above)], "\(color)")
    }

    @Test(arguments: 0..<40)
    func `are as in libwebp with random rectangles, alpha, blending and disposal`(seed: UInt64) throws {
        var random = SeededRandom(seed)
        let canvas = PixelSize(Int.random(in: 1...26, using: &random), Int.random(in: 1...20, using: &random))
        let frames = (0..<8).map { _ in Self.frame(on: canvas, &random) }
        try Self.compare(canvas, frames, "seed \(seed)")
    }

    private static func frame(on canvas: PixelSize, _ random: inout SeededRandom) -> Frame {
        let isWhole = Int.random(in: 0..<4, using: &random) == 0
        let x = isWhole ? 0 : Int.random(in: 0..<canvas.width, using: &random) & ~1
        let y = isWhole ? 0 : Int.random(in: 0..<canvas.height, using: &random) & ~1
        let width = isWhole ? canvas.width : Int.random(in: 1...canvas.width - x, using: &random)
        let height = isWhole ? canvas.height : Int.random(in: 1...canvas.height - y, using: &random)
        // Opaque, with holes, or any alpha.
        let kind = Int.random(in: 0..<3, using: &random)
        var rgba: [UInt8] = []
        for _ in 0..<width * height {
            let pixel = random.next()
            let alpha = UInt8(truncatingIfNeeded: pixel >> 24)
            rgba += [0, 8, 16].map { UInt8(truncatingIfNeeded: pixel >> $0) }
            rgba.append(kind == 0 ? 255 : kind == 1 ? (alpha < 128 ? 0 : 255) : alpha)
        }
        return Frame(
            rect: PixelRect(x: x, y: y, width: width, height: height), rgba: rgba,
            replaces: Bool.random(using: &random), clears: Bool.random(using: &random))
    }
}
