import CoderHost
import CommandLineKit
import ImageLoading
import ImageModel

/// One `fetch` call: URLs, changes and outputs.
///
/// - Concurrency: any thread; the job downloads several URLs concurrently.
final class FetchJob: Sendable {
    let network: Network
    let bars: DownloadBars
    /// Orders the writes if several URLs share an output name, so that the first one gets it. Downloads do not wait.
    private let tickets: TicketQueue?
    private let convert: ConvertJob
    private let previews: PreviewWriter?
    private let urls: [String]
    /// Whether `--coder` selects the decoder.
    private let isForced: Bool
    private let names: [String]
    /// The previews of images that are not reported yet, by number.
    private let pendingPreviews = Mutex<[Int: PreviewWriter.PreviewSeries]>([:])

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
        tickets = convert.schedule.isOrdered ? TicketQueue() : nil
        isForced = arguments.has("--coder")
        if let folder = arguments.value("--progressive-to") {
            previews = try PreviewWriter(folder, makesFolder: !arguments.has("--no-mkdir"), convert.host)
        } else {
            previews = nil
        }
        bars = DownloadBars(names)
    }

    /// Lets the next URL write its output. Call it once for every URL, also for one that is not fetched.
    func leave(number: Int) { tickets?.leave(number) }

    func fetch(number: Int) async throws(CoderError) -> FetchOutcome {
        let start = monotonicNow()
        let url = urls[number]
        let input = ConvertJob.Input(redacted(url), name: names[number], number: number)
        // Checks the output before downloading; the write checks it again.
        try await BlockingWork.run { [convert] () throws(CoderError) in try convert.examineOutput(of: input) }
        let series = previews?.series(for: names[number], number: convert.schedule.isAlone ? nil : number)
        if let series { pendingPreviews.withLock { $0[number] = series } }
        let file = try await load(number, series)
        await tickets?.wait(for: number)
        var outcome = try await BlockingWork.run { [self] () throws(CoderError) in
            try write(file, url, input, series)
        }
        outcome.nanoseconds = Int(clamping: monotonicNow() - start)
        return outcome
    }

    /// Decodes a file and writes it; blocks.
    private func write(
        _ file: LoadedFile, _ url: String, _ input: ConvertJob.Input, _ series: PreviewWriter.PreviewSeries?
    ) throws(CoderError) -> FetchOutcome {
        let written: ConvertJob.Outcome
        do throws(CoderError) {
            written = try convert.convert(file.source, input)
        } catch {
            // Removes data that is not an image from the cache. An error of a forced coder is no proof of that.
            if !isForced, [.unrecognizedFormat, .corrupt, .truncated, .notMine].contains(error.code) {
                network.forget(url)
            }
            throw file.response?.explaining(error) ?? error
        }
        var outcome = FetchOutcome(url: url, file: file, written: written)
        if case .failure(let error) = network.storingOutcome(url) { outcome.cacheProblem = error }
        if let series {
            (outcome.previews, outcome.previewProblem) = series.result
            if outcome.previews.isEmpty, outcome.previewProblem == nil {
                outcome.warnings.append(
                    file.tier.contains(.disk)
                        ? "no previews: the image came from the cache; --no-cache downloads it again"
                        : "no previews: no part was visible before the download was complete")
            }
        }
        return outcome
    }

    private func load(_ number: Int, _ series: PreviewWriter.PreviewSeries?) async throws(CoderError) -> LoadedFile {
        let url = urls[number]
        let bar = bars.begin(number)
        defer { bars.end(bar) }
        let onProgress: @Sendable (Int, Int?) -> Void = { [bars] received, expected in
            bars.update(bar, received, expected)
        }
        return try await network.file(url, previews: series, onProgress: onProgress)
    }

    // MARK: Reporting

    func report(_ number: Int, _ label: String, _ result: Result<FetchOutcome, CoderError>, asJSON: Bool) {
        let series = pendingPreviews.withLock { $0.removeValue(forKey: number) }
        switch result {
        case .failure(let error):
            let left = series?.result.0 ?? []
            if asJSON {
                say(FetchOutcome.json(urls[number], error, previews: left).text)
                return
            }
            for line in error.lines(file: label) { Console.error(line) }
            if left.isEmpty { return }
            let list = left.joined(separator: ", ")
            Console.error(printable("coderhost: \(label): warning: previews kept: \(list)"))
        case .success(let outcome) where asJSON: say(outcome.json.text)
        case .success(let outcome):
            for warning in outcome.allWarnings { Console.error(printable("coderhost: \(label): warning: \(warning)")) }
            if !convert.outputIsTaken { Console.out(printable(outcome.line)) }
        }
    }

    /// Prints a JSON line to standard output, or to standard error if the image goes to standard output.
    private func say(_ line: String) {
        if convert.outputIsTaken { Console.error(line) } else { Console.out(line) }
    }
}
