/// Generates manual pages from the specifications of commands.
///
/// - Source: man(7).
package struct ManualPage {
    private let version: String

    package init(version: String) { self.version = version }

    /// Returns the page of a command.
    package func page(of command: CommandSpecification) -> String {
        var text = head("coderhost-\(command.name)")
        text += ".SH NAME\ncoderhost\\-\(escaped(command.name)) \\- \(escaped(command.summary))\n"
        text += ".SH SYNOPSIS\n.B coderhost \(escaped(command.name))\n"
        text += "\(escaped(command.operands + (command.operands.isEmpty ? "" : " ") + "[options]"))\n"
        let notes = command.notes.split(separator: "\n").map { $0.drop { $0 == " " } }
        if !notes.isEmpty {
            text += ".SH DESCRIPTION\n"
            for note in notes { text += line(String(note)) }
        }
        text += ".SH OPTIONS\n"
        for option in command.allOptions {
            text += ".TP\n"
            let names = option.names.map { "\\fB\(escaped($0))\\fR" }.joined(separator: ", ")
            text += names + (option.value.map { " \\fI\(escaped($0))\\fR" } ?? "") + "\n"
            let verbs = option.verbs.isEmpty ? "" : option.verbs.joined(separator: ", ") + ": "
            text += line(verbs + option.help)
        }
        text += ".SH EXAMPLES\n"
        for example in command.examples {
            text += ".TP\n\\fB\(escaped(example.command))\\fR\n" + line(example.does)
        }
        text += Self.exitStatus
        return text + ".SH SEE ALSO\n.BR coderhost (1)\n"
    }

    /// Returns the page of the program.
    package func overview(_ commands: [(name: String, summary: String)]) -> String {
        var text = head("coderhost")
        text += ".SH NAME\ncoderhost \\- decode and encode images through drop\\-in plugins\n"
        text += ".SH SYNOPSIS\n.B coderhost\n\\fICOMMAND\\fR [\\fIOPTIONS\\fR] [\\fIFILE\\fR...]\n.SH COMMANDS\n"
        for (name, summary) in commands { text += ".TP\n.B \(escaped(name))\n" + line(summary) }
        text += Self.exitStatus + ".SH SEE ALSO\n"
        let pages = commands.map { ".BR coderhost\\-\(escaped($0.name)) (1)" }
        return text + pages.joined(separator: ",\n") + "\n"
    }

    private func head(_ name: String) -> String {
        ".TH \"\(name.uppercased())\" \"1\" \"\" \"coderhost \(version)\" \"coderhost manual\"\n"
    }

    private static let exitStatus = """
        .SH EXIT STATUS
        0 for success, 1 if some inputs failed, 64 for a wrong command line, 65 for damaged data, 66 for a missing
        input, 69 without a usable plugin, 73 if an output cannot be created, 130 after an interruption.

        """

    /// Returns a line of text; a period or an apostrophe at its start would be a request.
    private func line(_ text: String) -> String {
        (text.hasPrefix(".") || text.hasPrefix("'") ? "\\&" : "") + escaped(text) + "\n"
    }

    private func escaped(_ text: String) -> String {
        text.reduce(into: "") { result, character in
            switch character {
            case "\\": result += "\\e"
            case "-": result += "\\-"
            case "…": result += "..."
            case "'": result += "\\(aq"
            default: result.append(character)
            }
        }
    }
}
