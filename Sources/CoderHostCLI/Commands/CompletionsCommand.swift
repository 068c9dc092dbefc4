import CoderHost
import CommandLineKit
import Glibc

/// Prints a completion script for a shell.
enum CompletionsCommand: Command {
    static let specification = CommandSpecification(
        name: "completions", summary: "print completions for bash, zsh or fish", operands: "bash|zsh|fish",
        operandCount: 1...1,
        examples: [
            ("coderhost completions bash > ~/.local/share/bash-completion/completions/coderhost", "for bash"),
            ("coderhost completions zsh > ~/.zsh/_coderhost", "for zsh, in a folder of fpath"),
            ("coderhost completions fish > ~/.config/fish/completions/coderhost.fish", "for fish"),
        ],
        options: [], common: CommandSpecification.helpOnly)

    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        let word = arguments.operands[0]
        guard let shell = ShellCompletions.Shell(rawValue: word) else {
            let known = ShellCompletions.Shell.allCases.map(\.rawValue)
            throw UsageError(
                "unknown shell \"\(word)\"",
                hint: OptionCheck.nearest(word, known).map { "did you mean \($0)?" }
                    ?? "shells: \(known.joined(separator: ", "))", command: specification.name)
        }
        let completions = ShellCompletions(CoderHostCommand.specifications, others: NetworkProgram.commands)
        Console.write(completions.script(for: shell), to: STDOUT_FILENO)
        return .success
    }
}

/// Prints manual pages.
enum ManCommand: Command {
    static let specification = CommandSpecification(
        name: "man", summary: "print a manual page", operands: "[COMMAND]", operandCount: 0...1,
        examples: [
            ("coderhost man convert | man -l -", "read the page of convert"),
            ("coderhost man > coderhost.1", "the page of the program"),
        ],
        options: [], common: CommandSpecification.helpOnly)

    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        let manual = ManualPage(version: coderHostVersion)
        let all = CoderHostCommand.summaries
        guard let word = arguments.operands.first else {
            Console.write(manual.overview(all), to: STDOUT_FILENO)
            return .success
        }
        if NetworkProgram.commands.contains(where: { $0.name == word }) { return NetworkProgram.start(["man", word]) }
        guard let command = CoderHostCommand.specifications.first(where: { $0.name == word }) else {
            throw UsageError(
                "unknown command \"\(word)\"",
                hint: OptionCheck.nearest(word, all.map(\.name)).map { "did you mean man \($0)?" }
                    ?? "coderhost --help",
                command: specification.name)
        }
        Console.write(manual.page(of: command), to: STDOUT_FILENO)
        return .success
    }
}
