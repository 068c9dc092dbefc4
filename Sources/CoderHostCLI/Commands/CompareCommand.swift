import CoderHost
import CommandLineKit
import ImageModel

/// Tells how far two pictures are apart.
enum CompareCommand: Command {
    static let specification = CommandSpecification(
        name: "compare", summary: "tell how far two pictures are apart", operands: "A B", operandCount: 2...2,
        examples: [
            ("coderhost compare photo.png photo.jpg", "a table of all metrics; exit 0 where they are the same, else 1"),
            ("coderhost compare a.png b.webp --within psnr=40,max=8", "exit 0 where they are close enough"),
            ("coderhost compare a.png b.png --metric ssim --json", "one number, for programs"),
            ("coderhost compare a.png b.png --diff d.png --amplify 20", "the difference as a picture"),
            ("coderhost compare cat.gif cat.webp", "animations, frame by frame; the worst is told"),
            ("coderhost compare cat.gif cat.webp --frame 3", "one frame of both"),
        ],
        options: [
            OptionSpecification(
                "--metric", value: "NAMES", help: "of psnr,ssim,max,mae,count only these (default: all)"),
            OptionSpecification(
                "--within", value: "BOUNDS",
                help:
                    "metric=number,…: exit 0 where psnr and ssim are at least, max, mae and count at most that "
                    + "(default: nothing may differ)"),
            OptionSpecification(
                "--diff", value: "FILE",
                help:
                    "write the absolute difference as a picture, of an animation that of its worst frame (default: "
                    + "none)"),
            OptionSpecification(
                "--amplify", value: "N", help: "how many times the difference is shown in --diff (default: 8)"),
            OptionSpecification(
                "--frame", value: "N", help: "compare this frame of both alone, from 0 (default: all)"),
            OptionSpecification(
                "--coder", value: "ID", help: "decode both with this coder and no other (default: the best)"),
            OptionSpecification("--no-overwrite", help: "fail where the picture of --diff exists"),
        ],
        notes: """

            Pictures are compared upright, as RGBA with premultiplied alpha, 8 bits a sample or 16 where either has
            more. Colours are compared as they are stored. psnr is in dB, ssim the mean over channels (1 = same), max
            and mae are steps of a sample, count is pixels.

            """)

    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        let host = try arguments.host()
        let files = arguments.operands
        if files == ["-", "-"] {
            throw UsageError("standard input is one picture, not two", hint: "name a file", command: "compare")
        }
        let bounds = try CompareBound.list(arguments.all("--within"))
        let wanted = try CompareMetric.list(arguments.all("--metric"))
        // What is asked for is shown.
        let metrics = CompareMetric.allCases.filter { metric in
            wanted.contains(metric) || bounds.contains { $0.metric == metric }
        }
        let frame = try arguments.integer("--frame", 0...1_000_000)
        let gain = try arguments.integer("--amplify", 1...65_535)
        if gain != nil, !arguments.has("--diff") {
            throw UsageError("--amplify is for the picture of --diff", hint: "add --diff FILE", command: "compare")
        }
        let target = try arguments.value("--diff").map { text throws(UsageError) in
            if text.isEmpty { throw UsageError("--diff needs a name") }
            return text
        }
        var subject = files[0]
        do throws(CoderError) {
            if let target { try examine(target, arguments, host, &subject) }
            var run = try CompareRun(
                files, host, coder: arguments.value("--coder"), metrics: metrics, bounds: bounds, frame: frame,
                &subject)
            if let target, run.isComparable {
                subject = target
                try write(try run.picture(gain: gain ?? 8), to: target, arguments, host)
                run.diff = target
            }
            show(run, arguments, isTaken: target == "-")
            return run.passes ? .success : .differs
        } catch {
            error.report(subject, arguments, outputIsTaken: target == "-")
            return ExitCode(error.code)
        }
    }

    private static func show(_ run: CompareRun, _ arguments: ParsedArguments, isTaken: Bool) {
        func out(_ line: String) { if isTaken { Console.error(line) } else { Console.out(line) } }
        if arguments.has("--json") { return out(run.json.text) }
        for warning in run.warnings { Console.error("coderhost: warning: \(warning)") }
        guard run.isComparable else {
            for line in run.differences { Console.error("coderhost: \(printable(line))") }
            return
        }
        run.lines.forEach(out)
    }

    // MARK: The picture of the difference

    private static func format(_ path: String, _ host: CoderHost) -> ImageFormat {
        guard path != "-", let suffix = FileName(path).suffix?.lowercased() else { return "png" }
        return host.manager.format(named: suffix)
    }

    /// Refuses what could not be written, before anything is decoded.
    private static func examine(
        _ path: String, _ arguments: ParsedArguments, _ host: CoderHost, _ subject: inout String
    ) throws(CoderError) {
        subject = path
        if path == "-" && Console.outputIsTerminal {
            throw CoderError(.cannotCreate, "a picture is not written to a terminal", hint: "redirect standard output")
        }
        let format = format(path, host)
        guard host.manager.canEncode(to: format) else { throw host.manager.absence(ofEncoderFor: format) }
        try OutputGuard(inputs: arguments.operands, arguments).examine(path, from: arguments.operands[0])
    }

    private static func write(
        _ image: DecodedImage, to path: String, _ arguments: ParsedArguments, _ host: CoderHost
    ) throws(CoderError) {
        let sink = try FileSink(
            path: path, replacing: !arguments.has("--no-overwrite"), limits: host.manager.limits)
        try host.manager.encode(image, to: format(path, host), into: sink)
        try sink.commit()
    }
}

extension ExitCode {
    /// The answer of `compare` that says "no", as that of `diff`.
    static let differs = ExitCode.partialFailure
}
