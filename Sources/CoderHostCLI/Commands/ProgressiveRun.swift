import CoderHost
import CommandLineKit
import ImageModel
import ImageProcessing

/// Decodes one file in chunks and records each step.
struct ProgressiveRun {
    /// One update of the visible image.
    private struct Step {
        var bytes: Int
        var rows: Int
        var isComplete: Bool
        var output: String?
    }

    private let file: String
    private let total: Int
    private var steps: [Step] = []
    /// The number of bytes after which each frame was complete.
    private var frames: [Int] = []
    private var headerAt: Int?
    private var format = ImageFormat("")
    private var size = PixelSize.zero
    private var isolation: IsolationReport?
    /// The CPU time in seconds: of all updates, and of decoding once.
    private var progressiveCost = 0.0
    private var singleCost: Double?
    /// The error that stopped decoding.
    private(set) var problem: CoderError?

    init(
        _ file: String, _ host: CoderHost, _ options: EncodingSwitches, chunk: Int, target: OutputTarget?,
        _ outputs: OutputGuard
    ) throws(CoderError) {
        self.file = file
        var outputs = outputs
        let whole = try ImageSource(path: file, limits: host.manager.limits)
        total = whole.count
        // Loads the plugin first, so that the cost of loading is not measured.
        _ = try host.manager.openSession(whole)
        let progressive = try ProgressiveImage(
            manager: host.manager, capacity: max(1, total), name: file, options: try options.decoding(whole, host))
        var at = 0
        var written = 0
        do throws(CoderError) {
            repeat {
                let end = min(at + chunk, total)
                try progressive.append(whole.bytes(at..<end))
                at = end
                if at == total { progressive.finish() }
                let outcome = try measure { () throws(CoderError) in
                    try progressive.update { part in
                        Part(
                            rect: part.changed, isComplete: part.isComplete,
                            copy: target == nil
                                ? nil
                                : Result { () throws(CoderError) in
                                    try PixelConverter.copy(part.pixels)
                                })
                    }
                }
                note(progressive, at)
                guard let outcome else { continue }
                var step = Step(bytes: at, rows: outcome.rect.height, isComplete: outcome.isComplete, output: nil)
                if let target, let image = progressive.image, let copy = outcome.copy {
                    step.output = try Self.write(try copy.get(), image, file, written, target, &outputs, host)
                    written += 1
                }
                steps.append(step)
            } while at < total
        } catch {
            problem = error
        }
        if problem == nil { problem = progressive.image?.problem }
        if problem == nil, !progressive.isImageComplete {
            problem =
                progressive.image == nil
                ? CoderError(.truncated, "truncated in the header") : .truncated()
        }
        singleCost = try? Self.decodeAtOnce(whole, host)
    }

    private struct Part: Sendable {
        var rect: PixelRect
        var isComplete: Bool
        var copy: Result<PixelBuffer, CoderError>?
    }

    private mutating func note(_ progressive: ProgressiveImage, _ at: Int) {
        guard let image = progressive.image else { return }
        if headerAt == nil {
            headerAt = at
            format = image.format
            size = image.size
            isolation = image.isolation
        }
        while frames.count < image.frameCount { frames.append(at) }
        // A still image counts as complete only with all rows.
        if !image.info.isAnimated, !progressive.isImageComplete, image.frameCount == 1 { frames = [] }
    }

    private mutating func measure<R>(_ body: () throws(CoderError) -> R) throws(CoderError) -> R {
        let start = processorSeconds()
        defer { progressiveCost += processorSeconds() - start }
        return try body()
    }

    /// Measures one decode of the loaded bytes, because a pipe cannot be read again.
    private static func decodeAtOnce(_ source: ImageSource, _ host: CoderHost) throws(CoderError) -> Double {
        let start = processorSeconds()
        try host.manager.withSession(source) { session throws(CoderError) in
            if session.info.isAnimated { _ = try session.frames() }
            _ = try session.decodeImage()
        }
        return processorSeconds() - start
    }

    private static func write(
        _ pixels: PixelBuffer, _ image: AnimatedImage, _ file: String, _ number: Int, _ target: OutputTarget,
        _ outputs: inout OutputGuard, _ host: CoderHost
    ) throws(CoderError) -> String {
        let name = target.path(for: file, number: number, size: pixels.size) { host.manager.fileExtension(of: $0) }
        let named = name.suffix.map { host.manager.format(named: $0) }
        let format = try host.manager.stillFormat(named, alpha: true)
        try outputs.examine(name.path, from: file)
        let sink = try FileSink(path: name.path, over: target.replacement, limits: host.manager.limits)
        let decoded = DecodedImage(info: image.info, pixels: pixels, format: image.format, coder: image.coder)
        try host.manager.encode(decoded, to: format, into: sink)
        try sink.commit()
        outputs.note(name.path, from: file)
        return name.path
    }

    // MARK: Output

    private func share(_ bytes: Int) -> Double {
        total == 0 ? 0 : (Double(bytes) * 1000 / Double(total)).rounded() / 1000
    }

    private var costRatio: Double? {
        guard let singleCost, singleCost > 0 else { return nil }
        return (progressiveCost / singleCost * 100).rounded() / 100
    }

    var json: JSONValue {
        var members: [(key: String, value: JSONValue)] = [
            ("file", .string(file)), ("format", .string(format.id)), ("bytes", .integer(total)),
            ("width", .integer(size.width)), ("height", .integer(size.height)),
            ("header_at", headerAt.map(JSONValue.integer) ?? .null),
            ("first_pixels_at", steps.first.map { .integer($0.bytes) } ?? .null),
            ("first_pixels_share", steps.first.map { .real(share($0.bytes)) } ?? .null),
            (
                "images",
                .array(
                    steps.map { step in
                        .object([
                            ("bytes", .integer(step.bytes)), ("share", .real(share(step.bytes))),
                            ("changed_rows", .integer(step.rows)), ("incomplete", .bool(!step.isComplete)),
                            ("output", step.output.map(JSONValue.string) ?? .null),
                        ])
                    })
            ), ("frames_at", .array(frames.map(JSONValue.integer))),
            ("cpu_ms", .real((progressiveCost * 10_000).rounded() / 10)),
            ("cpu_ms_at_once", singleCost.map { .real(($0 * 10_000).rounded() / 10) } ?? .null),
            ("cost_ratio", costRatio.map(JSONValue.real) ?? .null),
            ("isolation", IsolationRendering.json(isolation)),
        ]
        if let problem { members.append(("error", problem.json)) }
        return .object(members)
    }

    /// Whether the header was decoded, so that there is a report apart from the error.
    var hasHeader: Bool { headerAt != nil }

    var lines: [String] {
        func percent(_ bytes: Int) -> String { "\(JSONValue.real((share(bytes) * 1000).rounded() / 10).text) %" }
        var lines = [printable("\(file): \(format) \(size), \(total) bytes")]
        if let headerAt { lines.append("  header after \(percent(headerAt)) of the bytes") }
        if let first = steps.first { lines.append("  first pixels after \(percent(first.bytes))") }
        let places = steps.map { percent($0.bytes) }
        let shown = places.count > 12 ? places.prefix(6) + ["…"] + places.suffix(5) : places[...]
        if !shown.isEmpty {
            let word = steps.count == 1 ? "image" : "images"
            lines.append("  \(steps.count) \(word) shown, after \(shown.joined(separator: ", "))")
        }
        if frames.count > 1 {
            lines.append(
                "  \(frames.count) frames, the first after \(percent(frames[0])), the last after "
                    + percent(frames[frames.count - 1]))
        }
        if let singleCost, let costRatio {
            func ms(_ seconds: Double) -> String { JSONValue.real((seconds * 10_000).rounded() / 10).text }
            let ratio = JSONValue.real(costRatio).text
            let once = frames.count > 1 ? "first frame at once" : "at once"
            lines.append("  cost \(ms(progressiveCost)) ms CPU, \(once) \(ms(singleCost)) ms: \(ratio) times")
        }
        return lines
    }
}
