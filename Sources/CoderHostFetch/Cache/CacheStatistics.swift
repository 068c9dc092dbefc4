import CoderHost
import CommandLineKit
import ImageLoading

/// Prints the number and size of the entries.
enum CacheStatistics: CacheVerb {
    static let name = "stats"
    static let summary = "print the number and size of the entries"
    static let examples: [(command: String, does: String)] = [
        ("coderhost cache stats", "print the number and size of the entries")
    ]

    static func run(
        _ operands: [String], _ arguments: ParsedArguments, _ cache: DiskCache
    ) throws(UsageError) -> ExitCode {
        var (count, bytes, size) = (0, 0, 0)
        var oldest: Int64?
        var newest: Int64?
        cache.forEachEntry { entry in
            count += 1
            bytes += entry.byteCount
            size += entry.size
            oldest = min(oldest ?? entry.accessed, entry.accessed)
            newest = max(newest ?? entry.accessed, entry.accessed)
        }
        let limit = cache.configuration.maxSize
        if arguments.has("--json") {
            Console.out(
                JSONValue.object([
                    ("schema", .integer(1)), ("directory", .string(cache.directory)), ("entries", .integer(count)),
                    ("bytes", .integer(bytes)), ("size", .integer(size)), ("max_size", .integer(limit)),
                    ("max_age_s", .integer(Int(cache.configuration.maxAge.components.seconds))),
                    ("oldest", oldest.map(date) ?? .null), ("newest", newest.map(date) ?? .null),
                ]).text)
            return .success
        }
        Console.out(printable("\(cache.directory): \(entries(count)), \(ByteText.of(bytes)) of image data"))
        Console.out("  \(ByteText.of(size)) on disk, maximum \(ByteText.of(limit))")
        if let oldest, let newest {
            Console.out(
                "  last used between \(wallText(Int(oldest / 1_000_000))) and \(wallText(Int(newest / 1_000_000)))")
        }
        return .success
    }
}
