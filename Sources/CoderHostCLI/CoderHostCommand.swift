import CoderHost
import CommandLineKit
import Glibc
import ImageModel

/// The main program: finds and runs a command, and exits with its code.
@main
struct CoderHostCommand {
    private static let commands: [any Command.Type] = [
        ListCommand.self, InfoCommand.self, ConvertCommand.self, ThumbnailCommand.self, RewriteCommand.self,
        MetadataCommand.self, CompareCommand.self, FramesCommand.self, PlayCommand.self, ProgressiveCommand.self,
        BenchCommand.self,
        PluginCommand.self, QuarantineCommand.self, DoctorCommand.self, CompletionsCommand.self, ManCommand.self,
    ]

    /// The specifications of all commands of this program.
    static var specifications: [CommandSpecification] { commands.map { $0.specification } }

    static func main() { CommandLineProgram.run(run) }

    private static func run(_ words: [String]) -> ExitCode {
        guard let word = words.first else {
            Console.write(overview, to: STDERR_FILENO)
            return .usage
        }
        switch word {
        case "-h", "--help", "help":
            guard words.count > 1 else {
                Console.write(overview, to: STDOUT_FILENO)
                return .success
            }
            if isOfNetwork(words[1]) { return NetworkProgram.start([words[1], "--help"]) }
            guard let command = find(words[1]) else { return unknown(words[1]) }
            Console.write(command.specification.help, to: STDOUT_FILENO)
            return .success
        case "-V", "--version":
            Console.out("coderhost \(coderHostVersion), plugin interface \(pluginInterfaceVersion)")
            return .success
        default: break
        }
        if isOfNetwork(word) { return NetworkProgram.start(words) }
        guard let command = find(word) else { return unknown(word) }
        return CommandLineProgram.perform(command, Array(words.dropFirst()))
    }

    private static func unknown(_ word: String) -> ExitCode {
        CommandLineProgram.unknown(word, summaries.map(\.name))
    }

    private static func find(_ name: String) -> (any Command.Type)? {
        // An alias for users of ImageMagick, which the overview names.
        let wanted = name == "identify" ? "info" : name
        return commands.first { $0.specification.name == wanted }
    }

    private static func isOfNetwork(_ word: String) -> Bool { NetworkProgram.commands.contains { $0.name == word } }

    /// The names and summaries of all commands, as the overview lists them.
    static var summaries: [(name: String, summary: String)] {
        commands.map { ($0.specification.name, $0.specification.summary) } + NetworkProgram.commands
    }

    private static var overview: String {
        var text = """
            coderhost decodes and encodes images through drop-in plugins.

            Examples:
              coderhost list                        installed plugins, and why a plugin is not used
              coderhost info photo.heic             size, format and color profile, without decoding pixels
              coderhost convert photo.heic -o photo.png

            Commands:

            """
        let width = summaries.map(\.name.count).max() ?? 0
        for (name, summary) in summaries {
            text += "  \(name)\(String(repeating: " ", count: width + 2 - name.count))\(summary)\n"
        }
        text += """

            Run coderhost COMMAND --help for the options of a command, coderhost --version for the version.
            coderhost identify is the same as coderhost info.

            """
        return text
    }
}
