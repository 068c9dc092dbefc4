import Foundation
import TestSupport
import Testing

/// A language of `plugin new`, and whether this machine can build it.
struct TemplateLanguage: Sendable, CustomTestStringConvertible {
    var name: String
    var compiler: String

    static let all = [
        TemplateLanguage(name: "c", compiler: "cc"), TemplateLanguage(name: "swift", compiler: "swift"),
        TemplateLanguage(name: "rust", compiler: "cargo"),
    ]
    /// C and Swift are part of the set-up; Rust need not be.
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
    func `builds, is listed, and brings a picture there and back`(language: TemplateLanguage) throws {
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

        // A build without the kit has no such verb.
        if try Tool.run("plugin", "--help").stdout.contains("coderhost plugin check") {
            let checked = try Tool.run("plugin", "check", "\(folder)/libcoder-my-toy.so")
            #expect(checked.status == 0, "\(checked.stdout)\(checked.stderr)")
        }

        let listed = Document(try Tool.run("list", "--json", "--plugin-dir", folder).stdout)
        let plugin = listed["plugins"].list.first { $0["plugin"].text == "org.example.my-toy-plugin" }
        #expect(plugin?["status"].text == "ready")

        let source = Fixture.named("pictures/f.png")
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
    func `has every placeholder filled in, and what it says it has`(language: TemplateLanguage) throws {
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
            // What has no placeholder comes through as it stands, and nothing is lost.
            #expect(lines.count == text.split(separator: "\n").count, "\(name)")
            #expect(lines.filter { !$0.contains("@") && !text.contains($0) } == [], "\(name)")
        }
    }

    static let wrong: [(words: [String], status: Int32, says: String)] = [
        ([], 64, "needs a NAME"), (["a", "b"], 64, "one word too many"), (["x"], 64, "cannot be the name"),
        (["Big"], 64, "cannot be the name"), (["../up"], 64, "cannot be the name"), (["2d"], 64, "cannot be the name"),
        (["a-"], 64, "cannot be the name"), (["naïve"], 64, "cannot be the name"),
        ([String(repeating: "a", count: 33)], 64, "cannot be the name"),
        (["toy", "--lang", "rust "], 64, "no template"),
        (["toy", "--lang", "swfit"], 64, "did you mean --lang swift?"), (["toy", "--id", "toy"], 64, "is no id"),
        (["toy", "--id", "a..b"], 64, "is no id"), (["toy", "--id", "a.\"b"], 64, "is no id"),
        (["toy", "-o", "there"], 73, "there already"), (["toy", "-o", "there/"], 73, "there already"),
        (["toy", "-o", "empty"], 73, "there already"), (["toy", "-o", "dangling"], 73, "there already"),
        (["toy", "-o", "nowhere/x"], 73, "cannot be created"), (["toy", "-o", ""], 73, "no new folder"),
        (["toy", "-o", "empty/.."], 73, "no new folder"), (["toy", "-o", "/proc/x"], 73, "cannot be created"),
    ]

    @Test(arguments: wrong.indices)
    func `is refused with a reason, and nothing is left behind`(index: Int) throws {
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
    func `is told who serves its format already, who comes first, and what can be done`(
        name: String, id: String, rival: String
    ) throws {
        let result = try Tool.run("plugin", "new", name, "--id", id, directory: place.path)
        let document = try Tool.run("plugin", "new", name, "--id", id, "-o", "b", "--json", directory: place.path)
            .stdout

        #expect(result.status == 0)
        #expect(result.stderr.hasPrefix("coderhost: warning: "), "\(result.stderr)")
        #expect(result.stderr.contains("served already, by \(rival) (priority 1"))
        #expect(
            result.stderr.contains("  .\(name) is written by \(rival), which comes before \(id) in the same folder"))
        #expect(result.stderr.contains("coderhost plugin new my-\(name)"))
        #expect(result.stderr.contains("from \(name == "apng" ? 111 : 101) on to come first"))
        #expect(Document(document)["rival"].text == rival)
    }

    @Test func `is told that it comes first where its id does`() throws {
        let result = try Tool.run("plugin", "new", "png", "--id", "net.me.png", directory: place.path)

        #expect(result.stderr.contains("  .png is written by net.me.png, which comes before org.coderhost.png"))
        #expect(result.stderr.contains("below 100 to come second;"))
    }

    @Test func `is told nothing where its name is free`() throws {
        let result = try Tool.run("plugin", "new", "toy", directory: place.path)
        #expect(result.status == 0 && result.stderr.isEmpty)
    }

    @Test func `leaves nothing behind when there is no room`() throws {
        let result = try Tool.shell(
            #"ulimit -f 4; "$coderhost" plugin new toy || echo "status $?""#, directory: place.path)

        #expect(result.stdout == "status 74\n", "\(result.stderr)")
        #expect(result.stderr.contains("cannot be written: File too large"), "\(result.stderr)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.path) == [])
    }

    @Test func `goes to one of two who begin it at the same time`() throws {
        let result = try Tool.shell(
            #"for i in $(seq 8); do "$coderhost" plugin new toy >/dev/null 2>&1 && echo won & done; wait"#,
            directory: place.path)

        #expect(result.stdout == "won\n")
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.path) == ["coder-toy"])
    }
}
