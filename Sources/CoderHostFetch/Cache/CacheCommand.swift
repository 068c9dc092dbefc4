import CoderHost
import CommandLineKit
import ImageLoading
import ImageModel

/// The subcommands for the disk cache.
enum CacheCommand: NetworkCommand {
    /// The subcommands, each in its own file `Cache<Verb>.swift`.
    private static let verbs: [any CacheVerb.Type] = [
        CacheList.self, CacheStatistics.self, CachePrune.self, CacheVerify.self, CacheClear.self, CachePath.self,
        CacheWarm.self,
    ]

    static let specification = CommandSpecification(
        name: "cache", summary: NetworkProgram.summary(of: "cache"),
        operands: verbs.map { $0.name }.joined(separator: "|"), operandCount: 1...1_000_000,
        examples: verbs.flatMap { $0.examples },
        options: CacheSwitches.specification
            + verbs.flatMap { verb in verb.options.map { $0.limited(to: [verb.name]) } },
        verbs: verbs.map { CommandSpecification.Verb($0.name, operands: $0.operands, summary: $0.summary) },
        common: CommandSpecification.common(plugins: [CacheWarm.name]))

    @MainActor static func run(_ arguments: ParsedArguments) async throws(UsageError) -> ExitCode {
        let word = arguments.operands[0]
        guard let verb = verbs.first(where: { $0.name == word }) else {
            throw UsageError(
                "unknown subcommand \"\(word)\"",
                hint: OptionCheck.nearest(word, specification.verbNames).map { "did you mean cache \($0)?" }
                    ?? "subcommands: \(specification.verbNames.joined(separator: ", "))", command: "cache")
        }
        let operands = Array(arguments.operands.dropFirst())
        guard verb.operandCount.contains(operands.count) else {
            throw UsageError(
                operands.count < verb.operandCount.lowerBound
                    ? "missing argument: \(verb.operands)"
                    : "unexpected argument \"\(operands[verb.operandCount.upperBound])\"",
                command: "cache \(word)")
        }
        guard let cache = try CacheSwitches(arguments).cache() else {
            throw UsageError(CacheSwitches.homeless, hint: CacheSwitches.homelessHint)
        }
        var code = ExitCode.success
        if (try? cache.examine()) != nil { code = try await verb.run(operands, arguments, cache) }
        guard case .degraded(let error) = cache.state else { return code }
        Console.error("coderhost: \(printable(error.message))")
        if let hint = error.hint { Console.error("  try: \(printable(hint))") }
        return code == .success ? ExitCode(error.code) : code
    }
}

/// A subcommand of `coderhost cache`.
protocol CacheVerb: SendableMetatype {
    static var name: String { get }
    static var summary: String { get }
    /// The operands in the usage line.
    static var operands: String { get }
    static var operandCount: ClosedRange<Int> { get }
    static var examples: [(command: String, does: String)] { get }
    /// The options that only this subcommand has.
    static var options: [OptionSpecification] { get }
    @MainActor static func run(
        _ operands: [String], _ arguments: ParsedArguments, _ cache: DiskCache
    ) async throws(UsageError) -> ExitCode
}

extension CacheVerb {
    static var operands: String { "" }
    static var operandCount: ClosedRange<Int> { 0...0 }
    static var options: [OptionSpecification] { [] }

    /// Whether the cache stores a URL; false for file: and data: URLs, which are always available.
    static func mayBeKept(_ url: String) -> Bool {
        !["file:", "data:"].contains { url.prefix($0.count).lowercased() == $0 }
    }

    /// Returns a count with its noun: `1 entry`, `2 entries`.
    static func counted(_ count: Int, _ one: String, _ many: String) -> String {
        "\(count) \(count == 1 ? one : many)"
    }

    static func entries(_ count: Int) -> String { counted(count, "entry", "entries") }

    /// Returns a date of the cache as JSON.
    static func date(_ nanoseconds: Int64) -> JSONValue { .string(wallText(Int(nanoseconds / 1_000_000))) }
}
