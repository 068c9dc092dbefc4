import CoderHost
import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct `The grammar of the JSON documents` {
    static let grammar = Grammar(.article("JSON"))

    private func check(_ words: [String], _ rule: String, status: Int32 = 0) throws {
        let result = try run(
            ["\(Repository.products)/coderhost"] + words, directory: "\(Repository.root)/Fixtures",
            environment: ["CODERHOST_PLUGIN_PATH": nil, "HOME": "/nowhere", "XDG_DATA_HOME": nil])
        #expect(result.status == status)
        let lines = result.stdout.split(separator: "\n")
        #expect(!lines.isEmpty)
        let section = "## coderhost \(words[0]) --json"
        for line in lines {
            let document = try JSONParser.parse(Array(line.utf8))
            #expect(Self.grammar.difference(document, from: rule, in: section) == nil, "\(line)")
        }
    }

    @Test func `holds for facts of every picture`() throws {
        let names = Fixture.valid.map(\.name)

        try check(["info", "--json"] + names, "picture")
        try check(["info", "--json", "--frames", "--hash"] + names, "picture")
    }

    @Test func `holds for every refusal`() throws {
        try check(["info", "--json", "--hash"] + Fixture.bad.map(\.name) + ["nowhere"], "line", status: 1)
        try check(["info", "--json", "--limits", "side=1", "pictures/f.png"], "failure", status: 77)
    }

    @Test func `holds for what convert wrote`() throws {
        let place = TemporaryDirectory()

        try check(["convert", "--json", "-o", place.file("a.jpg"), "-q", "3", "pictures/rgba.png"], "written")
        try check(["convert", "--json", "-o", place.file("a.jpg"), "nowhere"], "failure", status: 66)
    }

    @Test func `holds for lists, with plugins that work and plugins that do not`() throws {
        let place = TemporaryDirectory()
        try PluginBuilder.buildQOI(into: place.path)
        try PluginBuilder.writeText(into: place.path)
        try PluginBuilder.buildMissingLibrary(into: place.path)

        try check(["list", "--json", "--plugin-dir", place.path], "list")
        try check(["list", "--json", "--formats", "--plugin-dir", place.path], "formats")
        try check(["list", "--json", "--format", "jpeg"], "order")
        try check(["doctor", "--json", "--plugin-dir", place.path], "doctor", status: 69)
    }

    @Test func `notices what it does not allow`() throws {
        func difference(_ text: String, _ rule: String) throws -> String? {
            Self.grammar.difference(try JSONParser.parse(Array(text.utf8)), from: rule, in: "## coderhost info --json")
        }

        #expect(try difference(#"{"width": 1, "height": 2}"#, "size") == nil)
        #expect(try difference(#"{"height": 2, "width": 1}"#, "size") != nil)
        #expect(try difference(#"{"width": 1, "height": 2, "depth": 3}"#, "size") != nil)
        #expect(try difference(#"{"width": "1", "height": 2}"#, "size") != nil)
        #expect(try difference(#"{"x": 1, "y": 2, "unit": "inch"}"#, "density") != nil)
        #expect(try difference(#"{"file": "x"}"#, "line") != nil)
    }
}
