import CoderHost
import CommandLineKit
import ImageModel

/// `frames assemble`: writes an animation from images, or a file with several images.
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
            throw UsageError("no input images", hint: "for example frames assemble *.png -o film.gif")
        }
        guard let output = arguments.value("--output") else {
            throw UsageError("missing option -o OUT", command: "frames")
        }
        self.output = output
        if let word = arguments.value("--format") {
            format = host.manager.format(named: word)
        } else if output != "-", let suffix = FileName(output).suffix {
            format = host.manager.format(named: suffix)
        } else {
            throw UsageError(
                "unknown output format for \(output)", hint: "add -f FORMAT, for example -f gif", command: "frames")
        }
        encode = try EncodingSwitches(arguments)
        try encode.examine(host)
        try encode.examine(for: format, host)
        times = try FramesTiming(arguments)
    }

    func run(_ operands: [String]) throws(UsageError) -> ExitCode {
        let files = try arguments.imagesInFolders(operands, excluding: output, host)
        if output == "-" && Console.outputIsTerminal {
            throw UsageError("an animation is not written to a terminal", hint: "redirect standard output")
        }
        let pages = host.manager.itemsEncoders(for: format)
        if host.manager.animationEncoders(for: format).isEmpty, !pages.isEmpty {
            try FramesTiming.refuse(arguments, for: format)
            return PagesAssembly(arguments, host, output, format, encode).run(files)
        }
        // A failed image stops the whole animation.
        return writing(output, arguments) { subject throws(CoderError) in try assemble(files, &subject) }
    }

    /// Writes the animation.
    ///
    /// - Parameter subject: the file that caused an error.
    private func assemble(_ files: [String], _ subject: inout String) throws(CoderError) {
        let (ordered, plan) = try order(files, &subject)
        let shown = times.isReversed ? ordered.reversed() : ordered
        var notices = plan.notices
        subject = output
        var outputs = OutputGuard(inputs: [], arguments)
        for entry in shown { outputs.add(input: entry.file, as: "one of the input images") }
        if let path = arguments.value("--timing") { outputs.add(input: path, as: "the input of --timing") }
        try outputs.examine(output, from: output)
        guard let candidate = host.manager.animationEncoders(for: format).first else {
            throw CoderError(
                .noCoder, "no usable coder encodes animations as \(format)",
                hint: "animation formats: \(host.manager.animationFormats.joined(separator: ", "))")
        }
        let options = try encode.encoding(format, candidate.descriptor, host)
        notices += options.warnings.map { FramesNotice(message: $0) }
        let images = try FramesInput(shown.map(\.file), host, &subject)
        notices += images.notices
        subject = output
        let sink = try FileSink(path: output, replacing: !arguments.has("--no-overwrite"), limits: host.manager.limits)
        let loops = times.loopCount ?? plan.loopCount ?? images.loopCount ?? .infinite
        var encoder: AnimationEncoder?
        var size: PixelSize?
        var progress = ProgressLine(total: images.frameCount)
        defer { progress.clear() }
        for (index, entry) in shown.enumerated() {
            subject = entry.file
            notices += try images.each(index, reversed: times.isReversed) { image, own throws(CoderError) in
                progress.show(encoder?.frameCount ?? 0, entry.file)
                // From here on, an error is about the output, except for an image with another size.
                if size ?? image.pixels.size == image.pixels.size { subject = output }
                size = size ?? image.pixels.size
                if encoder == nil { encoder = try begin(image, images, loops, options.known, sink) }
                let duration = [entry.duration, times.duration ?? .unknown, own ?? .unknown]
                    .first { $0 != .unknown }
                try encoder?.add(image.pixels, duration: try times.scaled(duration ?? FramesTiming.usual))
                subject = entry.file
            }
        }
        subject = output
        let report = try encoder?.finish()
        try sink.commit()
        progress.clear()
        notices += (report?.warnings ?? []).map { FramesNotice(message: $0) }
        FramesReport(output: output, format: format, count: encoder?.frameCount ?? 0, report: report)
            .tell(notices, arguments)
    }

    /// The values of the timing file, apart from the order of the images.
    private struct Plan {
        /// The loop count; nil without a timing file.
        var loopCount: LoopCount?
        var notices: [FramesNotice] = []
    }

    /// Returns the images in order, with the durations that the timing file has.
    private func order(
        _ files: [String], _ subject: inout String
    ) throws(CoderError) -> ([TimingFile.Shown], Plan) {
        guard let path = arguments.value("--timing") else { return (files.map { ($0, .unknown) }, Plan()) }
        subject = path
        let timing = try TimingFile(reading: path)
        let name = arguments.has("--fps") ? "--fps" : "--delay"
        if times.duration != nil, timing.frames.allSatisfy({ $0.duration != .unknown }) {
            throw .invalidArgument("the timing file has all durations, so \(name) has no effect", hint: "choose one")
        }
        // A timing file describes the whole animation, so a missing loop count does not come from an input image.
        var plan = Plan(loopCount: timing.loopCount == .unknown ? .infinite : timing.loopCount)
        if files.isEmpty { return (try timing.named(relativeTo: path), plan) }
        let matched = try timing.matched(to: files)
        if matched.leftOut > 0 {
            let (frames, have) = matched.leftOut == 1 ? ("frame", "has") : ("frames", "have")
            let message = "\(matched.leftOut) \(frames) of \(path) \(have) no image: skipped"
            plan.notices.append(FramesNotice(message: message))
        }
        return (matched.shown, plan)
    }

    private func begin(
        _ first: DecodedImage, _ images: FramesInput, _ loops: LoopCount, _ options: CoderOptions, _ sink: FileSink
    ) throws(CoderError) -> AnimationEncoder {
        var facts = first.info
        facts.frameCount = images.frameCount
        facts.isAnimated = true
        facts.hasAlpha = images.hasAlpha
        facts.loopCount = loops
        facts.orientation = .up
        return try host.manager.makeAnimationEncoder(
            to: format, of: facts, metadata: first.metadata.filter { $0.kind == .icc }, options: options,
            limits: host.manager.limits, into: sink)
    }
}

/// The report of `frames assemble`.
struct FramesReport {
    var output: String
    var format: ImageFormat
    /// The number of frames or images.
    var count: Int
    var report: EncodeReport?

    func tell(_ notices: [FramesNotice], _ arguments: ParsedArguments) {
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
            Console.error(printable("\(count) image\(count == 1 ? "" : "s") -> \(output) (\(format))  [\(coder)]"))
        }
    }
}

/// Writes one output, and reports the error if that fails.
///
/// - Parameter body: sets its parameter to the file that causes an error; at first it is the output.
func writing(
    _ output: String, _ arguments: ParsedArguments, _ body: (inout String) throws(CoderError) -> Void
) -> ExitCode {
    var subject = output
    do throws(CoderError) {
        try body(&subject)
        return Console.outputError == nil ? .success : .inputOutput
    } catch {
        if error.message == CoderError.readerIsGone.message { return .inputOutput }
        error.report(subject, arguments, outputIsTaken: output == "-")
        return ExitCode(error.code)
    }
}
