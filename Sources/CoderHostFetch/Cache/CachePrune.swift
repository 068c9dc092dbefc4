import CoderHost
import CommandLineKit
import ImageLoading

/// Removes old entries, then the oldest ones until the size fits.
enum CachePrune: CacheVerb {
    static let name = "prune"
    static let summary = "remove old entries, then the oldest ones above the maximum size"
    static let examples: [(command: String, does: String)] = [
        ("coderhost cache prune --max-age 30d --max-size 500M", "remove old and excess entries")
    ]
    static let options = [
        OptionSpecification(
            "--max-size", value: "SIZE",
            help: "above SIZE, remove the oldest down to half; k, M, G (default: 1G)"),
        OptionSpecification(
            "--max-age", value: "AGE", help: "remove entries unused for AGE: 90s, 30m, 12h, 7d, 2w (default: 7d)"),
    ]

    static func run(
        _ operands: [String], _ arguments: ParsedArguments, _ cache: DiskCache
    ) throws(UsageError) -> ExitCode {
        var configuration = cache.configuration
        if let size = try maxSize(arguments) { configuration.maxSize = size }
        if let text = arguments.value("--max-age") { configuration.maxAge = try age(text) }
        cache.configuration = configuration
        // Without a folder there is nothing to prune and nothing to lock.
        let report = FileStatus.of(cache.directory) == nil ? PruneReport() : cache.prune()
        if arguments.has("--json") {
            Console.out(
                JSONValue.object([
                    ("schema", .integer(1)), ("removed", .integer(report.removed)),
                    ("removed_size", .integer(report.removedSize)), ("kept", .integer(report.kept)),
                    ("kept_size", .integer(report.keptSize)), ("unfinished", .integer(report.forsaken)),
                    ("busy", .bool(report.isBusy)), ("clock_in_doubt", .bool(report.clockIsInDoubt)),
                ]).text)
            return .success
        }
        if report.isBusy {
            Console.out("another process is pruning the cache: nothing was removed")
            return .success
        }
        Console.out("removed \(entries(report.removed)), \(ByteText.of(report.removedSize))")
        Console.out("kept \(entries(report.kept)), \(ByteText.of(report.keptSize))")
        if report.forsaken > 0 {
            Console.out("removed \(counted(report.forsaken, "unfinished file", "unfinished files"))")
        }
        if report.clockIsInDoubt {
            Console.error("coderhost: warning: the clock has changed: age-based expiry pauses for one hour")
        }
        return .success
    }

    private static func maxSize(_ arguments: ParsedArguments) throws(UsageError) -> Int? {
        do throws(UsageError) {
            return try arguments.byteCount("--max-size")
        } catch {
            throw UsageError(error.message, hint: "for example 500M or 2G; \(removingAll)", command: "cache prune")
        }
    }

    private static let removingAll = "to remove all entries: coderhost cache clear"

    private static let units: [(name: Character, seconds: Int)] = [
        ("s", 1), ("m", 60), ("h", 3600), ("d", 86_400), ("w", 604_800),
    ]

    /// Parses a number with a unit of time.
    static func age(_ text: String) throws(UsageError) -> Duration {
        if let unit = units.first(where: { $0.name == text.last }), let count = Int(text.dropLast()), count >= 0,
            !text.hasPrefix("+"), count <= 1_000_000_000
        {
            return .seconds(count * unit.seconds)
        }
        throw UsageError(
            "invalid --max-age value \"\(text)\": expected a number with s, m, h, d or w",
            hint: "for example 12h or 7d; \(removingAll)", command: "cache prune")
    }
}
