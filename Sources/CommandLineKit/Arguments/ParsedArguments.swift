import CoderHost
import ImageModel

/// What a person typed, held against what a command takes.
package struct ParsedArguments {
    package private(set) var operands: [String] = []
    private var values: [String: [String]] = [:]

    package func has(_ key: String) -> Bool { values[key] != nil }
    package func value(_ key: String) -> String? { values[key]?.last }
    package func all(_ key: String) -> [String] { values[key] ?? [] }

    /// Reads words behind the command's name.
    ///
    /// - Throws: ``UsageError``.
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
            let (name, attached) = Self.split(word)
            guard let option = command.allOptions.first(where: { $0.names.contains(name) }) else {
                let known = command.allOptions.flatMap(\.names)
                let isFile = FileStatus.of(word) != nil
                throw UsageError(
                    "unknown option \(isFile ? word : name)",
                    hint: isFile
                        ? "for the file of that name write ./\(word)"
                        : OptionCheck.nearest(name, known).map { "did you mean \($0)?" },
                    command: command.name)
            }
            guard option.value != nil else {
                if attached != nil { throw UsageError("\(name) takes no value", command: command.name) }
                values[option.key, default: []].append("")
                continue
            }
            // What is a switch of this command is hardly meant as a value; `--name=-f` says that it is.
            let isForgotten = rest.first.map { word in command.allOptions.contains { $0.names.contains(word) } } ?? true
            guard let value = attached ?? (isForgotten ? nil : rest.popFirst()) else {
                throw UsageError("\(name) needs a value: \(option.value ?? "")", command: command.name)
            }
            // A file of a name that nobody wanted is not to be made.
            if value.unicodeScalars.contains("\u{FFFD}"), !commandLineIsText {
                throw UsageError(
                    "the value of \(name) is not UTF-8, which is not supported", hint: "choose another name",
                    command: command.name)
            }
            values[option.key, default: []].append(value)
        }
        if has("--help") { return }
        if let verb = operands.first, command.verbs.contains(verb) {
            let own = Set(command.of(verb).allOptions.map(\.key))
            if let key = values.keys.sorted().first(where: { !own.contains($0) }) {
                let others = command.allOptions.filter { $0.key == key }.flatMap(\.verbs)
                throw UsageError(
                    "\(key) belongs to \(others.map { "\(command.name) \($0)" }.joined(separator: " and "))",
                    hint: "coderhost \(command.name) \(verb) --help", command: command.name)
            }
        }
        if operands.count < command.operandCount.lowerBound {
            throw UsageError("\(command.operands) is missing", command: command.name)
        }
        if operands.count > command.operandCount.upperBound {
            throw UsageError(
                "\"\(operands[command.operandCount.upperBound])\" is one word too many", command: command.name)
        }
    }

    /// `--name=value` and `-q80`.
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

    package func integer(_ key: String, _ range: ClosedRange<Int>) throws(UsageError) -> Int? {
        guard let text = value(key) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw UsageError(
                "\(key) takes a whole number from \(range.lowerBound) to \(range.upperBound), not \"\(text)\"")
        }
        return number
    }

    package func real(_ key: String, _ range: ClosedRange<Double>) throws(UsageError) -> Double? {
        guard let text = value(key) else { return nil }
        guard let number = Double(text), range.contains(number) else {
            throw UsageError(
                "\(key) takes a number from \(Int(range.lowerBound)) to \(Int(range.upperBound)), not \"\(text)\"")
        }
        return number
    }
}

/// A command line that makes no sense, or that cannot be begun with.
package struct UsageError: Error {
    package var message: String
    package var hint: String?
    package var command: String?
    /// How the process ends.
    package var exit: ExitCode

    package init(_ message: String, hint: String? = nil, command: String? = nil, exit: ExitCode = .usage) {
        self.exit = exit
        self.message = message
        self.hint = hint
        self.command = command
    }
}
