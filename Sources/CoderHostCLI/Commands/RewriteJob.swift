import CoderHost
import CommandLineKit
import ImageModel
import ImageProcessing

/// One `rewrite` call: inputs, changes and outputs.
///
/// - Concurrency: any thread; the job rewrites several files concurrently.
final class RewriteJob: Sendable {
    private let host: CoderHost
    private let limits: DecodeLimits
    private let options: RewriteOptions
    /// The format of `--format`; nil keeps the format, unless the output name states one to repack into.
    private let format: ImageFormat?
    private let needsSize: Bool
    private let target: OutputTarget
    /// Prevents that an output overwrites an input that is still to be read.
    private let outputs: Mutex<OutputGuard>
    private let threads: Int

    /// The result of a rewrite or a repacking.
    private struct Written {
        var format: ImageFormat
        var coder: String
        /// Nil without `--json`.
        var size: PixelSize?
        var warnings: [String]
        var isolation: IsolationReport?
    }

    private struct Outcome: BatchOutcome {
        var file: String
        var output: String
        var inputBytes: Int
        var bytes: Int
        /// Nil for an output that `--skip-existing` keeps.
        var report: Written?

        var total: BatchTally {
            report == nil
                ? BatchTally(skipped: 1) : BatchTally(written: 1, inputBytes: inputBytes, outputBytes: bytes)
        }

        var line: String {
            guard let report else { return "\(file) -> \(output)  [skipped: the output is up to date]" }
            return "\(file) (\(inputBytes) bytes) -> \(output) (\(bytes) bytes)  [\(report.coder)]"
        }

        var json: String {
            guard let report else { return BatchSummary.skipped(file, output, "the output is up to date").text }
            return JSONValue.object([
                ("file", .string(file)), ("output", .string(output)), ("format", .string(report.format.id)),
                ("coder", .string(report.coder)), ("width", (report.size?.width).map(JSONValue.integer) ?? .null),
                ("height", (report.size?.height).map(JSONValue.integer) ?? .null),
                ("input_bytes", .integer(inputBytes)), ("bytes", .integer(bytes)),
                ("isolation", IsolationRendering.json(report.isolation)),
                ("warnings", .array(report.warnings.map(JSONValue.string))),
            ]).text
        }
    }

    init(_ arguments: ParsedArguments, _ options: RewriteOptions, command: String) throws(UsageError) {
        let files = arguments.operands
        host = CoderHost(configuration: try arguments.configuration(imageCount: files.count))
        limits = try arguments.limits()
        self.options = options
        needsSize = arguments.has("--json")
        format = arguments.value("--format").map(host.manager.format(named:))
        if let format, let change = options.firstChange {
            throw UsageError(
                "rewrite repacks the same image as \(format), so it cannot also \(change)",
                hint: "run rewrite twice: first change, then repack", command: command)
        }
        let usual = arguments.has("--overwrite") ? OutputTarget.inputItself : nil
        let target = try OutputTarget(try arguments.output(default: usual, host, command: command), arguments)
        self.target = target
        outputs = Mutex(
            OutputGuard(inputs: files, arguments, remedy: "use --overwrite to replace it, or choose another name"))
        let jobs = try arguments.integer("--jobs", 1...256)
        let suffix = format.map(host.manager.fileExtension)
        let names = Set(files.indices.map { Self.path(target, files[$0], $0, suffix) })
        // Replacing inputs is safe only in order. If two inputs share an output name, the first one gets it.
        let isOrdered = arguments.has("--overwrite") && !target.isInputItself
        threads = isOrdered || names.count < files.count ? 1 : jobs ?? Machine.processorCount
    }

    /// Rewrites all inputs and reports each result.
    func run(_ arguments: ParsedArguments) -> ExitCode {
        let (json, verbose) = (arguments.has("--json"), arguments.has("--verbose"))
        let isTaken = target.isStandardOutput
        let batch = Batch<Outcome>(arguments, host, outputIsTaken: isTaken) { _, file, result in
            switch result {
            case .failure(let error): error.report(file, json: json, outputIsTaken: isTaken)
            case .success(let outcome):
                if json {
                    if isTaken { Console.error(outcome.json) } else { Console.out(outcome.json) }
                    return
                }
                for warning in outcome.report?.warnings ?? [] {
                    Console.error(printable("coderhost: \(file): warning: \(warning)"))
                }
                if verbose { Console.error(printable(outcome.line)) }
            }
        }
        return batch.run(threads: threads) { [self] index, file throws(CoderError) in try rewrite(file, index) }
    }

    private func rewrite(_ file: String, _ number: Int) throws(CoderError) -> Outcome {
        let source = try ImageSource(path: file, limits: limits)
        let path = Self.path(target, file, number, format.map(host.manager.fileExtension))
        if target.keepsExisting(path, from: file) {
            try outputs.withLock { outputs throws(CoderError) in try outputs.keep(path, from: file) }
            return Outcome(file: file, output: path, inputBytes: source.count, bytes: 0, report: nil)
        }
        try outputs.withLock { outputs throws(CoderError) in try outputs.claim(path, from: file) }
        var isWritten = false
        defer { if !isWritten { outputs.withLock { $0.release(path) } } }
        try target.makeFolders(of: path)
        let sink = try FileSink(path: path, over: target.replacement, limits: limits)
        let report = try write(source, to: sink, path)
        let bytes = sink.written
        try sink.commit()
        isWritten = true
        outputs.withLock { $0.note(path, from: file) }
        return Outcome(file: file, output: path, inputBytes: source.count, bytes: bytes, report: report)
    }

    private func write(_ source: ImageSource, to sink: FileSink, _ path: String) throws(CoderError) -> Written {
        let own = host.manager.candidates(for: source).first(where: \.isCertain)?.format
        let stated = own.flatMap { host.manager.misleadingFormat(ofName: path, for: $0) }
        if let own, let other = format ?? stated, other != own {
            // A name that states another format is usually a slip.
            if format == nil, !host.manager.transcodes(own, to: other) { throw refusal(of: path, keeping: own) }
            return try repack(source, to: sink, as: other, path)
        }
        let report = try host.manager.rewrite(source, to: sink, options)
        if host.manager.misleadingFormat(ofName: path, for: report.format) != nil {
            throw refusal(of: path, keeping: report.format)
        }
        return Written(
            format: report.format, coder: report.coder, size: report.size, warnings: report.warnings,
            isolation: report.isolation)
    }

    /// Copies the coded image into another format, if a coder can do so without loss.
    private func repack(
        _ source: ImageSource, to sink: FileSink, as other: ImageFormat, _ path: String
    ) throws(CoderError) -> Written {
        if let change = options.firstChange {
            throw .invalidArgument(
                "\(path) repacks the same image as \(other), so rewrite cannot also \(change)",
                hint: "run rewrite twice: first change, then repack")
        }
        let report = try host.manager.transcode(source, to: other, into: sink)
        let size = needsSize ? try host.manager.withSession(source) { $0.info.size } : nil
        return Written(
            format: other, coder: report.coder, size: size, warnings: report.warnings, isolation: report.isolation)
    }

    private func refusal(of path: String, keeping format: ImageFormat) -> CoderError {
        .invalidArgument(
            "\(path) has the file extension of another format: rewrite keeps \(format)",
            hint: "use a file extension of \(format), or coderhost convert")
    }

    /// Returns the output name with the file extension of the input, or with the given one.
    private static func path(_ target: OutputTarget, _ file: String, _ number: Int, _ other: String?) -> String {
        let suffix = other ?? FileName(file).suffix ?? ""
        let name = target.path(for: file, number: number, size: PixelSize(1, 1)) { _ in suffix }
        return name.hasFormatPlaceholder ? name.named(suffix) : name.path
    }
}

extension RewriteOptions {
    /// The first requested change, in words; nil if there is none.
    fileprivate var firstChange: String? {
        if !removed.isEmpty { return "remove metadata" }
        if !fields.isEmpty { return "set metadata" }
        if orientation != nil { return "set the orientation" }
        if transform != .up { return "turn it" }
        if crop != nil { return "crop it" }
        return optimizes ? "compress it better" : nil
    }
}
