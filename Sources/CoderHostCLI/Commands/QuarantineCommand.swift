import CoderHost
import CommandLineKit
import ImageModel

/// Plugins that failed too often: which, why, until when.
enum QuarantineCommand: Command {
    static let specification = CommandSpecification(
        name: "quarantine", summary: "show plugins that failed and are left alone, or let them off",
        operands: "list|clear [ID|SHA256…]", operandCount: 1...1_000_000,
        examples: [
            ("coderhost quarantine list", "what failed, how often, and when it is tried again"),
            ("coderhost quarantine clear org.example.qoi-plugin", "try that one at once, in all of its builds"),
            ("coderhost quarantine clear 8f3a21c07be9", "try one file, by the first digits that list shows"),
            ("coderhost quarantine clear", "forget everything"),
        ],
        options: [], notes: notes, verbs: ["list", "clear"],
        verbOperands: ["list": "[ID|SHA256…]", "clear": "[ID|SHA256…]"])

    private static let notes = """

        One failure while it starts, or three within ten minutes, and a plugin is left alone for a minute; then it is tried
        once, and left alone twice as long if that fails, up to an hour. A file that was rebuilt begins anew.

        STATE (in JSON)            What it means
        in use (closed)            it failed, but not often enough; it is used
        quarantined (open)         it is left alone until the time under AGAIN AT
        on probation (half-open)   the next picture tries it; success ends this, failure quarantines it again

        SHA256 shows the first digits of the file's hash, as many as clear needs to tell it from others.

        """

    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        let verb = arguments.operands[0]
        let ids = Array(arguments.operands.dropFirst())
        guard specification.verbs.contains(verb) else {
            throw UsageError(
                "quarantine cannot \(verb)",
                hint: OptionCheck.nearest(verb, specification.verbs).map { "did you mean quarantine \($0)?" }
                    ?? "it can list and clear", command: "quarantine")
        }
        let quarantine = try arguments.host().quarantine
        let code = try verb == "list" ? list(ids, quarantine, arguments) : clear(ids, quarantine, arguments)
        if !arguments.has("--json") {
            for warning in quarantine.warnings { Console.error("coderhost: warning: \(warning)") }
        }
        return code
    }

    /// The entries that words name: ids of plugins, or first digits of hashes.
    private static func chosen(
        _ words: [String], _ quarantine: Quarantine
    ) throws(CoderError) -> [Quarantine.Entry] {
        let entries = quarantine.entries
        if words.isEmpty { return entries }
        var result: [Quarantine.Entry] = []
        for word in words {
            let found = entries.filter { $0.plugin == word || isPrefix(word, of: $0.hash) }
            if Set(found.map(\.hash)).count > 1, !found.contains(where: { $0.plugin == word }) {
                throw CoderError(
                    .invalidArgument, "\(found.count) hashes begin with \(word)",
                    hint: "give more digits: \(found.map { "\($0.hash)" }.joined(separator: ", "))")
            }
            guard !found.isEmpty else { throw unknown(word, entries) }
            result += found.filter { !result.contains($0) }
        }
        return result
    }

    private static func unknown(_ word: String, _ entries: [Quarantine.Entry]) -> CoderError {
        let known = Array(Set(entries.map(\.plugin))).sorted()
        return CoderError(
            .notFound, "nothing is known of a plugin or a hash \(word)",
            hint: OptionCheck.nearest(word, known).map { "did you mean \($0)?" }
                ?? (known.isEmpty ? "nothing has failed" : "failed have: \(known.joined(separator: ", "))"))
    }

    private static let shownDigits = 12

    /// Whether a word is the beginning of a hash; a few digits may be so by chance.
    private static func isPrefix(_ word: String, of hash: ContentHash) -> Bool {
        word.utf8.count >= 6 && hash.description.hasPrefix(word.lowercased())
    }

    /// The first digits of each hash that tell it from every other.
    private static func digits(_ entries: [Quarantine.Entry]) -> Int {
        let hashes = Set(entries.map { "\($0.hash)" })
        var count = shownDigits
        while count < 64, Set(hashes.map { $0.prefix(count) }).count < hashes.count { count += 4 }
        return count
    }

    /// What a person reads; JSON has the breaker's own words.
    private static func word(_ entry: Quarantine.Entry, _ now: Int) -> String {
        switch entry.word(at: now) {
        case "open": "quarantined"
        case "half-open": "on probation"
        default: "in use"
        }
    }

    private static func list(
        _ ids: [String], _ quarantine: Quarantine, _ arguments: ParsedArguments
    ) throws(UsageError) -> ExitCode {
        let entries: [Quarantine.Entry]
        do throws(CoderError) { entries = try chosen(ids, quarantine) } catch {
            error.report("quarantine", arguments)
            return ExitCode(error.code)
        }
        if arguments.has("--json") {
            Console.out(
                JSONValue.object([
                    ("schema", .integer(1)), ("directory", quarantine.directory.map(JSONValue.string) ?? .null),
                    ("entries", .array(entries.map(json))),
                    ("warnings", .array(quarantine.warnings.map(JSONValue.string))),
                ]).text)
            return .success
        }
        guard !entries.isEmpty else {
            Console.out("nothing is in quarantine")
            return .success
        }
        let now = wallMilliseconds()
        let digits = digits(quarantine.entries)
        var table = TextTable("PLUGIN", "SHA256", "STATE", "FAILURES", "LAST FAILURE", "AGAIN AT", "FILE")
        for entry in entries {
            let last = entry.lastFailure.map { "\($0.kind.rawValue), \($0.phase.rawValue)" } ?? "-"
            table.add(
                entry.plugin, String("\(entry.hash)".prefix(digits)), word(entry, now), "\(entry.failureCount)", last,
                entry.until.map(wallText) ?? "-", entry.path)
        }
        for line in table.lines { Console.out(line) }
        return .success
    }

    private static func clear(
        _ ids: [String], _ quarantine: Quarantine, _ arguments: ParsedArguments
    ) throws(UsageError) -> ExitCode {
        var count = 0
        do throws(CoderError) {
            let entries = try chosen(ids, quarantine)
            if ids.isEmpty { count = quarantine.clear() }
            for entry in ids.isEmpty ? [] : entries { count += quarantine.clear(entry) }
        } catch {
            error.report("quarantine", arguments)
            return ExitCode(error.code)
        }
        if arguments.has("--json") {
            Console.out(
                JSONValue.object([
                    ("schema", .integer(1)), ("cleared", .integer(count)),
                    ("warnings", .array(quarantine.warnings.map(JSONValue.string))),
                ]).text)
        } else {
            Console.out(count == 1 ? "1 file is tried again" : "\(count) files are tried again")
        }
        return .success
    }

    static func json(_ entry: Quarantine.Entry) -> JSONValue {
        func time(_ value: Int?) -> JSONValue { value.map { .string(wallText($0)) } ?? .null }
        let last = entry.lastFailure
        return .object([
            ("plugin", .string(entry.plugin)), ("file", .string(entry.path)), ("sha256", .string("\(entry.hash)")),
            ("state", .string(entry.word(at: wallMilliseconds()))), ("failures", .integer(entry.failureCount)),
            (
                "last",
                last.map { last in
                    .object([
                        ("kind", .string(last.kind.rawValue)), ("phase", .string(last.phase.rawValue)),
                        ("at", time(last.milliseconds)),
                    ])
                } ?? .null
            ),
            ("since", time(entry.since)), ("until", time(entry.until)),
        ])
    }
}
