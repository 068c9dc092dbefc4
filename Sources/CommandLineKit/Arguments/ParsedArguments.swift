import CoderHost
import ImageModel

/// The command line, parsed and validated against the specification of a command.
package struct ParsedArguments {
    /// The words that are neither options nor their values.
    package private(set) var operands: [String] = []
    private var values: [String: [String]] = [:]
    /// The origin of the operands that options have added.
    package private(set) var inputs = InputFiles()

    /// Replaces the operands by collected inputs.
    mutating func replaceOperands(_ operands: [String], _ inputs: InputFiles) {
        self.operands = operands
        self.inputs = inputs
    }

    /// Whether an option was given.
    package func has(_ key: String) -> Bool { values[key] != nil }
    /// Returns the value of an option; of a list, the last one.
    package func value(_ key: String) -> String? { values[key]?.last }
    /// Returns all values of an option, in order.
    package func all(_ key: String) -> [String] { values[key] ?? [] }

    /// Parses the words after the command's name.
    ///
    /// - Throws: ``UsageError`` for an unknown option, a missing value or a wrong number of operands.
    package init(_ words: [String], _ command: CommandSpecification) throws(UsageError) {
        var rest = words[...]
        var onlyOperands = false
        while let word = rest.popFirst() {
            if onlyOperands || word == "-" || !word.hasPrefix("-") {
                operands.append(word)
                continue
            }
            if word == "--" {
                onlyOperands = true
                continue
            }
            if let long = Self.longOption(writtenAs: word, command) {
                throw UsageError(
                    "unknown option \(word.prefix { $0 != "=" })",
                    hint: "did you mean \(Self.example(long, word, rest.first, command))?", command: command.name)
            }
            let (name, attached) = Self.split(word)
            guard let option = command.allOptions.first(where: { $0.names.contains(name) }) else {
                let isFile = FileStatus.of(word) != nil
                let foreign = ForeignOption.remedy(for: word, value: rest.first, command)
                throw UsageError(
                    "unknown option \(isFile ? word : String(word.prefix { $0 != "=" }))",
                    hint: isFile
                        ? "for a file of this name write ./\(word)"
                        : foreign ?? Self.suggestion(for: name, rest.first, command).map { "did you mean \($0)?" },
                    command: command.name)
            }
            guard option.value != nil else {
                if attached != nil { throw UsageError("\(name) takes no value", command: command.name) }
                values[option.key, default: []].append("")
                continue
            }
            if option.hasOptionalValue {
                try add(attached ?? "", name, option, command)
                continue
            }
            // An option of this command is not taken as a value, except in the form `--name=-f`.
            let isForgotten = rest.first.map { word in command.allOptions.contains { $0.names.contains(word) } } ?? true
            guard let value = attached ?? (isForgotten ? nil : rest.popFirst()) else {
                throw UsageError("\(name) needs a value: \(option.value ?? "")", command: command.name)
            }
            // Without this check, the command would create a file with a garbled name.
            if value.unicodeScalars.contains("\u{FFFD}"), !commandLineIsText {
                throw UsageError(
                    "the value of \(name) is not valid UTF-8", hint: "choose another name",
                    command: command.name)
            }
            try add(value, name, option, command)
        }
        if has("--help") { return }
        if let verb = command.verbs.first(where: { $0.name == operands.first }) {
            let own = Set(command.of(verb).allOptions.map(\.key))
            if let key = values.keys.sorted().first(where: { !own.contains($0) }) {
                let others = command.allOptions.filter { $0.key == key }.flatMap(\.verbs)
                throw UsageError(
                    "\(key) is an option of \(others.map { "\(command.name) \($0)" }.joined(separator: " and "))",
                    hint: "coderhost \(command.name) \(verb.name) --help", command: command.name)
            }
        }
        if operands.count < command.operandCount.lowerBound, !namesInputsByOption {
            throw UsageError(command.missingOperand, command: command.name)
        }
        if operands.count > command.operandCount.upperBound {
            throw UsageError(
                "unexpected argument \"\(operands[command.operandCount.upperBound])\"", command: command.name)
        }
    }

    /// Adds a value of an option.
    ///
    /// - Throws: ``UsageError`` for a second value of an option that has only one: a script would not notice which one
    ///   has an effect.
    private mutating func add(
        _ value: String, _ name: String, _ option: OptionSpecification, _ command: CommandSpecification
    ) throws(UsageError) {
        if !option.isList, let earlier = values[option.key]?.first {
            throw UsageError(
                "\(name) is given twice: \"\(printable(earlier))\" and \"\(printable(value))\"",
                hint: "remove one of them",
                command: command.name)
        }
        values[option.key, default: []].append(value)
    }

    /// Returns the long option that is written with one hyphen, as other programs do: `-resize`, `-quality=80`.
    ///
    /// Otherwise its letters would count as the value of a short option.
    private static func longOption(writtenAs word: String, _ command: CommandSpecification) -> String? {
        guard !word.hasPrefix("--"), word.count > 3 else { return nil }
        let long = "-" + String(word.prefix { $0 != "=" })
        return command.allOptions.contains { $0.names.contains(long) } ? long : nil
    }

    /// Returns an option with the value that follows the typed word, as the user can copy it.
    private static func example(
        _ name: String, _ word: String, _ next: String?, _ command: CommandSpecification
    ) -> String {
        let takesValue = command.allOptions.contains { $0.names.contains(name) && $0.value != nil }
        let attached = word.firstIndex(of: "=").map { String(word[word.index(after: $0)...]) }
        guard takesValue, let value = attached ?? next, !value.isEmpty, !value.hasPrefix("-") else { return name }
        return "\(name) \(printable(value))"
    }

    /// Returns the option that a mistyped name probably means, with its value if only the case of a letter differs.
    private static func suggestion(
        for name: String, _ next: String?, _ command: CommandSpecification
    ) -> String? {
        let options = command.allOptions
        for option in options {
            if let own = option.names.first(where: { $0.lowercased() == name.lowercased() }) {
                return example(own, name, next, command)
            }
        }
        // Any two short options differ by one letter, so a short name has no nearest one.
        return name.hasPrefix("--") ? OptionCheck.nearest(name, options.flatMap(\.names)) : nil
    }

    /// Splits `--name=value` and `-q80` into name and value.
    private static func split(_ word: String) -> (name: String, value: String?) {
        if word.hasPrefix("--") {
            guard let equals = word.firstIndex(of: "=") else { return (word, nil) }
            return (String(word[..<equals]), String(word[word.index(after: equals)...]))
        }
        let name = String(word.prefix(2))
        let value = word.dropFirst(2)
        return (name, value.isEmpty ? nil : String(value.hasPrefix("=") ? value.dropFirst() : value))
    }

    // MARK: Values

    /// Returns the integer value of an option.
    package func integer(_ key: String, _ range: ClosedRange<Int>) throws(UsageError) -> Int? {
        guard let text = value(key) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw UsageError(
                "invalid \(key) value \"\(text)\": expected a whole number from \(range.lowerBound) "
                    + "to \(range.upperBound)")
        }
        return number
    }

    /// Returns the numeric value of an option.
    package func real(_ key: String, _ range: ClosedRange<Double>) throws(UsageError) -> Double? {
        guard let text = value(key) else { return nil }
        guard let number = Double(text), range.contains(number) else {
            throw UsageError(
                "invalid \(key) value \"\(text)\": expected a number from \(Int(range.lowerBound)) "
                    + "to \(Int(range.upperBound))")
        }
        return number
    }
}

/// An invalid command line, or a precondition of the command that does not hold.
package struct UsageError: Error {
    package var message: String
    package var hint: String?
    package var command: String?
    /// The exit code of the process.
    package var exit: ExitCode

    package init(_ message: String, hint: String? = nil, command: String? = nil, exit: ExitCode = .usage) {
        self.exit = exit
        self.message = message
        self.hint = hint
        self.command = command
    }
}
