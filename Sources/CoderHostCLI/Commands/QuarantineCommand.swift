import CoderHost
import CommandLineKit
import ImageModel

/// Lists and clears plugins that failed too often.
enum QuarantineCommand: Command {
    static let specification = CommandSpecification(
        name: "quarantine", summary: "list plugins disabled after failures, or retry them",
        operands: "list|clear [ID|SHA256…]", operandCount: 1...1_000_000,
        examples: [
            ("coderhost quarantine list", "list failed plugins and their next retry"),
            ("coderhost quarantine clear org.example.qoi-plugin", "retry a plugin at once, all builds"),
            ("coderhost quarantine clear 8f3a21c07be9", "retry one file, by its SHA-256"),
            ("coderhost quarantine clear", "retry all plugins"),
        ],
        options: [], notes: notes,
        verbs: ["list", "clear"].map { CommandSpecification.Verb($0, operands: "[ID|SHA256…]") })

    private static let notes = """

        After one failure at start, or three failures within ten minutes, the host does not use a plugin
        for one minute. Then it retries the plugin once. Each failed retry doubles the time, up to one
        hour. A rebuilt file starts fresh.

        STATE (in JSON)            Meaning
        in use (closed)            some failures, but too few for quarantine
        quarantined (open)         not used until the time under AGAIN AT
        on probation (half-open)   the next image retries it: success ends the quarantine, failure renews it

        SHA256 shows as many digits of the file's hash as clear needs to identify the file.

        """

    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        let verb = arguments.operands[0]
        let ids = Array(arguments.operands.dropFirst())
        guard specification.verbNames.contains(verb) else {
            throw UsageError(
                "unknown subcommand \"\(verb)\"",
                hint: OptionCheck.nearest(verb, specification.verbNames).map { "did you mean quarantine \($0)?" }
                    ?? "subcommands: list, clear", command: "quarantine")
        }
        let quarantine = try arguments.host().quarantine
        let code = try verb == "list" ? list(ids, quarantine, arguments) : clear(ids, quarantine, arguments)
        if !arguments.has("--json") {
            for warning in quarantine.warnings { Console.error("coderhost: warning: \(warning)") }
        }
        return code
    }

    /// Returns the entries that the operands select: plugin ids or hash prefixes.
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
                    hint: "use more digits: \(found.map { "\($0.hash)" }.joined(separator: ", "))")
            }
            guard !found.isEmpty else { throw unknown(word, entries) }
            result += found.filter { !result.contains($0) }
        }
        return result
    }

    private static func unknown(_ word: String, _ entries: [Quarantine.Entry]) -> CoderError {
        let known = Array(Set(entries.map(\.plugin))).sorted()
        return CoderError(
            .notFound, "no entry for \(word)",
            hint: OptionCheck.nearest(word, known).map { "did you mean \($0)?" }
                ?? (known.isEmpty ? "no plugin has failed" : "failed plugins: \(known.joined(separator: ", "))"))
    }

    private static let shownDigits = 12

    /// Whether a word is a hash prefix of at least 6 digits; shorter prefixes match by chance.
    private static func isPrefix(_ word: String, of hash: ContentHash) -> Bool {
        word.utf8.count >= 6 && hash.description.hasPrefix(word.lowercased())
    }

    /// Returns how many digits identify each hash.
    private static func digits(_ entries: [Quarantine.Entry]) -> Int {
        let hashes = Set(entries.map { "\($0.hash)" })
        var count = shownDigits
        while count < 64, Set(hashes.map { $0.prefix(count) }).count < hashes.count { count += 4 }
        return count
    }

    /// Returns the state for text output; JSON uses the names of circuit breakers.
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
            Console.out("the quarantine is empty")
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
            Console.out(count == 1 ? "1 file will be retried" : "\(count) files will be retried")
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
