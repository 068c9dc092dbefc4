import ImageModel
import TestSupport
import Testing

@testable import CoderHost

@Suite struct `Player's controls` {
    private static let millisecond = 1_000_000

    private func playing(
        _ count: Int, _ mode: PlaybackMode = .normal, loopCount: LoopCount = .infinite
    ) throws -> (AnimatedImagePlayer, TestClock) {
        let clock = TestClock()
        let player = AnimatedImagePlayer(try numbered(count, loopCount: loopCount).image, mode: mode, clock: clock)
        try player.update()
        player.start()
        return (player, clock)
    }

    /// The frames displayed when `milliseconds` pass `count` times.
    private func watch(_ player: AnimatedImagePlayer, _ clock: TestClock, _ count: Int) throws -> [Int] {
        try (0..<count).map { _ in
            clock.pass(milliseconds: 100)
            try player.update()
            return player.currentIndex
        }
    }

    @Test func `reverse the direction within a frame, which stays`() throws {
        let (player, clock) = try playing(4)
        clock.pass(milliseconds: 230)
        try player.update()
        try player.update()
        try player.seek(toPosition: 230 * Self.millisecond)
        #expect(player.currentIndex == 2)

        player.turnRound()

        #expect(player.currentIndex == 2)
        #expect(player.mode == .reverse)
        #expect(!player.isForward)
        #expect(player.position == 230 * Self.millisecond)
        // The 30 ms that already passed are played backwards.
        #expect(player.nanosecondsToNext == 30_000_000)
        clock.pass(milliseconds: 30)
        #expect(try player.update())
        #expect(try [player.currentIndex] + watch(player, clock, 3) == [1, 0, 3, 2])
    }

    static let turns: [(PlaybackMode, PlaybackMode, [Int])] = [
        (.normal, .reverse, [0, 3, 2]), (.reverse, .normal, [3, 0, 1]),
        (.bounce, .bounce, [0, 1, 2]), (.reversedBounce, .reversedBounce, [3, 2, 1]),
    ]

    @Test(arguments: turns.indices) func `reverse the direction in every mode`(index: Int) throws {
        let (mode, after, seen) = Self.turns[index]
        let (player, clock) = try playing(4, mode)
        #expect(try watch(player, clock, 1) == [mode == .normal || mode == .bounce ? 1 : 2])

        player.turnRound()

        #expect(player.mode == after)
        #expect(try watch(player, clock, 3) == seen)
    }

    @Test func `begin at the other end if the mode changes before the first frame`() throws {
        let player = AnimatedImagePlayer(try numbered(5).image, clock: TestClock())
        player.mode = .reverse
        try player.update()
        #expect(player.currentIndex == 4)
        player.mode = .normal
        #expect(player.currentIndex == 4)
    }

    @Test func `step with wraparound`() throws {
        let (player, _) = try playing(4)
        player.pause()

        var seen: [Int] = []
        for count in [1, 1, -1, -2, 5, -9] {
            try player.step(by: count)
            seen.append(player.currentIndex)
            #expect(player.currentFrame?.pixels.packed.first == UInt8(player.currentIndex))
        }

        #expect(seen == [1, 2, 1, 3, 0, 3])
        #expect(!player.isPlaying)
    }

    static let places: [(at: Int, index: Int, position: Int)] = [
        (-1, 0, 0), (0, 0, 0), (99, 0, 99), (100, 1, 100), (250, 2, 250), (399, 3, 399),
    ]

    @Test(arguments: places.indices, [PlaybackMode.normal, .reverse])
    func `seek to any time`(place: Int, mode: PlaybackMode) throws {
        let (player, _) = try playing(4, mode)
        let (at, index, position) = Self.places[place]

        try player.seek(toPosition: at * Self.millisecond)

        #expect(player.duration == 400 * Self.millisecond)
        #expect(player.currentIndex == index)
        #expect(player.position == position * Self.millisecond)
        let rest = mode == .normal ? (index + 1) * 100 - position : position - index * 100
        #expect(player.nanosecondsToNext == UInt64(rest * Self.millisecond))
    }

    @Test func `clamp any seek to the valid range`() throws {
        let (player, _) = try playing(4)
        try player.seek(toPosition: .max)
        #expect(player.currentIndex == 3)
        try player.seek(toPosition: .min)
        #expect(player.position == 0)
    }

    @Test func `count elapsed time at the speed of that time`() throws {
        let (player, clock) = try playing(4)
        clock.pass(milliseconds: 40)
        player.playbackRate = 0.5
        #expect(player.position == 40 * Self.millisecond)
        #expect(player.nanosecondsToNext == 120_000_000)
        clock.pass(milliseconds: 60)
        player.pause()
        clock.pass(milliseconds: 1000)
        #expect(player.position == 70 * Self.millisecond)
        player.start()
        player.playbackRate = .infinity
        clock.pass(milliseconds: 1)
        #expect(try player.update())
    }

    @Test func `ignore elapsed time on request`() throws {
        let (player, clock) = try playing(4)
        clock.pass(milliseconds: 5000)
        player.forgetElapsedTime()
        #expect(try !player.update())
        #expect(player.position == 0)
    }

    @Test func `restart after the end, but continue after a step back`() throws {
        let (player, clock) = try playing(3, loopCount: .plays(1))
        #expect(try watch(player, clock, 4) == [1, 2, 2, 2])
        #expect(!player.isPlaying)
        #expect(player.position == player.duration)

        try player.step(by: -1)
        player.start()
        #expect(try watch(player, clock, 2) == [2, 2])
        #expect(!player.isPlaying)

        player.start()
        try player.update()
        #expect(player.currentIndex == 0)
        #expect(try watch(player, clock, 3) == [1, 2, 2])
    }

    @Test func `count skipped frames`() throws {
        let (player, clock) = try playing(10)
        player.skipsLateFrames = true
        clock.pass(milliseconds: 410)
        try player.update()
        #expect(player.currentIndex == 4)
        #expect(player.skippedFrames == 3)
    }

    /// Four frames of 4·10⁹ seconds: the nanoseconds exceed 64 bits.
    @Test func `handle extremely long frames`() throws {
        let long = FrameDuration(.max, over: 1)
        let frames = (0..<4).map {
            (FrameInfo(index: $0, rect: PixelRect(PixelSize(1, 1)), duration: long), [UInt8(0)])
        }
        let manager = testHost().manager
        manager.addCoder(ScriptedCoder("long", frames: frames))
        let player = AnimatedImagePlayer(
            try AnimatedImage(badImage, manager: manager), mode: .reverse, clock: TestClock())

        for index in 0..<4 {
            try player.seek(to: index)
            #expect(player.position >= 0)
            player.turnRound()
        }
        try player.seek(toPosition: .max)
        #expect(player.duration > 1_000_000_000_000_000_000)
    }

    /// 10⁹ plays per second: a player that catches up never returns.
    @Test func `return however short the frames are`() throws {
        let short = FrameDuration(1, over: 4_000_000_000)
        let frames = (0..<2).map {
            (FrameInfo(index: $0, rect: PixelRect(PixelSize(1, 1)), duration: short), [UInt8(0)])
        }
        let manager = testHost().manager
        manager.addCoder(ScriptedCoder("short", frames: frames, loopCount: .infinite))
        let clock = TestClock()
        let player = AnimatedImagePlayer(try AnimatedImage(badImage, manager: manager), clock: clock)
        player.durationPolicy = .exact
        player.skipsLateFrames = true
        try player.update()
        player.start()
        clock.pass(milliseconds: 86_400_000)

        #expect(try player.update())
        #expect(player.skippedFrames < 10_000)
    }
}
