import CoderHost
import CommandLineKit
import ImageLoading
import ImageModel

/// One `fetch` call: where pictures come from, what becomes of them, where to.
///
/// - Concurrency: any thread; several URLs are worked on at a time.
final class FetchJob: Sendable {
    let network: Network
    let bars: TransferBars
    /// URLs that are worked on at a time.
    let threads: Int
    private let convert: ConvertJob
    private let previews: PreviewWriter?
    private let names: [String]

    init(_ arguments: ParsedArguments) throws(UsageError) {
        var style = ConvertJob.Style()
        names = arguments.operands.map(LocalName.of)
        style.command = "fetch"
        style.output = OutputTarget.currentFolder
        style.copiesUnchanged = true
        style.names = names
        style.keepsFormat = true
        let convert = try ConvertJob(arguments, style)
        self.convert = convert
        network = try Network(arguments, convert.host)
        // Of two URLs for one name it is the first that gets it.
        threads = convert.isOrdered ? 1 : network.jobs
        if let folder = arguments.value("--progressive-to") {
            previews = try PreviewWriter(folder, convert.host)
        } else {
            previews = nil
        }
        bars = TransferBars()
    }

    func fetch(_ url: String, number: Int) throws(CoderError) -> FetchOutcome {
        let start = monotonicNow()
        let label = redacted(url)
        let looks = previews?.looks(at: names[number], number: convert.isAlone ? nil : number)
        let file = try load(url, names[number], looks)
        let written: ConvertJob.Outcome
        do throws(CoderError) {
            written = try convert.convert(file.source, ConvertJob.Input(label, name: names[number], number: number))
        } catch {
            // What is no picture would be found to be none each time.
            if [.unrecognizedFormat, .corrupt, .truncated, .notMine].contains(error.code) { network.forget(url) }
            throw error
        }
        var outcome = FetchOutcome(url: label, file: file, written: written)
        outcome.nanoseconds = Int(clamping: monotonicNow() - start)
        if let looks {
            (outcome.previews, outcome.previewProblem) = looks.result
            if looks.result.0.isEmpty, file.tier.contains(.disk) {
                outcome.warnings.append(
                    "it was in the cache: nothing could be seen on its way; --no-cache loads it anew")
            }
        }
        return outcome
    }

    private func load(
        _ url: String, _ name: String, _ looks: PreviewWriter.Looks?
    ) throws(CoderError) -> LoadedFile {
        let bar = bars.begin(name)
        defer { bars.end(bar) }
        let onProgress: @Sendable (Int, Int?) -> Void = { [bars] received, expected in
            bars.update(bar, received, expected)
        }
        guard let looks else { return try network.file(url, onProgress: onProgress) }
        return try network.file(url, previews: { looks.write($0) }, onProgress: onProgress)
    }

    // MARK: Telling

    func report(_ label: String, _ result: Result<FetchOutcome, CoderError>, asJSON: Bool) {
        switch result {
        case .failure(let error) where asJSON: say(FetchOutcome.json(label, error).text)
        case .failure(let error): for line in error.lines(file: label) { Console.error(line) }
        case .success(let outcome) where asJSON: say(outcome.json.text)
        case .success(let outcome):
            for warning in outcome.allWarnings { Console.error(printable("coderhost: \(label): warning: \(warning)")) }
            if !convert.outputIsTaken { Console.out(printable(outcome.line)) }
        }
    }

    /// Where JSON lines go: standard output, unless the picture itself goes there.
    private func say(_ line: String) {
        if convert.outputIsTaken { Console.error(line) } else { Console.out(line) }
    }
}
