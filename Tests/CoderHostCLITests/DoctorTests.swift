import TestSupport
import Testing
import ImageProcessing

@Suite(.timeLimit(.minutes(40))) struct `The command doctor` {
    @Test func `reports no problem for a complete build`() throws {
        let result = try Tool.run("doctor")

        #expect(result.status == 0)
        #expect(result.stdout.contains("\nPlugin folders, first to last:\n"))
        #expect(result.stdout.contains(" 0 with a problem\n"))
        #expect(result.stdout.contains("/usr/lib/coderhost/plugins/1  (system)"))
        #expect(result.stdout.contains("\nIsolation (--isolation): auto; "))
    }

    @Test func `names file, reason and remedy of a broken plugin, and exits with 69`() throws {
        let place = TemporaryDirectory()
        try PluginBuilder.build("bad/major-2.c", into: place.path)

        let result = try Tool.run("doctor", "--plugin-dir", place.path)
        let document = Document(try Tool.run("doctor", "--json", "--plugin-dir", place.path).stdout)

        #expect(result.status == 69)
        #expect(
            result.stdout.contains("  \(place.file("libcoder-major-2.so"))\n    abi-too-new: it needs interface 2."))
        #expect(result.stdout.contains("    try: update coderhost\n"))
        #expect(document["problems"][0]["status"].text == "abi-too-new")
        #expect(document["problems"][0]["remedy"].text == "update coderhost")
        #expect(document["directories"][0]["path"].text == place.path)
    }

    @Test func `does not report disabled plugins as problems`() throws {
        let place = TemporaryDirectory()
        place.write(try #require(readFile("\(Repository.products)/libcoder-png.so")), to: "libcoder-png.so")

        let result = try Tool.run("doctor", "--plugin-dir", place.path)

        #expect(result.status == 0)
        #expect(result.stdout.contains("shadowed: by \(place.file("libcoder-png.so"))"))
    }

    @Test func `lists plugins of the package that are not installed`() throws {
        let place = TemporaryDirectory()
        let copy = try Tool.copy(plugins: ["png"], into: place)

        let document = Document(try run([copy, "doctor", "--json"], environment: Tool.environment).stdout)

        #expect(document["not_installed"].list.contains { $0.text == "libcoder-heif.so" })
        #expect(!document["not_installed"].list.contains { $0.text == "libcoder-png.so" })
        let libraries =
            document["libraries_of_not_installed"].list
            .first { $0["file"].text == "libcoder-heif.so" }?["libraries"].list.compactMap(\.text) ?? []
        #expect(libraries.contains("libheif"))
        let lines = try run([copy, "doctor"], environment: Tool.environment).stdout
        #expect(lines.contains("\n    libcoder-heif.so  (needs \(libraries.joined(separator: ", ")))\n"))
    }

    @Test func `exits with 69 without usable plugins`() throws {
        let place = TemporaryDirectory()
        let copy = try Tool.copy(plugins: [], into: place)

        for words in [[], ["--json"]] {
            let result = try run([copy, "doctor"] + words, environment: Tool.environment)
            #expect(result.status == 69, "\(result.stdout)")
        }
    }
}
