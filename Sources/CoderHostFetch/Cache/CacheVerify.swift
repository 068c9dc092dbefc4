import CoderHost
import CommandLineKit
import ImageLoading

/// Reads every entry and compares it with its checks.
enum CacheVerify: CacheVerb {
    static let name = "verify"
    static let summary = "read every entry and compare it with its checks"
    static let examples: [(command: String, does: String)] = [
        ("coderhost cache verify", "reads everything; ends with 1 where something is damaged"),
        ("coderhost cache verify --repair", "removes what is damaged; ends with 1 where that did not work"),
    ]
    static let options = [OptionSpecification("--repair", help: "remove what is damaged or was left unfinished")]

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
            ("damaged", report.damaged), ("under a name of another", report.misplaced),
            ("in the way of entries", report.obstacles),
            ("unfinished", report.forsaken), ("not of a cache", report.foreign), ("unreadable", report.unreadable),
        ]
        for (word, paths) in kinds {
            for path in paths.sorted() { Console.out(printable("\(path): \(word)")) }
        }
        var line = "\(entries(report.sound)) sound, \(report.damaged.count) damaged"
        if !report.misplaced.isEmpty { line += ", \(report.misplaced.count) under a name of another" }
        if !report.obstacles.isEmpty { line += ", \(counted(report.obstacles.count, "thing", "things")) in the way" }
        if repairs { line += ", \(counted(report.removed, "file", "files")) removed" }
        Console.out(line)
        if bad > 0, !repairs { Console.error("  try: coderhost cache verify --repair") }
        if !report.obstacles.isEmpty, repairs, isLeft {
            Console.error("  try: move away what is in the way; only links and empty folders are removed")
        }
        return code
    }
}
