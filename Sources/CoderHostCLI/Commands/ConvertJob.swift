import CoderHost
import ImageModel

/// One `convert` call: what to read, how to write, where to.
struct ConvertJob {
    private let host: CoderHost
    private let limits: DecodeLimits
    private let target: OutputTarget
    private let format: ImageFormat?
    private let frame: Int?
    private let coder: String?
    private let kept: Set<MetadataBlob.Kind>
    private let firstFrameOnly: Bool
    private let allowsIncomplete: Bool
    private let encode: EncodingSwitches
    /// Of many inputs none may be replaced before its turn has come.
    private var outputs: OutputGuard

    struct Outcome {
        var input: String
        var output: String
        var inputFormat: ImageFormat
        var outputFormat: ImageFormat
        var size: PixelSize
        var decoder: String
        var encoder: String
        var isIncomplete: Bool
        var warnings: [String]

        var line: String {
            "\(input) (\(inputFormat) \(size)) -> \(output) (\(outputFormat))  [\(decoder) -> \(encoder)]"
        }

        var json: String {
            JSONValue.object([
                ("file", .string(input)), ("output", .string(output)), ("format", .string(outputFormat.id)),
                ("width", .integer(size.width)), ("height", .integer(size.height)),
                ("coder", .string(decoder)), ("encoder", .string(encoder)),
                ("incomplete", .bool(isIncomplete)), ("isolation", Report.isolation),
                ("warnings", .array(warnings.map(JSONValue.string))),
            ]).text
        }
    }

    init(_ arguments: ParsedArguments) throws(UsageError) {
        host = try arguments.host()
        limits = try arguments.limits()
        guard let output = arguments.value("--output") else {
            throw UsageError("-o OUT is missing", command: "convert")
        }
        target = try OutputTarget(output, arguments)
        format = try Self.format(arguments, host)
        if arguments.has("--frame") && arguments.has("--first-frame") {
            throw UsageError("--frame and --first-frame both choose a frame", hint: "choose one", command: "convert")
        }
        frame = try arguments.integer("--frame", 0...1_000_000)
        coder = arguments.value("--coder")
        kept = try Self.kept(arguments)
        firstFrameOnly = arguments.has("--first-frame")
        allowsIncomplete = arguments.has("--incomplete")
        encode = try EncodingSwitches(arguments)
        let known =
            format ?? FileName(output).suffix.flatMap { [host] in host.manager.format(ofExtension: $0.lowercased()) }
        if let known { try encode.examine(for: known, host) }
        outputs = OutputGuard(
            inputs: arguments.operands, arguments, remedy: "use --overwrite to replace it, or write elsewhere")
    }

    private static func format(_ arguments: ParsedArguments, _ host: CoderHost) throws(UsageError) -> ImageFormat? {
        guard let word = arguments.value("--format")?.lowercased() else { return nil }
        return host.manager.format(named: word)
    }

    private static func kept(_ arguments: ParsedArguments) throws(UsageError) -> Set<MetadataBlob.Kind> {
        func kinds(_ text: String) throws(UsageError) -> Set<MetadataBlob.Kind> {
            if text == "all" { return Set(MetadataBlob.Kind.allCases) }
            var result: Set<MetadataBlob.Kind> = []
            for word in text.split(separator: ",") {
                guard let kind = MetadataBlob.Kind.allCases.first(where: { "\($0)" == word.lowercased() }) else {
                    let names = MetadataBlob.Kind.allCases.map { "\($0)" }
                    throw UsageError(
                        "there is no metadata kind \(word)",
                        hint: OptionCheck.nearest(String(word), names).map { "did you mean \($0)?" }
                            ?? "kinds: \(names.joined(separator: ", ")), all")
                }
                result.insert(kind)
            }
            return result
        }
        var result = Set(MetadataBlob.Kind.allCases)
        if let keep = arguments.value("--keep") { result = try kinds(keep) }
        if let strip = arguments.value("--strip") { result.subtract(try kinds(strip)) }
        return result
    }

    /// Where JSON lines go: standard output, unless the picture itself goes there.
    func report(_ line: String) {
        if outputIsTaken { Console.error(line) } else { Console.out(line) }
    }

    var outputIsTaken: Bool { target.isStandardOutput }

    // MARK: One file

    mutating func convert(_ file: String, number: Int) throws(CoderError) -> Outcome {
        // A format that nobody writes is refused before anything is decoded.
        let name = target.path(for: file, number: number, size: PixelSize(1, 1)) { host.manager.fileExtension(of: $0) }
        if let wanted = format(of: name), !host.manager.canEncode(to: wanted) {
            throw host.manager.absence(ofEncoderFor: wanted)
        }
        let source = try ImageSource(path: file, limits: limits)
        let decoding = try encode.decoding(source, host)
        let outcome = try host.manager.withSession(source, options: decoding, forcing: coder) {
            session throws(CoderError) in
            do throws(CoderError) {
                return try write(file, number, session)
            } catch {
                throw allowsIncomplete ? error : error.hintingAtIncomplete
            }
        }
        outputs.note(outcome.output, from: file)
        return outcome
    }

    private func write(_ file: String, _ number: Int, _ session: DecodeSession) throws(CoderError) -> Outcome {
        let output = target.path(for: file, number: number, size: session.info.size) {
            host.manager.fileExtension(of: $0)
        }
        let (isAnimation, isCut) = try hasMoreFrames(session)
        let format =
            format(of: output)
            ?? (isAnimation && !host.manager.animationEncoders(for: session.format).isEmpty ? session.format : nil)
            ?? host.manager.defaultFormat(hasAlpha: session.info.hasAlpha)
        let path = output.hasFormatPlaceholder ? output.named(host.manager.fileExtension(of: format)) : output.path
        try outputs.examine(path, from: file)
        if path == "-" && Console.outputIsTerminal {
            throw CoderError(.cannotCreate, "a picture is not written to a terminal", hint: "redirect standard output")
        }
        let sink = try FileSink(path: path, replacing: target.mayReplace, limits: limits)
        let metadata = try session.metadata().filter { kept.contains($0.kind) }
        var info = session.info
        if !kept.contains(.icc) { info.color.hasProfile = false }
        let report: EncodeReport
        var warnings: [String] = []
        var isIncomplete = false
        if isAnimation, let encoder = host.manager.animationEncoders(for: format).first {
            let options = try encode.encoding(format, encoder.descriptor, host)
            warnings = options.warnings
            report = try animate(session, info, metadata, format, options.known, sink)
        } else {
            if isAnimation { session.context.warn("\(format) holds one picture: only the first frame is written") }
            let image: DecodedImage
            (image, isIncomplete) = try decode(session, info, metadata)
            if isCut && !isIncomplete {
                session.context.warn("the data ends in frame 1: the frame before it is written")
            }
            let options = try encode.encoding(format, host.manager.encoders(for: format).first?.descriptor, host)
            warnings = options.warnings
            report = try host.manager.encode(image, to: format, options: options.known, into: sink)
        }
        try sink.commit()
        return Outcome(
            input: file, output: path, inputFormat: session.format, outputFormat: format, size: session.info.size,
            decoder: session.coder.id, encoder: report.coder, isIncomplete: isIncomplete,
            warnings: session.context.warnings + warnings + report.warnings)
    }

    /// Whether there is a second frame to be written, and whether the data ends in front of where it would be whole.
    private func hasMoreFrames(_ session: DecodeSession) throws(CoderError) -> (Bool, isCut: Bool) {
        if frame != nil || firstFrameOnly { return (false, false) }
        do throws(CoderError) {
            return (try session.frameInfo(1) != nil, false)
        } catch {
            guard allowsIncomplete, error.code == .truncated else { throw error }
            return (false, true)
        }
    }

    /// Writes frame after frame; one of them is in memory at a time.
    private func animate(
        _ session: DecodeSession, _ info: ImageInfo, _ metadata: [MetadataBlob], _ format: ImageFormat,
        _ options: CoderOptions, _ sink: FileSink
    ) throws(CoderError) -> EncodeReport {
        let encoder = try host.manager.makeAnimationEncoder(
            to: format, of: info, metadata: metadata, options: options, limits: limits, into: sink)
        var progress = ProgressLine(total: info.frameCount ?? 0)
        defer { progress.clear() }
        var index = 0
        while true {
            do throws(CoderError) {
                guard let frame = try session.frameInfo(index) else { break }
                try encoder.add(try session.decodeFrame(index).pixels, duration: frame.duration)
            } catch {
                guard allowsIncomplete, error.code == .truncated, index > 0 else { throw error }
                session.context.warn("the data ends in frame \(index): the frames before it are written")
                break
            }
            index += 1
            progress.show(index, "frame \(index)")
        }
        return try encoder.finish()
    }

    /// The one picture that is written.
    private func decode(
        _ session: DecodeSession, _ info: ImageInfo, _ metadata: [MetadataBlob]
    ) throws(CoderError) -> (DecodedImage, isIncomplete: Bool) {
        var isIncomplete = false
        let pixels: PixelBuffer
        if let frame {
            pixels = try session.decodeFrame(frame).pixels
        } else if allowsIncomplete, let part = try session.decodeAvailable() {
            pixels = part.pixels
            isIncomplete = !part.isComplete
            if isIncomplete { session.context.warn("the data ends too early: a part of the picture is missing") }
        } else {
            pixels = try session.decodeImage()
        }
        let image = DecodedImage(
            info: info, pixels: pixels, metadata: metadata, format: session.format, coder: session.coder.id)
        return (image, isIncomplete)
    }

    /// The format that was asked for, by name or by the output's ending; nil where nothing was said.
    private func format(of output: OutputTarget.Name) -> ImageFormat? {
        if let format { return format }
        // A device such as /dev/null has no ending to go by.
        guard !output.hasFormatPlaceholder, output.path != "-", let suffix = output.suffix else { return nil }
        // An ending that nobody knows is a mistake, not a reason to choose.
        return host.manager.format(ofExtension: suffix) ?? ImageFormat(suffix)
    }
}
