import CoderHost
import ImageModel

/// `frames assemble`: an animation from pictures.
struct FramesAssembly {
    private let arguments: ParsedArguments
    private let host: CoderHost
    private let output: String
    private let format: ImageFormat
    private let encode: EncodeOptions
    private let duration: FrameDuration
    private let loopCount: LoopCount?

    init(_ arguments: ParsedArguments) throws(UsageError) {
        self.arguments = arguments
        host = try arguments.host()
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
        encode = try EncodeOptions(arguments)
        duration = try Self.duration(arguments)
        loopCount = try Self.loops(arguments)
    }

    private static func duration(_ arguments: ParsedArguments) throws(UsageError) -> FrameDuration {
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
        return FramesCommand.each([output], arguments, outputIsTaken: output == "-") { output throws(CoderError) in
            try assemble(files, output)
        }
    }

    private func assemble(_ files: [String], _ output: String) throws(CoderError) {
        var timing: TimingFile?
        if let path = arguments.value("--timing") {
            var read = try TimingFile(reading: path)
            read.frames.removeAll { $0.file == nil }
            guard files.count == read.frames.count else {
                throw .invalidArgument(
                    "\(path) tells of \(read.frames.count) pictures, and there are \(files.count)",
                    hint: "name the pictures it was written with, in order")
            }
            timing = read
        }
        let durations = timing?.frames.map(\.duration) ?? Array(repeating: duration, count: files.count)
        var outputs = OutputGuard(inputs: [], arguments)
        for file in files { outputs.add(input: file, as: "one of the pictures") }
        if let path = arguments.value("--timing") { outputs.add(input: path, as: "the file that --timing reads") }
        try outputs.examine(output, from: output)
        guard let candidate = host.manager.animationEncoders(for: format).first else {
            throw CoderError(
                .noCoder, "no usable coder writes animations as \(format)",
                hint: "formats for animations: \(host.manager.animationFormats.joined(separator: ", "))")
        }
        let options = try encode.encoding(format, candidate.descriptor, host)
        var encoder: AnimationEncoder?
        let sink = try FileSink(path: output, replacing: !arguments.has("--no-overwrite"), limits: host.manager.limits)
        var progress = ProgressLine(total: files.count)
        defer { progress.clear() }
        for (index, file) in files.enumerated() {
            progress.show(index, file)
            let image = try picture(file)
            if encoder == nil {
                var facts = image.info
                facts.frameCount = files.count
                facts.isAnimated = true
                // Another picture may have what the first has not.
                facts.hasAlpha = facts.hasAlpha || files.count > 1
                facts.loopCount = loopCount ?? timing?.loopCount ?? .infinite
                facts.orientation = .up
                encoder = try host.manager.makeAnimationEncoder(
                    to: format, of: facts, metadata: image.metadata.filter { $0.kind == .icc }, options: options.known,
                    limits: host.manager.limits, into: sink)
            }
            do throws(CoderError) {
                try encoder?.add(image.pixels, duration: durations[index])
            } catch {
                var named = error
                named.message = "\(file): \(error.message)"
                throw named
            }
        }
        let report = try encoder?.finish()
        try sink.commit()
        progress.clear()
        let warnings = options.warnings + (report?.warnings ?? [])
        if arguments.has("--json") {
            let line = JSONValue.object([
                ("output", .string(output)), ("format", .string(format.id)),
                ("encoder", .string(report?.coder ?? "")), ("frame_count", .integer(files.count)),
                ("warnings", .array(warnings.map(JSONValue.string))),
            ]).text
            if output == "-" { Console.error(line) } else { Console.out(line) }
        } else {
            for warning in warnings { Console.error(printable("coderhost: \(output): warning: \(warning)")) }
            if arguments.has("--verbose") {
                Console.error(printable("\(files.count) pictures -> \(output) (\(format))  [\(report?.coder ?? "")]"))
            }
        }
    }

    /// A picture, upright and with alpha, so that all of them look alike to the encoder.
    private func picture(_ file: String) throws(CoderError) -> DecodedImage {
        do throws(CoderError) {
            var image = try host.manager.decode(try ImageSource(path: file, limits: host.manager.limits))
            let pending = image.info.orientationApplied ? Orientation.up : image.info.orientation ?? .up
            if pending != .up { image.pixels = try PixelConverter.upright(image.pixels, pending) }
            let wanted = image.pixels.format.bits > 8 ? PixelFormat.rgba16 : .rgba8
            image.pixels = try PixelConverter.convert(image.pixels, to: wanted)
            image.info.size = image.pixels.size
            image.info.orientation = .up
            return image
        } catch {
            var named = error
            named.message = "\(file): \(error.message)"
            throw named
        }
    }
}
