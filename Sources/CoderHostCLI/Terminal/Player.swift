import CoderHost
import CommandLineKit
import ImageModel
import ImageProcessing

/// The console that a player uses.
protocol PlaybackConsole: AnyObject {
    /// The clock for frame times.
    var clock: any PlaybackClock { get }
    /// The current window size.
    var size: TerminalSize { get }
    /// Whether there is a keyboard.
    var takesKeys: Bool { get }
    /// Sleeps until an event or a time; nil for no timeout.
    func sleep(until time: UInt64?) -> [PlaybackEvent]
    /// Writes bytes; false if the terminal is gone.
    func write(_ bytes: [UInt8]) -> Bool
    /// Stops the process until SIGCONT; false if the terminal is gone.
    func suspend() -> Bool
}

/// An event that a player handles.
enum PlaybackEvent: Hashable {
    case key(Key)
    case resized
    /// The process continues after a stop; other programs may have changed the screen.
    case resumed
    case suspend
    /// An ending signal.
    case end(Int32)
}

/// The options of a player.
struct PlaybackOptions {
    /// The number of plays; `.some(nil)` is infinite, nil uses the loop count of the file.
    var loop: Int??
    var speed = 1.0
    var isForward = true
    var bounces = false
    var hasExactTiming = false
    /// How long to show a still image without keyboard, in nanoseconds.
    var stillTime: UInt64 = 5_000_000_000
}

/// Plays images on a console and handles keys.
struct Player {
    /// The reason why playback ended.
    enum Ending: Hashable {
        case finished, next, previous, quit
        case signal(Int32)
        /// The terminal is gone.
        case gone
    }

    /// The statistics for the summary.
    struct Statistics: Hashable {
        var shown = 0
        /// Frames skipped because they were late.
        var dropped = 0
        var plays = 0
    }

    private let console: any PlaybackConsole
    private var screen: ImageScreen
    private var options: PlaybackOptions
    private(set) var statistics = Statistics()
    private var name = ""
    /// The time of the last drawing.
    private var drawnAt: UInt64 = 0

    init(_ console: any PlaybackConsole, _ screen: ImageScreen, _ options: PlaybackOptions) {
        self.console = console
        self.screen = screen
        self.options = options
    }

    /// Plays an image until its end, a key or a signal.
    ///
    /// - Parameter name: the name in the status line, without control characters.
    /// - Throws: the decoding error of a frame.
    mutating func play(_ image: AnimatedImage, name: String) throws(CoderError) -> Ending {
        self.name = name
        statistics = Statistics()
        let player = makePlayer(image)
        try player.update()
        player.start()
        guard try show(player) else { return .gone }
        if image.frameCount == 1 { return try watchStill(player) }
        // The decoding time of the first frame does not count as playback time.
        player.forgetElapsedTime()
        while true {
            let events = wait(player)
            if events.contains(.resumed) { player.forgetElapsedTime() }
            let isPlaying = player.isPlaying
            var mustShow = try player.update()
            statistics.plays = player.currentLoop
            statistics.dropped = player.skippedFrames
            if isPlaying, !player.isPlaying {
                // The last frame was too late to be drawn.
                if mustShow { statistics.dropped += 1 }
                return .finished
            }
            let frame = player.currentIndex
            for event in events {
                switch event {
                case .key(let key): if let ending = try press(key, player) { return ending }
                case .end(let signal): return .signal(signal)
                case .suspend:
                    let wasPlaying = player.isPlaying
                    player.pause()
                    guard console.suspend() else { return .gone }
                    if wasPlaying { player.start() }
                    screen.forget()
                    mustShow = true
                case .resumed:
                    screen.forget()
                    mustShow = true
                case .resized: mustShow = true
                }
            }
            if mustShow || player.currentIndex != frame {
                guard try show(player) else { return .gone }
            } else if !events.isEmpty {
                guard console.write(screen.line(status(player))) else { return .gone }
            }
        }
    }

    private func makePlayer(_ image: AnimatedImage) -> AnimatedImagePlayer {
        let mode: PlaybackMode =
            switch (options.isForward, options.bounces) {
            case (true, false): .normal
            case (false, false): .reverse
            case (true, true): .bounce
            case (false, true): .reversedBounce
            }
        let player = AnimatedImagePlayer(image, mode: mode, clock: console.clock)
        player.skipsLateFrames = true
        player.playbackRate = options.speed
        if options.hasExactTiming { player.durationPolicy = .exact }
        if let loop = options.loop { player.plays = loop ?? 0 }
        return player
    }

    /// Waits for the next frame or an event, and decodes frames ahead in the meantime.
    private func wait(_ player: AnimatedImagePlayer) -> [PlaybackEvent] {
        // At least 1 ms between frames, so that frames with duration 0 do not saturate the processor.
        let deadline = player.nanosecondsToNext.map { max(console.clock.now + $0, drawnAt + 1_000_000) }
        // An error of `prepareNext` is ignored here: `update` throws it when the frame is due.
        while console.clock.now < deadline ?? .max, (try? player.prepareNext()) == true {
            let events = console.sleep(until: console.clock.now)
            if !events.isEmpty { return events }
        }
        return console.sleep(until: deadline)
    }

    private mutating func watchStill(_ player: AnimatedImagePlayer) throws(CoderError) -> Ending {
        let deadline = console.takesKeys ? nil : console.clock.now + options.stillTime
        while true {
            let events = console.sleep(until: deadline)
            for event in events {
                switch event {
                case .key(let key): return Self.command(key) ?? .finished
                case .end(let signal): return .signal(signal)
                case .suspend:
                    guard console.suspend() else { return .gone }
                    screen.forget()
                case .resumed: screen.forget()
                case .resized: break
                }
            }
            if let deadline, console.clock.now >= deadline { return .finished }
            if !events.isEmpty, try !show(player) { return .gone }
        }
    }

    /// Shows the current frame; false if the terminal is gone.
    private mutating func show(_ player: AnimatedImagePlayer) throws(CoderError) -> Bool {
        guard let frame = player.currentFrame else { return true }
        statistics.shown += 1
        drawnAt = console.clock.now
        let pixels = try frame.pixels.display(player.image.pendingOrientation)
        return console.write(try screen.show(pixels, status: status(player), in: console.size))
    }

    // MARK: Keys

    private static func command(_ key: Key) -> Ending? {
        switch key {
        case .escape, .character(UInt8(ascii: "q")), .character(UInt8(ascii: "Q")), .character(3): .quit
        case .character(UInt8(ascii: "n")): .next
        case .character(UInt8(ascii: "p")): .previous
        default: nil
        }
    }

    private mutating func press(_ key: Key, _ player: AnimatedImagePlayer) throws(CoderError) -> Ending? {
        if let ending = Self.command(key) { return ending }
        switch key {
        case .character(UInt8(ascii: " ")): if player.isPlaying { player.pause() } else { player.start() }
        case .character(UInt8(ascii: "+")), .character(UInt8(ascii: "=")): changeSpeed(options.speed * 1.25, player)
        case .character(UInt8(ascii: "-")): changeSpeed(options.speed / 1.25, player)
        case .character(UInt8(ascii: "0")): changeSpeed(1, player)
        case .character(let digit) where (0x31...0x39).contains(digit):
            try player.seek(toPosition: player.duration / 10 * Int(digit - 0x30))
        case .character(UInt8(ascii: "r")): player.turnRound()
        case .character(UInt8(ascii: "l")):
            // Switches between infinite plays and the original loop count, at least until the end of this play.
            let planned = (options.loop ?? player.image.loopCount.plays) ?? 0
            player.plays = player.plays == 0 ? max(planned, player.currentLoop + 1) : 0
        case .left: try move(-1, player)
        case .right: try move(1, player)
        case .home: try player.seek(to: 0)
        case .end: try player.seek(to: player.image.frameCount - 1)
        default: break
        }
        return nil
    }

    private func move(_ direction: Int, _ player: AnimatedImagePlayer) throws(CoderError) {
        if player.isPlaying {
            try player.seek(toPosition: player.position + direction * 1_000_000_000)
        } else {
            try player.step(by: direction)
        }
    }

    private mutating func changeSpeed(_ wanted: Double, _ player: AnimatedImagePlayer) {
        let speed = min(max(wanted, Self.speeds.lowerBound), Self.speeds.upperBound)
        // Snaps to 1, so that equal steps up and down return to normal speed.
        options.speed = abs(speed - 1) < 0.001 ? 1 : speed
        player.playbackRate = options.speed
    }

    static let speeds = 0.01...100.0

    // MARK: Status line

    private func status(_ player: AnimatedImagePlayer) -> String {
        let count = player.image.frameCount
        guard count > 1 else { return " \(name)  still  \(screen.style.kind.rawValue)  any key: next, q: quit" }
        var line = " \(!player.isPlaying ? "||" : player.isForward ? "> " : "< ") \(name)"
        line += "  \(player.currentIndex + 1)/\(count)"
        line += "  \(Self.text(player.position))/\(Self.text(player.duration))"
        if options.speed != 1 { line += "  x\(Self.decimal(Int((options.speed * 100).rounded())))" }
        let plays = player.plays > 0 ? "\(player.plays)" : "forever"
        if plays != "1" { line += "  play \(player.currentLoop + 1) of \(plays)" }
        return line + "  \(screen.style.kind.rawValue)"
    }

    /// Formats minutes, seconds and hundredths.
    private static func text(_ nanoseconds: Int) -> String {
        let hundredths = nanoseconds / 10_000_000
        let minutes = hundredths / 6000
        return "\(minutes):\(hundredths % 6000 < 1000 ? "0" : "")\(decimal(hundredths % 6000))"
    }

    private static func decimal(_ hundredths: Int) -> String {
        "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
    }
}
