import CoderHost
import CommandLineKit
import ImageModel
import ImageProcessing

/// Plays animations and shows images in the terminal.
enum PlayCommand: Command {
    static let specification = CommandSpecification(
        name: "play", summary: "play animations and show images in the terminal", operands: "FILE…",
        operandCount: 1...1_000_000,
        examples: [
            ("coderhost play cat.gif", "play with the loop count of the file"),
            ("coderhost play *.webp --loop 1", "play several files; n and p switch between them"),
            ("coderhost play cat.gif --speed 0.5 --bounce", "play at half speed, forward and backward"),
            ("coderhost play icon.png --zoom 8 --background '#ffffff'", "show enlarged, on white"),
            ("coderhost play cat.gif --protocol blocks", "draw with block characters, in any terminal"),
        ],
        options: [
            OptionSpecification(
                "--loop", value: "N", help: "number of plays, or forever (default: as in the file)"),
            OptionSpecification("--speed", value: "X", help: "playback speed, 0.01 to 100 (default: 1)"),
            OptionSpecification("--reverse", help: "play backward, from the last frame"),
            OptionSpecification("--bounce", help: "play forward and backward in turn"),
            OptionSpecification(
                "--exact-timing", help: "keep durations below 11 ms (default: show these frames for 100 ms)"),
            OptionSpecification(
                "--zoom", value: "N", help: "maximum scale, 0.01 to 100; the window limits it (default: 1)"),
            OptionSpecification(
                "--background", value: "#RRGGBB", help: "background color (default: a checkerboard)"),
            OptionSpecification(
                "--protocol", value: "NAME",
                help: "output protocol: kitty, iterm2, sixel, blocks, ascii or auto (default: auto)"),
            .coder,
        ], notes: keys)

    private static let keys = """

        Keys:
          space      pause or continue              left, right   1 frame if paused, else 1 second
          + - 0      faster, slower, normal speed   home, end     first frame, last frame
          r          reverse                        1 to 9        jump to 10 to 90 percent
          l          loop forever, or not           n, p          next file, previous file
          q          quit; also Escape and Ctrl-C

        A still image stays until a key is pressed, or for 5 seconds if there is no keyboard. --json
        prints one object per file at the end.

        """

    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        var session = try PlaySession(arguments)
        guard Console.outputIsTerminal else {
            throw UsageError(
                "standard output is not a terminal",
                hint: "to write files: coderhost frames extract FILE -o '{stem}-{n}.png'", command: "play")
        }
        if environment("TERM") == "dumb", !arguments.has("--protocol") {
            throw UsageError(
                "TERM is dumb: the terminal cannot move its cursor",
                hint: "set TERM to the type of the terminal, or add --protocol", command: "play")
        }
        return session.run()
    }
}

/// One `play` call: files, terminal and options.
private struct PlaySession {
    private let host: CoderHost
    private let limits: DecodeLimits
    private let files: [String]
    private let coder: String?
    private let wanted: ImageProtocol?
    private let options: PlaybackOptions
    private var style: ImageScreen.Style
    private let asJSON: Bool

    init(_ arguments: ParsedArguments) throws(UsageError) {
        host = try arguments.host()
        limits = try arguments.limits()
        files = arguments.operands
        coder = arguments.value("--coder")
        asJSON = arguments.has("--json")
        var options = PlaybackOptions()
        if arguments.value("--loop") == "forever" {
            options.loop = .some(nil)
        } else if let count = try arguments.integer("--loop", 1...1_000_000) {
            options.loop = count
        }
        options.speed = try Self.factor("--speed", arguments) ?? 1
        options.isForward = !arguments.has("--reverse")
        options.bounces = arguments.has("--bounce")
        options.hasExactTiming = arguments.has("--exact-timing")
        self.options = options
        style = ImageScreen.Style(kind: .blocks, facts: TerminalFacts(environment: environment))
        style.zoom = try Self.factor("--zoom", arguments) ?? 1
        if let text = arguments.value("--background") {
            guard let backdrop = Backdrop(text) else {
                throw UsageError("invalid --background value \"\(text)\": expected #rrggbb")
            }
            style.backdrop = backdrop
        }
        switch arguments.value("--protocol") {
        case nil, "auto": wanted = nil
        case let word?:
            guard let kind = ImageProtocol(rawValue: word) else {
                let names = ImageProtocol.allCases.map(\.rawValue) + ["auto"]
                throw UsageError(
                    "invalid --protocol value \"\(word)\"",
                    hint: OptionCheck.nearest(word, names).map { "did you mean \($0)?" }
                        ?? "protocols: \(names.joined(separator: ", "))")
            }
            wanted = kind
        }
    }

    private static func factor(_ key: String, _ arguments: ParsedArguments) throws(UsageError) -> Double? {
        guard let text = arguments.value(key) else { return nil }
        guard let number = Double(text), Player.speeds.contains(number) else {
            throw UsageError("invalid \(key) value \"\(text)\": expected a number from 0.01 to 100")
        }
        return number
    }

    // MARK: Playing

    /// The messages to print after leaving the terminal.
    private struct Report {
        var failures: [Int: CoderError] = [:]
        var summaries: [Int: JSONValue] = [:]
        var notes: [String] = []
    }

    mutating func run() -> ExitCode {
        let console = LiveConsole(style.facts)
        var report = Report()
        let ending: Player.Ending
        do throws(CoderError) {
            try console.enter()
            choose(console, &report)
            ending = playAll(console, &report)
        } catch {
            console.leave()
            for line in error.lines(file: "terminal") { Console.error(line) }
            return ExitCode(error.code)
        }
        let end = console.pendingEnd
        console.leave()
        tell(report)
        if let end { console.end(by: end) }
        switch ending {
        case .signal(let signal): console.end(by: signal)
        case .gone: return .inputOutput
        default: break
        }
        guard let last = report.failures.max(by: { $0.key < $1.key }) else { return .success }
        return files.count == 1 ? ExitCode(last.value.code) : .partialFailure
    }

    private mutating func choose(_ console: LiveConsole, _ report: inout Report) {
        let window = console.size
        // Asks the terminal only if an answer can change the result.
        let needsCell = wanted == .kitty || wanted == .iterm2 || wanted == .sixel
        if wanted == nil || (needsCell && ImageScreen.cell(of: window) == nil) { console.ask() }
        style.facts = console.facts
        style.facts.cellSize = console.facts.cellSize ?? ImageScreen.cell(of: window)
        let encodes = host.manager.canEncode(to: "png")
        style.kind = wanted ?? style.facts.best(asks: console.takesKeys, encodesPNG: encodes)
        let takesInline = style.kind == .iterm2 || (wanted == nil && style.facts.takesInlineImages)
        guard takesInline, !encodes, style.kind != .kitty else { return }
        style.kind = style.facts.best(asks: console.takesKeys, encodesPNG: false)
        report.notes.append(
            "inline images need a PNG encoder, which is missing: shown as \(style.kind.rawValue)")
    }

    private func playAll(_ console: LiveConsole, _ report: inout Report) -> Player.Ending {
        let manager = host.manager
        let screen = ImageScreen(style) { raster throws(CoderError) in try encode(raster, manager) }
        var player = Player(console, screen, options)
        var index = 0
        var direction = 1
        while files.indices.contains(index) {
            var problem: CoderError?
            do throws(CoderError) {
                let ending = try play(files[index], &player, &problem)
                report.failures[index] = problem
                report.summaries[index] = summary(files[index], player.statistics, problem)
                switch ending {
                case .finished, .next: direction = 1
                case .previous: direction = -1
                case .quit, .signal, .gone: return ending
                }
            } catch {
                report.failures[index] = error
                report.summaries[index] = summary(files[index], player.statistics, error)
            }
            // `p` at the first file restarts it; if it failed, playback moves on to the next file.
            if index + direction < 0 {
                if report.failures[index] != nil { direction = 1 } else { continue }
            }
            index += direction
        }
        return .finished
    }

    private func play(
        _ file: String, _ player: inout Player, _ problem: inout CoderError?
    ) throws(CoderError) -> Player.Ending {
        let source = try ImageSource(path: file, limits: limits)
        let image = try AnimatedImage(source, manager: host.manager, limits: limits, forcing: coder)
        // Frames before the damage are still played.
        problem = image.problem
        if image.frameCount == 0 {
            throw problem ?? CoderError(.corrupt, "the file has no frames", coder: image.coder)
        }
        if limits.maxDecodedBytes > 0 { image.pool.byteBudget = min(image.pool.byteBudget, limits.maxDecodedBytes) }
        return try player.play(image, name: printable(file == "-" ? "stdin" : file))
    }

    // MARK: Reporting

    private func summary(_ file: String, _ statistics: Player.Statistics, _ error: CoderError?) -> JSONValue {
        var members: [(key: String, value: JSONValue)] = [
            ("file", .string(file)), ("protocol", .string(style.kind.rawValue)),
            ("frames_shown", .integer(statistics.shown)), ("frames_dropped", .integer(statistics.dropped)),
            ("plays", .integer(statistics.plays)),
        ]
        if let error { members.append(("error", error.json)) }
        return .object(members)
    }

    private func tell(_ report: Report) {
        for note in report.notes { Console.error("coderhost: \(note)") }
        if asJSON {
            for (_, summary) in report.summaries.sorted(by: { $0.key < $1.key }) { Console.out(summary.text) }
            return
        }
        for (index, error) in report.failures.sorted(by: { $0.key < $1.key }) {
            for line in error.lines(file: files[index]) { Console.error(line) }
        }
    }
}

/// Encodes a raster as PNG, optimized for speed.
private func encode(_ raster: Raster, _ manager: CodersManager) throws(CoderError) -> [UInt8] {
    let pixels = try PixelBuffer(size: PixelSize(raster.width, raster.height), format: .rgb8)
    for y in 0..<raster.height { pixels.setRow(y, from: raster.bytes, at: y * raster.width * 3) }
    var options = CoderOptions()
    let encoder = manager.encoders(for: "png").first?.descriptor
    if encoder?.options.contains(where: { $0.key == OptionKey.effort }) == true {
        options[OptionKey.effort] = .integer(1)
    }
    let image = DecodedImage(
        info: ImageInfo(size: pixels.size, nativeFormat: .rgb8), pixels: pixels, format: "raw", coder: "play")
    return try manager.encode(image, to: "png", options: options)
}
