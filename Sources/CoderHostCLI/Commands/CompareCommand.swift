import CoderHost
import CommandLineKit
import ImageModel

/// Measures the difference between two images.
enum CompareCommand: Command {
    static let specification = CommandSpecification(
        name: "compare", summary: "measure the difference between two images", operands: "A B", operandCount: 2...2,
        examples: [
            ("coderhost compare photo.png photo.jpg", "all metrics; exit code 0 if identical, else 1"),
            ("coderhost compare a.png b.webp --within psnr=40,max=8", "exit code 0 if within the bounds"),
            ("coderhost compare a.png b.png --metric ssim --json", "one metric as JSON"),
            ("coderhost compare a.png b.png --diff d.png --amplify 20", "the difference as an image"),
            ("coderhost compare cat.gif cat.webp", "animations: shows the worst frame"),
            ("coderhost compare cat.gif cat.webp --frame 3", "compare frame 3 only"),
            ("coderhost compare -r photos web --within ssim=0.95", "each image with the one of its name"),
        ],
        options: [
            OptionSpecification(
                "--metric", value: "NAMES", isList: true, choices: CompareMetric.allCases.map(\.rawValue),
                help: "metrics to show: psnr,ssim,max,mae,count (default: all)"),
            OptionSpecification(
                "--within", value: "BOUNDS", isList: true,
                help:
                    "METRIC=N,… for exit 0: minimum psnr, ssim; maximum others (default: identical)"),
            OptionSpecification(
                "--diff", value: "FILE",
                help:
                    "write the difference image, of the worst frame for animations (default: none)"),
            OptionSpecification(
                "--amplify", value: "N", help: "multiply the difference in --diff by N, 1 to 65535 (default: 8)"),
            OptionSpecification(
                "--frame", value: "N", help: "compare frame N only, from 0 (default: all)"),
            OptionSpecification(
                "-r", "--recursive", help: "A and B are folders: compare their images and those in subfolders"),
            OptionSpecification(
                "--glob", value: "PATTERN", isList: true,
                help: "with -r: only files of A with this name, such as '*.{jpg,png}' (default: all images)"),
            .coder,
            .noOverwrite,
        ],
        notes: """

            Images are compared upright, as RGBA with premultiplied alpha, with 8 bits per sample, or 16 if
            one image has more than 8. Colors are compared as stored. Images of different sizes differ, with
            exit code 1. Units: psnr in dB; ssim is the mean over
            channels (1 = identical); max and mae in sample values; count in pixels.

            With -r, an image of A belongs to the file of B with the same path, or else to the only one that
            differs just in its extension: photos/a/x.png and web/a/x.webp. Exit code 1 if a pair differs or an
            image of one folder is missing in the other.

            """)

    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        let host = try arguments.host()
        let files = arguments.operands
        if files == ["-", "-"] {
            throw UsageError(
                "standard input can be only one of the images", hint: "pass a file for the other", command: "compare")
        }
        let bounds = try CompareBound.list(arguments.all("--within"))
        let wanted = try CompareMetric.list(arguments.all("--metric"))
        // Metrics with a bound are shown, too.
        let metrics = CompareMetric.allCases.filter { metric in
            wanted.contains(metric) || bounds.contains { $0.metric == metric }
        }
        let frame = try arguments.integer("--frame", 0...1_000_000)
        let gain = try arguments.integer("--amplify", 1...65_535)
        if gain != nil, !arguments.has("--diff") {
            throw UsageError("--amplify needs --diff", hint: "add --diff FILE", command: "compare")
        }
        let target = try arguments.value("--diff").map { text throws(UsageError) in
            if text.isEmpty { throw UsageError("--diff needs a file name") }
            return text
        }
        if arguments.has("--recursive") || arguments.has("--glob") {
            if target != nil {
                throw UsageError("--diff is for two images, not for folders", hint: "leave out -r", command: "compare")
            }
            return try CompareFolders(arguments, host, metrics: metrics, bounds: bounds, frame: frame).run()
        }
        var subject = files[0]
        do throws(CoderError) {
            if let target { try examine(target, arguments, host, &subject) }
            var run = try CompareRun(
                files, host, coder: arguments.value("--coder"), metrics: metrics, bounds: bounds, frame: frame,
                &subject)
            if let target, run.isComparable {
                subject = target
                try write(try run.image(gain: gain ?? 8), to: target, arguments, host)
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

    // MARK: The image of the difference

    private static func format(_ path: String, _ host: CoderHost) -> ImageFormat {
        guard path != "-", let suffix = FileName(path).suffix?.lowercased() else { return "png" }
        return host.manager.format(named: suffix)
    }

    /// Refuses an output that cannot be written, before decoding.
    private static func examine(
        _ path: String, _ arguments: ParsedArguments, _ host: CoderHost, _ subject: inout String
    ) throws(CoderError) {
        subject = path
        if path == "-" && Console.outputIsTerminal {
            throw CoderError(.cannotCreate, "an image is not written to a terminal", hint: "redirect standard output")
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
    /// The images differ; the same code as of `diff`.
    static let differs = ExitCode.partialFailure
}
