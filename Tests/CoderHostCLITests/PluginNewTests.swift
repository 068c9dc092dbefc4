import Foundation
import TestSupport
import Testing

/// A language of `plugin new`, and whether this system can build it.
struct TemplateLanguage: Sendable, CustomTestStringConvertible {
    var name: String
    var compiler: String

    static let all = [
        TemplateLanguage(name: "c", compiler: "cc"), TemplateLanguage(name: "swift", compiler: "swift"),
        TemplateLanguage(name: "rust", compiler: "cargo"),
    ]
    /// C and Swift are required; Rust is optional.
    static let built = all.filter { $0.name != "rust" || $0.isInstalled }

    private var isInstalled: Bool { (try? run([compiler, "--version"]))?.status == 0 }
    var testDescription: String { name }
}

@Suite(.timeLimit(.minutes(40))) struct `A new plugin` {
    let place = TemporaryDirectory()

    private func files(_ folder: String) throws -> [String] {
        try run(["find", ".", "-type", "f", "-printf", #"%P\n"#], directory: folder).lines.sorted()
    }

    @Test(arguments: TemplateLanguage.built)
    func `builds, is listed, and round-trips an image`(language: TemplateLanguage) throws {
        let created = try Tool.run("plugin", "new", "my-toy", "--lang", language.name, directory: place.path)
        let folder = place.file("coder-my-toy")
        try #require(created.status == 0, "\(created.stderr)")

        let made = try run(
            ["make", "test"], directory: folder, environment: ["CODERHOST_INCLUDE": PluginBuilder.headers],
            timeout: .seconds(600))
        try #require(made.status == 0, "\(made.stdout)\(made.stderr)")
        #expect(!made.stderr.contains("warning"), "\(made.stderr)")
        let symbols = ["nm", "-D", "--defined-only", "--format=just-symbols", "libcoder-my-toy.so"]
        #expect(try run(symbols, directory: folder).lines == ["cpi_entry_1"])

        // A build without the kit lacks this subcommand.
        if try Tool.run("plugin", "--help").stdout.contains("coderhost plugin check") {
            let checked = try Tool.run("plugin", "check", "\(folder)/libcoder-my-toy.so")
            #expect(checked.status == 0, "\(checked.stdout)\(checked.stderr)")
        }

        let listed = Document(try Tool.run("list", "--json", "--plugin-dir", folder).stdout)
        let plugin = listed["plugins"].list.first { $0["plugin"].text == "org.example.my-toy-plugin" }
        #expect(plugin?["status"].text == "ready")

        let source = Fixture.named("images/f.png")
        let toy = place.file("f.my-toy")
        let back = place.file("back.png")
        for (from, to) in [(source.path, toy), (toy, back)] {
            let result = try Tool.run("convert", "--plugin-dir", folder, from, "-o", to)
            #expect(result.status == 0, "\(result.stderr)")
        }
        #expect(readFile(toy).map { Array($0.prefix(11)) } == Array("toy-my-toy\n".utf8))
        let digests = try [toy, back].map { file in
            try Tool.run("info", "--json", "--hash", "--plugin-dir", folder, file).documents.first?["pixel_sha256"].text
        }
        #expect(digests == [source.expect?.pixelSHA256, source.expect?.pixelSHA256])

        let whole = try #require(readFile(toy))
        for count in [12, 18, 19, whole.count / 2, whole.count - 1] {
            let cut = place.write(Array(whole[..<count]), to: "cut.my-toy")
            let result = try Tool.run("info", "--json", "--hash", "--plugin-dir", folder, cut)
            #expect(result.status == 65)
            #expect(result.documents.first?["error"]["code"].text == "truncated", "\(count): \(result.stdout)")
        }
    }

    @Test(arguments: TemplateLanguage.all)
    func `has no unfilled placeholder and all documented files`(language: TemplateLanguage) throws {
        let folder = place.file("some where")
        let result = try Tool.run(
            "plugin", "new", "x2", "--lang", language.name, "--id", "net.Some-One.x2", "-o", folder + "/", "--json")
        let document = Document(result.stdout)
        let names = try files(folder)

        #expect(result.status == 0, "\(result.stderr)")
        #expect(document["files"].list.compactMap(\.text) == names)
        #expect(document["next"][0].text == "cd '\(folder)'")
        #expect(Set(names).isSuperset(of: ["README.md", "Makefile", "test/selftest.c", ".gitignore"]))
        let texts = try names.map { String(decoding: try #require(readFile("\(folder)/\($0)")), as: UTF8.self) }
        #expect(texts.filter { $0.contains(/@[A-Z_]+@/) } == [])
        #expect(texts.contains { $0.contains("net.Some-One.x2-plugin") })
        #expect(texts.contains { $0.contains("746f792d78320a") })
        #expect(!texts.contains { $0.contains("org.example") })
        for (name, text) in zip(names, texts) {
            let template = "\(Repository.root)/Sources/CoderHostCLI/Templates"
            let source = name.replacing(".gitignore", with: "dot-gitignore")
            let original =
                readFile("\(template)/\(language.name)/\(source)") ?? readFile("\(template)/common/\(source)")
            let lines = String(decoding: try #require(original), as: UTF8.self).split(separator: "\n")
            // Lines without placeholders stay unchanged, and no line is lost.
            #expect(lines.count == text.split(separator: "\n").count, "\(name)")
            #expect(lines.filter { !$0.contains("@") && !text.contains($0) } == [], "\(name)")
        }
    }

    static let wrong: [(words: [String], status: Int32, says: String)] = [
        ([], 64, "needs a NAME"), (["a", "b"], 64, "unexpected argument"), (["x"], 64, "invalid format name"),
        (["Big"], 64, "invalid format name"), (["../up"], 64, "invalid format name"),
        (["2d"], 64, "invalid format name"),
        (["a-"], 64, "invalid format name"), (["naïve"], 64, "invalid format name"),
        ([String(repeating: "a", count: 33)], 64, "invalid format name"),
        (["toy", "--lang", "rust "], 64, "invalid --lang value"),
        (["toy", "--lang", "swfit"], 64, "did you mean --lang swift?"), (["toy", "--id", "toy"], 64, "invalid id"),
        (["toy", "--id", "a..b"], 64, "invalid id"), (["toy", "--id", "a.\"b"], 64, "invalid id"),
        (["toy", "-o", "there"], 73, "exists already"), (["toy", "-o", "there/"], 73, "exists already"),
        (["toy", "-o", "empty"], 73, "exists already"), (["toy", "-o", "dangling"], 73, "exists already"),
        (["toy", "-o", "nowhere/x"], 73, "cannot create"), (["toy", "-o", ""], 73, "not a valid name"),
        (["toy", "-o", "empty/.."], 73, "not a valid name"), (["toy", "-o", "/proc/x"], 73, "cannot create"),
    ]

    @Test(arguments: wrong.indices)
    func `is refused with a reason and leaves no files`(index: Int) throws {
        let (words, status, says) = Self.wrong[index]
        place.write([1], to: "there")
        place.folder("empty")
        try Tool.link("nothing", at: place.file("dangling"))

        let result = try Tool.run(["plugin", "new"] + words, directory: place.path)

        #expect(result.status == status, "\(result.stderr)")
        #expect(result.stderr.contains(says) && result.stderr.contains("\n  try: "), "\(result.stderr)")
        #expect(result.stdout.isEmpty)
        let left = try FileManager.default.contentsOfDirectory(atPath: place.path).sorted()
        #expect(left == ["dangling", "empty", "there"])
        #expect(readFile(place.file("there")) == [1])
    }

    @Test(arguments: [
        ("png", "org.example.png", "org.coderhost.png"), ("apng", "a.b", "org.coderhost.apng"),
        ("jpg", "org.example.jpg", "org.coderhost.jpeg"), ("farbfeld", "org.me.x", "org.coderhost.farbfeld"),
    ])
    func `warns about an existing coder, the order and the remedy`(
        name: String, id: String, rival: String
    ) throws {
        let result = try Tool.run("plugin", "new", name, "--id", id, directory: place.path)
        let document = try Tool.run("plugin", "new", name, "--id", id, "-o", "b", "--json", directory: place.path)
            .stdout

        #expect(result.status == 0)
        #expect(result.stderr.hasPrefix("coderhost: warning: "), "\(result.stderr)")
        #expect(result.stderr.contains("already has a coder, \(rival) (priority 1"))
        #expect(
            result.stderr.contains("  \(rival) encodes .\(name): it precedes \(id) in the same folder"))
        #expect(result.stderr.contains("coderhost plugin new my-\(name)"))
        #expect(result.stderr.contains("\(name == "apng" ? 111 : 101) or more to come first"))
        #expect(Document(document)["rival"].text == rival)
    }

    @Test func `warns that the new plugin precedes the existing one`() throws {
        let result = try Tool.run("plugin", "new", "png", "--id", "net.me.png", directory: place.path)

        #expect(result.stderr.contains("  net.me.png encodes .png: it precedes org.coderhost.png"))
        #expect(result.stderr.contains("below 100 to come second;"))
    }

    @Test func `warns about nothing for a new format`() throws {
        let result = try Tool.run("plugin", "new", "toy", directory: place.path)
        #expect(result.status == 0 && result.stderr.isEmpty)
    }

    @Test func `leaves no files if the disk is full`() throws {
        let result = try Tool.shell(
            #"ulimit -f 4; "$coderhost" plugin new toy || echo "status $?""#, directory: place.path)

        #expect(result.stdout == "status 74\n", "\(result.stderr)")
        #expect(result.stderr.contains("cannot be written: File too large"), "\(result.stderr)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.path) == [])
    }

    @Test func `is created by only one of two concurrent calls`() throws {
        let result = try Tool.shell(
            #"for i in $(seq 8); do "$coderhost" plugin new toy >/dev/null 2>&1 && echo won & done; wait"#,
            directory: place.path)

        #expect(result.stdout == "won\n")
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.path) == ["coder-toy"])
    }
}
