import Foundation
import TestSupport
import Testing

/// `isolation.required` and `isolation.read` in the output of the command.
@Suite(.timeLimit(.minutes(40))) struct `Isolation requirements of a plugin` {
    private let place = TemporaryDirectory()

    private func build(_ isolation: String, named name: String? = nil, _ more: String...) throws {
        let object = isolation.replacing("\"", with: "\\\"")
        try PluginBuilder.build(
            "bad/claims-formats.c", flags: ["-DMANIFEST_ISOLATION=\"\(object)\""] + more, into: place.path, named: name)
        place.write(Array("BAD!".utf8), to: "image.bad")
    }

    private var file: String { place.file("libcoder-claims-formats.so") }

    @Test func `are reported by list and doctor`() throws {
        try build(#"{"required": true, "read": ["fonts"]}"#)
        let notes = [
            "it runs only in a worker, which takes about 7 ms to start, unless --isolation is off (isolation.required)",
            "it reads the system's fonts while it is loaded in a worker (isolation.read)",
        ]

        let list = try Tool.run("list", "--plugin-dir", place.path)
        for note in notes { #expect(list.lines.contains("\(file): \(note)"), "\(list.stdout)") }
        let listed = Document(try Tool.run("list", "--json", "--plugin-dir", place.path).stdout)
        let plugin = listed["plugins"].list.first { $0["file"].text == file }
        #expect(plugin?["isolation"]["required"].bool == true)
        #expect(plugin?["isolation"]["read"].list.map(\.text) == ["fonts"])
        let jpeg = listed["plugins"].list.first { $0["plugin"].text == "org.coderhost.jpeg-plugin" }
        #expect(jpeg?["isolation"]["required"].bool == false)
        #expect(jpeg?["isolation"]["read"].list.count == 0)

        let doctor = try Tool.run("doctor", "--plugin-dir", place.path)
        #expect(doctor.stdout.contains("  \(file)\n    note: \(notes[0])\n    note: \(notes[1])\n"), "\(doctor.stdout)")
        let report = Document(try Tool.run("doctor", "--json", "--plugin-dir", place.path).stdout)
        let demand = report["isolation_demands"].list.first { $0["file"].text == file }
        #expect(demand?["plugin"].text == "org.example.bad-plugin")
        #expect(demand?["isolation"]["required"].bool == true)
    }

    @Test func `are reported by plugin check`() throws {
        try build(#"{"required": true}"#)

        let text = try Tool.run("plugin", "check", file, "--only", "manifest.note")
        let report = Document(try Tool.run("plugin", "check", file, "--only", "manifest.note", "--json").stdout)

        #expect(text.stdout.contains("note: it runs only in a worker"), "\(text.stdout)\(text.stderr)")
        #expect(report["plugin"]["isolation"]["required"].bool == true)
        #expect(report["plugin"]["isolation"]["read"].list.isEmpty)
    }

    @Test func `are not reported for plugins without requirements`() throws {
        let notes = try Tool.run("list").lines.filter { $0.contains("isolation.re") }
        let demanding = BundledPlugin.all.filter(\.requiresIsolation).map(\.name)
        #expect(demanding.contains("jxl") && demanding.contains("tiff"))
        #expect(notes.count == demanding.count, "\(notes)")
        for name in demanding { #expect(notes.contains { $0.contains("/libcoder-\(name).so: ") }, "\(name)") }
        let demands = Document(try Tool.run("doctor", "--json").stdout)["isolation_demands"].list
        #expect(demands.map { $0["plugin"].text } == demanding.map { "org.coderhost.\($0)-plugin" })
    }

    /// A copy of the command with one bundled plugin beside it.
    @Test(arguments: [(true, "worker"), (false, "in-process")])
    func `move a bundled plugin to a worker`(required: Bool, mode: String) throws {
        let copy = try Tool.copy(plugins: [], into: place)
        try Tool.copy(Repository.worker, to: place.file("coderhost-worker"))
        try build(
            "{\"required\": \(required)}", named: "libcoder-farbfeld.so",
            #"-DPLUGIN_ID="org.coderhost.farbfeld-plugin""#)

        let result = try run(
            [copy, "info", "image.bad", "--json"], directory: place.path, environment: Tool.environment)

        #expect(result.status == 0, "\(result.stdout)\(result.stderr)")
        #expect(result.documents.first?["isolation"]["mode"].text == mode, "\(result.stdout)")
    }

    @Test func `make doctor exit with 69 without sandbox, and info names the plugin`() throws {
        // This copy has no worker beside it, and does not use an installed one.
        try build(#"{"required": true}"#)
        let environment = Tool.environment.merging(["CODERHOST_WORKER": "/bin/false"]) { _, new in new }

        let info = try Tool.run(
            "info", "image.bad", "--json", "--plugin-dir", place.path, directory: place.path,
            environment: environment)
        let error = info.documents.first?["error"]
        #expect(info.status == 69, "\(info.stdout)\(info.stderr)")
        #expect(error?["code"].text == "isolationUnavailable")
        #expect(error?["message"].text?.contains("libcoder-claims-formats.so requires isolation") == true)

        let doctor = try Tool.run("doctor", "--plugin-dir", place.path, environment: environment)
        #expect(doctor.status == 69)
        #expect(doctor.stdout.contains("    refused: this system has no sandbox\n"), "\(doctor.stdout)")

        let off = try Tool.run(
            "info", "image.bad", "--isolation", "off", "--plugin-dir", place.path, directory: place.path,
            environment: environment)
        #expect(off.status == 0, "\(off.stderr)")
    }

    /// An argument of `deny-calls.c`: without one mechanism, the other one still allows only the fonts.
    @Test(
        .enabled(if: readFile("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf") != nil),
        arguments: ["namespaces", "landlock"])
    func `let a plugin read fonts with one mechanism missing`(word: String) throws {
        let source = "\(Repository.root)/Tests/ThirdParty/isolation/deny-calls.c"
        try #require(try run(["cc", "-std=c11", "-O1", source, "-o", place.file("deny-calls")]).status == 0)
        place.write(Array("BAD!".utf8), to: "image.bad")
        func convert(_ font: String, _ read: String, _ output: String) throws -> CommandResult {
            let folder = TemporaryDirectory()
            try PluginBuilder.build(
                "isolation/draws-text.c",
                flags: ["-DFONT=\"\(font)\"", #"-DMANIFEST_ISOLATION="{\"read\": [\#(read)]}""#], into: folder.path)
            return try run(
                [
                    place.file("deny-calls"), word, "--", Tool.path, "convert", "image.bad", "-o", output,
                    "--isolation", "auto", "--plugin-dir", folder.path,
                ], directory: place.path, environment: Tool.environment)
        }
        let (font, fonts) = ("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", #"\"fonts\""#)

        let drawn = try convert(font, fonts, "drawn.pam")
        #expect(drawn.status == 0, "\(drawn.stderr)")
        #expect(readFile(place.file("drawn.pam"))?.contains(0) == true)
        #expect(try convert(font, "", "not.pam").stderr.contains("cannot be read"))
        #expect(try convert("/etc/passwd", fonts, "not.pam").stderr.contains("cannot be read"))
    }
}
