import CoderHost
import Glibc
import ImageModel

/// A command of the command line.
package protocol Command: SendableMetatype {
    /// The operands, options and help text.
    static var specification: CommandSpecification { get }
    /// Runs the command.
    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitCode
}

/// The main routine that all programs of this package share.
package enum CommandLineProgram {
    /// Runs a body and exits; a failed write to standard output is an error.
    package static func run(_ body: (_ words: [String]) -> ExitCode) -> Never {
        exit(after: body(begin()))
    }

    /// Prepares the process, and returns the words of the command line.
    package static func begin() -> [String] {
        Console.keepStandardStreams()
        Console.reportWriteErrors()
        if let limit = ThreadStack.shortage() {
            Console.error(
                "coderhost: the stack limit of \(limit >> 10) KiB is too small: need \(ThreadStack.needed >> 10) KiB")
            Console.error("  try: ulimit -s 8192, or raise the hard limit (ulimit -H -s) as root")
            Glibc.exit(ExitCode.outOfMemory.rawValue)
        }
        return Array(commandLineWords.dropFirst())
    }

    /// Exits with the code of a command; a failed write to standard output is an error.
    package static func exit(after code: ExitCode) -> Never {
        guard let problem = Console.outputError, [.success, .partialFailure, .inputOutput].contains(code) else {
            Glibc.exit(code.rawValue)
        }
        // A closed pipe is not an error, for example in `coderhost list | head`.
        if problem.code != EPIPE { Console.error("coderhost: cannot write to standard output: \(problem)") }
        Glibc.exit(ExitCode.inputOutput.rawValue)
    }

    /// Parses the command line and runs the command.
    package static func perform(_ command: any Command.Type, _ words: [String]) -> ExitCode {
        do throws(UsageError) {
            guard var arguments = try parse(words, command.specification) else { return .success }
            try arguments.collectInputs(command.specification)
            if arguments.inputs.isCollected, arguments.operands.isEmpty {
                Console.error("coderhost: the list of files is empty")
                return .success
            }
            return try command.run(arguments)
        } catch {
            return report(error, of: command.specification)
        }
    }

    /// Parses the command line; prints the help and returns nil if it is requested.
    package static func parse(
        _ words: [String], _ specification: CommandSpecification
    ) throws(UsageError) -> ParsedArguments? {
        let arguments = try ParsedArguments(words, specification)
        guard arguments.has("--help") else { return arguments }
        let verb = arguments.operands.lazy.compactMap { word in specification.verbs.first { $0.name == word } }.first
        Console.write((verb.map(specification.of) ?? specification).help, to: STDOUT_FILENO)
        return nil
    }

    /// Prints a problem of the command line; returns its exit code.
    package static func report(_ problem: UsageError, of specification: CommandSpecification) -> ExitCode {
        Console.error("coderhost: \(problem.message)")
        Console.error("  try: \(problem.hint ?? "coderhost \(problem.command ?? specification.name) --help")")
        return problem.exit
    }

    /// Commands of other programs that users try first, with the words that have the same effect.
    private static let foreignCommands: [String: String] = {
        let (optimize, metadata) = ("coderhost rewrite FILE --optimize -o OUT", "coderhost metadata FILE")
        return [
            "optimize": optimize, "optimise": optimize, "optim": optimize, "compress": optimize,
            "exif": metadata, "exiftool": metadata, "tags": metadata, "xmp": metadata, "iptc": metadata,
            "strip": "coderhost rewrite FILE --strip all -o OUT",
            "rotate": "coderhost convert IN --rotate 90 -o OUT",
            "flip": "coderhost convert IN --flip horizontal -o OUT",
            "crop": "coderhost convert IN --crop 640x480+10+20 -o OUT",
            "resize": "coderhost convert IN --resize 800x600 -o OUT",
            "scale": "coderhost convert IN --resize 50% -o OUT",
            "watermark": "coderhost convert IN --overlay logo.png -o OUT",
            "annotate": "coderhost convert IN --text TEXT -o OUT",
            "assemble": "coderhost frames assemble FILE… -o OUT",
            "extract": "coderhost frames extract FILE -o FOLDER/",
        ]
    }()

    /// Reports an unknown command or option, with the closest known one.
    ///
    /// - Parameter commands: the names of all commands.
    package static func unknown(_ word: String, _ commands: [String]) -> ExitCode {
        let isOption = word.hasPrefix("-")
        if let remedy = foreignCommands[word.lowercased()] {
            Console.error("coderhost: unknown command \(printable(word))")
            Console.error("  try: \(remedy)")
            return .usage
        }
        let known = isOption ? ["--help", "--version"] : commands + ["help"]
        Console.error("coderhost: unknown \(isOption ? "option" : "command") \(printable(word))")
        Console.error(
            "  try: " + (OptionCheck.nearest(word, known).map { "did you mean \($0)?" } ?? "coderhost --help"))
        return .usage
    }
}
