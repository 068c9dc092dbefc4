import CoderHost
import CommandLineKit
import Glibc

/// The program for the commands that need the network; `coderhost` starts it.
@main
struct FetchProgram {
    private static let commands: [any NetworkCommand.Type] = [FetchCommand.self, CacheCommand.self]

    @MainActor static func main() async {
        let code = await run(CommandLineProgram.begin())
        CommandLineProgram.exit(after: code)
    }

    @MainActor private static func run(_ words: [String]) async -> ExitCode {
        let isQuestion = ["-h", "--help", "help"].contains(words.first ?? "")
        guard let word = isQuestion ? words.dropFirst().first : words.first else {
            Console.write(overview, to: isQuestion ? STDOUT_FILENO : STDERR_FILENO)
            return isQuestion ? .success : .usage
        }
        if word == "--version" {
            Console.out("\(NetworkProgram.name) \(coderHostVersion)")
            return .success
        }
        if word == "man", let name = words.dropFirst().first,
            let command = commands.first(where: { $0.specification.name == name })
        {
            Console.write(ManualPage(version: coderHostVersion).page(of: command.specification), to: STDOUT_FILENO)
            return .success
        }
        guard let command = commands.first(where: { $0.specification.name == word }) else {
            return CommandLineProgram.unknown(word, NetworkProgram.commands.map(\.name))
        }
        return await perform(command, isQuestion ? ["--help"] : Array(words.dropFirst()))
    }

    @MainActor private static func perform(_ command: any NetworkCommand.Type, _ words: [String]) async -> ExitCode {
        do throws(UsageError) {
            guard let arguments = try CommandLineProgram.parse(words, command.specification) else { return .success }
            return try await command.run(arguments)
        } catch {
            return CommandLineProgram.report(error, of: command.specification)
        }
    }

    private static var overview: String {
        """
        \(NetworkProgram.name) runs the commands coderhost fetch and coderhost cache.

        Examples:
          coderhost fetch --help
          coderhost cache --help

        """
    }
}
