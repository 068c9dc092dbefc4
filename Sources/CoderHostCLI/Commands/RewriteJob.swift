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
    private let target: OutputTarget
    /// Prevents that an output overwrites an input that is still to be read.
    private let outputs: Mutex<OutputGuard>
    private let threads: Int

    private struct Outcome: BatchOutcome {
        var file: String
        var output: String
        var inputBytes: Int
        var bytes: Int
        /// Nil for an output that `--skip-existing` keeps.
        var report: RewriteReport?

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
                ("coder", .string(report.coder)), ("width", .integer(report.size.width)),
                ("height", .integer(report.size.height)), ("input_bytes", .integer(inputBytes)),
                ("bytes", .integer(bytes)), ("isolation", IsolationRendering.json(report.isolation)),
                ("warnings", .array(report.warnings.map(JSONValue.string))),
            ]).text
        }
    }

    init(_ arguments: ParsedArguments, _ options: RewriteOptions, command: String) throws(UsageError) {
        let files = arguments.operands
        host = CoderHost(configuration: try arguments.configuration(imageCount: files.count))
        limits = try arguments.limits()
        self.options = options
        let usual = arguments.has("--overwrite") ? OutputTarget.inputItself : nil
        let target = try OutputTarget(try arguments.output(default: usual, host, command: command), arguments)
        self.target = target
        outputs = Mutex(
            OutputGuard(inputs: files, arguments, remedy: "use --overwrite to replace it, or choose another name"))
        let jobs = try arguments.integer("--jobs", 1...256)
        let names = Set(files.indices.map { Self.path(target, files[$0], $0) })
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
        let path = Self.path(target, file, number)
        if target.keepsExisting(path, from: file) {
            try outputs.withLock { outputs throws(CoderError) in try outputs.keep(path, from: file) }
            return Outcome(file: file, output: path, inputBytes: source.count, bytes: 0, report: nil)
        }
        try outputs.withLock { outputs throws(CoderError) in try outputs.claim(path, from: file) }
        var isWritten = false
        defer { if !isWritten { outputs.withLock { $0.release(path) } } }
        try target.makeFolders(of: path)
        let sink = try FileSink(path: path, over: target.replacement, limits: limits)
        let report = try host.manager.rewrite(source, to: sink, options)
        try refuseOtherFormat(of: path, than: report.format)
        let bytes = sink.written
        try sink.commit()
        isWritten = true
        outputs.withLock { $0.note(path, from: file) }
        return Outcome(file: file, output: path, inputBytes: source.count, bytes: bytes, report: report)
    }

    /// Refuses an output whose file extension belongs to another format.
    private func refuseOtherFormat(of path: String, than format: ImageFormat) throws(CoderError) {
        guard let suffix = FileName(path).suffix?.lowercased() else { return }
        let served = host.manager.coders.map(\.descriptor.formats)
        // A coder with two formats reads both, for example stills and animations with one file extension.
        let isNamed = served.contains { $0.contains { $0.extensions.contains(suffix) } }
        let isOwnExtension = served.contains { formats in
            formats.contains { $0.id == format } && formats.contains { $0.extensions.contains(suffix) }
        }
        if isNamed, !isOwnExtension {
            throw .invalidArgument(
                "\(path) has the file extension of another format: rewrite keeps \(format)",
                hint: "use a file extension of \(format), or coderhost convert")
        }
    }

    /// Returns the output name with the file extension of the input.
    private static func path(_ target: OutputTarget, _ file: String, _ number: Int) -> String {
        let suffix = FileName(file).suffix ?? ""
        let name = target.path(for: file, number: number, size: PixelSize(1, 1)) { _ in suffix }
        return name.hasFormatPlaceholder ? name.named(suffix) : name.path
    }
}
