import CoderHost
import CommandLineKit
import ImageModel

/// The subcommands for plugins: create, check, trust, enable and sign.
enum PluginCommand: Command {
    /// The subcommands, each in its own file `Plugin<Verb>.swift`.
    private static let verbs: [any PluginVerb.Type] = [
        PluginNew.self, PluginCheckVerb.self, PluginTrustVerb.self, PluginUntrustVerb.self, PluginEnableVerb.self,
        PluginDisableVerb.self, PluginSignVerb.self, PluginVerifyVerb.self, PluginKeygenVerb.self,
    ]

    static let specification = CommandSpecification(
        name: "plugin", summary: "create, check, trust, enable, disable and sign plugins",
        operands: verbs.map { $0.name }.joined(separator: "|") + " …", operandCount: 1...1_000_000,
        examples: verbs.flatMap { $0.examples },
        options: verbs.flatMap { verb in verb.options.map { $0.limited(to: [verb.name]) } },
        verbs: verbs.map { CommandSpecification.Verb($0.name, operands: $0.operands, summary: $0.summary) })

    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        let word = arguments.operands[0]
        guard let verb = verbs.first(where: { $0.name == word }) else {
            throw UsageError(
                "unknown subcommand \"\(word)\"",
                hint: OptionCheck.nearest(word, specification.verbNames).map { "did you mean plugin \($0)?" }
                    ?? "subcommands: \(specification.verbNames.joined(separator: ", "))", command: "plugin")
        }
        return try verb.run(Array(arguments.operands.dropFirst()), arguments)
    }
}

/// A subcommand of `coderhost plugin`.
protocol PluginVerb: SendableMetatype {
    static var name: String { get }
    /// The summary in its help.
    static var summary: String { get }
    /// The operands in the usage line; `FILE…` by default.
    static var operands: String { get }
    static var examples: [(command: String, does: String)] { get }
    /// The options that only this subcommand has.
    static var options: [OptionSpecification] { get }
    static func run(_ operands: [String], _ arguments: ParsedArguments) throws(UsageError) -> ExitCode
}

extension PluginVerb {
    static var operands: String { "FILE…" }
}
