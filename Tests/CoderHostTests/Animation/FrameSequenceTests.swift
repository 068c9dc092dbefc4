import ImageModel
import TestSupport
import Testing

@testable import CoderHost

@Suite struct `Key frames` {
    private static let canvas = PixelSize(8, 8)

    private static func frame(
        _ rect: PixelRect, _ blend: Blend = .source, _ disposal: Disposal = .keep
    ) -> FrameInfo {
        FrameInfo(index: 0, rect: rect, blend: blend, disposal: disposal)
    }

    private static func timeline(_ frames: [FrameInfo]) -> FrameTimeline {
        var timeline = FrameTimeline(canvas: canvas)
        for (index, frame) in frames.enumerated() {
            var frame = frame
            frame.index = index
            timeline.append(frame)
        }
        return timeline
    }

    private static let whole = PixelRect(canvas)
    private static let part = PixelRect(x: 2, y: 2, width: 3, height: 3)

    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var frames: [FrameInfo]
        var starts: [Int]
        var testDescription: String { name }
    }

    static let cases = [
        Case(name: "parts build on the first", frames: [frame(whole), frame(part), frame(part)], starts: [0, 0, 0]),
        Case(name: "a frame that replaces all", frames: [frame(whole), frame(part), frame(whole)], starts: [0, 0, 2]),
        Case(name: "drawn over all is no key", frames: [frame(whole), frame(whole, .over)], starts: [0, 0]),
        Case(
            name: "after the whole canvas was cleared", frames: [frame(whole, .over, .background), frame(part, .over)],
            starts: [0, 1]),
        Case(
            name: "after the only part was cleared",
            frames: [frame(part, .over, .background), frame(part, .over, .background), frame(part)],
            starts: [0, 1, 2]),
        Case(
            name: "after a part of more was cleared",
            frames: [frame(whole), frame(part, .source, .background), frame(part, .over)], starts: [0, 0, 0]),
        Case(
            name: "previous brings back what was before",
            frames: [frame(part, .over, .previous), frame(part), frame(whole, .source, .previous), frame(part)],
            starts: [0, 1, 2, 1]),
    ]

    @Test(arguments: cases) func `are frames that need no other frame`(known: Case) {
        let timeline = Self.timeline(known.frames)

        #expect(known.frames.indices.map(timeline.start) == known.starts)
        #expect(known.frames.indices.map(timeline.isKeyFrame) == known.frames.indices.map { known.starts[$0] == $0 })
    }

    @Test func `have samples that depend on no other frame`() {
        var dependent = Self.frame(Self.whole)
        dependent.isIndependent = false

        let timeline = Self.timeline([dependent, dependent, Self.frame(Self.whole), dependent])

        #expect((0..<4).map(timeline.start) == [0, 1, 2, 3])
        #expect((0..<4).map(timeline.isKeyFrame) == [true, false, true, false], "no frame precedes the first")
    }

    /// The twelve frames of SDWebImage's blend test: ten depend on the first, one replaces the canvas.
    @Test func `follow a frame that does not blend`() {
        var frames = [Self.frame(Self.whole, .over)]
        frames += (1..<10).map { Self.frame(PixelRect(x: $0 % 4, y: 0, width: 4, height: 8), .over) }
        frames += [Self.frame(Self.whole), Self.frame(Self.part, .over)]

        let timeline = Self.timeline(frames)

        #expect(frames.indices.map(timeline.start) == Array(repeating: 0, count: 10) + [10, 10])
    }
}

@Suite struct `Frame sequence` {
    private static let size = PixelSize(6, 4)

    /// Random frames with distinct colors.
    private static func frames(_ count: Int, seed: UInt64) -> [ScriptedCoder.Frame] {
        var random = SeededRandom(seed)
        return (0..<count).map { index in
            let isWhole = Int.random(in: 0..<4, using: &random) == 0
            let x = Int.random(in: 0..<5, using: &random)
            let y = Int.random(in: 0..<3, using: &random)
            let rect =
                isWhole
                ? PixelRect(size)
                : PixelRect(
                    x: x, y: y, width: Int.random(in: 1...6 - x, using: &random),
                    height: Int.random(in: 1...4 - y, using: &random))
            let alpha = [0, 255, 255, 130].randomElement(using: &random)!
            let info = FrameInfo(
                index: index, rect: rect, duration: .milliseconds(UInt32(10 * index)),
                blend: Bool.random(using: &random) ? .over : .source,
                disposal: [.keep, .background, .previous].randomElement(using: &random)!, hasAlpha: true)
            return (info, [UInt8(index * 7 % 251), UInt8(index), UInt8(255 - index), UInt8(alpha)])
        }
    }

    private static func open(_ coder: ScriptedCoder) throws -> DecodeSession {
        let manager = testHost().manager
        manager.addCoder(coder)
        return try manager.openSession(badImage)
    }

    @Test func `decodes each frame once from front to back`() throws {
        let frames = Self.frames(50, seed: 1)
        let coder = ScriptedCoder("once", size: Self.size, frames: frames)
        let session = try Self.open(coder)

        for index in frames.indices { _ = try session.decodeFrame(index) }

        #expect(coder.decoded == Array(frames.indices))
    }

    @Test func `shows every frame of a coder that declares fewer`() throws {
        let frames = (0..<3).map {
            (FrameInfo(index: $0, rect: PixelRect(Self.size)), [UInt8](repeating: UInt8($0 + 1), count: 4))
        }
        let session = try Self.open(
            ScriptedCoder("few", roles: [.decode, .animation], size: Self.size, frames: frames, claims: 1))

        for index in [2, 0, 1] { #expect(try session.decodeFrame(index).pixels.packed.first == UInt8(index + 1)) }
    }

    @Test func `ends if a coder waits for input that never arrives`() throws {
        let frame = FrameInfo(index: 0, rect: PixelRect(Self.size))
        let coder = ScriptedCoder(
            "waits", size: Self.size, frames: [(frame, [1, 2, 3, 4])], claims: 2, neverEnds: true)

        guard case .failure(let error) = try Self.open(coder).findFrames() else { throw CoderError(.misuse, "no end") }
        #expect(error.code == .truncated)
    }

    @Test(arguments: 0..<40, [true, false]) func `shows the same in any order`(seed: Int, canSeek: Bool) throws {
        let frames = Self.frames(30, seed: UInt64(seed))
        let inOrder = try Self.open(ScriptedCoder("a", size: Self.size, frames: frames))
        let expected = try frames.indices.map { try inOrder.decodeFrame($0).pixels.packed }
        let session = try Self.open(ScriptedCoder("b", size: Self.size, frames: frames, canSeek: canSeek))
        var random = SeededRandom(UInt64(seed) + 1000)

        for _ in 0..<60 {
            let index = Int.random(in: frames.indices, using: &random)
            #expect(try session.decodeFrame(index).pixels.packed == expected[index])
        }
    }

    @Test(arguments: 0..<20) func `replays at most from the start of the canvas`(seed: Int) throws {
        let frames = Self.frames(30, seed: UInt64(seed))
        let coder = ScriptedCoder("cost", size: Self.size, frames: frames)
        let session = try Self.open(coder)
        // This is not always the nearest key frame: a frame with disposal "previous" uncovers older content.
        var timeline = FrameTimeline(canvas: Self.size)
        for frame in try session.frames() { timeline.append(frame) }

        for index in frames.indices.reversed() {
            let before = coder.decoded.count
            _ = try session.decodeFrame(index)
            #expect(coder.decoded.count - before <= index - timeline.start(of: index) + 1)
        }
    }

    @Test func `skips frames that leave nothing on the canvas`() throws {
        var frames = Self.frames(5, seed: 3)
        for index in frames.indices {
            frames[index].info.rect = PixelRect(x: 0, y: 0, width: 2, height: 2)
            frames[index].info.disposal = [.keep, .previous, .background, .previous, .keep][index]
        }
        let coder = ScriptedCoder("skip", size: Self.size, frames: frames)

        _ = try Self.open(coder).decodeFrame(4)

        #expect(coder.decoded == [0, 4])
    }

    @Test func `does not decode again what is on the canvas`() throws {
        let coder = ScriptedCoder("again", size: Self.size, frames: Self.frames(3, seed: 4))
        let session = try Self.open(coder)

        for _ in 0..<3 { _ = try session.decodeFrame(2) }

        #expect(coder.decoded.filter { $0 == 2 }.count == 1)
    }
}
