import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `Help` {
    static let commands = [
        "list", "info", "convert", "thumbnail", "rewrite", "metadata", "compare", "frames", "play", "progressive",
        "bench",
        "plugin",
        "quarantine", "doctor", "fetch", "cache",
    ]

    @Test(arguments: commands)
    func `begins with copyable examples`(command: String) throws {
        let help = try Tool.run(command, "--help")

        let lines = help.lines
        #expect(help.status == 0)
        #expect(help.stderr.isEmpty)
        #expect(lines.first?.hasPrefix("coderhost \(command): ") == true)
        #expect(lines.dropFirst().first == "Examples:")
        #expect(lines.dropFirst(2).first?.hasPrefix("  coderhost \(command)") == true)
    }

    @Test(arguments: commands)
    func `explains every option and states every default`(command: String) throws {
        let lines = try Tool.run(command, "--help").stdout.split(separator: "\n", omittingEmptySubsequences: false)
        let options = lines.drop { $0 != "Options:" }.dropFirst().filter { !$0.isEmpty }

        #expect(options.count >= 4)
        for option in options {
            let parts = option.drop { $0 == " " }.split(separator: "  ", maxSplits: 1)
            #expect(parts.count == 2, "no help: \(option)")
            // The placeholder of a value is in capitals after the names.
            guard let name = parts.first, name.last?.isUppercase == true, parts.count == 2 else { continue }
            let isSelfEvident = ["-o, ", "-f, --field", "-O, ", "--format ID", "--plugin-dir"].contains {
                name.hasPrefix($0)
            }
            #expect(isSelfEvident || parts[1].contains("default"), "no default: \(option)")
        }
    }

    @Test(arguments: commands + [""])
    func `matches the recorded snapshot`(command: String) throws {
        let text = try Tool.run([command, "--help"].filter { !$0.isEmpty }).stdout
        let file = "\(Repository.root)/Tests/CoderHostCLITests/Snapshots/\(command.isEmpty ? "overview" : command).txt"

        if ProcessInfo.processInfo.environment["CODERHOST_RECORD"] == "1" {
            #expect(writeFile(file, Array(text.utf8)))
        }
        let recorded = String(decoding: try #require(readFile(file)), as: UTF8.self)
        #expect(text == recorded, "if this is meant, run the tests with CODERHOST_RECORD=1")
    }

    @Test(arguments: commands)
    func `is the same for help COMMAND`(command: String) throws {
        #expect(try Tool.run("help", command).stdout == Tool.run(command, "-h").stdout)
    }

    @Test func `of a subcommand lists only its options`() throws {
        let help = try Tool.run("frames", "extract", "--help").stdout

        #expect(help.hasPrefix("coderhost frames extract: "))
        #expect(help.contains("--raw ") && !help.contains("--fps") && !help.contains("frames assemble"))
        #expect(!help.contains("extract: frames"))
    }

    @Test func `names all limits`() throws {
        let help = try Tool.run("info", "--help").stdout
        let limits = Document(try Tool.run("doctor", "--json").stdout)["limits"].keys

        #expect(limits.count >= 10)
        for name in limits { #expect(help.contains(" \(name)"), "--limits \(name)") }
    }

    @Test func `goes to standard error when no command is given`() throws {
        let result = try Tool.run()

        #expect(result.status == 64)
        #expect(result.stdout.isEmpty)
        #expect(result.stderr.contains("Commands:"))
    }

    @Test func `prints the versions of command and plugin interface`() throws {
        let result = try Tool.run("--version")

        #expect(result.status == 0)
        #expect(result.stdout.wholeMatch(of: /coderhost \d+\.\d+\.\d+, plugin interface 1\.\d+\n/) != nil)
    }
}
