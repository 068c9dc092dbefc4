import CoderHost
import CommandLineKit
import ImageLoading

/// Removes all entries.
enum CacheClear: CacheVerb {
    static let name = "clear"
    static let summary = "remove all entries"
    static let examples: [(command: String, does: String)] = [("coderhost cache clear", "remove all entries")]

    static func run(
        _ operands: [String], _ arguments: ParsedArguments, _ cache: DiskCache
    ) throws(UsageError) -> ExitCode {
        let before = cache.totals
        cache.clear()
        let after = cache.totals
        let (count, size) = (max(0, before.count - after.count), max(0, before.size - after.size))
        if arguments.has("--json") {
            Console.out(
                JSONValue.object([
                    ("schema", .integer(1)), ("directory", .string(cache.directory)), ("removed", .integer(count)),
                    ("removed_size", .integer(size)), ("kept", .integer(after.count)),
                ]).text)
        } else {
            Console.out("removed \(entries(count)), \(ByteText.of(size))")
            if after.count > 0 { Console.out("kept \(entries(after.count)), \(ByteText.of(after.size))") }
        }
        return .success
    }
}
