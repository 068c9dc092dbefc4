import Foundation
import TestSupport
import Testing

@Suite struct `The pages` {
    static let pages: [String] = {
        let folder = "\(Repository.root)/\(Markdown.catalogue)"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return ["README.md", "CHANGELOG.md"]
            + names.filter { $0.hasSuffix(".md") }.sorted().map { "\(Markdown.catalogue)/\($0)" }
    }()

    @Test(arguments: pages)
    func `link only to existing targets`(page: String) {
        let folder = page.split(separator: "/").dropLast().joined(separator: "/")

        for match in Markdown(page).text.matches(of: /\]\(([^)]+)\)/) {
            let target = String(match.output.1)
            if target.hasPrefix("https://") { continue }
            let path = [Repository.root, folder, target].filter { !$0.isEmpty }.joined(separator: "/")
            #expect(FileManager.default.fileExists(atPath: path), "\(target)")
        }
        for match in Markdown(page).text.matches(of: /<doc:([A-Za-z0-9]+)>/) {
            #expect(Self.pages.contains("\(Markdown.catalogue)/\(match.output.1).md"), "\(match.output.0)")
        }
    }

    @Test(arguments: pages)
    func `keep their lines short`(page: String) {
        for line in Markdown(page).lines where !line.hasPrefix("|") && !line.hasPrefix("coderhost: ") {
            #expect(line.count <= 132, "\(line)")
        }
    }

    @Test func `of a plugin show its current code`() throws {
        let room =
            Markdown("Plugins/Farbfeld/Plugin/Plugin.swift").text
            + Markdown("Plugins/Farbfeld/Codec/FarbfeldDecoder.swift").text
            + Markdown("Plugins/Farbfeld/Codec/FarbfeldEncoder.swift").text
        let blocks = Markdown.article("WritingAPlugin").blocks.filter { $0.language == "swift" }

        #expect(blocks.count >= 4)
        for block in blocks { #expect(room.contains(block.lines.joined(separator: "\n")), "\(block.lines)") }
    }

    @Test func `that are installed link to each other`() throws {
        let place = TemporaryDirectory()
        let made = try run([".ci/pages", place.path], directory: Repository.root)
        #expect(made.status == 0, "\(made.stderr)")
        place.write(Array("license".utf8), to: "LICENSE")

        for page in Self.pages.compactMap({ $0.split(separator: "/").last }) {
            let text = String(decoding: try #require(readFile(place.file(String(page)))), as: UTF8.self)
            #expect(!text.contains("<doc:"))
            for match in text.matches(of: /\]\(([^)]+)\)/) where !match.output.1.hasPrefix("https://") {
                #expect(FileManager.default.fileExists(atPath: place.file(String(match.output.1))), "\(match.output.1)")
            }
        }
    }

    @Test func `are all listed on the first page of the catalogue`() {
        let first = Markdown.article("CoderHost").text
        for page in Self.pages where page.hasPrefix(Markdown.catalogue) && !page.hasSuffix("/CoderHost.md") {
            let name = page.split(separator: "/").last?.dropLast(3) ?? ""
            #expect(first.contains("<doc:\(name)>"), "\(name)")
        }
    }
}
