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
        var file: LoadedFile
        var format: ImageFormat
        var size: PixelSize

        /// Whether it is in the cache now; files of this machine are not copied there.
        var isKept: Bool

        var line: String {
            let loaded = "\(ByteText.of(file.source.count)) loaded"
            let found = file.response?.status == 304 ? "still good" : "was there"
            let place = file.tier.contains(.disk) ? found : loaded
            return "\(redacted(url)): \(format) \(size), \(place)\(isKept ? "" : ", not kept\(reason)")"
        }

        private var reason: String {
            if !CacheWarm.mayBeKept(url) { return ": it is on this machine already" }
            return file.response?.forbidsStoring ?? false ? ": its server forbids that" : ""
        }

        var json: JSONValue {
            .object([
                ("schema", .integer(1)), ("url", .string(wholeURL(url))), ("kept", .bool(isKept)),
                ("cache", file.tier.contains(.disk) ? .string("disk") : .null), ("bytes", .integer(file.source.count)),
                ("format", .string(format.id)), ("width", .integer(size.width)), ("height", .integer(size.height)),
            ])
        }
    }

    static func run(
        _ operands: [String], _ arguments: ParsedArguments, _ cache: DiskCache
    ) throws(UsageError) -> ExitCode {
        let network = try Network(arguments, try arguments.host())
        let isJSON = arguments.has("--json")
        let bars = TransferBars(operands.map(LocalName.of))
        let batch = Batch<Warmed>(operands.map { redacted($0) }, showsProgress: false) { number, label, result in
            bars.aside {
                switch result {
                case .success(let warmed): Console.out(isJSON ? warmed.json.text : printable(warmed.line))
                case .failure(let error) where isJSON: Console.out(FetchOutcome.json(operands[number], error).text)
                case .failure(let error): for line in error.lines(file: label) { Console.error(line) }
                }
            }
        }
        return batch.run(threads: network.jobs, watching: bars, closing: network) { number throws(CoderError) in
            try warm(operands[number], number, network, bars)
        }
    }

    /// - Throws: also what the cache says that did not keep it.
    private static func warm(
        _ url: String, _ number: Int, _ network: Network, _ bars: TransferBars
    ) throws(CoderError) -> Warmed {
        let bar = bars.begin(number)
        defer { bars.end(bar) }
        let file = try network.file(url) { bars.update(bar, $0, $1) }
        do throws(CoderError) {
            // The header says whether it is a picture at all; its pixels are looked at when it is wanted.
            let (format, size) = try network.host.manager.withSession(file.source) { ($0.format, $0.info.size) }
            let keeping = network.keeping(url)
            try keeping?.get()
            return Warmed(
                url: url, file: file, format: format, size: size, isKept: keeping != nil || file.tier.contains(.disk))
        } catch {
            if [.unrecognizedFormat, .corrupt, .truncated, .notMine].contains(error.code) { network.forget(url) }
            throw file.response?.explaining(error) ?? error
        }
    }
}
