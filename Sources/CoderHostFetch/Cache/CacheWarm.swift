import CoderHost
import CommandLineKit
import ImageLoading
import ImageModel

/// Downloads images into the cache.
enum CacheWarm: CacheVerb {
    static let name = "warm"
    static let summary = "download images into the cache"
    static let operands = "URL…"
    static let operandCount = 1...1_000_000
    static let examples: [(command: String, does: String)] = [
        ("coderhost cache warm https://example.org/photo.jpg", "download an image into the cache")
    ]
    static let options = NetworkSwitches.specification

    private struct Warmed: Sendable {
        var url: String
        var file: LoadedFile
        var format: ImageFormat
        var size: PixelSize

        /// Whether the cache has the image now; local files are not cached.
        var isKept: Bool

        var line: String {
            let loaded = "\(ByteText.of(file.source.count)) downloaded"
            let found = file.response?.status == 304 ? "revalidated" : "already cached"
            let place = file.tier.contains(.disk) ? found : loaded
            return "\(redacted(url)): \(format) \(size), \(place)\(isKept ? "" : ", not cached\(reason)")"
        }

        private var reason: String {
            if !CacheWarm.mayBeKept(url) { return ": local data" }
            return file.response?.forbidsStoring ?? false ? ": the server forbids it" : ""
        }

        var json: JSONValue {
            .object([
                ("schema", .integer(1)), ("url", .string(wholeURL(url))), ("kept", .bool(isKept)),
                ("cache", file.tier.contains(.disk) ? .string("disk") : .null), ("bytes", .integer(file.source.count)),
                ("format", .string(format.id)), ("width", .integer(size.width)), ("height", .integer(size.height)),
            ])
        }
    }

    @MainActor static func run(
        _ operands: [String], _ arguments: ParsedArguments, _ cache: DiskCache
    ) async throws(UsageError) -> ExitCode {
        let network = try Network(arguments, try arguments.host())
        let isJSON = arguments.has("--json")
        let bars = DownloadBars(operands.map(LocalName.of))
        let batch = Batch<Warmed>(operands.map { redacted($0) }, showsProgress: false) { number, label, result in
            bars.aside {
                switch result {
                case .success(let warmed): Console.out(isJSON ? warmed.json.text : printable(warmed.line))
                case .failure(let error) where isJSON: Console.out(FetchOutcome.json(operands[number], error).text)
                case .failure(let error): for line in error.lines(file: label) { Console.error(line) }
                }
            }
        }
        return await batch.run(width: network.jobs, watching: bars, closing: network) {
            number async throws(CoderError) in
            try await warm(operands[number], number, network, bars)
        }
    }

    /// Downloads one image.
    ///
    /// - Throws: also the error of the cache if it did not store the image.
    private static func warm(
        _ url: String, _ number: Int, _ network: Network, _ bars: DownloadBars
    ) async throws(CoderError) -> Warmed {
        let bar = bars.begin(number)
        defer { bars.end(bar) }
        let file = try await network.file(url) { bars.update(bar, $0, $1) }
        return try await BlockingWork.run { () throws(CoderError) in try examine(file, url, network) }
    }

    /// Checks that a file is an image and that the cache stores it; blocks.
    private static func examine(
        _ file: LoadedFile, _ url: String, _ network: Network
    ) throws(CoderError) -> Warmed {
        do throws(CoderError) {
            // Decodes only the header, to check that the data is an image.
            let (format, size) = try network.host.manager.withSession(file.source) { ($0.format, $0.info.size) }
            let outcome = network.storingOutcome(url)
            try outcome?.get()
            return Warmed(
                url: url, file: file, format: format, size: size, isKept: outcome != nil || file.tier.contains(.disk))
        } catch {
            if [.unrecognizedFormat, .corrupt, .truncated, .notMine].contains(error.code) { network.forget(url) }
            throw file.response?.explaining(error) ?? error
        }
    }
}
