import CoderHost
@testable import CoderHostCLI
import CommandLineKit
import Foundation
import ImageModel
import ImageProcessing
import Testing

/// A coder with frames of one black pixel.
private struct Gray: ImageCoder {
    let info: ImageInfo
    let durations: [UInt32]
    let failsAt: Int?

    var descriptor: CoderDescriptor {
        CoderDescriptor(
            id: "gray", version: "1", tier: .user, roles: [.decode],
            formats: [PluginManifest.Format(id: "gray", name: "gray", extensions: ["gray"])])
    }

    func makeDecoder(_ source: ImageSource, _ context: SessionContext) throws(CoderError) -> any FrameDecoder {
        Decoder(self)
    }
    func makeEncoder(_ context: SessionContext) throws(CoderError) -> any FrameEncoder {
        throw .unsupported("writing")
    }

    private final class Decoder: FrameDecoder {
        let coder: Gray
        var next = 0

        init(_ coder: Gray) { self.coder = coder }

        func readHeader() throws(CoderError) -> ImageInfo { coder.info }
        func pixelFormats() throws(CoderError) -> [PixelFormat] { [.gray8] }
        func nextFrame() throws(CoderError) -> FrameInfo? {
            guard next < coder.durations.count else { return nil }
            next += 1
            return FrameInfo(
                index: next - 1, rect: PixelRect(coder.info.size), duration: .milliseconds(coder.durations[next - 1]))
        }
        func seek(toFrame index: Int) throws(CoderError) -> Int {
            next = index
            return index
        }
        func decode(_ request: FrameRequest, into place: CanvasPlace) throws(CoderError) -> FrameOutcome {
            if next - 1 == coder.failsAt { throw .truncated() }
            return .complete
        }
    }
}

/// An animation with frames of one pixel.
private func frames(
    _ milliseconds: [UInt32], _ loopCount: LoopCount = .plays(1), failsAt: Int? = nil
) throws -> AnimatedImage {
    let info = ImageInfo(
        size: PixelSize(1, 1), nativeFormat: .gray8, frameCount: milliseconds.count, loopCount: loopCount)
    let manager = CoderHost(configuration: HostConfiguration(directories: [])).manager
    manager.addCoder(Gray(info: info, durations: milliseconds, failsAt: failsAt))
    return try AnimatedImage(ImageSource([0], name: "x.gray"), manager: manager)
}

/// A clock driven by a console.
private final class FakeClock: PlaybackClock {
    private let time = Mutex<UInt64>(0)
    var now: UInt64 {
        get { time.withLock { $0 } }
        set { time.withLock { $0 = newValue } }
    }
}

/// A console whose time passes only during sleeps and writes.
private final class FakeConsole: PlaybackConsole {
    private let time = FakeClock()
    var clock: any PlaybackClock { time }
    private(set) var now: UInt64 {
        get { time.now }
        set { time.now = newValue }
    }
    var size = TerminalSize(columns: 80, rows: 24)
    var takesKeys = true
    private var script: [(at: UInt64, event: PlaybackEvent)]
    /// The time for drawing an image.
    var cost: UInt64 = 0
    private(set) var lines: [String] = []
    /// The drawn frames, parsed from the status line; a still is frame 0.
    private(set) var drawn: [Int] = []
    private(set) var suspensions = 0

    init(_ script: [(Int, PlaybackEvent)] = []) {
        self.script = script.map { (UInt64($0.0) * 1_000_000, $0.1) }
    }

    func sleep(until time: UInt64?) -> [PlaybackEvent] {
        guard let next = script.first, next.at <= time ?? .max else {
            guard let time else { return [.end(99)] }
            now = max(now, time)
            return []
        }
        now = max(now, next.at)
        script.removeFirst()
        return [next.event]
    }

    func write(_ bytes: [UInt8]) -> Bool {
        now += cost
        let text = String(decoding: bytes, as: UTF8.self)
        if let start = text.range(of: "\u{1B}[0;7m"), let end = text[start.upperBound...].range(of: "\u{1B}[K") {
            let line = String(text[start.upperBound..<end.lowerBound])
            lines.append(line)
            if text.hasPrefix("\u{1B}[?2026h") {
                let place = line.split(separator: " ").first { $0.contains("/") }
                drawn.append((place?.split(separator: "/").first.flatMap { Int($0) } ?? 1) - 1)
            }
        }
        return true
    }

    func suspend() -> Bool {
        suspensions += 1
        now += 60_000_000_000
        return true
    }
}

@Suite(.timeLimit(.minutes(40))) struct `Playback` {
    private func player(_ console: FakeConsole, _ change: (inout PlaybackOptions) -> Void = { _ in }) -> Player {
        var options = PlaybackOptions()
        change(&options)
        let style = ImageScreen.Style(kind: .ascii, facts: TerminalFacts { _ in nil })
        return Player(console, ImageScreen(style) { _ in [] }, options)
    }

    private func key(_ letter: Character) -> PlaybackEvent { .key(.character(letter.asciiValue!)) }

    @Test func `shows every frame for its time`() throws {
        let console = FakeConsole()
        let image = try frames([40, 100, 60])
        var player = player(console)

        #expect(try player.play(image, name: "x") == .finished)

        #expect(console.drawn == [0, 1, 2])
        #expect(console.now == 200_000_000)
        #expect(player.statistics == Player.Statistics(shown: 3, dropped: 0, plays: 1))
    }

    static let loops: [(LoopCount, Int??, plays: Int)] = [
        (.unknown, nil, 1), (.plays(3), nil, 3), (.plays(3), 2, 2), (.infinite, 4, 4), (.unknown, 2, 2),
    ]

    @Test(arguments: loops.indices)
    func `applies the loop count of file or caller`(index: Int) throws {
        let (stored, wanted, plays) = Self.loops[index]
        let image = try frames([20, 20], stored)
        let console = FakeConsole()
        var player = player(console) { $0.loop = wanted }

        #expect(try player.play(image, name: "x") == .finished)

        #expect(console.drawn == Array(repeating: [0, 1], count: plays).flatMap { $0 })
    }

    @Test(arguments: [LoopCount.infinite, .plays(1)])
    func `plays forever`(stored: LoopCount) throws {
        let console = FakeConsole([(100_010, .key(.escape))])
        let image = try frames([500, 500], stored)
        var player = player(console) { if stored != .infinite { $0.loop = .some(nil) } }

        #expect(try player.play(image, name: "x") == .quit)

        #expect(console.drawn.count == 201)
    }

    @Test func `skips to the current frame when late`() throws {
        let console = FakeConsole()
        // Each image takes 100 ms, 2.5 frames.
        console.cost = 100_000_000
        let image = try frames(Array(repeating: 40, count: 10))
        var player = player(console)

        #expect(try player.play(image, name: "x") == .finished)

        // Shown at 0 (until 100, not counted), due at 40: 1; at 140: 3; at 240: 6; at 340: 8; over at 400.
        #expect(console.drawn == [0, 1, 3, 6, 8])
        #expect(player.statistics.dropped == 5)
        #expect(console.now == 540_000_000)
    }

    @Test func `plays durations below 11 ms as 100 ms by default`() throws {
        for (isExact, total) in [(false, 100 + 100 + 11), (true, 0 + 10 + 11)] {
            let console = FakeConsole()
            var player = player(console) { $0.hasExactTiming = isExact }
            #expect(try player.play(frames([0, 10, 11]), name: "x") == .finished)
            #expect(console.now == UInt64(total) * 1_000_000)
        }
    }

    @Test func `plays backward, and bounces`() throws {
        for (isForward, bounces, wanted) in [
            (false, false, [2, 1, 0, 2, 1, 0]), (true, true, [0, 1, 2, 1, 0, 1, 2, 1, 0]),
            (false, true, [2, 1, 0, 1, 2, 1, 0, 1, 2]),
        ] {
            let image = try frames([20, 20, 20])
            let console = FakeConsole()
            var player = player(console) {
                $0.isForward = isForward
                $0.bounces = bounces
                $0.loop = 2
            }
            #expect(try player.play(image, name: "x") == .finished)
            #expect(console.drawn == wanted)
        }
    }

    @Test func `plays at another speed`() throws {
        let console = FakeConsole()
        var player = player(console) { $0.speed = 0.5 }

        #expect(try player.play(frames([40, 40]), name: "x") == .finished)

        #expect(console.now == 160_000_000)
        #expect(console.lines.allSatisfy { $0.contains("x0.50") })
    }

    @Test func `changes its speed by a quarter`() throws {
        // 500 ms at speed 1, then 1.25, then 1 again by minus, then 0.8, then 0.
        let console = FakeConsole([
            (500, key("+")), (900, key("-")), (1400, key("-")), (2025, key("0")),
        ])
        var player = player(console)

        #expect(try player.play(frames([3000]), name: "still") == .finished)
        #expect(try player.play(frames([1500, 1500]), name: "x") == .finished)

        // A still took the first key. 900 ms at 1, 500 at 0.8 = 400, 625 at 0.64 = 400, the rest at 1.
        #expect(console.now == (500 + 900 - 500 + 500 + 625 + (3000 - 400 - 400 - 400)) * 1_000_000)
    }

    @Test func `pauses and steps`() throws {
        let console = FakeConsole([
            (50, key(" ")), (60_000, .key(.right)), (60_001, .key(.right)), (60_002, .key(.left)),
            (60_003, .key(.left)), (60_004, .key(.left)), (60_005, .key(.left)), (70_000, key(" ")), (70_010, key("q")),
        ])
        let image = try frames([100, 100, 100, 100], .infinite)
        var player = player(console)

        #expect(try player.play(image, name: "x") == .quit)

        #expect(console.drawn == [0, 1, 2, 1, 0, 3, 2])
        #expect(console.lines[1].contains("||"))
        #expect(player.statistics.dropped == 0)
    }

    @Test func `seeks`() throws {
        let console = FakeConsole([
            (10, .key(.end)), (20, .key(.home)), (30, key("5")), (40, .key(.right)), (50, .key(.left)),
            (60, .key(.left)), (70, .key(.left)), (80, .key(.left)), (90, key("n")),
        ])
        // Ten frames of 400 ms: a tenth is a frame.
        let image = try frames(Array(repeating: 400, count: 10))
        var player = player(console)

        #expect(try player.play(image, name: "x") == .next)

        // 5/10 is frame 5 at 2000; + 10 + 1000 is 3010: 7; back to 2020, 1030, 40 and the start.
        #expect(console.drawn == [0, 9, 0, 5, 7, 5, 2, 0])
    }

    @Test func `reverses in the middle of a frame`() throws {
        // 30 ms into frame 1 it turns: 30 ms back, then frame 0.
        let console = FakeConsole([(130, key("r"))])
        let image = try frames([100, 100, 100])
        var player = player(console)

        #expect(try player.play(image, name: "x") == .finished)

        #expect(console.drawn == [0, 1, 0])
        #expect(console.now == 260_000_000)
    }

    @Test func `toggles infinite looping`() throws {
        let console = FakeConsole([(10, key("l")), (350, key("l"))])
        let image = try frames([50, 50])
        var player = player(console)

        #expect(try player.play(image, name: "x") == .finished)

        #expect(console.now == 400_000_000)
        #expect(console.lines.contains { $0.contains("of forever") })
    }

    @Test func `shows the position`() throws {
        let console = FakeConsole()
        var player = player(console)

        _ = try player.play(frames([61_230, 1000], .plays(2)), name: "cat.gif")

        #expect(console.lines.first == " >  cat.gif  1/2  0:00.00/1:02.23  play 1 of 2  ascii")
        #expect(console.lines.last == " >  cat.gif  2/2  1:01.23/1:02.23  play 2 of 2  ascii")
    }

    @Test func `stops its clock while suspended`() throws {
        let console = FakeConsole([(50, .suspend)])
        let image = try frames([100, 100])
        var player = player(console)

        #expect(try player.play(image, name: "x") == .finished)

        // Drawn again at the same position.
        #expect(console.drawn == [0, 0, 1])
        #expect(console.now == 60_200_000_000)
    }

    @Test func `continues at the same position after the process was stopped`() throws {
        let console = FakeConsole([(250, .resumed)])
        let image = try frames([300, 300])
        var player = player(console)

        #expect(try player.play(image, name: "x") == .finished)

        // Frame 0 begins again at 250.
        #expect(console.drawn == [0, 0, 1])
        #expect(console.now == 850_000_000)
    }

    @Test func `shows a still until a key, or for a while without keyboard`() throws {
        let keyboard = FakeConsole([(90_000, .resized), (100_000, key("x"))])
        var typing = player(keyboard)
        #expect(try typing.play(frames([0]), name: "x") == .finished)
        #expect(keyboard.drawn == [0, 0])

        let console = FakeConsole()
        console.takesKeys = false
        var alone = player(console)
        #expect(try alone.play(frames([0]), name: "x") == .finished)
        #expect(console.now == 5_000_000_000)
    }

    static let ends: [(PlaybackEvent, Player.Ending)] = [
        (.key(.escape), .quit), (.key(.character(0x71)), .quit), (.key(.character(3)), .quit),
        (.key(.character(0x6E)), .next), (.key(.character(0x70)), .previous), (.end(15), .signal(15)),
    ]

    @Test(arguments: ends.indices, [[UInt32(30)], [30, 30]])
    func `ends by key or signal`(index: Int, durations: [UInt32]) throws {
        var player = player(FakeConsole([(20, Self.ends[index].0)]))

        #expect(try player.play(frames(durations, .infinite), name: "x") == Self.ends[index].1)
    }

    @Test func `rethrows decoding errors`() throws {
        let image = try frames([20, 20, 20], failsAt: 2)
        var player = player(FakeConsole())

        let error = #expect(throws: CoderError.self) { try player.play(image, name: "x") }

        #expect(error?.code == .truncated)
        #expect(player.statistics.shown == 2)
    }
}
