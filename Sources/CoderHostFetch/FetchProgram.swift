import CoderHost
import CommandLineKit
import Glibc

/// The program for the commands that need the network; `coderhost` starts it.
@main
struct FetchProgram {
    private static let commands: [any Command.Type] = [FetchCommand.self, CacheCommand.self]

    static func main() { CommandLineProgram.run(run) }

    private static func run(_ words: [String]) -> ExitCode {
        let isQuestion = ["-h", "--help", "help"].contains(words.first ?? "")
        guard let word = isQuestion ? words.dropFirst().first : words.first else {
            Console.write(overview, to: isQuestion ? STDOUT_FILENO : STDERR_FILENO)
            return isQuestion ? .success : .usage
        }
        if word == "--version" {
            Console.out("\(NetworkProgram.name) \(coderHostVersion)")
            return .success
        }
        guard let command = commands.first(where: { $0.specification.name == word }) else {
            return CommandLineProgram.unknown(word, NetworkProgram.commands.map(\.name))
        }
        return CommandLineProgram.perform(command, isQuestion ? ["--help"] : Array(words.dropFirst()))
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
