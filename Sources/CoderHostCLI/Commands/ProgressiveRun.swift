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

    /// The properties of the image, and the number of bytes after which they were known.
    private struct Header {
        var at: Int
        var format: ImageFormat
        var size: PixelSize
        var isolation: IsolationReport?
    }

    /// The CPU time in seconds: of all updates, and of decoding once.
    private struct Cost {
        var progressive = 0.0
        var single: Double?

        /// How many times as much the updates cost.
        var ratio: Double? {
            guard let single, single > 0 else { return nil }
            return (progressive / single * 100).rounded() / 100
        }
    }

    private let file: String
    private let total: Int
    private var steps: [Step] = []
    /// The number of bytes after which each frame was complete.
    private var frames: [Int] = []
    private var header: Header?
    private var cost = Cost()
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
        var decode = DecodeOptions()
        decode.coder = try options.decoding(whole, host)
        let progressive = try ProgressiveImage(
            manager: host.manager, capacity: max(1, total), name: file, options: decode)
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
        cost.single = try? Self.decodeAtOnce(whole, host)
    }

    private struct Part: Sendable {
        var rect: PixelRect
        var isComplete: Bool
        var copy: Result<PixelBuffer, CoderError>?
    }

    private mutating func note(_ progressive: ProgressiveImage, _ at: Int) {
        guard let image = progressive.image else { return }
        if header == nil {
            header = Header(at: at, format: image.format, size: image.size, isolation: image.isolation)
        }
        while frames.count < image.frameCount { frames.append(at) }
        // A still image counts as complete only with all rows.
        if !image.info.isAnimated, !progressive.isImageComplete, image.frameCount == 1 { frames = [] }
    }

    private mutating func measure<R>(_ body: () throws(CoderError) -> R) throws(CoderError) -> R {
        let start = processorSeconds()
        defer { cost.progressive += processorSeconds() - start }
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

    var json: JSONValue {
        var members: [(key: String, value: JSONValue)] = [
            ("file", .string(file)), ("format", .string(header?.format.id ?? "")), ("bytes", .integer(total)),
            ("width", .integer(header?.size.width ?? 0)), ("height", .integer(header?.size.height ?? 0)),
            ("header_at", header.map { .integer($0.at) } ?? .null),
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
            ("cpu_ms", .real((cost.progressive * 10_000).rounded() / 10)),
            ("cpu_ms_at_once", cost.single.map { .real(($0 * 10_000).rounded() / 10) } ?? .null),
            ("cost_ratio", cost.ratio.map(JSONValue.real) ?? .null),
            ("isolation", IsolationRendering.json(header?.isolation)),
        ]
        if let problem { members.append(("error", problem.json)) }
        return .object(members)
    }

    /// Whether the header was decoded, so that there is a report apart from the error.
    var hasHeader: Bool { header != nil }

    var lines: [String] {
        func percent(_ bytes: Int) -> String { "\(JSONValue.real((share(bytes) * 1000).rounded() / 10).text) %" }
        guard let header else { return [] }
        var lines = [
            printable("\(file): \(header.format) \(header.size), \(total) bytes"),
            "  header after \(percent(header.at)) of the bytes",
        ]
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
        if let single = cost.single, let ratio = cost.ratio {
            func ms(_ seconds: Double) -> String { JSONValue.real((seconds * 10_000).rounded() / 10).text }
            let once = frames.count > 1 ? "first frame at once" : "at once"
            lines.append(
                "  cost \(ms(cost.progressive)) ms CPU, \(once) \(ms(single)) ms: \(JSONValue.real(ratio).text) times")
        }
        return lines
    }
}
