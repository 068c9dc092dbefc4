import Foundation
import TestSupport
import Testing

/// `Fixtures/jpeg/multi-picture.jpg` contains a thumbnail and a second image, `gain-map.jpg` a gain map.
@Suite(.timeLimit(.minutes(40))) struct `Items of JPEG files on the command line` {
    private let place = TemporaryDirectory()
    private let file = Repository.fixture("jpeg/multi-picture.jpg")
    private let gainMap = Repository.fixture("jpeg/gain-map.jpg")
    private static let kind = "http://ns.adobe.com/hdr-gain-map/1.0/"

    private func tool(_ words: String...) throws -> CommandResult { try Tool.run(words, directory: place.path) }

    private func warnings(_ result: CommandResult) throws -> [String] {
        #expect(result.status == 0, "\(result.stderr)")
        return try #require(result.documents.first)["warnings"].list.compactMap(\.text)
    }

    @Test func `are listed with their roles, sizes and kinds`() throws {
        let items = try #require(try tool("info", "--items", "--json", file).documents.first)["items"].list
        #expect(items.map { $0["role"].text } == ["primary", "thumbnail", "alternative"])
        #expect(items.map { [$0["width"].integer, $0["height"].integer] } == [[40, 24], [20, 12], [40, 24]])

        let pair = try #require(try tool("info", "--items", "--json", gainMap).documents.first)["items"].list
        #expect(pair.map { $0["role"].text } == ["primary", "auxiliary"])
        #expect(pair[1]["kind"].text == Self.kind && pair[1]["of"].integer == 0)
    }

    /// The last one has Exif orientation 6, so the output is rotated clockwise.
    @Test(arguments: [(0, "baseline-420", []), (1, "multi-picture-1", []), (2, "progressive-422", ["--rotate", "90"])])
    func `are converted with the pixels that djpeg decodes`(index: Int, name: String, turn: [String]) throws {
        let expected = Repository.fixture("jpeg/\(name).ppm")
        #expect(try tool("convert", file, "--item", "\(index)", "--strip", "exif", "-o", "x.png").status == 0)
        #expect(try Tool.run(["convert", expected, "-o", "y.png"] + turn, directory: place.path).status == 0)
        let same = try tool("compare", "x.png", "y.png")
        #expect(same.status == 0, "\(same.stdout)\(same.stderr)")
    }

    @Test func `are reported by convert and info if skipped, except thumbnails`() throws {
        for command in [["convert", file, "-o", "x.png", "--json"], ["info", "--json", file]] {
            let warnings = try warnings(try Tool.run(command, directory: place.path))
            #expect(warnings.count == 1 && warnings[0].contains("the file holds 2 images"), "\(warnings)")
        }
        let map = try warnings(try tool("convert", gainMap, "-o", "y.png", "--json"))
        let dangling = "the XMP describes a gain map or other images, which the output does not hold: "
        #expect(
            map == [
                "item 1, a gain map (\(Self.kind)) is not written", dangling + "these properties are left out",
            ])
        let embedded = try tool("convert", Repository.fixture("images/photo.jpg"), "-o", "z.png", "--json")
        #expect(try warnings(embedded).isEmpty)
    }

    @Test func `are described by the XMP of a rewrite only if they fit it`() throws {
        let told = "the XMP describes a gain map or other images: these properties are left out"
        for (name, options, isKept) in [
            ("o.jpg", ["--optimize"], true), ("r.jpg", ["--rotate", "180", "--trim-edges"], false),
            ("s.jpg", ["--strip", "other"], false),
        ] {
            let result = try Tool.run(["rewrite", gainMap, "-o", name, "--json"] + options, directory: place.path)
            #expect(try warnings(result).contains(told) == !isKept, "\(name)")
            let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(place.path)/\(name)"))
            #expect((bytes.range(of: Data("hdrgm:Version".utf8)) != nil) == isKept, "\(name)")
        }
    }

    @Test func `keep their metadata in a rewrite, with a warning`() throws {
        let position = "item 2 keeps its metadata (gps): only the first image is changed"
        #expect(try warnings(try tool("rewrite", file, "--strip", "gps", "-o", "x.jpg", "--json")) == [position])
        // The first image has no location any more; the second image still has one.
        #expect(try warnings(try tool("rewrite", "x.jpg", "--strip", "gps", "-o", "y.jpg", "--json")) == [position])
        #expect(try warnings(try tool("rewrite", gainMap, "--strip", "gps", "-o", "w.jpg", "--json")).isEmpty)
        let thumbnail = "the file keeps 1 thumbnail outside Exif: coderhost convert writes none"
        #expect(try warnings(try tool("rewrite", file, "--strip", "thumbnail", "-o", "t.jpg", "--json")) == [thumbnail])
        let xmp = try warnings(try tool("rewrite", gainMap, "--strip", "xmp", "-o", "z.jpg", "--json"))
        #expect(xmp == ["image 1 behind the first keeps its metadata: only the first image is changed"])

        let left = try warnings(try tool("rewrite", file, "--strip", "all", "-o", "v.jpg", "--json"))
        let dropped = "the other images of the file are not in the output"
        #expect(left.contains(dropped) && left.allSatisfy { !$0.contains("its metadata") }, "\(left)")
        #expect(try #require(try tool("info", "--items", "--json", "v.jpg").documents.first)["items"].list.count == 1)
        let turned = try warnings(
            try tool("rewrite", file, "--flip", "horizontal", "--trim-edges", "--strip", "gps", "-o", "u.jpg", "--json")
        )
        #expect(turned.contains(dropped) && !turned.contains(position), "\(turned)")
    }
}
