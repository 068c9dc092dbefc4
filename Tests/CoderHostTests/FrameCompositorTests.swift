import ImageModel
import TestSupport
import Testing

@testable import CoderHost

@Suite(.timeLimit(.minutes(40))) struct `Frame compositor` {
    typealias Frame = ScriptedCoder.Frame

    static let red: [UInt8] = [255, 0, 0, 255]
    static let green: [UInt8] = [0, 255, 0, 255]
    static let blue: [UInt8] = [0, 0, 255, 255]
    static let nothing: [UInt8] = [0, 0, 0, 0]

    /// A rectangle of one color.
    private static func frame(
        _ index: Int, _ rect: PixelRect, _ color: [UInt8], _ disposal: Disposal = .keep, _ blend: Blend = .source
    ) -> Frame {
        (FrameInfo(index: index, rect: rect, blend: blend, disposal: disposal), color)
    }

    private static func rect(_ x: Int, _ y: Int, _ width: Int, _ height: Int) -> PixelRect {
        PixelRect(x: x, y: y, width: width, height: height)
    }

    /// A letter for each pixel of a canvas of 4 x 3.
    private static func letters(_ buffer: PixelBuffer) -> String {
        let bytes = buffer.packed
        return (0..<3).map { y in
            (0..<4).map { x in
                let at = (y * 4 + x) * 4
                return switch Array(bytes[at..<at + 4]) {
                case red: "r"
                case green: "g"
                case blue: "b"
                case nothing: "."
                default: "?"
                }
            }.joined()
        }.joined(separator: "/")
    }

    struct Story: Sendable, CustomTestStringConvertible {
        var name: String
        var frames: [Frame]
        /// The expected canvas at each frame.
        var seen: [String]
        var testDescription: String { name }
    }

    static let stories = [
        Story(
            name: "keep",
            frames: [
                frame(0, rect(0, 0, 4, 3), red), frame(1, rect(1, 1, 2, 1), green), frame(2, rect(3, 2, 1, 1), blue),
            ],
            seen: ["rrrr/rrrr/rrrr", "rrrr/rggr/rrrr", "rrrr/rggr/rrrb"]),
        Story(
            name: "background clears to transparent, in its own rectangle only",
            frames: [
                frame(0, rect(0, 0, 4, 3), red), frame(1, rect(1, 1, 2, 1), green, .background),
                frame(2, rect(0, 0, 1, 1), blue),
            ], seen: ["rrrr/rrrr/rrrr", "rrrr/rggr/rrrr", "brrr/r..r/rrrr"]),
        Story(
            name: "previous restores what was there",
            frames: [
                frame(0, rect(0, 0, 4, 3), red), frame(1, rect(1, 1, 2, 1), green, .previous),
                frame(2, rect(0, 0, 1, 1), blue),
            ], seen: ["rrrr/rrrr/rrrr", "rrrr/rggr/rrrr", "brrr/rrrr/rrrr"]),
        Story(
            name: "previous after previous restores the same",
            frames: [
                frame(0, rect(0, 0, 4, 3), red), frame(1, rect(0, 0, 2, 3), green, .previous),
                frame(2, rect(1, 0, 2, 3), blue, .previous), frame(3, rect(3, 0, 1, 1), green),
            ], seen: ["rrrr/rrrr/rrrr", "ggrr/ggrr/ggrr", "rbbr/rbbr/rbbr", "rrrg/rrrr/rrrr"]),
        Story(
            name: "previous of the first frame is nothing",
            frames: [frame(0, rect(0, 0, 2, 2), red, .previous), frame(1, rect(3, 2, 1, 1), blue)],
            seen: ["rr../rr../....", "..../..../...b"]),
        Story(
            name: "background before previous",
            frames: [
                frame(0, rect(0, 0, 4, 3), red, .background), frame(1, rect(0, 0, 4, 1), green, .previous),
                frame(2, rect(0, 2, 4, 1), blue),
            ], seen: ["rrrr/rrrr/rrrr", "gggg/..../....", "..../..../bbbb"]),
        Story(
            name: "source replaces with transparency, over does not",
            frames: [
                frame(0, rect(0, 0, 4, 3), red), frame(1, rect(0, 0, 2, 3), nothing),
                frame(2, rect(2, 0, 2, 3), nothing, .keep, .over),
            ], seen: ["rrrr/rrrr/rrrr", "..rr/..rr/..rr", "..rr/..rr/..rr"]),
        Story(
            name: "over with full alpha replaces",
            frames: [frame(0, rect(0, 0, 4, 3), red), frame(1, rect(0, 0, 1, 3), green, .keep, .over)],
            seen: ["rrrr/rrrr/rrrr", "grrr/grrr/grrr"]),
        Story(
            name: "a frame over the edge is cut",
            frames: [
                frame(0, rect(3, 2, 40, 30), red), frame(1, rect(2, 0, 9, 1), green, .background, .over),
                frame(2, rect(0, 0, 1, 1), blue),
            ], seen: ["..../..../...r", "..gg/..../...r", "b.../..../...r"]),
        Story(
            name: "frames beside the canvas leave it alone, whatever they leave behind",
            frames: [
                frame(0, rect(0, 0, 4, 3), red), frame(1, rect(1000, 0, 5, 3), green, .background),
                frame(2, rect(0, 900, 4, 5), green, .previous), frame(3, rect(4, 3, 1, 1), green, .background, .over),
                frame(4, rect(1, 0, 1, 1), blue),
            ], seen: Array(repeating: "rrrr/rrrr/rrrr", count: 4) + ["rbrr/rrrr/rrrr"]),
        Story(
            name: "frames without pixels leave it alone",
            frames: [
                frame(0, rect(0, 0, 4, 3), red), frame(1, rect(1, 1, 0, 2), green, .background),
                frame(2, rect(9, 9, 3, 0), green, .previous), frame(3, rect(1, 0, 1, 1), blue),
            ], seen: Array(repeating: "rrrr/rrrr/rrrr", count: 3) + ["rbrr/rrrr/rrrr"]),
    ]

    private func withStory<R>(
        _ frames: [Frame], _ body: (DecodeSession) throws(CoderError) -> R
    ) throws(CoderError) -> R {
        let manager = testHost().manager
        manager.addCoder(ScriptedCoder("story", size: PixelSize(4, 3), frames: frames))
        return try manager.withSession(badImage, body)
    }

    @Test(arguments: stories) func `composites every frame correctly`(story: Story) throws {
        let seen = try withStory(story.frames) { session throws(CoderError) in
            var all: [String] = []
            for index in story.frames.indices { all.append(Self.letters(try session.decodeFrame(index).pixels)) }
            return all
        }

        #expect(seen == story.seen)
    }

    @Test(arguments: stories) func `composites the same in any order`(story: Story) throws {
        var random = SeededRandom(5)
        for _ in 0..<10 {
            let order = story.frames.indices.shuffled(using: &random)
            let seen = try withStory(story.frames) { session throws(CoderError) in
                var all: [String] = []
                for index in order { all.append(Self.letters(try session.decodeFrame(index).pixels)) }
                return all
            }
            #expect(seen == order.map { story.seen[$0] })
        }
    }

    @Test(arguments: stories) func `does not modify frames that the caller holds`(story: Story) throws {
        let order = Array(story.frames.indices) + [0] + story.frames.indices.reversed()
        let held = try withStory(story.frames) { session throws(CoderError) in
            var all: [PixelBuffer] = []
            for index in order { all.append(try session.decodeFrame(index).pixels) }
            _ = try session.frames()
            return all
        }

        #expect(held.map(Self.letters) == order.map { story.seen[$0] })
    }

    @Test func `converts frames of other formats`() throws {
        let manager = testHost().manager
        let frames = [
            Self.frame(0, Self.rect(0, 0, 2, 1), [10, 20, 30]),
            Self.frame(1, Self.rect(1, 0, 1, 1), [40, 50, 60], .keep, .over),
        ]
        manager.addCoder(ScriptedCoder("rgb", format: .rgb8, size: PixelSize(2, 1), frames: frames))

        let pixels = try manager.withSession(badImage) { session throws(CoderError) in
            try session.decodeFrame(1).pixels
        }

        #expect(pixels.format == .rgba8)
        #expect(pixels.packed == [10, 20, 30, 255, 40, 50, 60, 255])
    }

    @Test func `blends with straight alpha, rounded down like other decoders`() throws {
        var random = SeededRandom(11)
        let alphas: [UInt8] = [0, 1, 2, 127, 128, 254, 255]
        let count = 2000
        func pixels() -> [UInt8] {
            (0..<count).flatMap { _ in
                (0..<3).map { _ in UInt8.random(in: 0...255, using: &random) }
                    + [
                        Bool.random(using: &random)
                            ? alphas.randomElement(using: &random)! : .random(in: 0...255, using: &random)
                    ]
            }
        }
        let (below, above) = (pixels(), pixels())
        let whole = PixelRect(x: 0, y: 0, width: count, height: 1)
        let manager = testHost().manager
        manager.addCoder(
            ScriptedCoder(
                "blend", size: whole.size,
                frames: [Self.frame(0, whole, below), Self.frame(1, whole, above, .keep, .over)]))

        let result = try manager.withSession(badImage) { session throws(CoderError) in
            try session.decodeFrame(1).pixels.packed
        }

        for pixel in stride(from: 0, to: count * 4, by: 4) {
            let (a, b) = (Double(above[pixel + 3]) / 255, Double(below[pixel + 3]) / 255)
            let alpha = a + b * (1 - a)
            #expect((-0.001..<1).contains(alpha * 255 - Double(result[pixel + 3])))
            if alpha == 0 { continue }
            for channel in 0..<3 {
                let value = (Double(above[pixel + channel]) * a + Double(below[pixel + channel]) * b * (1 - a)) / alpha
                #expect((-0.001..<1).contains(value - Double(result[pixel + channel])))
            }
        }
    }

    @Test func `refuses impossible frames`() throws {
        let frames = [Self.frame(0, PixelRect(x: 0, y: 0, width: .max, height: .max), Self.red)]

        let error = #expect(throws: CoderError.self) {
            try withStory(frames) { session throws(CoderError) in try session.decodeFrame(0) }
        }

        #expect(error?.code == .pluginFault)
    }

    @Test func `refuses a frame above the limits`() throws {
        for rect in [Self.rect(0, 0, 70_000, 1), Self.rect(0, 0, 60_000, 60_000), Self.rect(0, 0, 1, 4_000_000_000)] {
            let error = #expect(throws: CoderError.self) {
                try withStory([Self.frame(0, rect, Self.red)]) { session throws(CoderError) in
                    try session.decodeFrame(0)
                }
            }
            #expect(error?.code == .limitExceeded)
        }
    }

    @Test func `reports a missing frame`() throws {
        let error = #expect(throws: CoderError.self) {
            try withStory(Self.stories[0].frames) { session throws(CoderError) in try session.decodeFrame(3) }
        }

        #expect(error?.code == .invalidArgument)
        #expect(error?.hint == "it has 3, counted from 0")
    }

    @Test func `seeks in a real animation in both directions`() throws {
        let fixture = Fixture.named("images/three-frames.gif")
        let digests = try testHost(Repository.products).manager.withSession(ImageSource(fixture.bytes)) {
            session throws(CoderError) in
            var all: [String] = []
            for index in [0, 1, 2, 1, 0, 2] { all.append(PixelDigest.of(try session.decodeFrame(index).pixels)) }
            return all
        }

        #expect(digests[0] == fixture.expect?.pixelSHA256)
        #expect(Set(digests[0...2]).count == 3)
        #expect(digests[3] == digests[1])
        #expect(digests[4] == digests[0])
        #expect(digests[5] == digests[2])
    }
}
