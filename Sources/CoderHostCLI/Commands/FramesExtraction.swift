import CoderHost
import ImageModel

/// `frames extract`: one picture for each frame.
struct FramesExtraction {
    private let arguments: ParsedArguments
    private let host: CoderHost
    private let target: OutputTarget
    private let template: OutputTemplate
    private let format: ImageFormat?
    private let encode: EncodeOptions

    init(_ arguments: ParsedArguments) throws(UsageError) {
        self.arguments = arguments
        host = try arguments.host()
        guard let output = arguments.value("--output") else {
            throw UsageError(
                "-o is missing", hint: "for example -o '{stem}-{n:04}.png'", command: "frames")
        }
        template = try OutputTemplate(output)
        guard template.mentions("n") else {
            throw UsageError(
                "\(output) is one name for many frames", hint: "put {n} into it: '{stem}-{n:04}.png'", command: "frames"
            )
        }
        target = try OutputTarget(output, arguments)
        format = arguments.value("--format").map { [host] in host.manager.format(named: $0) }
        encode = try EncodeOptions(arguments)
    }

    func run(_ files: [String]) throws(UsageError) -> ExitCode {
        if files.count > 1, !template.mentions("stem"), !template.mentions("dir") {
            throw UsageError("the frames of \(files.count) files get the same names", hint: "put {stem} into the name")
        }
        if files.count > 1, arguments.has("--timing") {
            throw UsageError("--timing is the file of one animation", hint: "extract one at a time")
        }
        var outputs = OutputGuard(inputs: files, arguments)
        if let path = arguments.value("--timing") { outputs.reserve(path, as: "where --timing writes") }
        return FramesCommand.each(files, arguments) { file throws(CoderError) in try extract(file, &outputs) }
    }

    private func extract(_ file: String, _ outputs: inout OutputGuard) throws(CoderError) {
        let timing = arguments.value("--timing")
        if let timing { try outputs.examine(timing, from: file, isReserved: true) }
        let earlier = outputs
        let source = try ImageSource(path: file, limits: host.manager.limits)
        let options = try encode.decoding(source, host)
        try host.manager.withSession(source, options: options) { session throws(CoderError) in
            // Another coder begins anew, and may write what the one before it wrote of this file.
            outputs = earlier
            let isRaw = arguments.has("--raw")
            let metadata = try session.metadata().filter { $0.kind == .icc }
            var entries: [TimingFile.Entry] = []
            var progress = ProgressLine(total: session.info.frameCount ?? 0)
            defer { progress.clear() }
            while let frame = try session.frameInfo(entries.count) {
                let index = frame.index
                let pixels = isRaw ? try session.decodeRawFrame(index) : try session.decodeFrame(index).pixels
                // A frame that covers nothing has no picture.
                if let pixels {
                    let path = try write(pixels, metadata, session, file, frame.index, &outputs)
                    entries.append(TimingFile.Entry(file: path, duration: frame.duration))
                } else {
                    session.context.warn("frame \(frame.index) covers no pixel: there is no picture of it")
                    entries.append(TimingFile.Entry(file: nil, duration: frame.duration))
                }
                progress.show(entries.count, file)
            }
            if let timing {
                try TimingFile(loopCount: session.info.loopCount, frames: entries).write(
                    timing, replacing: !arguments.has("--no-overwrite"), host.manager.limits)
            }
            report(file, entries, session)
        }
    }

    private func write(
        _ pixels: PixelBuffer, _ metadata: [MetadataBlob], _ session: DecodeSession, _ file: String, _ number: Int,
        _ outputs: inout OutputGuard
    ) throws(CoderError) -> String {
        let name = target.path(for: file, number: number, size: pixels.size) { host.manager.fileExtension(of: $0) }
        let known = name.suffix.map { [host] in host.manager.format(named: $0) }
        let format = format ?? known ?? host.manager.defaultFormat(hasAlpha: true)
        guard let encoder = host.manager.encoders(for: format).first else {
            throw host.manager.absence(ofEncoderFor: format)
        }
        var info = session.info
        info.size = pixels.size
        try outputs.examine(name.path, from: file)
        let sink = try FileSink(path: name.path, replacing: target.mayReplace, limits: host.manager.limits)
        let image = DecodedImage(
            info: info, pixels: pixels, metadata: metadata, format: session.format, coder: session.coder.id)
        let options = try encode.encoding(format, encoder.descriptor, host)
        (options.warnings).forEach(session.context.warn)
        let report = try host.manager.encode(image, to: format, options: options.known, into: sink)
        report.warnings.forEach(session.context.warn)
        try sink.commit()
        outputs.note(name.path, from: file)
        return name.path
    }

    private func report(_ file: String, _ entries: [TimingFile.Entry], _ session: DecodeSession) {
        if arguments.has("--json") {
            Console.out(
                JSONValue.object([
                    ("file", .string(file)), ("format", .string(session.format.id)),
                    ("loop_count", session.info.loopCount.json),
                    ("frames", .array(entries.map(\.json))),
                    ("warnings", .array(session.context.warnings.map(JSONValue.string))),
                ]).text)
            return
        }
        for warning in session.context.warnings { Console.error(printable("coderhost: \(file): warning: \(warning)")) }
        if arguments.has("--verbose"), let first = entries.first?.file {
            Console.error(printable("\(file) -> \(entries.count) pictures from \(first)"))
        }
    }
}
