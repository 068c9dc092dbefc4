import CoderHost
import CommandLineKit
import ImageModel

/// `frames assemble`: an animation from pictures.
struct FramesAssembly {
    private let arguments: ParsedArguments
    private let host: CoderHost
    private let output: String
    private let format: ImageFormat
    private let encode: EncodingSwitches
    private let times: FramesTiming

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
        times = try FramesTiming(arguments)
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
        let (shown, plan) = try order(files, &subject)
        var notices = plan.notices
        subject = output
        var outputs = OutputGuard(inputs: [], arguments)
        for picture in shown { outputs.add(input: picture.file, as: "one of the pictures") }
        if let path = arguments.value("--timing") { outputs.add(input: path, as: "the file that --timing reads") }
        try outputs.examine(output, from: output)
        guard let candidate = host.manager.animationEncoders(for: format).first else {
            throw CoderError(
                .noCoder, "no usable coder writes animations as \(format)",
                hint: "formats for animations: \(host.manager.animationFormats.joined(separator: ", "))")
        }
        let options = try encode.encoding(format, candidate.descriptor, host)
        notices += options.warnings.map { FramesNotice(message: $0) }
        let pictures = try FramesInput(shown.map(\.file), host, &subject)
        notices += pictures.notices
        subject = output
        let sink = try FileSink(path: output, replacing: !arguments.has("--no-overwrite"), limits: host.manager.limits)
        let loops = times.loopCount ?? plan.loopCount ?? pictures.loopCount ?? .infinite
        var encoder: AnimationEncoder?
        var size: PixelSize?
        var progress = ProgressLine(total: pictures.frameCount)
        defer { progress.clear() }
        for (index, picture) in shown.enumerated() {
            subject = picture.file
            notices += try pictures.each(index) { image, own throws(CoderError) in
                progress.show(encoder?.frameCount ?? 0, picture.file)
                // What is wrong from here on is no fault of the picture, unless it is of another size.
                if size ?? image.pixels.size == image.pixels.size { subject = output }
                size = size ?? image.pixels.size
                if encoder == nil { encoder = try begin(image, pictures, loops, options.known, sink) }
                let duration = [picture.duration, times.duration ?? .unknown, own ?? .unknown]
                    .first { $0 != .unknown }
                try encoder?.add(image.pixels, duration: duration ?? FramesTiming.usual)
                subject = picture.file
            }
        }
        subject = output
        let report = try encoder?.finish()
        try sink.commit()
        progress.clear()
        notices += (report?.warnings ?? []).map { FramesNotice(message: $0) }
        tell(notices, encoder?.frameCount ?? 0, report)
    }

    /// What `--timing` says beside the order of the pictures.
    private struct Plan {
        /// Nil where it was not given.
        var loopCount: LoopCount?
        var notices: [FramesNotice] = []
    }

    /// The pictures in their order, of unknown duration where nobody says it.
    private func order(
        _ files: [String], _ subject: inout String
    ) throws(CoderError) -> ([TimingFile.Shown], Plan) {
        guard let path = arguments.value("--timing") else { return (files.map { ($0, .unknown) }, Plan()) }
        subject = path
        let timing = try TimingFile(reading: path)
        let name = arguments.has("--fps") ? "--fps" : "--delay"
        if times.duration != nil, timing.frames.allSatisfy({ $0.duration != .unknown }) {
            throw .invalidArgument("it has a duration for every frame, and so has \(name)", hint: "choose one")
        }
        // It tells of a whole animation: what it does not say is not taken from one of its pictures.
        var plan = Plan(loopCount: timing.loopCount == .unknown ? .infinite : timing.loopCount)
        if files.isEmpty { return (try timing.named(relativeTo: path), plan) }
        let matched = try timing.matched(to: files)
        if matched.leftOut > 0 {
            let (frames, have) = matched.leftOut == 1 ? ("frame", "has") : ("frames", "have")
            let message = "\(matched.leftOut) \(frames) of \(path) \(have) no picture here: left out"
            plan.notices.append(FramesNotice(message: message))
        }
        return (matched.shown, plan)
    }

    private func begin(
        _ first: DecodedImage, _ pictures: FramesInput, _ loops: LoopCount, _ options: CoderOptions, _ sink: FileSink
    ) throws(CoderError) -> AnimationEncoder {
        var facts = first.info
        facts.frameCount = pictures.frameCount
        facts.isAnimated = true
        facts.hasAlpha = pictures.hasAlpha
        facts.loopCount = loops
        facts.orientation = .up
        return try host.manager.makeAnimationEncoder(
            to: format, of: facts, metadata: first.metadata.filter { $0.kind == .icc }, options: options,
            limits: host.manager.limits, into: sink)
    }

    private func tell(_ notices: [FramesNotice], _ count: Int, _ report: EncodeReport?) {
        let coder = report?.coder ?? ""
        var told: Set<FramesNotice> = []
        let notices = notices.filter { told.insert($0).inserted }
        if arguments.has("--json") {
            let warnings = notices.map { notice in
                JSONValue.string((notice.file.map { $0 + ": " } ?? "") + notice.message)
            }
            let line = JSONValue.object([
                ("output", .string(output)), ("format", .string(format.id)), ("encoder", .string(coder)),
                ("frame_count", .integer(count)), ("encoder_isolation", IsolationRendering.json(report?.isolation)),
                ("warnings", .array(warnings)),
            ]).text
            if output == "-" { Console.error(line) } else { Console.out(line) }
            return
        }
        for notice in notices {
            Console.error(printable("coderhost: \(notice.file ?? output): warning: \(notice.message)"))
        }
        if arguments.has("--verbose") {
            Console.error(printable("\(count) picture\(count == 1 ? "" : "s") -> \(output) (\(format))  [\(coder)]"))
        }
    }
}
