import Foundation
import FoundationXML
import ImageModel
import TestSupport
import Testing

@testable import CoderConformance

@Suite(.timeLimit(.minutes(40))) struct `The conformance kit` {
    private static let farbfeld = "\(Repository.products)/libcoder-farbfeld.so"

    @Test func `quotes the contract verbatim`() throws {
        let folders = ["Sources/CCoderPlugin/include", "Sources/CoderHost"]
        for rule in Rule.every {
            let text = folders.lazy.compactMap { readFile("\(Repository.root)/\($0)/\(rule.file)") }.first
            let page = Self.plain(String(decoding: try #require(text, "\(rule.file)"), as: UTF8.self))
            #expect(page.contains(Self.plain(rule.text)), "\(rule.file): \(rule.text)")
        }
    }

    /// Words separated by one space, without the stars and bars of comments and lists.
    private static func plain(_ text: String) -> String {
        text.split { " \n*|/".contains($0) }.joined(separator: " ")
    }

    @Test func `runs every check after those it needs`() {
        var seen: Set<String> = []
        for check in Catalogue.all {
            #expect(seen.isSuperset(of: check.needs), "\(check.id)")
            #expect(seen.insert(check.id).inserted, "\(check.id) twice")
            #expect(Catalogue.groups.contains { $0.name == check.group }, "\(check.id)")
        }
    }

    @Test func `runs the named checks and those they need`() throws {
        let verdicts = try ConformanceKit.verdicts([Self.farbfeld, "--only", "surface.end,state"])

        #expect(verdicts["surface.end"]?.word == "passed")
        #expect(verdicts["lifecycle.decode"]?.word == "passed")
        #expect(verdicts["state.exit"]?.word == "passed")
        #expect(verdicts["input.damaged"] == nil)
    }

    @Test func `prints a line for each group, and a summary`() throws {
        let result = try ConformanceKit.run([Self.farbfeld, "--only", "surface"])
        let lines = result.stdout.split(separator: "\n")

        #expect(result.status == 0)
        #expect(lines.first == "libcoder-farbfeld.so: org.coderhost.farbfeld-plugin 0.1.0")
        #expect(lines.contains { $0.hasPrefix("ok   surface ") })
        #expect(lines.last?.hasPrefix("It keeps the contract: ") == true)
    }

    @Test func `prints only failures if requested`() throws {
        let folder = TemporaryDirectory()
        let result = try ConformanceKit.run([
            ConformanceKit.faulty("umask", folder), "--only", "state", "--only-failed",
        ])

        #expect(result.status == 1)
        #expect(result.stdout.contains("✗ state.umask failed: umask was"))
        #expect(result.stdout.contains("try: do not call umask"))
        #expect(!result.stdout.contains("ok "))
    }

    @Test func `works in one process, for a debugger`() throws {
        let verdicts = try ConformanceKit.verdicts([Self.farbfeld, "--in-process", "--only", "input"])

        #expect(verdicts["input.damaged"]?.word == "passed")
        #expect(verdicts.filter(\.value.isBad).isEmpty)
    }

    @Test func `accepts an image for a plugin that only decodes`() throws {
        let folder = TemporaryDirectory()
        let plugin = try PluginBuilder.build("bad/claims-formats.c", into: folder.path)
        let without = try ConformanceKit.verdicts([plugin, "--only", "lifecycle.decode"])
        let with = try ConformanceKit.verdicts(
            [plugin, "--only", "lifecycle.decode", "--sample", folder.write(Array("BAD!".utf8), to: "image")])

        #expect(without["lifecycle.decode"]?.word == "skipped")
        #expect(without["lifecycle.decode"]?.what.contains("--sample") == true)
        #expect(with["lifecycle.decode"]?.word == "passed")
    }

    @Test func `tests every given file, even if the plugin encodes`() throws {
        let folder = TemporaryDirectory()
        let fault = "-DAFTER_ROW=if (d->width == 5 && y + 1 < d->height) row[bytes] = 0x77;"
        let plugin = try PluginBuilder.build("faulty/none.c", flags: [fault], into: folder.path)
        func file(_ width: UInt8) -> String {
            folder.write(
                Array("flt!".utf8) + [0, width, 0, 2, 3] + [UInt8](repeating: 9, count: Int(width) * 6),
                to: "\(width).flt")
        }
        let check = [plugin, "--only", "surface.guards"]

        #expect(try ConformanceKit.verdicts(check)["surface.guards"]?.word == "passed")
        let verdicts = try ConformanceKit.verdicts(check + ["--sample", file(4), "--sample", file(5)])
        #expect(verdicts["surface.guards"]?.isBad == true)
    }

    @Test(arguments: ["text", "empty", "no-note", "absent"])
    func `reports why a file cannot be checked`(kind: String) throws {
        let folder = TemporaryDirectory()
        let path =
            switch kind {
            case "text": try PluginBuilder.writeText(into: folder.path)
            case "empty": folder.write([], to: "libcoder-empty.so")
            case "no-note": try PluginBuilder.build("bad/no-note.c", into: folder.path)
            default: folder.file("libcoder-absent.so")
            }

        let result = try ConformanceKit.run([path])

        #expect(result.status == 69)
        #expect(result.stderr.contains("cannot be checked: ") && result.stderr.contains("  try: "))
    }

    @Test func `suggests a similar check name`() throws {
        let result = try ConformanceKit.run([Self.farbfeld, "--only", "surfce"])

        #expect(result.status == 64)
        #expect(result.stderr.contains("did you mean surface?"))
    }

    @Test func `writes XML that other programs can read`() throws {
        let folder = TemporaryDirectory()
        let result = try ConformanceKit.run([
            ConformanceKit.faulty("writes-output", folder), "--only", "state", "--junit",
        ])
        let suites = try XMLReport(result.output)

        #expect(result.status == 1)
        #expect(suites.cases.count > 10)
        #expect(suites.failures == ["output"])
    }

    @Test func `escapes characters that XML cannot express`() {
        #expect(
            XMLText.escaped("a<b & \"c\" 'd'\u{1}\n") == "a&lt;b &amp; &quot;c&quot; &apos;d&apos;\u{FFFD}&#10;")
    }

    @Test func `leaves no files or processes`() throws {
        let folder = TemporaryDirectory()
        let plugin = try ConformanceKit.faulty("fork-bomb", folder)
        let place = folder.folder("tmp")

        let result = try run([ConformanceKit.path, plugin, "--only", "state"], environment: ["TMPDIR": place])

        #expect(result.status == 1)
        #expect(try FileManager.default.contentsOfDirectory(atPath: place).isEmpty)
    }
}

/// Reads a JUnit document with an independent parser.
private final class XMLReport: NSObject, XMLParserDelegate {
    private(set) var cases: [String] = []
    private(set) var failures: [String] = []

    init(_ bytes: [UInt8]) throws {
        super.init()
        let parser = XMLParser(data: Data(bytes))
        parser.delegate = self
        #expect(parser.parse(), "\(String(describing: parser.parserError))")
    }

    func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String]
    ) {
        if name == "testcase" { cases.append(attributes["name"] ?? "") }
        if name == "failure" { failures.append(cases.last ?? "") }
    }
}
