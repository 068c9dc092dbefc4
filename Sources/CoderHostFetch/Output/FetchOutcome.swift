import CoderHost
import CommandLineKit
import ImageLoading
import ImageModel

/// The result of one URL.
struct FetchOutcome: Sendable {
    /// The source of the file.
    struct Origin: Sendable {
        var tier: CacheTiers
        var response: ResponseFacts?
        var byteCount: Int
    }

    /// The redacted URL for text output.
    var label: String
    /// The URL for JSON output.
    var url: String
    var origin: Origin
    var written: ConvertJob.Outcome
    var previews: [String] = []
    var previewProblem: CoderError?
    /// The error of the cache, if it did not store the file.
    var cacheProblem: CoderError?
    var warnings: [String] = []
    var nanoseconds = 0

    init(url: String, file: LoadedFile, written: ConvertJob.Outcome) {
        label = redacted(url)
        self.url = wholeURL(url)
        self.written = written
        origin = Origin(tier: file.tier, response: file.response, byteCount: file.source.count)
    }

    var allWarnings: [String] {
        written.warnings + warnings + (previewProblem.map { ["cannot write a preview: \($0.message)"] } ?? [])
            + (cacheProblem.map { ["not cached: \($0.message)"] } ?? [])
    }

    /// Returns the origin of the file.
    private static func place(_ origin: Origin) -> String {
        guard origin.tier.contains(.disk) else { return "\(ByteText.of(origin.byteCount)) downloaded" }
        return origin.response?.status == 304 ? "from the cache, revalidated" : "from the cache"
    }

    var line: String {
        let place = Self.place(origin)
        let way = written.encoder == nil ? "" : ", converted from \(written.input.format) \(written.input.size)"
        return "\(written.output.name): \(written.output.format) \(written.output.size), \(place)\(way)"
    }

    // MARK: JSON

    var json: JSONValue {
        let response = origin.response
        return .object([
            ("schema", .integer(1)), ("url", .string(url)),
            ("final_url", response.map { JSONValue.string(redacted($0.url)) } ?? .null),
            ("status", response.map { JSONValue.integer($0.status) } ?? .null),
            ("content_type", response?.contentType.map(JSONValue.string) ?? .null),
            ("bytes", .integer(origin.byteCount)),
            ("cache", origin.tier.contains(.disk) ? .string("disk") : .null),
            ("elapsed_ms", Self.milliseconds(nanoseconds)),
            ("timings", Self.timings(response)), ("output", .string(written.output.name)),
            ("unchanged", .bool(written.encoder == nil)), ("source_format", .string(written.input.format.id)),
            ("format", .string(written.output.format.id)), ("width", .integer(written.output.size.width)),
            ("height", .integer(written.output.size.height)), ("coder", .string(written.decoder.id)),
            ("encoder", written.encoder.map { .string($0.id) } ?? .null),
            ("isolation", IsolationRendering.json(written.decoder.isolation)),
            (
                "encoder_isolation",
                written.encoder == nil ? .null : IsolationRendering.json(written.encoder?.isolation)
            ),
            ("previews", .array(previews.map(JSONValue.string))),
            ("warnings", .array(allWarnings.map(JSONValue.string))),
        ])
    }

    /// Returns the JSON value of a failed URL.
    ///
    /// - Parameter previews: the written previews; nil without `--progressive-to`.
    static func json(_ url: String, _ error: CoderError, previews: [String]? = nil) -> JSONValue {
        var members: [(key: String, value: JSONValue)] = [
            ("schema", .integer(1)), ("url", .string(wholeURL(url))),
            ("status", error.httpStatus.map { JSONValue.integer($0) } ?? .null), ("error", error.json),
        ]
        if let previews { members.append(("previews", .array(previews.map(JSONValue.string)))) }
        return .object(members)
    }

    private static func timings(_ response: ResponseFacts?) -> JSONValue {
        guard let timings = response?.timings else { return .null }
        func ms(_ duration: Duration) -> JSONValue {
            let (seconds, rest) = duration.components
            return milliseconds(Int(clamping: seconds &* 1_000_000_000 &+ rest / 1_000_000_000))
        }
        return .object([
            ("waiting_ms", ms(timings.waiting)), ("resolution_ms", ms(timings.resolution)),
            ("first_byte_ms", ms(timings.firstByte)), ("total_ms", ms(timings.total)),
            ("requests", .integer(timings.requests)), ("redirects", .integer(timings.redirects)),
        ])
    }

    /// Converts nanoseconds to milliseconds, rounded to tenths.
    private static func milliseconds(_ nanoseconds: Int) -> JSONValue {
        .real((Double(nanoseconds) / 100_000).rounded() / 10)
    }
}
