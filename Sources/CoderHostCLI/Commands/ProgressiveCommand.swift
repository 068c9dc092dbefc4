import CoderHost
import CommandLineKit
import ImageModel

/// Decodes a file as if it arrived slowly, and shows what can be seen when.
enum ProgressiveCommand: Command {
    static let specification = CommandSpecification(
        name: "progressive", summary: "decode a file as if it arrived slowly", operands: "FILE", operandCount: 1...1,
        examples: [
            ("coderhost progressive photo.jpg --report", "what can be seen when, and at what cost"),
            ("coderhost progressive photo.jpg --chunk 4096 -o 'p_{n}.png'", "a picture each time there is more to see"),
            ("coderhost progressive cat.gif --report --json", "the same for programs"),
        ],
        options: [
            OptionSpecification(
                "--chunk", value: "BYTES", help: "how much arrives at once; k and M are understood (default: 16k)"),
            OptionSpecification(
                "-o", "--output", value: "TEMPLATE", help: "write each partial picture; {n} counts them, {stem}, {dir}"),
            OptionSpecification(
                "-O", "--option", value: "KEY=VALUE", help: "an option of the coder (may be repeated)"),
            OptionSpecification(
                "--report", help: "compare with decoding the file at once (default without -o)"),
        ])

    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        let host = try arguments.host()
        var chunk = 16_384
        if let text = arguments.value("--chunk") {
            guard let number = ParsedArguments.quantity(text), 1...(1 << 30) ~= number else {
                throw UsageError(
                    "--chunk takes a number of bytes from 1 to 1G (k and M are understood), not \"\(text)\"")
            }
            chunk = number
        }
        var target: OutputTarget?
        if let output = arguments.value("--output") {
            guard try OutputTemplate(output).mentions("n") else {
                throw UsageError("\(output) is one name for many pictures", hint: "put {n} into it: 'p_{n}.png'")
            }
            target = try OutputTarget(output, arguments)
        }
        let file = arguments.operands[0]
        let options = try EncodingSwitches(arguments)
        let outputs = OutputGuard(inputs: [file], arguments)
        let run: ProgressiveRun
        do throws(CoderError) {
            run = try ProgressiveRun(file, host, options, chunk: chunk, target: target, outputs)
        } catch {
            error.report(file, arguments)
            return ExitCode(error.code)
        }
        if arguments.has("--json") {
            Console.out(run.json.text)
        } else if run.hasHeader, arguments.has("--report") || target == nil {
            run.lines.forEach { Console.out($0) }
        }
        guard let problem = run.problem else { return .success }
        for line in problem.lines(file: file) { Console.error(line) }
        return ExitCode(problem.code)
    }
}
