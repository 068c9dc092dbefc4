import CoderHost
import Glibc
import ImageModel

/// The command line: finds the command, runs it, ends with its code.
@main
struct CoderHostCommand {
    private static let commands: [any Command.Type] = [
        ListCommand.self, InfoCommand.self, ConvertCommand.self, ThumbnailCommand.self, CompareCommand.self,
        FramesCommand.self, PlayCommand.self, ProgressiveCommand.self, BenchCommand.self, PluginCommand.self,
        QuarantineCommand.self, DoctorCommand.self,
    ]

    static func main() {
        Console.reportWriteErrors()
        let code = run(Array(CommandLine.arguments.dropFirst()))
        guard let problem = Console.outputError, [.success, .partialFailure, .inputOutput].contains(code) else {
            exit(code.rawValue)
        }
        // A reader that had enough is no reason to complain.
        if problem.code != EPIPE { Console.error("coderhost: standard output cannot be written: \(problem)") }
        exit(ExitCode.inputOutput.rawValue)
    }

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
            guard let command = find(words[1]) else { return unknown(words[1]) }
            Console.write(command.specification.help, to: STDOUT_FILENO)
            return .success
        case "--version":
            Console.out("coderhost \(coderHostVersion), plugin interface \(pluginInterfaceVersion)")
            return .success
        default: break
        }
        guard let command = find(word) else { return unknown(word) }
        return perform(command, Array(words.dropFirst()))
    }

    private static func unknown(_ word: String) -> ExitCode {
        let isOption = word.hasPrefix("-")
        let known = isOption ? ["--help", "--version"] : commands.map { $0.specification.name } + ["help"]
        Console.error("coderhost: there is no \(isOption ? "option" : "command") \(printable(word))")
        Console.error(
            "  try: " + (OptionCheck.nearest(word, known).map { "did you mean \($0)?" } ?? "coderhost --help"))
        return .usage
    }

    private static func perform(_ command: any Command.Type, _ words: [String]) -> ExitCode {
        let specification = command.specification
        do {
            let arguments = try ParsedArguments(words, specification)
            if arguments.has("--help") {
                let verb = arguments.operands.first { specification.verbs.contains($0) }
                Console.write((verb.map(specification.of) ?? specification).help, to: STDOUT_FILENO)
                return .success
            }
            return try command.run(arguments)
        } catch {
            let problem = error
            Console.error("coderhost: \(problem.message)")
            Console.error("  try: \(problem.hint ?? "coderhost \(problem.command ?? specification.name) --help")")
            return .usage
        }
    }

    private static func find(_ name: String) -> (any Command.Type)? {
        // The word ImageMagick's users type.
        let wanted = name == "identify" ? "info" : name
        return commands.first { $0.specification.name == wanted }
    }

    private static var overview: String {
        var text = """
            coderhost decodes and encodes pictures through drop-in plugins.

            Examples:
              coderhost list                        what is installed, and why anything is not used
              coderhost info photo.heic             size, format, profile; no pixels are decoded
              coderhost convert photo.heic -o photo.png

            Commands:

            """
        let width = commands.map { $0.specification.name.count }.max() ?? 0
        for command in commands {
            let name = command.specification.name
            let gap = String(repeating: " ", count: width + 2 - name.count)
            text += "  \(name)\(gap)\(command.specification.summary)\n"
        }
        text += """

            coderhost COMMAND --help shows a command's options; coderhost --version the version.

            """
        return text
    }
}

/// One verb of the command line.
protocol Command: SendableMetatype {
    static var specification: CommandSpecification { get }
    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitCode
}
