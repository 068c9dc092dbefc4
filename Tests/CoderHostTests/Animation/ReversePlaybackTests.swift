import ImageModel
import TestSupport
import Testing

@testable import CoderHost

/// How often dependent frames are decoded.
@Suite struct `Frames on the way` {
    private static let size = PixelSize(8, 8)
    private static let frameBytes = 8 * 8 * 4

    /// An animation with one key frame: all others draw their index on the left half.
    private func chain(
        _ count: Int, room: Int, isIndependent: Bool = true
    ) throws -> (image: AnimatedImage, coder: ScriptedCoder) {
        let part = PixelRect(x: 0, y: 0, width: 4, height: 8)
        let frames = (0..<count).map { index in
            // A frame with dependent samples may also cover the whole canvas.
            let rect = index == 0 || !isIndependent ? PixelRect(Self.size) : part
            let info = FrameInfo(
                index: index, rect: rect, duration: .milliseconds(100), isIndependent: isIndependent || index == 0)
            return (info, [UInt8(index), 0, 0, 255])
        }
        let coder = ScriptedCoder("chain", size: Self.size, frames: frames, loopCount: .infinite)
        let manager = testHost().manager
        manager.addCoder(coder)
        let image = try AnimatedImage(badImage, manager: manager)
        image.pool.byteBudget = room * Self.frameBytes
        return (image, coder)
    }

    /// Plays and checks every displayed frame; prepares others between two frames.
    private func play(
        _ players: [AnimatedImagePlayer], _ clock: TestClock, frames: Int, preparing: Bool
    ) throws {
        for player in players {
            try player.update()
            player.start()
        }
        for _ in 0..<frames {
            for player in players {
                #expect(player.currentFrame?.pixels.packed.first == UInt8(player.currentIndex))
            }
            if preparing { while try players[0].prepareNext() {} }
            clock.pass(milliseconds: 100)
            for player in players { #expect(try player.update()) }
        }
    }

    @Test(arguments: [true, false])
    func `are kept for reverse playback`(isIndependent: Bool) throws {
        let (image, coder) = try chain(100, room: 10, isIndependent: isIndependent)
        let clock = TestClock()
        let player = AnimatedImagePlayer(image, mode: .reverse, clock: clock)

        try play([player], clock, frames: 99, preparing: false)

        // One replay per ten frames: 100 + 90 + … + 10. Without the pool: 100 + 99 + … + 1 = 5050.
        #expect(coder.decoded.count == 550)
        #expect(player.currentIndex == 0)
        #expect(image.pool.byteCount <= 10 * Self.frameBytes)
    }

    @Test(arguments: [true, false])
    func `are prepared in runs of half a pool`(isIndependent: Bool) throws {
        let (image, coder) = try chain(100, room: 10, isIndependent: isIndependent)
        let clock = TestClock()

        try play(
            [AnimatedImagePlayer(image, mode: .reverse, clock: clock)], clock, frames: 99, preparing: true)

        // 100 + 90 + 85 + … + 5, and the first ones of the next play.
        #expect(coder.decoded.count <= 1200)
        #expect(image.pool.byteCount <= 10 * Self.frameBytes)
    }

    @Test(arguments: [PlaybackMode.reverse, .bounce, .reversedBounce, .normal])
    func `are decoded once if all fit`(mode: PlaybackMode) throws {
        let (image, coder) = try chain(60, room: 60)
        let clock = TestClock()

        try play([AnimatedImagePlayer(image, mode: mode, clock: clock)], clock, frames: 200, preparing: false)

        #expect(coder.decoded.sorted() == Array(0..<60))
    }

    @Test func `are not kept for forward playback`() throws {
        let (image, _) = try chain(100, room: 10)
        let player = AnimatedImagePlayer(image, clock: TestClock())

        try player.seek(to: 50)

        #expect((0..<100).filter { image.pool.frame(at: $0) != nil } == [50])
    }

    @Test func `are not decoded alternately for two players`() throws {
        let (image, coder) = try chain(100, room: 20)
        let clock = TestClock()
        let players = (0..<2).map { _ in AnimatedImagePlayer(image, clock: clock) }
        try players[1].seek(to: 50)

        try play(players, clock, frames: 40, preparing: true)

        // Each player alone would need 80 frames at about 50 decodes.
        #expect(coder.decoded.count < 80 * 50 / 4)
    }

    /// Random disposal, blending and sample dependence.
    private static func mixed(_ count: Int, seed: UInt64) -> [ScriptedCoder.Frame] {
        var random = SeededRandom(seed)
        return (0..<count).map { index in
            let isWhole = Int.random(in: 0..<4, using: &random) == 0
            let x = Int.random(in: 0..<8, using: &random)
            let y = Int.random(in: 0..<8, using: &random)
            let part = PixelRect(
                x: x, y: y, width: Int.random(in: 1...8 - x, using: &random),
                height: Int.random(in: 1...8 - y, using: &random))
            let info = FrameInfo(
                index: index, rect: isWhole ? PixelRect(size) : part, duration: .milliseconds(100),
                blend: Bool.random(using: &random) ? .over : .source,
                disposal: [.keep, .background, .previous].randomElement(using: &random)!, hasAlpha: true,
                isIndependent: index == 0 || Int.random(in: 0..<3, using: &random) > 0)
            let alpha = [UInt8(0), 255, 130].randomElement(using: &random)!
            return (info, [UInt8(index * 7), UInt8(index), UInt8(255 - index), alpha])
        }
    }

    @Test(arguments: 0..<40, PlaybackMode.allCases)
    func `equal the frames in sequential order`(seed: Int, mode: PlaybackMode) throws {
        let frames = Self.mixed(30, seed: UInt64(seed))
        let manager = testHost().manager
        manager.addCoder(ScriptedCoder("mixed", size: Self.size, frames: frames, loopCount: .infinite))
        let inOrder = try AnimatedImage(badImage, manager: manager)
        let expected = try frames.indices.map { try inOrder.frame(at: $0).pixels.packed }
        let image = try AnimatedImage(badImage, manager: manager)
        var random = SeededRandom(UInt64(seed) + 77)
        image.pool.byteBudget = Int.random(in: 1...12, using: &random) * Self.frameBytes
        let clock = TestClock()
        let player = AnimatedImagePlayer(image, mode: mode, clock: clock)
        try player.update()
        player.start()

        for _ in 0..<80 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0: try player.seek(to: Int.random(in: frames.indices, using: &random))
            case 1: player.turnRound()
            case 2...4: _ = try player.prepareNext()
            default:
                clock.pass(milliseconds: 100)
                try player.update()
            }
            #expect(player.currentFrame?.pixels.packed == expected[player.currentIndex])
            for index in frames.indices {
                guard let kept = image.pool.frame(at: index) else { continue }
                #expect(kept.pixels.packed == expected[index], "frame \(index)")
            }
        }
    }
}
