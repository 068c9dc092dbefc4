import TestSupport
import Testing

/// Every attack of `Tests/Hostile/attacks.def`, at its first stage; `make prove` runs all stages in all modes.
@Suite(.timeLimit(.minutes(40))) struct `A hostile plugin` {
    @Test(arguments: try RedTeam.attacks.get()) func `has no effect outside the sandbox`(
        attack: RedTeam.Attack
    ) throws {
        let result = try RedTeam.judge("--attack", attack.name, "--reduced")
        #expect(result.status == 0, "\(attack.purpose)\n\(result.stdout)\(result.stderr)")
    }

    /// Without this test, a broken attack would look like a prevented one.
    @Test(arguments: [
        ("chmod_key", "mode 100666"), ("create_file", "private/new"), ("connect_tcp", "connection to TCP"),
        ("kill_canary", "canary was killed"), ("outlive_host", "processes survive"), ("fork_300", "processes"),
        ("write_canary", "memory changed"), ("read_key", "reports success"), ("leak_pipe", "image 2"),
    ])
    func `succeeds without isolation`(attack: String, evidence: String) throws {
        let result = try RedTeam.judge("--attack", attack, "--mode", "off-user")
        #expect(result.status == 0, "\(result.stdout)\(result.stderr)")
        #expect(result.stdout.contains(evidence), "\(result.stdout)")
    }

    @Test func `has at least 60 attacks, including one for each finding`() throws {
        let attacks = try RedTeam.attacks.get()
        #expect(attacks.count >= 60)
        for finding in ["F1", "F3", "F4", "F6", "F7", "F13"] {
            #expect(attacks.contains { $0.finding == finding }, "no attack for \(finding)")
        }
        #expect(Set(attacks.map(\.name)).count == attacks.count)
    }

    @Test func `is refused if a required part of the sandbox is missing`() throws {
        let result = try RedTeam.judge("--attack", "chmod_key", "--mode", "refused-user")
        #expect(result.status == 0, "\(result.stdout)\(result.stderr)")
        #expect(result.stdout.contains("\trefused\trefused\tpass\t"), "\(result.stdout)")
    }
}

/// The judge and the attacking plugin, built once per process.
enum RedTeam {
    /// One line of the judge's list.
    struct Attack: Sendable, CustomTestStringConvertible {
        var name: String
        var finding: String
        var purpose: String

        var testDescription: String { name }
    }

    static let attacks = Result {
        try judge("--list").stdout.split(separator: "\n").map { line in
            let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            guard fields.count == 4 else { throw PluginBuilder.Failure(description: "a wrong line: \(line)") }
            return Attack(name: fields[0], finding: fields[1], purpose: fields[3])
        }
    }

    /// Runs the judge with the build under test.
    static func judge(_ arguments: String...) throws -> CommandResult {
        let folder = try built.get()
        return try run(
            [
                "\(folder)/judge", "--build", Repository.products, "--plugin", "\(folder)/libcoder-hostile.so",
                "--denier",
                "\(folder)/deny-calls",
            ] + arguments, timeout: .seconds(180))
    }

    private static let built = Result {
        let folder = try PluginBuilder.keptFolder("hostile")
        let result = try run(["\(Repository.root)/Tests/Hostile/build.sh", folder])
        if result.status != 0 { throw PluginBuilder.Failure(description: result.stderr) }
        return folder
    }
}
