/// One option of a command.
package struct OptionSpecification {
    /// For example `["-o", "--output"]`; the last one is its key.
    package var names: [String]
    /// The word shown for its value; nil for a switch.
    package var value: String?
    package var help: String

    /// The subcommands that have it; none stands for all.
    package var verbs: [String]

    package init(_ names: String..., value: String? = nil, of verbs: [String] = [], help: String) {
        self.names = names
        self.verbs = verbs
        self.value = value
        self.help = help
    }

    package var key: String { names[names.count - 1] }
}

/// What a command takes and how it introduces itself.
package struct CommandSpecification {
    package var name: String
    package var summary: String
    /// What stands behind the name, for example `FILE…`.
    package var operands: String
    /// Whether operands are allowed at all, and needed.
    package var operandCount: ClosedRange<Int>
    /// Command lines a reader can copy, each with what it does.
    package var examples: [(command: String, does: String)]
    package var options: [OptionSpecification]
    /// What stands between the examples and the usage, from an empty line on.
    package var notes: String
    /// The first operands that choose what is done.
    package var verbs: [String]
    /// What stands behind a verb, where that is not `FILE…`.
    package var verbOperands: [String: String]
    /// What a verb is for, where the command's summary does not say that.
    package var verbSummaries: [String: String]
    /// Options that stand behind the command's own.
    package var common: [OptionSpecification]

    package init(
        name: String, summary: String, operands: String, operandCount: ClosedRange<Int>,
        examples: [(command: String, does: String)], options: [OptionSpecification], notes: String = "",
        verbs: [String] = [], verbOperands: [String: String] = [:], verbSummaries: [String: String] = [:],
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
        self.verbOperands = verbOperands
        self.verbSummaries = verbSummaries
        self.common = common
    }

    /// Options that every command has, but for verbs that use no plugin.
    package static let common = host + answer

    private static let host = [
        OptionSpecification(
            "--plugin-dir", value: "DIR", help: "look for plugins here first (may be repeated)"),
        OptionSpecification(
            "--trust", value: "POLICY", help: "whose plugins are used: any, owned or signed (default: owned)"),
        OptionSpecification(
            "--limits", value: "SPEC",
            help:
                "default, strict or off; then name=N,… (k, M, G, T): side pixels source-pixels frames total input output memory metadata "
                + "all-metadata ratio scans nesting threads time (default: default)"),
        OptionSpecification(
            "--isolation", value: "MODE",
            help:
                "auto, require[:GROUP,…] or off: third-party plugins, all or none run in a sandbox; groups: limits "
                + "namespaces landlock seccomp (default: auto)"),
        OptionSpecification(
            "--workers", value: "POLICY",
            help: "fresh, or reuse:N: pictures that one sandboxed process decodes or encodes (default: fresh)"),
    ]

    private static let answer = [
        OptionSpecification("--json", help: "print JSON"),
        OptionSpecification("-h", "--help", help: "show this help"),
    ]

    /// The options that every command has, where only some verbs use plugins.
    package static func common(plugins verbs: [String]) -> [OptionSpecification] {
        host.map { option in
            var option = option
            option.verbs = verbs
            return option
        } + answer
    }

    /// What a subcommand takes.
    package func of(_ verb: String) -> CommandSpecification {
        func own(_ options: [OptionSpecification]) -> [OptionSpecification] {
            options.filter { $0.verbs.isEmpty || $0.verbs.contains(verb) }.map { option in
                var option = option
                option.verbs = []
                return option
            }
        }
        var result = self
        result.name = "\(name) \(verb)"
        result.summary = verbSummaries[verb] ?? summary
        result.operands = verbOperands[verb] ?? "FILE…"
        result.examples = examples.filter { "\($0.command) ".hasPrefix("coderhost \(name) \(verb) ") }
        result.options = own(options)
        result.common = own(common)
        return result
    }

    package var allOptions: [OptionSpecification] { options + common }

    /// The help text: examples first.
    package var help: String {
        var text = "coderhost \(name): \(summary)\n\nExamples:\n"
        let width = examples.map(\.command.count).max() ?? 0
        for example in examples {
            let gap = String(repeating: " ", count: width - example.command.count + 2)
            text += "  \(example.command)\(gap)\(example.does)\n"
        }
        text += notes + "\nUsage: coderhost \(name)\(operands.isEmpty ? "" : " " + operands) [options]\n\nOptions:\n"
        let left = allOptions.map { option in
            "  " + option.names.joined(separator: ", ") + (option.value.map { " " + $0 } ?? "")
        }
        let column = (left.map(\.count).max() ?? 0) + 2
        for (label, option) in zip(left, allOptions) {
            text += label + String(repeating: " ", count: column - label.count)
            text += (option.verbs.isEmpty ? "" : option.verbs.joined(separator: ", ") + ": ") + option.help + "\n"
        }
        return text
    }
}
