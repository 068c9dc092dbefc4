import CoderHost
import CommandLineKit
import ImageModel

/// Checks a plugin against the contract; a separate program, `coderhost-conformance`, runs the checks.
enum PluginCheckVerb: PluginVerb {
    static let name = "check"
    static let summary = "check a plugin against the contract"
    static let operands = "FILE"
    static let examples: [(command: String, does: String)] = [
        ("coderhost plugin check libcoder-qoi.so", "run all checks, each in its own process"),
        ("coderhost plugin check libcoder-qoi.so --only surface,input.damaged", "run some groups or checks"),
        ("coderhost plugin check libcoder-x.so --sample image.x --junit", "check with your image, for a build server"),
        ("coderhost plugin check --list", "list all groups and checks"),
    ]
    static let options = [
        OptionSpecification(
            "--only", value: "NAME,…", isList: true,
            help: "run these groups or checks, and their prerequisites (default: all)"),
        OptionSpecification("--list", help: "list all groups and checks"),
        OptionSpecification("--only-failed", help: "print failed checks only"),
        OptionSpecification(
            "--sample", value: "FILE", isList: true,
            help: "also check this image (may be repeated; default: none)"),
        OptionSpecification("--junit", help: "print results as JUnit XML"),
        OptionSpecification(
            "--effort", value: "WORD", help: "quick, or full: thousands of truncations and bit flips (default: quick)"),
        OptionSpecification("--timeout", value: "N", help: "maximum time per check in seconds (default: 60)"),
        OptionSpecification("--in-process", help: "run all checks in one process, for a debugger"),
    ]

    static func run(_ operands: [String], _ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        if !arguments.has("--list"), operands.count != 1 {
            throw UsageError("plugin check needs one FILE", command: "plugin check")
        }
        // Validates the common options, although the kit uses its own limits.
        _ = try arguments.configuration()
        if arguments.has("--json"), arguments.has("--junit") {
            throw UsageError("--json cannot be combined with --junit", command: "plugin check")
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
            Console.error("  try: make install, or swift build; it must be beside coderhost or in libexec/coderhost")
            return .unavailable
        }
        let error = ProcessImage.replace(with: [program] + command)
        Console.error("coderhost: cannot start \(program): \(error)")
        Console.error("  try: coderhost doctor")
        return .unavailable
    }
}
