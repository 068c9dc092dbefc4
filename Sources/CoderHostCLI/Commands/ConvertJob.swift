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
    private let shared: [(key: String, value: OptionValue)]
    private let rawOptions: [(key: String, text: String)]
    /// What this call has written, and from which input.
    private var written: [FileIdentity: String] = [:]
    /// The files of this call, where there are several.
    private var inputs: [FileIdentity: String] = [:]

    struct Outcome {
        var input: String
        var output: String
        var inputFormat: ImageFormat
        var outputFormat: ImageFormat
        var size: PixelSize
        var decoder: String
        var encoder: String
        var warnings: [String]

        var line: String {
            "\(input) (\(inputFormat) \(size)) -> \(output) (\(outputFormat))  [\(decoder) -> \(encoder)]"
        }

        var json: String {
            JSONValue.object([
                ("file", .string(input)), ("output", .string(output)), ("format", .string(outputFormat.id)),
                ("width", .integer(size.width)), ("height", .integer(size.height)),
                ("coder", .string(decoder)), ("encoder", .string(encoder)), ("isolation", Report.isolation),
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
        frame = try arguments.integer("--frame", 0...1_000_000)
        coder = arguments.value("--coder")
        kept = try Self.kept(arguments)
        var shared: [(key: String, value: OptionValue)] = []
        if let quality = try arguments.real("--quality", 0...100) { shared.append((OptionKey.quality, .real(quality))) }
        if arguments.has("--lossless") { shared.append((OptionKey.lossless, .bool(true))) }
        if let effort = try arguments.integer("--effort", 0...9) {
            shared.append((OptionKey.effort, .integer(Int64(effort))))
        }
        self.shared = shared
        var options: [(key: String, text: String)] = []
        for text in arguments.all("--option") {
            guard let equals = text.firstIndex(of: "="), equals != text.startIndex else {
                throw UsageError("-O \"\(text)\" is not of the form key=value")
            }
            options.append((String(text[..<equals]), String(text[text.index(after: equals)...])))
        }
        rawOptions = options
        // Of many inputs none may be replaced before its turn has come.
        if arguments.operands.count > 1 {
            for file in arguments.operands { if let known = FileStatus.of(file) { inputs[known.identity] = file } }
        }
    }

    private static func format(_ arguments: ParsedArguments, _ host: CoderHost) throws(UsageError) -> ImageFormat? {
        guard let word = arguments.value("--format")?.lowercased() else { return nil }
        if host.manager.canEncode(to: ImageFormat(word)) { return ImageFormat(word) }
        // An extension will do for a name: -f jpg.
        return host.manager.format(ofExtension: word) ?? ImageFormat(word)
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
        if target.isStandardOutput { Console.error(line) } else { Console.out(line) }
    }

    // MARK: One file

    mutating func convert(_ file: String, number: Int) throws(CoderError) -> Outcome {
        // A format that nobody writes is refused before anything is decoded.
        let name = target.path(for: file, number: number, size: PixelSize(1, 1)) { host.manager.fileExtension(of: $0) }
        if let wanted = format(of: name), !host.manager.canEncode(to: wanted) {
            throw host.manager.absence(ofEncoderFor: wanted)
        }
        let source = try ImageSource(path: file, limits: limits)
        let image = try decode(source)
        let output = target.path(for: file, number: number, size: image.info.size) {
            host.manager.fileExtension(of: $0)
        }
        let format = format(of: output) ?? host.manager.defaultFormat(hasAlpha: image.info.hasAlpha)
        let path = output.hasFormatPlaceholder ? output.named(host.manager.fileExtension(of: format)) : output.path
        let options = try encodeOptions(format)
        try examine(path, file)
        if path == "-" && Console.outputIsTerminal {
            throw CoderError(.cannotCreate, "a picture is not written to a terminal", hint: "redirect standard output")
        }
        let sink = try FileSink(path: path, replacing: target.mayReplace, limits: limits)
        let report = try host.manager.encode(image, to: format, options: options.known, into: sink)
        try sink.commit()
        if path != "-", let status = FileStatus.of(path), status.isRegular { written[status.identity] = file }
        return Outcome(
            input: file, output: path, inputFormat: image.format, outputFormat: format, size: image.info.size,
            decoder: image.coder, encoder: report.coder, warnings: image.warnings + options.warnings + report.warnings)
    }

    /// Refuses to write over the input, over another input's output, and what may not be replaced.
    private func examine(_ path: String, _ file: String) throws(CoderError) {
        guard path != "-", let status = FileStatus.of(path), status.isRegular else { return }
        if !target.mayReplaceInput, status.identity == FileStatus.of(file)?.identity {
            throw CoderError(.cannotCreate, "\(path) is the input itself", hint: "use --overwrite to replace it")
        }
        if !target.mayReplaceInput, let other = inputs[status.identity] {
            throw CoderError(
                .cannotCreate, "\(path) is \(other), another input of this call",
                hint: "use --overwrite to replace it, or write elsewhere")
        }
        if let earlier = written[status.identity] {
            throw CoderError(
                .cannotCreate, "\(path) was just written from \(earlier)",
                hint: "use a template that tells them apart, such as '{stem}-{n}.png' or '{stem}-{ext}.png'")
        }
        if !target.mayReplace {
            throw CoderError(.cannotCreate, "\(path) exists", hint: "choose another name, or leave out --no-overwrite")
        }
    }

    private func decode(_ source: ImageSource) throws(CoderError) -> DecodedImage {
        var options = CoderOptions()
        for option in rawOptions {
            for coder in host.manager.candidates(for: source) {
                guard coder.descriptor.options.contains(where: { $0.key == option.key && $0.scope.includesDecoding })
                else { continue }
                options[option.key] = try OptionCheck.parse(option.text, for: option.key, coder.descriptor)
            }
        }
        let decodeOptions = options
        return try host.manager.withSession(source, options: decodeOptions, forcing: coder) {
            session throws(CoderError) in
            let metadata = try session.metadata().filter { kept.contains($0.kind) }
            var info = session.info
            if frame == nil, let count = info.frameCount, count > 1 {
                session.context.warn("only the first of \(count) frames is written")
            }
            let pixels: PixelBuffer
            if let frame {
                pixels = try session.decodeFrame(frame).pixels
            } else {
                pixels = try session.decodeImage()
            }
            if !kept.contains(.icc) { info.color.hasProfile = false }
            return DecodedImage(
                info: info, pixels: pixels, metadata: metadata, format: session.format, coder: session.coder.id,
                warnings: session.context.warnings)
        }
    }

    /// The format that was asked for, by name or by the output's ending; nil where nothing was said.
    private func format(of output: OutputTarget.Name) -> ImageFormat? {
        if let format { return format }
        // A device such as /dev/null has no ending to go by.
        guard !output.hasFormatPlaceholder, output.path != "-", let suffix = output.suffix else { return nil }
        // An ending that nobody knows is a mistake, not a reason to choose.
        return host.manager.format(ofExtension: suffix) ?? ImageFormat(suffix)
    }

    /// Options as the encoder's schema reads them; shared switches that mean nothing to it are only mentioned.
    private func encodeOptions(_ format: ImageFormat) throws(CoderError) -> (known: CoderOptions, warnings: [String]) {
        var options = CoderOptions()
        var warnings: [String] = []
        guard let encoder = host.manager.encoders(for: format).first?.descriptor else { return (options, []) }
        for (key, value) in shared {
            if encoder.options.contains(where: { $0.key == key && $0.scope.includesEncoding }) {
                options[key] = value
            } else if key != OptionKey.lossless {
                warnings.append("\(format) has no \(key): it is ignored")
            } else if encoder.options.contains(where: { $0.key == OptionKey.quality }) {
                // An encoder with a quality but without this switch always loses something.
                warnings.append("\(format) cannot be lossless: --lossless is ignored")
            }
        }
        for (key, text) in rawOptions {
            let decodes = host.manager.coders.contains { coder in
                coder.descriptor.options.contains { $0.key == key && $0.scope.includesDecoding }
            }
            if decodes && !encoder.options.contains(where: { $0.key == key && $0.scope.includesEncoding }) { continue }
            options[key] = try OptionCheck.parse(text, for: key, encoder)
        }
        return (options, warnings)
    }
}
