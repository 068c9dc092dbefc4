import CoderHost
import CommandLineKit
import ImageModel

/// `frames assemble` for a format without animations: writes one file whose pages or sizes are the images.
struct PagesAssembly {
    private let arguments: ParsedArguments
    private let host: CoderHost
    private let output: String
    private let format: ImageFormat
    private let encode: EncodingSwitches

    init(
        _ arguments: ParsedArguments, _ host: CoderHost, _ output: String, _ format: ImageFormat,
        _ encode: EncodingSwitches
    ) {
        self.arguments = arguments
        self.host = host
        self.output = output
        self.format = format
        self.encode = encode
    }

    /// Writes the file; a failed image stops it.
    func run(_ files: [String]) -> ExitCode {
        writing(output, arguments) { subject throws(CoderError) in try assemble(files, &subject) }
    }

    /// - Parameter subject: the file that caused an error.
    private func assemble(_ files: [String], _ subject: inout String) throws(CoderError) {
        var outputs = OutputGuard(inputs: [], arguments)
        for file in files { outputs.add(input: file, as: "one of the input images") }
        try outputs.examine(output, from: output)
        let coder = host.manager.itemsEncoders(for: format).first?.descriptor
        let options = try encode.encoding(format, coder, host)
        var notices = options.warnings.map { FramesNotice(message: $0) }
        let sink = try FileSink(path: output, replacing: !arguments.has("--no-overwrite"), limits: host.manager.limits)
        let encoder = try host.manager.makeItemsEncoder(
            to: format, options: EncodeOptions(options.known), into: sink)
        var progress = ProgressLine(total: files.count)
        defer { progress.clear() }
        for (number, file) in files.enumerated() {
            progress.show(number, file)
            subject = file
            let source = try ImageSource(path: file, limits: host.manager.limits)
            let output = output
            var isOutput = false
            do throws(CoderError) {
                notices += try host.manager.withSession(source) { session throws(CoderError) in
                    try addAll(session, FileName(file).stem, encoder, &isOutput)
                    return session.context.warnings.map { FramesNotice(file: file, message: $0) }
                }
            } catch {
                if isOutput { subject = output }
                throw error
            }
        }
        subject = output
        let report = try encoder.finish()
        try sink.commit()
        progress.clear()
        notices += report.warnings.map { FramesNotice(message: $0) }
        FramesReport(output: output, format: format, count: encoder.count, report: report).tell(notices, arguments)
    }

    /// Adds every image of a file: its pages, or its frames.
    ///
    /// - Parameter isOutput: whether an error is about the output.
    private func addAll(
        _ session: DecodeSession, _ name: String, _ encoder: ItemsEncoder, _ isOutput: inout Bool
    ) throws(CoderError) {
        func add(_ image: DecodedImage) throws(CoderError) {
            isOutput = true
            try encoder.add(image, name: name)
            isOutput = false
        }
        let pages = try session.items().filter { item in
            item.facts.map { [.primary, .page, .alternative].contains($0.role) } ?? true
        }
        for page in pages {
            try session.select(item: page.index)
            if try session.frameInfo(1) == nil {
                let image = try session.decodeImage(try session.shape(DecodeOptions()))
                for warning in image.warnings { session.context.warn(warning) }
                try add(image)
                continue
            }
            let metadata = try session.metadata()
            for number in 0..<(try session.frames().count) {
                let (_, pixels) = try session.decodeFrame(number)
                try add(
                    DecodedImage(
                        info: session.info, pixels: pixels, metadata: metadata, format: session.format,
                        coder: session.coder.id))
            }
        }
    }
}
