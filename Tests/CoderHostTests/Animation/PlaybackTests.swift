import ImageModel
import ImageProcessing
import TestSupport
import Testing

@testable import CoderHost

/// A clock that the test advances.
final class TestClock: PlaybackClock {
    private let time = Mutex<UInt64>(1_000_000)
    var now: UInt64 { time.withLock { $0 } }
    func pass(milliseconds: Double) { time.withLock { $0 += UInt64(milliseconds * 1_000_000) } }
}

/// An animation with one-pixel frames that contain their index.
func numbered(
    _ count: Int, milliseconds: UInt32 = 100, loopCount: LoopCount = .infinite, size: PixelSize = PixelSize(1, 1)
) throws -> (image: AnimatedImage, coder: ScriptedCoder) {
    let frames = (0..<count).map { index in
        (
            FrameInfo(index: index, rect: PixelRect(size), duration: .milliseconds(milliseconds)),
            [UInt8(index), 0, 0, 255]
        )
    }
    let coder = ScriptedCoder("numbers", size: size, frames: frames, loopCount: loopCount)
    let manager = testHost().manager
    manager.addCoder(coder)
    return (try AnimatedImage(badImage, manager: manager), coder)
}

@Suite struct `Order of playing` {
    private func indices(_ mode: PlaybackMode, _ count: Int, steps: Int, plays: Int = 0) -> [Int] {
        var order = FrameOrder(mode, frameCount: count, plays: plays)
        var result = [order.index]
        for _ in 0..<steps {
            guard order.advance() else { break }
            result.append(order.index)
        }
        return result
    }

    @Test func `follows the mode`() {
        #expect(indices(.normal, 3, steps: 5) == [0, 1, 2, 0, 1, 2])
        #expect(indices(.reverse, 3, steps: 5) == [2, 1, 0, 2, 1, 0])
        #expect(indices(.bounce, 3, steps: 8) == [0, 1, 2, 1, 0, 1, 2, 1, 0])
        #expect(indices(.reversedBounce, 3, steps: 8) == [2, 1, 0, 1, 2, 1, 0, 1, 2])
    }

    @Test(arguments: PlaybackMode.allCases) func `ends at the end of a play`(mode: PlaybackMode) {
        let once: [PlaybackMode: [Int]] = [
            .normal: [0, 1, 2], .reverse: [2, 1, 0], .bounce: [0, 1, 2, 1, 0], .reversedBounce: [2, 1, 0, 1, 2],
        ]
        let twice: [PlaybackMode: [Int]] = [
            .normal: [0, 1, 2, 0, 1, 2], .reverse: [2, 1, 0, 2, 1, 0], .bounce: [0, 1, 2, 1, 0, 1, 2, 1, 0],
            .reversedBounce: [2, 1, 0, 1, 2, 1, 0, 1, 2],
        ]

        #expect(indices(mode, 3, steps: 100, plays: 1) == once[mode])
        #expect(indices(mode, 3, steps: 100, plays: 2) == twice[mode])
    }

    @Test(arguments: PlaybackMode.allCases) func `stays at the only frame`(mode: PlaybackMode) {
        #expect(indices(mode, 1, steps: 4) == [0, 0, 0, 0, 0])
        #expect(indices(mode, 1, steps: 4, plays: 1) == [0])
    }

    @Test(arguments: PlaybackMode.allCases, [2, 3, 7])
    func `computes the steps to a frame`(mode: PlaybackMode, count: Int) {
        var order = FrameOrder(mode, frameCount: count)
        for _ in 0..<4 * count {
            for wanted in 0..<count {
                var walker = order
                var steps = 0
                while walker.index != wanted {
                    _ = walker.advance()
                    steps += 1
                }
                #expect(order.steps(to: wanted) == steps)
            }
            _ = order.advance()
        }
    }
}

@Suite struct `Player` {
    @Test func `shows frames for their duration`() throws {
        let (image, _) = try numbered(3, milliseconds: 40)
        let clock = TestClock()
        let player = AnimatedImagePlayer(image, clock: clock)
        var seen: [Int] = []
        player.onFrame = { seen.append($0) }
        player.start()

        for _ in 0..<12 {
            try player.update()
            clock.pass(milliseconds: 10)
        }

        // 0 at 0 ms, 1 at 40 ms, 2 at 80 ms.
        #expect(seen == [0, 1, 2])
        // Frame 2 ends at 120 ms, which is now.
        #expect(player.nanosecondsToNext == 0)
        #expect(player.currentFrame?.pixels.packed.first == 2)
    }

    static let rates: [(Double, [Int])] = [
        (0.5, [0, 0, 1, 1, 2]), (1, [0, 1, 2, 0, 1]), (2, [0, 2, 1, 0, 2]), (0, [0, 0, 0, 0, 0]),
    ]

    @Test(arguments: rates)
    func `plays at any rate`(rate: Double, expected: [Int]) throws {
        let (image, _) = try numbered(3)
        let clock = TestClock()
        let player = AnimatedImagePlayer(image, clock: clock)
        player.playbackRate = rate
        player.skipsLateFrames = true
        player.start()

        var seen: [Int] = []
        for _ in 0..<5 {
            try player.update()
            seen.append(player.currentIndex)
            clock.pass(milliseconds: 100)
        }

        #expect(seen == expected)
    }

    @Test func `skips no frame unless allowed`() throws {
        for skips in [false, true] {
            let (image, _) = try numbered(10)
            let clock = TestClock()
            let player = AnimatedImagePlayer(image, clock: clock)
            player.skipsLateFrames = skips
            player.start()
            try player.update()
            clock.pass(milliseconds: 520)
            try player.update()
            #expect(player.currentIndex == (skips ? 5 : 1))
        }
    }

    @Test(arguments: [(LoopCount.plays(2), 2), (.plays(1), 1), (.unknown, 1)])
    func `stops after the last play at the last frame`(loops: LoopCount, plays: Int) throws {
        let (image, _) = try numbered(3, loopCount: loops)
        let clock = TestClock()
        let player = AnimatedImagePlayer(image, clock: clock)
        var finished: [Int] = []
        player.onLoop = { finished.append($0) }
        player.start()
        for _ in 0..<20 {
            try player.update()
            clock.pass(milliseconds: 100)
        }

        #expect(!player.isPlaying)
        #expect(player.currentIndex == 2)
        #expect(finished == Array(1...plays))
        #expect(player.currentLoop == plays)
    }

    @Test func `keeps its position when paused, and returns to the start when stopped`() throws {
        let (image, _) = try numbered(5)
        let clock = TestClock()
        let player = AnimatedImagePlayer(image, clock: clock)
        player.start()
        try player.update()
        clock.pass(milliseconds: 110)
        try player.update()
        player.pause()
        clock.pass(milliseconds: 1000)
        #expect(try !player.update())
        #expect(player.currentIndex == 1)
        #expect(player.nanosecondsToNext == nil)

        player.start()
        #expect(try !player.update())
        clock.pass(milliseconds: 95)
        #expect(try player.update())
        #expect(player.currentIndex == 2)

        player.stop()
        #expect(player.currentIndex == 0)
        #expect(player.currentFrame == nil)
    }

    @Test func `seeks to any frame and ignores missing ones`() throws {
        let (image, _) = try numbered(5)
        let player = AnimatedImagePlayer(image, clock: TestClock())
        for index in [4, 0, 3, 3, 1] {
            try player.seek(to: index)
            #expect(player.currentFrame?.pixels.packed.first == UInt8(index))
        }
        try player.seek(to: 5)
        try player.seek(to: -1)
        #expect(player.currentIndex == 1)
    }

    @Test func `shows frames without a duration like browsers, or skips them`() throws {
        #expect(DurationPolicy.browser.nanoseconds(.milliseconds(10)) == 100_000_000)
        #expect(DurationPolicy.browser.nanoseconds(.milliseconds(11)) == 11_000_000)
        #expect(DurationPolicy.browser.nanoseconds(.unknown) == 100_000_000)
        #expect(DurationPolicy.exact.nanoseconds(FrameDuration(1, over: 30)) == 33_333_333)
        #expect(DurationPolicy.exact.nanoseconds(.milliseconds(0)) == 0)
        let (image, _) = try numbered(3, milliseconds: 0)
        let clock = TestClock()
        let player = AnimatedImagePlayer(image, clock: clock)
        player.durationPolicy = .exact
        player.skipsLateFrames = true
        player.start()
        try player.update()
        clock.pass(milliseconds: 1)
        // The call must return.
        try player.update()
        #expect((0..<3).contains(player.currentIndex))
    }

    @Test func `shares frames with another player of the same image`() throws {
        let (image, coder) = try numbered(4)
        let players = (0..<3).map { _ in AnimatedImagePlayer(image, clock: TestClock()) }
        for player in players { for index in 0..<4 { try player.seek(to: index) } }

        #expect(coder.decoded == [0, 1, 2, 3])
    }
}

@Suite struct `Frame pool` {
    private static let frameBytes = 8 * 8 * 4

    private func play(_ frames: Int, room: Int, _ mode: PlaybackMode = .normal) throws -> (
        AnimatedImagePlayer, AnimatedImage
    ) {
        let (image, _) = try numbered(frames, size: PixelSize(8, 8))
        image.pool.byteBudget = room * Self.frameBytes
        return (AnimatedImagePlayer(image, mode: mode, clock: TestClock()), image)
    }

    @Test func `meets its budget and keeps the frames needed soonest`() throws {
        let (player, image) = try play(10, room: 3)
        try player.seek(to: 4)
        while try player.prepareNext() {}

        #expect(image.pool.byteCount <= 3 * Self.frameBytes)
        #expect((0..<10).filter { image.pool.frame(at: $0) != nil } == [4, 5, 6])
    }

    @Test func `prepares backwards for reverse playback`() throws {
        let (player, image) = try play(10, room: 3, .reverse)
        try player.update()
        while try player.prepareNext() {}

        #expect((0..<10).filter { image.pool.frame(at: $0) != nil } == [7, 8, 9])
    }

    @Test func `serves two players at different positions`() throws {
        let (first, image) = try play(10, room: 4)
        let second = AnimatedImagePlayer(image, clock: TestClock())
        try first.seek(to: 0)
        try second.seek(to: 6)
        while try image.prepareNext() {}

        #expect((0..<10).filter { image.pool.frame(at: $0) != nil } == [0, 1, 6, 7])
    }

    @Test func `loads and removes all frames`() throws {
        let (image, coder) = try numbered(5)
        try image.preloadAllFrames()
        #expect(image.areAllFramesLoaded)
        _ = try image.frame(at: 3)
        #expect(coder.decoded.count == 5)
        image.unloadAllFrames()
        #expect(image.pool.byteCount == 0)
    }

    @Test func `keeps nothing with a budget of 0`() throws {
        let (player, image) = try play(4, room: 0)
        try player.update()
        #expect(try !player.prepareNext())
        #expect(image.pool.count == 0)
        #expect(player.currentFrame != nil)
    }
}

@Suite struct `Repeated frames` {
    private func buffer() throws -> PixelBuffer { try PixelBuffer(size: PixelSize(1, 1), format: .rgba8) }

    @Test(arguments: [
        ([333, 333, 334], 1, [333, 333, 334]), ([100, 200, 50], 50, [2, 4, 1]), ([40, 40], 40, [1, 1]),
        ([0, 0], 0, [1, 1]), ([0, 30], 30, [1, 1]),
    ])
    func `appear according to the common divisor`(milliseconds: [Int], unit: Int, counts: [Int]) {
        let result = FrameRepetition.counts(milliseconds.map { .milliseconds(UInt32($0)) })

        #expect(result.unitMilliseconds == unit)
        #expect(result.counts == counts)
    }

    /// sixteen frames of 333 and 334 ms, 5.333 s in all.
    @Test func `of SDWebImage's memory test are 5333`() {
        let durations = (0..<16).map { FrameDuration.milliseconds($0 < 11 ? 333 : 334) }

        #expect(FrameRepetition.counts(durations).counts.reduce(0, +) == 5333)
    }

    @Test func `convert back to frames`() throws {
        let frames = try [100, 200, 50].map { ImageFrame(try buffer(), duration: .milliseconds($0)) }

        let (images, milliseconds) = FrameRepetition.images(of: frames)
        let again = FrameRepetition.frames(of: images, milliseconds: milliseconds)

        #expect(images.count == 7)
        #expect(milliseconds == 350)
        #expect(again.map(\.duration.milliseconds) == [100, 200, 50])
        #expect(zip(again, frames).allSatisfy { $0.pixels === $1.pixels })
        #expect(FrameRepetition.frames(of: [try buffer()], milliseconds: 0).map(\.duration.milliseconds) == [100])
        #expect(FrameRepetition.frames(of: [], milliseconds: 10).isEmpty)
    }
}
