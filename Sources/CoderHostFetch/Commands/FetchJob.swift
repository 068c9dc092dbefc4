import CoderHost
import CommandLineKit
import ImageLoading
import ImageModel
import Synchronization

/// One `fetch` call: where pictures come from, what becomes of them, where to.
///
/// - Concurrency: any thread; several URLs are worked on at a time.
final class FetchJob: Sendable {
    let network: Network
    let bars: TransferBars
    /// Of several URLs for one name it is the first that gets it: their transfers wait for nobody, what is written does.
    private let turns: Turns?
    private let convert: ConvertJob
    private let previews: PreviewWriter?
    private let urls: [String]
    /// Whether one coder alone may decode.
    private let isForced: Bool
    private let names: [String]
    /// What was seen of pictures that are not reported yet, by their number.
    private let seen = Mutex<[Int: PreviewWriter.Looks]>([:])

    init(_ arguments: ParsedArguments) throws(UsageError) {
        var style = ConvertJob.Style()
        urls = arguments.operands
        names = urls.map(LocalName.of)
        style.command = "fetch"
        style.output = OutputTarget.currentFolder
        style.copiesUnchanged = true
        style.names = names
        style.keepsFormat = true
        let convert = try ConvertJob(arguments, style)
        self.convert = convert
        network = try Network(arguments, convert.host)
        turns = convert.isOrdered ? Turns() : nil
        isForced = arguments.has("--coder")
        if let folder = arguments.value("--progressive-to") {
            previews = try PreviewWriter(folder, convert.host)
        } else {
            previews = nil
        }
        bars = TransferBars(names)
    }

    func fetch(number: Int) throws(CoderError) -> FetchOutcome {
        let start = monotonicNow()
        defer { turns?.leave(number) }
        let url = urls[number]
        let input = ConvertJob.Input(redacted(url), name: names[number], number: number)
        // What is written in the end asks again; a transfer for nothing would cost more.
        try convert.examineOutput(of: input)
        let looks = previews?.looks(at: names[number], number: convert.isAlone ? nil : number)
        if let looks { seen.withLock { $0[number] = looks } }
        let file = try load(number, looks)
        turns?.wait(for: number)
        let written: ConvertJob.Outcome
        do throws(CoderError) {
            written = try convert.convert(file.source, input)
        } catch {
            // What is no picture would be found to be none each time; the wrong coder says nothing of it.
            if !isForced, [.unrecognizedFormat, .corrupt, .truncated, .notMine].contains(error.code) {
                network.forget(url)
            }
            throw file.response?.explaining(error) ?? error
        }
        var outcome = FetchOutcome(url: url, file: file, written: written)
        outcome.nanoseconds = Int(clamping: monotonicNow() - start)
        if case .failure(let error) = network.keeping(url) { outcome.cacheProblem = error }
        if let looks {
            (outcome.previews, outcome.previewProblem) = looks.result
            if outcome.previews.isEmpty, outcome.previewProblem == nil {
                outcome.warnings.append(
                    file.tier.contains(.disk)
                        ? "it was in the cache: nothing could be seen on its way; --no-cache loads it anew"
                        : "there is no preview: nothing could be seen of it before it was complete")
            }
        }
        return outcome
    }

    private func load(_ number: Int, _ looks: PreviewWriter.Looks?) throws(CoderError) -> LoadedFile {
        let url = urls[number]
        let bar = bars.begin(number)
        defer { bars.end(bar) }
        let onProgress: @Sendable (Int, Int?) -> Void = { [bars] received, expected in
            bars.update(bar, received, expected)
        }
        guard let looks else { return try network.file(url, onProgress: onProgress) }
        return try network.file(url, previews: { looks.write($0) }, onProgress: onProgress)
    }

    // MARK: Telling

    func report(_ number: Int, _ label: String, _ result: Result<FetchOutcome, CoderError>, asJSON: Bool) {
        let looks = seen.withLock { $0.removeValue(forKey: number) }
        switch result {
        case .failure(let error):
            let left = looks?.result.0 ?? []
            if asJSON {
                say(FetchOutcome.json(urls[number], error, previews: left).text)
                return
            }
            for line in error.lines(file: label) { Console.error(line) }
            if left.isEmpty { return }
            let list = left.joined(separator: ", ")
            Console.error(printable("coderhost: \(label): warning: its previews stay: \(list)"))
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
