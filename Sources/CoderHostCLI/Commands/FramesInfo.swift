import CoderHost
import CommandLineKit
import ImageModel

/// `frames info`: prints a summary and one line for each frame.
struct FramesInfo {
    private let arguments: ParsedArguments
    private let host: CoderHost

    init(_ arguments: ParsedArguments) throws(UsageError) {
        self.arguments = arguments
        host = try arguments.host()
    }

    func run(_ files: [String]) -> ExitCode {
        FramesCommand.each(files, arguments, host) { file, _ throws(CoderError) in
            var problem: CoderError?
            let source = try ImageSource(path: file, limits: host.manager.limits)
            try host.manager.withSession(source) { session throws(CoderError) in
                let end = session.findFrames()
                if case .failure(let error) = end, session.knownFrameCount == 0 { throw error }
                if arguments.has("--decode") {
                    for index in 0..<session.knownFrameCount { _ = try session.decodeFrame(index) }
                }
                if arguments.has("--json") {
                    Console.out(json(file, session, end).text)
                } else {
                    text(file, session).forEach { Console.out($0) }
                    for warning in session.context.warnings {
                        Console.error(printable("coderhost: \(file): warning: \(warning)"))
                    }
                }
                if case .failure(let error) = end { problem = error }
            }
            return problem
        }
    }

    private func json(_ file: String, _ session: DecodeSession, _ end: FrameListEnd) -> JSONValue {
        let frames = session.knownFrames
        var members: [(key: String, value: JSONValue)] = [
            ("file", .string(file)), ("format", .string(session.format.id)), ("coder", .string(session.coder.id)),
            ("width", .integer(session.info.size.width)), ("height", .integer(session.info.size.height)),
            ("frame_count", .integer(frames.count)), ("loop_count", session.info.loopCount.json),
            ("duration_ms", .real(frames.reduce(0) { $0 + $1.duration.milliseconds })),
            ("frames", .array(frames.map { FrameRendering.json($0, isKey: session.isKeyFrame($0.index)) })),
            ("isolation", IsolationRendering.json(session.isolation)),
        ]
        if case .failure(let error) = end { members.append(("problem", error.json)) }
        if !session.context.warnings.isEmpty {
            members.append(("warnings", .array(session.context.warnings.map(JSONValue.string))))
        }
        return .object(members)
    }

    private func text(_ file: String, _ session: DecodeSession) -> [String] {
        let frames = session.knownFrames
        var line =
            "\(file): \(session.format) \(session.info.size), \(frames.count) frame\(frames.count == 1 ? "" : "s")"
        if frames.contains(where: { $0.duration != .unknown }) {
            line += ", \(FrameRendering.rounded(frames.reduce(0) { $0 + $1.duration.milliseconds } / 1000)) s"
        }
        if session.info.isAnimated || session.info.loopCount != .unknown { line += ", \(session.info.loopCount.words)" }
        var table = TextTable("FRAME", "SIZE", "AT", "DURATION", "MS", "BLEND", "DISPOSAL", "KEY")
        for frame in frames {
            let duration = frame.duration
            let isKnown = duration != .unknown
            table.add(
                String(frame.index), "\(frame.rect.size)", "\(frame.rect.x),\(frame.rect.y)",
                isKnown ? "\(duration.numerator)/\(duration.denominator)" : "-",
                isKnown ? FrameRendering.rounded(duration.milliseconds) : "-", "\(frame.blend)", "\(frame.disposal)",
                session.isKeyFrame(frame.index) ? "yes" : "-")
        }
        return [printable(line)] + table.lines
    }
}

/// Renders a frame as JSON.
enum FrameRendering {
    static func json(_ frame: FrameInfo, isKey: Bool, hash: String? = nil) -> JSONValue {
        var members: [(key: String, value: JSONValue)] = [
            ("index", .integer(frame.index)), ("x", .integer(frame.rect.x)), ("y", .integer(frame.rect.y)),
            ("width", .integer(frame.rect.width)), ("height", .integer(frame.rect.height)),
            ("duration_ms", .real(frame.duration.milliseconds)), ("duration", duration(frame.duration)),
            ("blend", .string("\(frame.blend)")), ("disposal", .string("\(frame.disposal)")),
            ("key_frame", .bool(isKey)),
        ]
        if let hash { members.append(("pixel_sha256", .string(hash))) }
        return .object(members)
    }

    /// Formats a number with at most three decimals.
    static func rounded(_ value: Double) -> String { JSONValue.real((value * 1000).rounded() / 1000).text }

    /// Returns numerator and denominator of the stored duration in seconds; null if none is stored.
    static func duration(_ duration: FrameDuration) -> JSONValue {
        duration == .unknown
            ? .null : .array([.integer(Int(duration.numerator)), .integer(Int(duration.denominator))])
    }
}

extension LoopCount {
    /// The loop count as text, for example `plays forever`.
    var words: String {
        switch self {
        case .unknown: "loop count not stored"
        case .plays(1): "plays once"
        case .plays(let count): "plays \(count) times"
        case .infinite: "plays forever"
        }
    }

    /// The loop count as JSON: the number of plays, 0 for infinite, or null if none is stored.
    var json: JSONValue { self == .unknown ? .null : .integer(plays) }
}
