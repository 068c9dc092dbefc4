/// One option of a command.
package struct OptionSpecification {
    /// All spellings, for example `["-o", "--output"]`; the last one is the key.
    package var names: [String]
    /// The placeholder shown for the value; nil for a flag.
    package var value: String?
    package var help: String

    /// The subcommands that accept the option; empty for all.
    package var verbs: [String]
    /// Whether the option can be repeated, because its values add up.
    package var isList: Bool
    /// The words that the value can be, for completions; empty for other values.
    package var choices: [String]
    /// Whether the value can be omitted; it is then part of the word, as in `--name=VALUE`.
    package var hasOptionalValue: Bool

    package init(
        _ names: String..., value: String? = nil, isList: Bool = false, hasOptionalValue: Bool = false,
        of verbs: [String] = [], choices: [String] = [], help: String
    ) {
        self.names = names
        self.verbs = verbs
        self.value = value
        self.isList = isList
        self.choices = choices
        self.hasOptionalValue = hasOptionalValue
        self.help = help
    }

    /// The names and the placeholder of the value, as the help shows them.
    package var label: String {
        let suffix = value.map { hasOptionalValue ? "[=\($0)]" : " \($0)" } ?? ""
        return names.joined(separator: ", ") + suffix
    }

    package var key: String { names[names.count - 1] }

    /// Returns the option for these subcommands only.
    package func limited(to verbs: [String]) -> OptionSpecification {
        var option = self
        option.verbs = verbs
        return option
    }
}

/// The operands, options and help text of a command.
package struct CommandSpecification {
    package var name: String
    package var summary: String
    /// The operands in the usage line, for example `FILE…`.
    package var operands: String
    /// The allowed number of operands.
    package var operandCount: ClosedRange<Int>
    /// Command lines that a reader can copy, each with a short explanation.
    package var examples: [(command: String, does: String)]
    package var options: [OptionSpecification]
    /// The text between the examples and the usage line; begins with an empty line.
    package var notes: String
    /// The subcommands: allowed values of the first operand.
    package var verbs: [Verb]
    /// Options listed after the command's own options.
    package var common: [OptionSpecification]

    /// A subcommand.
    package struct Verb {
        package var name: String
        package var operands: String
        /// The summary, if it differs from the command's summary.
        package var summary: String?

        package init(_ name: String, operands: String = "FILE…", summary: String? = nil) {
            self.name = name
            self.operands = operands
            self.summary = summary
        }
    }

    /// The names of the subcommands.
    package var verbNames: [String] { verbs.map(\.name) }

    package init(
        name: String, summary: String, operands: String, operandCount: ClosedRange<Int>,
        examples: [(command: String, does: String)], options: [OptionSpecification], notes: String = "",
        verbs: [Verb] = [],
        common: [OptionSpecification] = CommandSpecification.common
    ) {
        self.name = name
        self.summary = summary
        self.operands = operands
        self.operandCount = operandCount
        self.examples = examples
        self.options = options
        self.notes = notes
        self.verbs = verbs
        self.common = common
    }

    /// The options of every command, except for subcommands that use no plugins.
    package static let common = host + answer

    private static let host = [
        OptionSpecification(
            "--plugin-dir", value: "DIR", isList: true, help: "search this plugin folder first (may be repeated)"),
        OptionSpecification(
            "--trust", value: "POLICY", choices: ["any", "owned", "signed"],
            help: "which plugins to use: any, owned or signed (default: owned)"),
        OptionSpecification(
            "--limits", value: "SPEC", isList: true,
            help:
                "decode limits: default, strict or off, then NAME=N,… (k, M, G, T); names: side pixels source-pixels "
                + "frames total input output memory metadata all-metadata ratio scans nesting threads time "
                + "(default: default)"),
        OptionSpecification(
            "--isolation", value: "MODE", choices: ["auto", "require", "off"],
            help:
                "sandbox third-party plugins (auto), all (require[:GROUP,…]) or none (off); groups: limits "
                + "namespaces landlock seccomp (default: auto)"),
        OptionSpecification(
            "--workers", value: "POLICY",
            help: "images per worker process: 1 (fresh) or up to N (reuse:N) (default: fresh)"),
    ]

    private static let answer = [
        OptionSpecification("--json", help: "print results as JSON"),
        OptionSpecification("-h", "--help", help: "show this help"),
    ]

    /// The options of a command that uses no plugins and prints text only.
    package static let helpOnly = [OptionSpecification("-h", "--help", help: "show this help")]

    /// Returns the common options of a command whose plugin options apply to some subcommands only.
    package static func common(plugins verbs: [String]) -> [OptionSpecification] {
        host.map { $0.limited(to: verbs) } + answer
    }

    /// Returns the specification of a subcommand.
    package func of(_ verb: Verb) -> CommandSpecification {
        func own(_ options: [OptionSpecification]) -> [OptionSpecification] {
            options.filter { $0.verbs.isEmpty || $0.verbs.contains(verb.name) }.map { $0.limited(to: []) }
        }
        var result = self
        result.name = "\(name) \(verb.name)"
        result.summary = verb.summary ?? summary
        result.operands = verb.operands
        result.examples = examples.filter { "\($0.command) ".hasPrefix("coderhost \(name) \(verb.name) ") }
        result.options = own(options)
        result.common = own(common)
        return result
    }

    /// The message if an operand is missing.
    var missingOperand: String {
        if !verbs.isEmpty { return "no subcommand: expected \(verbNames.joined(separator: ", "))" }
        return ["IN…", "FILE…", "FILE"].contains(operands)
            ? "no input file (use - for stdin)" : "missing argument: \(operands)"
    }

    /// The command's own options, then the common options.
    package var allOptions: [OptionSpecification] { options + common }

    /// The help text; examples come first.
    package var help: String {
        var text = "coderhost \(name): \(summary)\n\nExamples:\n"
        let width = examples.map(\.command.count).max() ?? 0
        for example in examples {
            let gap = String(repeating: " ", count: width - example.command.count + 2)
            text += "  \(example.command)\(gap)\(example.does)\n"
        }
        text += notes + "\nUsage: coderhost \(name)\(operands.isEmpty ? "" : " " + operands) [options]\n\nOptions:\n"
        let left = allOptions.map { "  " + $0.label }
        let column = (left.map(\.count).max() ?? 0) + 2
        for (label, option) in zip(left, allOptions) {
            text += label + String(repeating: " ", count: column - label.count)
            text += (option.verbs.isEmpty ? "" : option.verbs.joined(separator: ", ") + ": ") + option.help + "\n"
        }
        return text
    }
}
