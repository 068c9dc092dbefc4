import CoderHost
import ImageModel

/// `frames assemble`: an animation from pictures.
struct FramesAssembly {
    private let arguments: ParsedArguments
    private let host: CoderHost
    private let output: String
    private let format: ImageFormat
    private let encode: EncodingSwitches
    private let duration: FrameDuration
    private let loopCount: LoopCount?

    init(_ arguments: ParsedArguments) throws(UsageError) {
        self.arguments = arguments
        host = try arguments.host()
        if arguments.operands.count == 1 && !arguments.has("--timing") {
            throw UsageError("there are no pictures to assemble", hint: "name them: frames assemble *.png -o film.gif")
        }
        guard let output = arguments.value("--output") else {
            throw UsageError("-o OUT is missing", command: "frames")
        }
        self.output = output
        if let word = arguments.value("--format") {
            format = host.manager.format(named: word)
        } else if output != "-", let suffix = FileName(output).suffix {
            format = host.manager.format(named: suffix)
        } else {
            throw UsageError(
                "the format of \(output) is not known", hint: "say -f gif, for example", command: "frames")
        }
        encode = try EncodingSwitches(arguments)
        try encode.examine(for: format, host)
        duration = try Self.duration(arguments)
        loopCount = try Self.loops(arguments)
    }

    private static func duration(_ arguments: ParsedArguments) throws(UsageError) -> FrameDuration {
        for name in ["--fps", "--delay"] where arguments.has("--timing") && arguments.has(name) {
            throw UsageError("--timing and \(name) both say how long frames are seen", hint: "choose one")
        }
        if arguments.has("--fps") && arguments.has("--delay") {
            throw UsageError("--fps and --delay say the same thing", hint: "choose one")
        }
        if let text = arguments.value("--fps") {
            let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { UInt32($0) }
            if parts.count == 2, let top = parts[0], let bottom = parts[1], top > 0, bottom > 0 {
                return FrameDuration(bottom, over: top)
            }
            // 23.976 is kept to the thousandth.
            if let rate = Double(text), rate >= 0.001, rate <= 1_000_000 {
                let whole = UInt32(rate)
                return Double(whole) == rate
                    ? FrameDuration(1, over: whole) : FrameDuration(1000, over: UInt32((rate * 1000).rounded()))
            }
            throw UsageError("--fps takes frames a second, such as 25 or 30000/1001, not \"\(text)\"")
        }
        guard let text = arguments.value("--delay") else { return FrameDuration(1, over: 10) }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { UInt32($0) }
        if parts.count == 2, let top = parts[0], let bottom = parts[1], bottom > 0 {
            return FrameDuration(top, over: bottom)
        }
        guard parts.count == 1, let milliseconds = parts[0] else {
            throw UsageError("--delay takes milliseconds or a fraction of seconds such as 1/25, not \"\(text)\"")
        }
        return .milliseconds(milliseconds)
    }

    private static func loops(_ arguments: ParsedArguments) throws(UsageError) -> LoopCount? {
        guard let text = arguments.value("--loop") else { return nil }
        if ["forever", "0", "infinite"].contains(text.lowercased()) { return .infinite }
        guard let count = Int(text), count > 0 else {
            throw UsageError("--loop takes a number of plays, or forever, not \"\(text)\"")
        }
        return .plays(count)
    }

    func run(_ files: [String]) throws(UsageError) -> ExitCode {
        if output == "-" && Console.outputIsTerminal {
            throw UsageError("an animation is not written to a terminal", hint: "redirect standard output")
        }
        // The animation is one piece of work: a picture that fails ends it.
        var subject = output
        do throws(CoderError) {
            try assemble(files, &subject)
            return Console.outputError == nil ? .success : .inputOutput
        } catch {
            if error.message == CoderError.readerIsGone.message { return .inputOutput }
            error.report(subject, arguments, outputIsTaken: output == "-")
            return ExitCode(error.code)
        }
    }

    /// - Parameter subject: what an error is about.
    private func assemble(_ files: [String], _ subject: inout String) throws(CoderError) {
        var warnings: [String] = []
        var shown = files.map { (file: $0, duration: duration) }
        var loops = loopCount
        if let path = arguments.value("--timing") {
            subject = path
            let timing = try TimingFile(reading: path)
            if files.isEmpty {
                shown = try timing.named(relativeTo: path).map { ($0.file, $0.duration) }
            } else {
                let matched = try timing.matched(to: files)
                shown = matched.shown.map { ($0.file, $0.duration) }
                if matched.leftOut > 0 {
                    let one = matched.leftOut == 1
                    warnings.append(
                        "\(matched.leftOut) frame\(one ? "" : "s") of \(path) \(one ? "has" : "have") no picture here: left out"
                    )
                }
            }
            loops = loops ?? timing.loopCount
        }
        subject = output
        var outputs = OutputGuard(inputs: [], arguments)
        for (file, _) in shown { outputs.add(input: file, as: "one of the pictures") }
        if let path = arguments.value("--timing") { outputs.add(input: path, as: "the file that --timing reads") }
        try outputs.examine(output, from: output)
        guard let candidate = host.manager.animationEncoders(for: format).first else {
            throw CoderError(
                .noCoder, "no usable coder writes animations as \(format)",
                hint: "formats for animations: \(host.manager.animationFormats.joined(separator: ", "))")
        }
        let options = try encode.encoding(format, candidate.descriptor, host)
        warnings += options.warnings
        let pictures = try FramesInput(shown.map(\.file), host, &subject)
        subject = output
        var encoder: AnimationEncoder?
        let sink = try FileSink(path: output, replacing: !arguments.has("--no-overwrite"), limits: host.manager.limits)
        var progress = ProgressLine(total: pictures.frameCount)
        defer { progress.clear() }
        for (index, (file, duration)) in shown.enumerated() {
            subject = file
            try pictures.each(index) { image, own throws(CoderError) in
                progress.show(encoder?.frameCount ?? 0, file)
                if encoder == nil {
                    var facts = image.info
                    facts.frameCount = pictures.frameCount
                    facts.isAnimated = true
                    facts.hasAlpha = pictures.hasAlpha
                    facts.loopCount = loops ?? .infinite
                    facts.orientation = .up
                    encoder = try host.manager.makeAnimationEncoder(
                        to: format, of: facts, metadata: image.metadata.filter { $0.kind == .icc },
                        options: options.known, limits: host.manager.limits, into: sink)
                }
                try encoder?.add(image.pixels, duration: keepsOwnDurations ? own ?? duration : duration)
            }
        }
        subject = output
        let report = try encoder?.finish()
        try sink.commit()
        progress.clear()
        tell(warnings + (report?.warnings ?? []), encoder?.frameCount ?? 0, report?.coder ?? "")
    }

    /// Whether nothing was said about how long frames are seen.
    private var keepsOwnDurations: Bool { !["--timing", "--fps", "--delay"].contains(where: arguments.has) }

    private func tell(_ warnings: [String], _ count: Int, _ coder: String) {
        if arguments.has("--json") {
            let line = JSONValue.object([
                ("output", .string(output)), ("format", .string(format.id)), ("encoder", .string(coder)),
                ("frame_count", .integer(count)), ("warnings", .array(warnings.map(JSONValue.string))),
            ]).text
            if output == "-" { Console.error(line) } else { Console.out(line) }
            return
        }
        for warning in warnings { Console.error(printable("coderhost: \(output): warning: \(warning)")) }
        if arguments.has("--verbose") {
            Console.error(printable("\(count) frame\(count == 1 ? "" : "s") -> \(output) (\(format))  [\(coder)]"))
        }
    }
}
