import CoderHost
import CommandLineKit
import ImageModel

/// The durations and loop count of the command line.
struct FramesTiming {
    /// The duration of `--fps` or `--delay`; nil without both.
    let duration: FrameDuration?
    /// The loop count of `--loop`.
    let loopCount: LoopCount?

    /// The playback speed of `--speed`.
    private let speed: FrameSelection
    /// Whether the last frame comes first.
    let isReversed: Bool

    /// The default duration of a frame.
    static let usual = FrameDuration(1, over: 10)

    init(_ arguments: ParsedArguments) throws(UsageError) {
        var speed = FrameSelection()
        speed.speed = try arguments.speed("--speed") ?? 1
        self.speed = speed
        isReversed = arguments.has("--reverse")
        if arguments.has("--fps") && arguments.has("--delay") {
            throw UsageError("--fps and --delay both set the duration", hint: "choose one")
        }
        if let interval = try arguments.frameInterval("--fps") {
            duration = interval
        } else if let text = arguments.value("--delay") {
            duration = try Self.duration(delay: text)
        } else {
            duration = nil
        }
        loopCount = try arguments.value("--loop").map { text throws(UsageError) in try Self.plays(text) }
    }

    /// Refuses options for animations with a format of single images.
    static func refuse(_ arguments: ParsedArguments, for format: ImageFormat) throws(UsageError) {
        for name in ["--timing", "--fps", "--delay", "--speed", "--reverse", "--loop"] where arguments.has(name) {
            throw UsageError(
                "\(name) has no effect: \(format) holds pages or sizes, not frames", hint: "remove \(name)",
                command: "frames")
        }
    }

    /// Returns the duration of a frame at the requested speed.
    func scaled(_ duration: FrameDuration) throws(CoderError) -> FrameDuration {
        if speed.isIdentity { return duration }
        return try speed.frames(of: [duration]).first?.duration ?? duration
    }

    private static func duration(delay text: String) throws(UsageError) -> FrameDuration {
        let mark: Character = text.contains("/") ? "/" : "."
        let parts = text.split(separator: mark, omittingEmptySubsequences: false)
        let isNumber = parts.allSatisfy { !$0.isEmpty && $0.allSatisfy { $0.isASCII && $0.isNumber } }
        guard isNumber, parts.count == 2 || (parts.count == 1 && mark == ".") else { throw notADelay(text) }
        if mark == "/" {
            guard let top = UInt32(parts[0]), let bottom = UInt32(parts[1]) else {
                throw UsageError("invalid --delay value \"\(text)\": too large", hint: "the maximum is \(UInt32.max)")
            }
            if bottom == 0 { throw notADelay(text) }
            return FrameDuration(top, over: bottom)
        }
        guard let whole = UInt32(parts[0]) else {
            throw UsageError("invalid --delay value \"\(text)\": the maximum is \(UInt32.max) ms")
        }
        guard parts.count == 2 else { return .milliseconds(whole) }
        return try decimal(whole, String(parts[1]), text)
    }

    private static func notADelay(_ text: String) -> UsageError {
        UsageError(
            "invalid --delay value \"\(text)\": expected milliseconds, such as 33.3, or a fraction of a second, "
                + "such as 1/25")
    }

    /// Converts milliseconds with decimals to an exact duration.
    private static func decimal(
        _ whole: UInt32, _ decimals: String, _ text: String
    ) throws(UsageError) -> FrameDuration {
        var (top, bottom) = (UInt64(whole), UInt64(1000))
        var isExact = true
        // Trailing zeros have no effect.
        for digit in String(decimals.reversed().drop { $0 == "0" }.reversed()) {
            let (tens, tooLarge) = top.multipliedReportingOverflow(by: 10)
            let (larger, tooFine) = bottom.multipliedReportingOverflow(by: 10)
            let (sum, tooMuch) = tens.addingReportingOverflow(UInt64(digit.wholeNumberValue ?? 0))
            (top, bottom) = (sum, larger)
            if tooLarge || tooFine || tooMuch {
                isExact = false
                break
            }
        }
        var (divisor, rest) = (bottom, top)
        while rest != 0 { (divisor, rest) = (rest, divisor % rest) }
        guard isExact, let top = UInt32(exactly: top / divisor), let bottom = UInt32(exactly: bottom / divisor) else {
            throw UsageError("invalid --delay value \"\(text)\": too many digits", hint: "use fewer decimals")
        }
        return FrameDuration(top, over: bottom)
    }

    private static func plays(_ text: String) throws(UsageError) -> LoopCount {
        if ["forever", "0", "infinite"].contains(text.lowercased()) { return .infinite }
        guard let count = Int(text), count > 0 else {
            throw UsageError("invalid --loop value \"\(text)\": expected a number of plays, or forever")
        }
        return .plays(count)
    }
}

/// A warning about an input file or the output.
struct FramesNotice: Hashable {
    /// The input file; nil for the output.
    var file: String?
    var message: String
}
