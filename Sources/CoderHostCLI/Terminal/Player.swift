import CoderHost
import ImageModel

/// Tells the time and lets it pass.
protocol PlaybackClock: AnyObject {
    /// Nanoseconds, never going back.
    var now: UInt64 { get }

    /// Sleeps until a time, for ever where there is none, or until something happens.
    func sleep(until time: UInt64?) -> [PlaybackEvent]
}

/// What a player plays on.
protocol PlaybackConsole: PlaybackClock {
    var size: TerminalSize { get }
    /// Whether somebody could type.
    var takesKeys: Bool { get }
    /// False when the terminal is gone.
    func write(_ bytes: [UInt8]) -> Bool
    /// Stops the process as its user asked; comes back when it may go on. False when the terminal is gone.
    func suspend() -> Bool
}

enum PlaybackEvent: Hashable {
    case key(Key)
    case resized
    /// The process was stopped and goes on; who knows what was done to the screen.
    case resumed
    case suspend
    /// A signal that ends the process.
    case end(Int32)
}

/// How something is played.
struct PlaybackOptions {
    /// Plays, or nil for ever; without, what the file says.
    var loop: Int??
    var speed = 1.0
    var isForward = true
    var bounces = false
    var hasExactTiming = false
    /// How long a still is shown where nobody can press a key.
    var stillTime: UInt64 = 5_000_000_000
}

/// Plays one source after the other.
struct Player {
    enum Ending: Hashable {
        case finished, next, previous, quit
        case signal(Int32)
        /// The terminal takes nothing any more.
        case gone
    }

    /// What was done, for a summary.
    struct Statistics: Hashable {
        var shown = 0
        /// Frames whose time had passed before they could be shown.
        var dropped = 0
        var plays = 0
    }

    private let console: any PlaybackConsole
    private var screen: PictureScreen
    private var options: PlaybackOptions
    private(set) var statistics = Statistics()
    private var head = Playhead(durations: [1], plays: 1)
    private var isPaused = false
    private var name = ""
    private var plannedPlays: Int?

    init(_ console: any PlaybackConsole, _ screen: PictureScreen, _ options: PlaybackOptions) {
        self.console = console
        self.screen = screen
        self.options = options
    }

    /// Plays until it is over or somebody says so.
    ///
    /// - Parameter name: what stands in the status line, free of control characters.
    /// - Throws: what the source throws.
    mutating func play(_ source: any PlaybackSource, name: String) throws(CoderError) -> Ending {
        self.name = name
        statistics = Statistics()
        begin(source)
        if source.frameCount == 1 { return try showStill(source) }
        guard try show(source) else { return .gone }
        // The first frame's own making takes none of its time.
        var last = console.now
        while true {
            let deadline = isPaused ? nil : last + Self.real(head.remaining, options.speed)
            let events = console.sleep(until: deadline)
            let now = console.now
            let frame = head.frame
            if !isPaused {
                let changes = head.advance(by: Self.media(now - last, options.speed))
                if changes > 1 { statistics.dropped += changes - 1 }
                statistics.plays = head.playsDone
                if head.isFinished { return .finished }
            }
            last = now
            var mustShow = head.frame != frame
            var mustTell = false
            for event in events {
                switch event {
                case .key(let key):
                    if let ending = press(key) { return ending }
                    mustTell = true
                case .end(let signal): return .signal(signal)
                case .suspend:
                    guard console.suspend() else { return .gone }
                    last = console.now
                    screen.forget()
                    mustShow = true
                case .resumed:
                    last = console.now
                    screen.forget()
                    mustShow = true
                case .resized: mustShow = true
                }
            }
            if head.frame != frame { mustShow = true }
            if mustShow {
                guard try show(source) else { return .gone }
            } else if mustTell {
                guard console.write(screen.line(status)) else { return .gone }
            }
        }
    }

    private mutating func begin(_ source: any PlaybackSource) {
        let durations = (0..<source.frameCount).map {
            Playhead.duration(source.duration(at: $0), isExact: options.hasExactTiming)
        }
        let stored = source.loopCount.plays
        plannedPlays = options.loop ?? (stored > 0 ? stored : nil)
        head = Playhead(
            durations: durations, plays: plannedPlays, isForward: options.isForward, bounces: options.bounces)
        isPaused = false
    }

    private mutating func showStill(_ source: any PlaybackSource) throws(CoderError) -> Ending {
        guard try show(source) else { return .gone }
        let deadline = console.takesKeys ? nil : console.now + options.stillTime
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
            if let deadline, console.now >= deadline { return .finished }
            if !events.isEmpty, try !show(source) { return .gone }
        }
    }

    /// Shows the frame that is due; false when the terminal is gone.
    private mutating func show(_ source: any PlaybackSource) throws(CoderError) -> Bool {
        let pixels = try source.frame(at: head.frame)
        statistics.shown += 1
        return console.write(try screen.show(pixels, status: status, in: console.size))
    }

    // MARK: Time

    /// What a clock measures while the animation goes on by `media`.
    private static func real(_ media: UInt64, _ speed: Double) -> UInt64 {
        speed == 1 ? media : UInt64((Double(media) / speed).rounded(.up))
    }

    private static func media(_ real: UInt64, _ speed: Double) -> UInt64 {
        speed == 1 ? real : UInt64((Double(real) * speed).rounded())
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

    private mutating func press(_ key: Key) -> Ending? {
        if let ending = Self.command(key) { return ending }
        switch key {
        case .character(UInt8(ascii: " ")): isPaused.toggle()
        case .character(UInt8(ascii: "+")), .character(UInt8(ascii: "=")): changeSpeed(1.25)
        case .character(UInt8(ascii: "-")): changeSpeed(1 / 1.25)
        case .character(UInt8(ascii: "0")): options.speed = 1
        case .character(let digit) where (0x31...0x39).contains(digit):
            head.seek(to: Int64(clamping: head.total) / 10 * Int64(digit - 0x30))
        case .character(UInt8(ascii: "r")): head.turnRound()
        case .character(UInt8(ascii: "l")):
            if head.plays == nil {
                // This play is the last, or what was planned goes on.
                head.plays = max(plannedPlays ?? 0, head.playsDone + 1)
            } else {
                head.plays = nil
            }
        case .left: move(-1)
        case .right: move(1)
        case .home: head.seek(toFrame: 0)
        case .end: head.seek(toFrame: head.durations.count - 1)
        default: break
        }
        return nil
    }

    private mutating func move(_ direction: Int) {
        if isPaused { return head.step(direction) }
        head.seek(to: Int64(clamping: head.time) + Int64(direction) * 1_000_000_000)
    }

    private mutating func changeSpeed(_ factor: Double) {
        let speed = min(max(options.speed * factor, Self.speeds.lowerBound), Self.speeds.upperBound)
        // Steps up and down again come out even.
        options.speed = abs(speed - 1) < 0.001 ? 1 : speed
    }

    static let speeds = 0.01...100.0

    // MARK: The line

    private var status: String {
        let count = head.durations.count
        guard count > 1 else { return " \(name)  still  \(screen.style.kind.rawValue)  any key: on, q: quit" }
        var line = " \(isPaused ? "||" : head.isForward ? "> " : "< ") \(name)  \(head.frame + 1)/\(count)"
        line += "  \(Self.text(head.time))/\(Self.text(head.total))"
        if options.speed != 1 { line += "  x\(Self.decimal(Int((options.speed * 100).rounded())))" }
        let plays = head.plays.map { "\($0)" } ?? "forever"
        if plays != "1" { line += "  play \(head.playsDone + 1) of \(plays)" }
        return line + "  \(screen.style.kind.rawValue)"
    }

    /// Minutes, seconds and hundredths.
    private static func text(_ time: UInt64) -> String {
        let hundredths = Int(clamping: time / 10_000_000)
        let minutes = hundredths / 6000
        return "\(minutes):\(hundredths % 6000 < 1000 ? "0" : "")\(decimal(hundredths % 6000))"
    }

    private static func decimal(_ hundredths: Int) -> String {
        "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
    }
}
