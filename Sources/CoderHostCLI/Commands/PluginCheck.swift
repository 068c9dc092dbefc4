import CoderHost
import CommandLineKit
import ImageModel

/// Holds a plugin against the contract; the work is done by a program of its own, `coderhost-conformance`.
enum PluginCheckVerb: PluginVerb {
    static let name = "check"
    static let summary = "check whether plugins keep the contract"
    static let operands = "FILE"
    static let examples: [(command: String, does: String)] = [
        ("coderhost plugin check libcoder-qoi.so", "whether it keeps the contract, each check in its own process"),
        ("coderhost plugin check libcoder-qoi.so --only surface,input.damaged", "some groups or checks"),
        ("coderhost plugin check libcoder-x.so --sample picture.x --junit", "with your picture, for a build server"),
        ("coderhost plugin check --list", "all groups and checks"),
    ]
    static let options = [
        OptionSpecification(
            "--only", value: "NAME,…", help: "these groups or checks, and what they need (default: all)"),
        OptionSpecification("--list", help: "print the groups and checks"),
        OptionSpecification("--only-failed", help: "print what failed and nothing else"),
        OptionSpecification(
            "--sample", value: "FILE",
            help: "an image to try beside those that its encoder writes (may be repeated; default: none)"),
        OptionSpecification("--junit", help: "print JUnit XML"),
        OptionSpecification(
            "--effort", value: "WORD", help: "quick, or full: thousands of cuts and flipped bits (default: quick)"),
        OptionSpecification("--timeout", value: "N", help: "seconds that a check may take (default: 60)"),
        OptionSpecification("--in-process", help: "without processes of their own, for a debugger"),
    ]

    static func run(_ operands: [String], _ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        if !arguments.has("--list"), operands.count != 1 {
            throw UsageError("plugin check needs the FILE of one plugin", command: "plugin check")
        }
        // The kit has limits of its own; what makes no sense is refused all the same.
        _ = try arguments.configuration()
        if arguments.has("--json"), arguments.has("--junit") {
            throw UsageError("--json and --junit cannot be printed at the same time", command: "plugin check")
        }
        var command = operands
        for option in ["--json", "--junit", "--list", "--only-failed", "--in-process"] where arguments.has(option) {
            command.append(option)
        }
        for option in ["--only", "--sample", "--effort", "--timeout"] {
            for value in arguments.all(option) { command += [option, value] }
        }
        guard let program = ProcessImage.companion("coderhost-conformance") else {
            Console.error("coderhost: the program coderhost-conformance is missing")
            Console.error("  try: make install, or swift build; it stands beside coderhost or in libexec/coderhost")
            return .unavailable
        }
        let error = ProcessImage.replace(with: [program] + command)
        Console.error("coderhost: \(program) cannot be started: \(error)")
        Console.error("  try: coderhost doctor")
        return .unavailable
    }
}
