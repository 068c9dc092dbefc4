import TestSupport
import Testing

@testable import CoderHost

@Suite(.timeLimit(.minutes(40))) struct `The command quarantine` {
    /// A home folder with a crashed plugin.
    private struct Home {
        let place = TemporaryDirectory()
        let plugin: String
        private let folder: String

        init() throws {
            folder = place.folder("plugins")
            plugin = try PluginBuilder.buildQOI(into: folder)
            let host = CoderHost(
                configuration: HostConfiguration(
                    directories: [.init(folder, origin: .argument)], administrationDirectories: [],
                    trustDirectories: [], stateDirectory: place.file(".local/state/coderhost")))
            let record = try #require(host.plugins.first)
            host.quarantine.record(
                failure: .crash, phase: .initialize, of: record, try #require(record.contentHash))
        }

        func run(_ arguments: String...) throws -> CommandResult {
            try Tool.run(arguments + ["--plugin-dir", folder], environment: ["HOME": place.path])
        }
    }

    @Test func `lists failed plugins and the time of the next retry`() throws {
        let home = try Home()

        let text = try home.run("quarantine", "list")
        let document = Document(try home.run("quarantine", "list", "--json").stdout)

        #expect(text.lines.count == 2)
        let hash = try run(["sha256sum", home.plugin]).stdout.prefix(64)
        #expect(
            text.lines.first?.split(separator: "  ").map { $0.filter { $0 != " " } }
                == ["PLUGIN", "SHA256", "STATE", "FAILURES", "LASTFAILURE", "AGAINAT", "FILE"])
        #expect(text.lines.last?.hasPrefix("org.example.qoi-plugin  \(hash.prefix(12))  quarantined  1 ") == true)
        #expect(text.lines.last?.contains("crash, initialize") == true)
        #expect(text.lines.last?.hasSuffix(home.plugin) == true)
        let entry = document["entries"][0]
        #expect(entry["plugin"].text == "org.example.qoi-plugin")
        #expect(entry["state"].text == "open")
        #expect(entry["failures"].integer == 1)
        #expect(entry["last"]["kind"].text == "crash")
        #expect(entry["until"].text?.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/) != nil)
        #expect(document["directory"].text == home.place.file(".local/state/coderhost/quarantine"))
    }

    @Test func `appears in list and doctor, and ends when cleared`() throws {
        let home = try Home()
        let list = try home.run("list").stdout
        #expect(list.contains("libcoder-qoi.so is not used (quarantined): it failed once, by a crash while"))
        #expect(list.contains("coderhost quarantine clear org.example.qoi-plugin"))
        let doctor = try home.run("doctor")
        #expect(doctor.status == 69)
        #expect(doctor.stdout.contains("\nQuarantine: 1 failed plugin"))

        let cleared = try home.run("quarantine", "clear", "org.example.qoi-plugin")

        #expect(cleared.stdout == "1 file will be retried\n")
        #expect(!(try home.run("list").stdout.contains("quarantined")))
        #expect(try home.run("quarantine", "list").stdout == "the quarantine is empty\n")
        #expect(Document(try home.run("quarantine", "clear", "--json").stdout)["cleared"].integer == 0)
    }

    @Test(arguments: [12, 6, 64]) func `ends for the file with the given hash prefix`(digits: Int) throws {
        let home = try Home()
        let hash = try #require(
            Document(try home.run("quarantine", "list", "--json").stdout)["entries"][0]["sha256"].text)

        #expect(try home.run("quarantine", "list", String(hash.prefix(digits))).lines.count == 2)
        #expect(
            try home.run("quarantine", "clear", hash.prefix(digits).uppercased()).stdout == "1 file will be retried\n")
        #expect(try home.run("quarantine", "list").stdout == "the quarantine is empty\n")
    }

    @Test func `explains its states`() throws {
        let help = try Tool.run("quarantine", "--help").stdout
        for word in ["in use (closed)", "quarantined (open)", "on probation (half-open)", "SHA256"] {
            #expect(help.contains(word), "\(word)")
        }
    }

    @Test func `warns about an unreadable ledger and continues`() throws {
        let home = try Home()
        let folder = home.place.file(".local/state/coderhost/quarantine")
        try #require(writeFile("\(folder)/x-1.json", Array("{".utf8)))

        let result = try home.run("quarantine", "list")

        #expect(result.status == 0)
        #expect(result.lines.count == 2)
        #expect(result.stderr.contains("warning: \(folder)/x-1.json is damaged"))
        #expect(try home.run("doctor").stdout.contains("Warning: \(folder)/x-1.json is damaged"))
        #expect(try home.run("quarantine", "clear").status == 0)
        #expect(try home.run("quarantine", "list").stderr.isEmpty)
    }

    @Test func `reports the error and a remedy`() throws {
        let home = try Home()

        let mistyped = try home.run("quarantine", "clean")
        let unknown = try home.run("quarantine", "clear", "org.example.qoi-plugim")

        #expect(mistyped.status == 64)
        #expect(mistyped.stderr.contains("did you mean quarantine clear?"))
        #expect(unknown.status == 66)
        #expect(unknown.stderr.contains("did you mean org.example.qoi-plugin?"))
    }
}
