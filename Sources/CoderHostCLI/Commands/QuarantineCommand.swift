import CoderHost
import ImageModel

/// Plugins that failed too often: which, why, until when.
enum QuarantineCommand: Command {
    static let specification = CommandSpecification(
        name: "quarantine", summary: "show plugins that failed and are left alone, or let them off",
        operands: "list|clear [ID…]", operandCount: 1...1_000_000,
        examples: [
            ("coderhost quarantine list", "what failed, how often, and when it is tried again"),
            ("coderhost quarantine clear org.example.qoi-plugin", "try that one at once"),
            ("coderhost quarantine clear", "forget everything"),
        ],
        options: [], notes: notes, verbs: ["list", "clear"], verbOperands: ["list": "[ID…]", "clear": "[ID…]"])

    private static let notes = """

        One failure while it starts, or three within ten minutes, and a plugin is left alone for a minute; then it is tried
        once, and left alone twice as long if that fails, up to an hour. A file that was rebuilt begins anew.

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

    private static func chosen(
        _ ids: [String], _ quarantine: Quarantine
    ) throws(CoderError) -> [Quarantine.Entry] {
        let entries = quarantine.entries
        for id in ids where !entries.contains(where: { $0.plugin == id }) {
            let known = Array(Set(entries.map(\.plugin))).sorted()
            throw CoderError(
                .notFound, "nothing is known of a plugin \(id)",
                hint: OptionCheck.nearest(id, known).map { "did you mean \($0)?" }
                    ?? (known.isEmpty ? "nothing has failed" : "failed have: \(known.joined(separator: ", "))"))
        }
        return entries.filter { ids.isEmpty || ids.contains($0.plugin) }
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
        var table = TextTable("PLUGIN", "STATE", "FAILURES", "LAST", "AGAIN AT", "FILE")
        for entry in entries {
            let last = entry.lastFailure.map { "\($0.kind.rawValue), \($0.phase.rawValue)" } ?? "-"
            table.add(
                entry.plugin, entry.word(at: now), "\(entry.failureCount)", last, entry.until.map(wallText) ?? "-",
                entry.path)
        }
        for line in table.lines { Console.out(line) }
        return .success
    }

    private static func clear(
        _ ids: [String], _ quarantine: Quarantine, _ arguments: ParsedArguments
    ) throws(UsageError) -> ExitCode {
        var count = 0
        do throws(CoderError) {
            _ = try chosen(ids, quarantine)
            if ids.isEmpty { count = quarantine.clear() }
            for id in ids { count += quarantine.clear(id) }
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
