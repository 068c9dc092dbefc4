import CoderHost
import Glibc
import ImageModel

/// One verb of the command line.
package protocol Command: SendableMetatype {
    static var specification: CommandSpecification { get }
    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitCode
}

/// What every program of this package does around its commands.
package enum CommandLineProgram {
    /// Runs and ends this process; what could not be written is an error, too.
    package static func run(_ body: (_ words: [String]) -> ExitCode) -> Never {
        Console.keepStandardStreams()
        Console.reportWriteErrors()
        if let limit = ThreadStack.shortage() {
            Console.error(
                "coderhost: the stack limit of \(limit >> 10) KiB is too small: \(ThreadStack.needed >> 10) KiB are needed")
            Console.error("  try: ulimit -s 8192, or raise the hard limit (ulimit -H -s) as root")
            exit(ExitCode.outOfMemory.rawValue)
        }
        let code = body(Array(commandLineWords.dropFirst()))
        guard let problem = Console.outputError, [.success, .partialFailure, .inputOutput].contains(code) else {
            exit(code.rawValue)
        }
        // A reader that had enough is no reason to complain.
        if problem.code != EPIPE { Console.error("coderhost: standard output cannot be written: \(problem)") }
        exit(ExitCode.inputOutput.rawValue)
    }

    /// Reads what was typed, and does it.
    package static func perform(_ command: any Command.Type, _ words: [String]) -> ExitCode {
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
            return problem.exit
        }
    }

    /// Says that there is no such command or option, and which one may have been meant.
    ///
    /// - Parameter commands: the names there are.
    package static func unknown(_ word: String, _ commands: [String]) -> ExitCode {
        let isOption = word.hasPrefix("-")
        let known = isOption ? ["--help", "--version"] : commands + ["help"]
        Console.error("coderhost: there is no \(isOption ? "option" : "command") \(printable(word))")
        Console.error(
            "  try: " + (OptionCheck.nearest(word, known).map { "did you mean \($0)?" } ?? "coderhost --help"))
        return .usage
    }
}
