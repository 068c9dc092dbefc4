import CoderHost
import CommandLineKit
import ImageLoading
import ImageModel

/// Lists all entries, most recently used first.
enum CacheList: CacheVerb {
    static let name = "ls"
    static let summary = "list the entries"
    static let examples: [(command: String, does: String)] = [
        ("coderhost cache ls", "list all entries, most recently used first")
    ]

    static func run(
        _ operands: [String], _ arguments: ParsedArguments, _ cache: DiskCache
    ) throws(UsageError) -> ExitCode {
        var entries: [DiskCacheEntry] = []
        cache.forEachEntry { entries.append($0) }
        entries.sort { $0.accessed != $1.accessed ? $0.accessed > $1.accessed : $0.key < $1.key }
        if arguments.has("--json") {
            for entry in entries where !Console.out(json(entry).text) { return .inputOutput }
            return .success
        }
        var table = TextTable("BYTES", "USED", "URL")
        for entry in entries {
            table.add("\(entry.byteCount)", wallText(Int(entry.accessed / 1_000_000)), printable(shown(entry)))
        }
        if !entries.isEmpty { table.lines.forEach { Console.out($0) } }
        return .success
    }

    private static func shown(_ entry: DiskCacheEntry) -> String { entry.url ?? redacted(entry.key) }

    private static func json(_ entry: DiskCacheEntry) -> JSONValue {
        .object([
            ("schema", .integer(1)), ("url", .string(shown(entry))), ("path", .string(entry.path)),
            ("bytes", .integer(entry.byteCount)), ("size", .integer(entry.size)), ("stored", date(entry.stored)),
            ("used", date(entry.accessed)),
            ("content_type", entry.attributes["content-type"].map(JSONValue.string) ?? .null),
            ("etag", entry.attributes["etag"].map(JSONValue.string) ?? .null),
        ])
    }
}
