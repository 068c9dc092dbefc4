import CoderHost
import CommandLineKit
import ImageModel

/// Decodes a file in chunks, as if it arrived slowly, and reports when pixels become visible.
enum ProgressiveCommand: Command {
    static let specification = CommandSpecification(
        name: "progressive", summary: "decode a file in chunks, as if it arrived slowly",
        operands: "FILE", operandCount: 1...1,
        examples: [
            ("coderhost progressive photo.jpg --report", "report when pixels appear, and the cost"),
            ("coderhost progressive photo.jpg --chunk 4096 -o 'p_{n}.png'", "write each partial image"),
            ("coderhost progressive cat.gif --report --json", "the report as JSON"),
        ],
        options: [
            OptionSpecification(
                "--chunk", value: "BYTES", help: "bytes per chunk, up to 1G; k, M, G (default: 16k)"),
            .output(value: "TEMPLATE", "write each partial image; template with {n} (number), {stem}, {dir}"),
            .coderOption,
            OptionSpecification(
                "--report", help: "print a report with the cost (default without -o)"),
        ])

    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        let host = try arguments.host()
        var chunk = 16_384
        if let text = arguments.value("--chunk") {
            guard let number = ParsedArguments.quantity(text), 1...(1 << 30) ~= number else {
                throw UsageError(
                    "invalid --chunk value \"\(text)\": expected 1 to 1G bytes, optionally with k, M or G")
            }
            chunk = number
        }
        var target: OutputTarget?
        if let output = arguments.value("--output") {
            guard try OutputTemplate(output).mentions("n") else {
                throw UsageError("-o must contain {n}: there are many images", hint: "for example -o 'p_{n}.png'")
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
