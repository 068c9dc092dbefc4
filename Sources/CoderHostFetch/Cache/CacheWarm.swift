import CoderHost
import CommandLineKit
import ImageLoading
import ImageModel

/// Gets pictures into the cache, so that they are there when they are wanted.
enum CacheWarm: CacheVerb {
    static let name = "warm"
    static let summary = "get pictures into the cache, so that they are there when they are wanted"
    static let operands = "URL…"
    static let operandCount = 1...1_000_000
    static let examples: [(command: String, does: String)] = [
        ("coderhost cache warm https://example.org/photo.jpg", "gets it into the cache and writes it nowhere else")
    ]
    static let options = NetworkSwitches.specification

    private struct Warmed: Sendable {
        var url: String
        /// Whether it is in the cache now.
        var isKept: Bool
        /// Whether it could not be, whatever the cache does.
        var isLocal: Bool
        var file: LoadedFile
        var format: ImageFormat
        var size: PixelSize

        var line: String {
            let place = file.tier.contains(.disk) ? "was there" : "\(CacheWarm.size(file.source.count)) loaded"
            let outcome = isKept ? "" : isLocal ? ", not kept: it is on this machine already" : ", not kept"
            return "\(url): \(format) \(size), \(place)\(outcome)"
        }

        var json: JSONValue {
            .object([
                ("schema", .integer(1)), ("url", .string(url)),
                ("cache", file.tier.contains(.disk) ? .string("disk") : .null), ("kept", .bool(isKept)),
                ("bytes", .integer(file.source.count)), ("format", .string(format.id)), ("width", .integer(size.width)),
                ("height", .integer(size.height)),
            ])
        }
    }

    static func run(
        _ operands: [String], _ arguments: ParsedArguments, _ cache: DiskCache
    ) throws(UsageError) -> ExitCode {
        let network = try Network(arguments, try arguments.host())
        let isJSON = arguments.has("--json")
        let bars = TransferBars()
        let batch = Batch<Warmed>(operands.map { redacted($0) }, showsProgress: false) { label, result in
            bars.aside {
                switch result {
                case .success(let warmed): Console.out(isJSON ? warmed.json.text : printable(warmed.line))
                case .failure(let error) where isJSON: Console.out(FetchOutcome.json(label, error).text)
                case .failure(let error): for line in error.lines(file: label) { Console.error(line) }
                }
            }
        }
        let code = batch.run(threads: network.jobs) { index, label throws(CoderError) in
            try warm(operands[index], label, network, bars)
        }
        bars.close()
        if let problem = network.close() {
            Console.error("coderhost: the cache keeps nothing: \(printable(problem.message))")
            if let hint = problem.hint { Console.error("  try: \(printable(hint))") }
            return code == .success ? ExitCode(problem.code) : code
        }
        return code
    }

    private static func warm(
        _ url: String, _ label: String, _ network: Network, _ bars: TransferBars
    ) throws(CoderError) -> Warmed {
        let bar = bars.begin(LocalName.of(url))
        defer { bars.end(bar) }
        let file = try network.file(url) { bars.update(bar, $0, $1) }
        let isKept = network.disk?.contains(network.manager.cacheKey(url).original) ?? false
        do throws(CoderError) {
            // The header says whether it is a picture at all; its pixels are looked at when it is wanted.
            return try network.host.manager.withSession(file.source) { session throws(CoderError) in
                Warmed(
                    url: label, isKept: isKept, isLocal: !mayBeKept(url), file: file, format: session.format,
                    size: session.info.size)
            }
        } catch {
            if [.unrecognizedFormat, .corrupt, .truncated, .notMine].contains(error.code) { network.forget(url) }
            throw error
        }
    }
}
