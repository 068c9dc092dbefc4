import CoderHost
import CommandLineKit
import ImageModel

/// `frames extract`: writes one image for each frame.
struct FramesExtraction {
    let arguments: ParsedArguments
    let host: CoderHost
    private let target: OutputTarget
    private let template: OutputTemplate
    private let format: ImageFormat?
    private let encode: EncodingSwitches

    init(_ arguments: ParsedArguments) throws(UsageError) {
        self.arguments = arguments
        host = try arguments.host()
        guard let output = arguments.value("--output") else {
            throw UsageError(
                "missing option -o OUT", hint: "for example -o '{stem}-{n:04}.png'", command: "frames")
        }
        format = arguments.value("--format").map { [host] in host.manager.format(named: $0) }
        let names = Self.names(output, format, host)
        template = try OutputTemplate(names)
        guard template.mentions("n") else {
            throw UsageError(
                "-o must contain {n}: there are many frames", hint: "for example -o '{stem}-{n:04}.png'",
                command: "frames")
        }
        target = try OutputTarget(names, arguments)
        encode = try EncodingSwitches(arguments)
        try encode.examine(host)
        let known =
            format ?? FileName(output).suffix.flatMap { [host] in host.manager.format(ofExtension: $0.lowercased()) }
        if let known { try encode.examine(for: known, host) }
    }

    /// Returns the names of the images in a folder, or the template as typed.
    private static func names(_ output: String, _ format: ImageFormat?, _ host: CoderHost) -> String {
        guard FramesCommand.isFolder(output) else { return output }
        let usual = format ?? (try? host.manager.stillFormat(nil, alpha: true))
        let suffix = usual.map { "." + host.manager.fileExtension(of: $0) } ?? ""
        return output + (output.hasSuffix("/") ? "" : "/") + "{tree}{stem}-{n}" + suffix
    }

    func run(_ files: [String]) throws(UsageError) -> ExitCode {
        if files.count > 1, !["stem", "dir", "tree"].contains(where: template.mentions) {
            throw UsageError(
                "-o must contain {stem} or {dir}: there are \(files.count) files",
                hint: "for example -o '{stem}-{n}.png'")
        }
        if arguments.has("--items"), let other = ["--timing", "--raw", "--incomplete"].first(where: arguments.has) {
            throw UsageError(
                "\(other) works for frames only, not with --items", hint: "remove one of the two", command: "frames")
        }
        if files.count > 1, arguments.has("--timing") {
            throw UsageError("--timing works with one input only", hint: "extract one file at a time")
        }
        var outputs = OutputGuard(inputs: files, arguments, numbersInputs: false)
        if let path = arguments.value("--timing") { outputs.reserve(path, as: "the output of --timing") }
        return FramesCommand.each(files, arguments, host) { file, subject throws(CoderError) in
            try extract(file, &subject, &outputs)
            return nil
        }
    }

    /// Extracts the frames of one file.
    ///
    /// - Parameter subject: the file that caused an error.
    private func extract(
        _ file: String, _ subject: inout String, _ outputs: inout OutputGuard
    ) throws(CoderError) {
        let timing = arguments.value("--timing")
        if let timing { try outputs.examine(timing, from: file, isReserved: true) }
        let earlier = outputs
        let source = try ImageSource(path: file, limits: host.manager.limits)
        let options = try encode.decoding(source, host)
        try host.manager.withSession(source, options: options) { session throws(CoderError) in
            // The next coder starts over, and may overwrite the outputs of the previous coder for this file.
            outputs = earlier
            subject = file
            if arguments.has("--items") { return try extractItems(of: session, file, &subject, &outputs) }
            let found = session.findFrames()
            // Detects truncation before writing the first frame.
            if case .failure(let error) = found, !arguments.has("--incomplete") || error.code != .truncated {
                throw error.hintingAtIncomplete
            }
            try examineTargets(session, file, outputs)
            let sink = try timing.map { path throws(CoderError) in
                try FileSink(path: path, replacing: !arguments.has("--no-overwrite"), limits: host.manager.limits)
            }
            let entries = try write(session, file, &subject, &outputs)
            try session.warnOfOtherItems("extracted")
            if let timing, let sink {
                try TimingFile(loopCount: session.info.loopCount, frames: entries).write(to: sink, named: timing)
            }
            report(file, entries, session)
        }
    }

    /// Refuses outputs that cannot be written, before writing the first image.
    private func examineTargets(
        _ session: DecodeSession, _ file: String, _ outputs: OutputGuard
    ) throws(CoderError) {
        let count = session.knownFrameCount
        for index in 0..<max(1, count) {
            let rect = index < count && arguments.has("--raw") ? try session.frameInfo(index)?.rect : nil
            if let rect, rect.isEmpty { continue }
            let name = name(file, index, of: count, rect?.size ?? session.info.size)
            try outputs.examine(name.path, from: file)
            if FileStatus.of(name.path)?.isDirectory == true {
                throw CoderError(.cannotCreate, "\(name.path) is a directory", hint: "choose another name")
            }
            if let problem = target.missingFolder(of: name.path) { throw problem }
            if index == 0 { _ = try encoder(for: name) }
        }
    }

    func name(_ file: String, _ number: Int, of count: Int, _ size: PixelSize) -> OutputTarget.Name {
        target.path(for: file, number: number, of: count, size: size) { host.manager.fileExtension(of: $0) }
    }

    private func encoder(for name: OutputTarget.Name) throws(CoderError) -> (ImageFormat, RankedCoder) {
        let known = name.suffix.map { [host] in host.manager.format(named: $0) }
        let format = try host.manager.stillFormat(format ?? known, alpha: true)
        guard let encoder = host.manager.encoders(for: format).first else {
            throw host.manager.absence(ofEncoderFor: format)
        }
        return (format, encoder)
    }

    private func write(
        _ session: DecodeSession, _ file: String, _ subject: inout String, _ outputs: inout OutputGuard
    ) throws(CoderError) -> [TimingFile.Entry] {
        let allowsIncomplete = arguments.has("--incomplete")
        let isRaw = arguments.has("--raw")
        let metadata = try session.metadata().filter { $0.kind == .icc }
        let count = session.knownFrameCount
        var entries: [TimingFile.Entry] = []
        var progress = ProgressLine(total: count)
        defer { progress.clear() }
        while true {
            let index = entries.count
            do throws(CoderError) {
                guard let frame = try session.frameInfo(index) else { break }
                let pixels = isRaw ? try session.decodeRawFrame(index) : try session.decodeFrame(index).pixels
                var path: String?
                // An empty frame has no image.
                if let pixels {
                    path = try write(pixels, metadata, session, file, index, of: count, &subject, &outputs)
                } else {
                    session.context.warn("frame \(index) is empty: no image is written")
                }
                entries.append(TimingFile.Entry(file: path, duration: frame.duration))
            } catch {
                guard error.code == .truncated else { throw error }
                guard allowsIncomplete else { throw error.hintingAtIncomplete }
                if index > 0 {
                    session.context.warn("truncated in frame \(index): the frames before it are written")
                } else {
                    guard !isRaw, let part = try session.decodeAvailable() else { throw error }
                    session.context.warn("truncated: a part of the image is missing")
                    let path = try write(part.pixels, metadata, session, file, 0, of: 1, &subject, &outputs)
                    let duration = session.knownFrames.first?.duration ?? .unknown
                    entries.append(TimingFile.Entry(file: path, duration: duration))
                }
                break
            }
            progress.show(entries.count, file)
        }
        return entries
    }

    func write(
        _ pixels: PixelBuffer, _ metadata: [MetadataBlob], _ session: DecodeSession, _ file: String, _ number: Int,
        of count: Int, _ subject: inout String, _ outputs: inout OutputGuard
    ) throws(CoderError) -> String {
        let name = name(file, number, of: count, pixels.size)
        let (format, encoder) = try encoder(for: name)
        var info = session.info
        info.size = pixels.size
        try outputs.examine(name.path, from: file)
        try target.makeFolders(of: name.path)
        let sink = try FileSink(path: name.path, over: target.replacement, limits: host.manager.limits)
        let image = DecodedImage(
            info: info, pixels: pixels, metadata: metadata, format: session.format, coder: session.coder.id)
        // From here on, an error is about the output.
        subject = name.path
        let options = try encode.encoding(format, encoder.descriptor, host)
        (options.warnings).forEach(session.context.warn)
        let report = try host.manager.encode(image, to: format, options: options.known, into: sink)
        report.warnings.forEach(session.context.warn)
        try sink.commit()
        outputs.note(name.path, from: file)
        subject = file
        return name.path
    }

    private func report(_ file: String, _ entries: [TimingFile.Entry], _ session: DecodeSession) {
        report(
            file, session, [("loop_count", session.info.loopCount.json), ("frames", .array(entries.map(\.json)))],
            count: entries.count, first: entries.first?.file)
    }

    /// Reports the written images of a file, and the warnings.
    func report(
        _ file: String, _ session: DecodeSession, _ written: [(String, JSONValue)], count: Int, first: String?
    ) {
        let warnings = session.context.warnings
        if arguments.has("--json") {
            Console.out(
                JSONValue.object(
                    [("file", .string(file)), ("format", .string(session.format.id))] + written + [
                        ("isolation", IsolationRendering.json(session.isolation)),
                        ("warnings", .array(warnings.map(JSONValue.string))),
                    ]
                ).text)
            return
        }
        for warning in warnings { Console.error(printable("coderhost: \(file): warning: \(warning)")) }
        if arguments.has("--verbose"), let first {
            Console.error(printable("\(file) -> \(count) image\(count == 1 ? "" : "s") from \(first)"))
        }
    }
}
