import CoderHost
import CommandLineKit
import ImageLoading

/// Reads all entries and verifies their checksums.
enum CacheVerify: CacheVerb {
    static let name = "verify"
    static let summary = "read all entries and verify their checksums"
    static let examples: [(command: String, does: String)] = [
        ("coderhost cache verify", "verify all entries; exit code 1 if one is damaged"),
        ("coderhost cache verify --repair", "remove damaged entries; exit code 1 if that fails"),
    ]
    static let options = [OptionSpecification("--repair", help: "remove damaged and incomplete entries")]

    static func run(
        _ operands: [String], _ arguments: ParsedArguments, _ cache: DiskCache
    ) throws(UsageError) -> ExitCode {
        let repairs = arguments.has("--repair")
        let report = cache.verify(repair: repairs)
        let bad = report.damaged.count + report.misplaced.count + report.obstacles.count
        let isLeft = bad + report.forsaken.count > report.removed
        let code: ExitCode =
            !report.unreadable.isEmpty || bad > 0 && (!repairs || isLeft) ? .partialFailure : .success
        if arguments.has("--json") {
            func paths(_ list: [String]) -> JSONValue { .array(list.sorted().map(JSONValue.string)) }
            Console.out(
                JSONValue.object([
                    ("schema", .integer(1)), ("directory", .string(cache.directory)), ("sound", .integer(report.sound)),
                    ("sound_size", .integer(report.soundSize)), ("damaged", paths(report.damaged)),
                    ("misplaced", paths(report.misplaced)), ("obstacles", paths(report.obstacles)),
                    ("unfinished", paths(report.forsaken)),
                    ("foreign", paths(report.foreign)), ("unreadable", paths(report.unreadable)),
                    ("removed", .integer(report.removed)),
                ]).text)
            return code
        }
        let kinds: [(word: String, paths: [String])] = [
            ("damaged", report.damaged), ("under a wrong name", report.misplaced),
            ("blocks an entry", report.obstacles),
            ("unfinished", report.forsaken), ("not a cache file", report.foreign), ("unreadable", report.unreadable),
        ]
        for (word, paths) in kinds {
            for path in paths.sorted() { Console.out(printable("\(path): \(word)")) }
        }
        var line = "\(entries(report.sound)) sound, \(report.damaged.count) damaged"
        if !report.misplaced.isEmpty { line += ", \(report.misplaced.count) under a wrong name" }
        if !report.obstacles.isEmpty {
            line += ", \(counted(report.obstacles.count, "file", "files")) blocking entries"
        }
        if repairs { line += ", \(counted(report.removed, "file", "files")) removed" }
        Console.out(line)
        if bad > 0, !repairs { Console.error("  try: coderhost cache verify --repair") }
        if !report.obstacles.isEmpty, repairs, isLeft {
            Console.error("  try: move the blocking files away; --repair removes only links and empty folders")
        }
        return code
    }
}
