import ImageModel
import TestSupport
import Testing

@testable import CoderHost

@Suite(.timeLimit(.minutes(40))) struct `The page about abilities` {
    private static let sources =
        ["Plugin", "MosaicPage", "MosaicDecoder", "MosaicEncoder", "MosaicRewriter", "MosaicTranscoder", "PlanDecoder"]
        .map { "Tests/Examples/Mosaic/\($0).swift" }
        + ["Tests/DocumentationTests/AbilityExampleTests.swift", "Tests/ThirdParty/spectrum/spectrum.c"]

    private static let page = Markdown.article("Abilities")

    /// The lines between "// name begins" and "// name ends" of a compiled file, without common indentation.
    private static func regions(_ path: String) throws -> [String: [String]] {
        var regions: [String: [String]] = [:]
        var name: String?
        for line in Markdown(path).lines {
            let words = line.split(separator: " ")
            if words.count == 3, words[0] == "//", words[2] == "begins" {
                name = "\(path) \(words[1])"
                regions[name!] = []
            } else if words.count == 3, words[0] == "//", words[2] == "ends" {
                #expect(name == "\(path) \(words[1])", "\(path): \(line)")
                name = nil
            } else if let name {
                regions[name]?.append(line)
            }
        }
        #expect(name == nil, "\(path)")
        return regions.mapValues { lines in
            let indent = lines.filter { !$0.isEmpty }.map { $0.prefix { $0 == " " }.count }.min() ?? 0
            return lines.map { String($0.dropFirst(indent)) }
        }
    }

    private static func compact(_ text: String) -> String { text.filter { !$0.isWhitespace } }

    @Test func `shows exactly the compiled code`() throws {
        let regions = try Self.sources.map(Self.regions).reduce(into: [:]) { $0.merge($1) { first, _ in first } }
        let blocks = Self.page.blocks.filter { ["swift", "c"].contains($0.language) }

        #expect(blocks.count == regions.count)
        for (name, lines) in regions { #expect(blocks.contains { $0.lines == lines }, "\(name) is not on the page") }
        for block in blocks { #expect(regions.values.contains(block.lines), "not compiled: \(block.lines)") }
    }

    @Test func `shows valid manifests`() throws {
        let examples = try AbilityExamples()
        let plugins = examples.host().plugins
        let texts = plugins.map(\.examination.manifestText).map { Self.compact(String(decoding: $0, as: UTF8.self)) }
        let blocks = Self.page.blocks.filter { $0.language == "json" }

        #expect(plugins.count == 2)
        for plugin in plugins { #expect(plugin.status.isUsable && plugin.warnings.isEmpty, "\(plugin.status)") }
        #expect(blocks.count >= 4)
        for block in blocks {
            let text = Self.compact(block.lines.joined())
            #expect(texts.contains { $0.contains(text) }, "\(block.lines)")
        }
    }

    @Test func `has a section for each ability, with an example of both sides`() {
        let blocks = Self.page.blocks
        let sections = Self.page.lines.filter { $0.hasPrefix("## ") && $0 != "## Overview" }

        #expect(sections.count == 13)
        for section in sections {
            #expect(blocks.count { $0.heading == section && !$0.language.isEmpty } >= 2, "\(section)")
        }
    }

    @Test(
        .enabled(if: AbilityExamples.font != nil),
        arguments: [
            ("mosaic", ["book.mosaic", "wall.mosaic", "wall.tiles", "kitchen.xml"]), ("spectrum", ["field.spectrum"]),
        ])
    func `shows plugins that conform to the contract`(plugin: String, samples: [String]) throws {
        let examples = try AbilityExamples()
        let names = samples.flatMap { ["--sample", examples.place.file($0)] }

        let result = try run(
            ["\(Repository.products)/coderhost", "plugin", "check", "--only-failed"]
                + [examples.place.file("plugins/libcoder-\(plugin).so")] + names, timeout: .seconds(580))

        #expect(result.status == 0, "\(result.stdout)\(result.stderr)")
    }

    @Test(.enabled(if: AbilityExamples.font != nil)) func `contains working commands`() throws {
        let commands = Self.page.text.matches(of: /`(coderhost [^`]+)`/).map { String($0.output.1) }
        let examples = try AbilityExamples()

        #expect(commands.count >= 10)
        for command in commands {
            let result = try run(
                ["sh", "-c", command], directory: examples.place.path,
                environment: [
                    "PATH": "\(Repository.products):/usr/bin:/bin", "HOME": examples.place.path, "XDG_DATA_HOME": nil,
                    "XDG_CONFIG_HOME": nil, "CODERHOST_PLUGIN_PATH": examples.place.file("plugins"),
                ], timeout: .seconds(120))
            #expect(result.status == 0, "\(command): \(result.stderr)")
        }
    }
}
