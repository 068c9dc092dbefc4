import Foundation
import TestSupport
import Testing

/// `Fixtures/heif/collection.heic` contains three images and a thumbnail; its recipe prints the hashes.
@Suite(.timeLimit(.minutes(40))) struct `Items on the command line` {
    let place = TemporaryDirectory()
    private let file = Repository.fixture("heif/collection.heic")
    private static let sizes: [[Int?]] = [[128, 64], [64, 64], [64, 128], [64, 32]]

    private func tool(_ words: String...) throws -> CommandResult { try Tool.run(words, directory: place.path) }

    private func size(of name: String) throws -> [Int?] {
        let facts = try #require(try tool("info", "--json", name).documents.first)
        return [facts["width"].integer, facts["height"].integer]
    }

    private func areEqual(_ one: String, _ other: String) throws -> Bool {
        try tool("compare", one, other).status == 0
    }

    @Test func `are listed with their roles, sizes and owners`() throws {
        let items = try #require(try tool("info", "--items", "--json", file).documents.first)["items"].list

        #expect(items.map { $0["index"].integer } == [0, 1, 2, 3])
        #expect(items.map { $0["role"].text } == ["primary", "page", "page", "thumbnail"])
        #expect(items.map { [$0["width"].integer, $0["height"].integer] } == Self.sizes)
        #expect(items.map { $0["of"].integer } == [nil, nil, nil, 0])
    }

    @Test func `are extracted with the same pixels as convert writes`() throws {
        let result = try tool("frames", "extract", "--items", file, "-o", "x{n}.png", "--json")
        let written = try #require(result.documents.first)["items"].list

        #expect(result.status == 0 && result.stderr.isEmpty)
        #expect(written.map { $0["item"].integer } == [0, 1, 2, 3])
        #expect(written.map { $0["role"].text } == ["primary", "page", "page", "thumbnail"])
        for (index, size) in Self.sizes.enumerated() {
            #expect(written[index]["file"].text == "x\(index).png")
            #expect(try self.size(of: "x\(index).png") == size)
            #expect(try tool("convert", file, "--item", "\(index)", "-o", "c\(index).png").status == 0)
            #expect(try areEqual("x\(index).png", "c\(index).png"))
        }
        #expect(try !areEqual("x0.png", "x1.png"))
    }

    @Test func `are written by convert except thumbnails, with a warning for a single one`() throws {
        let all = try tool("convert", file, "--item", "all", "-o", "a{item}.png", "--json")
        let one = try tool("convert", file, "-o", "one.png", "--json")

        #expect(all.status == 0 && all.documents.map { $0["output"].text } == ["a0.png", "a1.png", "a2.png"])
        #expect(all.documents.allSatisfy { $0["warnings"].list.isEmpty })
        let warnings = try #require(one.documents.first)["warnings"].list.compactMap(\.text)
        #expect(warnings.count == 1 && warnings[0].contains("holds 3 images, but only one is written"), "\(warnings)")
        #expect(try areEqual("a0.png", "one.png"))
        #expect(try tool("convert", file, "--page", "3", "-o", "page.png").status == 0)
        #expect(try areEqual("a2.png", "page.png"))
    }

    @Test func `are written except damaged ones, which the error counts`() throws {
        var bytes = try #require(readFile(file))
        // The data begins with the stream of the second image.
        bytes.replaceSubrange(995..<3395, with: [UInt8](repeating: 0xFF, count: 2400))
        place.write(bytes, to: "damaged.heic")

        let all = try tool("convert", "damaged.heic", "--item", "all", "-o", "d{item}.png")
        let names = try FileManager.default.contentsOfDirectory(atPath: place.path)

        #expect(all.status == 65 && all.stderr.contains("item 1: "), "\(all.stderr)")
        #expect(all.stderr.contains("(1 of 3 images failed, the others were written)"), "\(all.stderr)")
        #expect(Set(names) == ["damaged.heic", "d0.png", "d2.png"])
        #expect(try size(of: "d2.png") == Self.sizes[2])
    }

    @Test func `without description fail with --item all, and the others are written`() throws {
        let torn = "-DBEHIND_ITEMS=(index==2?fail(&d->base,error,CPI_REFUSED,\"torn\"):CPI_END)"
        try PluginBuilder.build(
            "faulty/none.c", flags: ["-DITEM_ROLE=CPI_ITEM_PRIMARY", torn], into: place.path, named: "libcoder-torn.so")
        place.write(Array("flt!".utf8) + [0, 1, 0, 2, 3, 1, 2, 3, 4, 5, 6], to: "a.flt")

        let all = try tool("convert", "--plugin-dir", ".", "a.flt", "--item", "all", "-o", "t{item}.png")

        #expect(all.status == 69, "\(all.stderr)")
        #expect(
            all.stderr.contains(": item 2 cannot be read: torn (1 of 3 images failed, the others were written)"),
            "\(all.stderr)")
        let names = try FileManager.default.contentsOfDirectory(atPath: place.path)
        #expect(Set(names) == ["libcoder-torn.so", "a.flt", "t0.png", "t1.png"])
    }

    @Test(arguments: [
        (["--item", "4", "-o", "x.png"], "there is no item 4"),
        (["--page", "4", "-o", "x.png"], "page 4 does not exist"),
        (["--item", "all", "-o", "x.png"], "--item all writes several files"),
        (["--item", "1", "--page", "1", "-o", "x.png"], "--item and --page both select an image"),
    ])
    func `that do not exist are refused without output`(words: [String], message: String) throws {
        let result = try Tool.run(["convert", file] + words, directory: place.path)

        #expect(result.status == 64 && result.stderr.contains(message), "\(result.stderr)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.path).isEmpty)
    }
}
