import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `The command convert with animations` {
    let place = TemporaryDirectory()

    private func convert(_ words: String...) throws -> CommandResult {
        try Tool.run(["convert"] + words, directory: place.path)
    }

    private func put(_ fixture: String, as name: String) { place.write(Fixture.named(fixture).bytes, to: name) }
    private func film(_ file: String) throws -> Film { try Film(place.file(file)) }
    private func info(_ file: String, _ field: String) throws -> String? {
        try Tool.run("info", "-f", field, file, directory: place.path).lines.first
    }

    @Test func `keeps pixels, durations and loop count between formats`() throws {
        put("images/three-frames.gif", as: "1.gif")
        let before = try film("1.gif")

        let steps = [
            ["1.gif", "-o", "2.apng"], ["2.apng", "-o", "3.webp", "--lossless"],
            ["3.webp", "-o", "4.avif", "--lossless"], ["4.avif", "-o", "5.gif"],
        ]
        for words in steps {
            let result = try Tool.run(["convert"] + words, directory: place.path)
            #expect(result.status == 0 && result.stderr.isEmpty, "\(words): \(result.stderr)")
            #expect(try film(words[2]) == before, "\(words[2])")
        }
        #expect(try info("2.apng", "format") == "apng")
    }

    @Test func `writes the first frame to still formats, with a warning`() throws {
        put("images/three-frames.gif", as: "a.gif")
        let hashes = try film("a.gif").hashes

        for name in ["a.jpg", "a.pam"] {
            let result = try convert("a.gif", "-o", name)
            #expect(result.status == 0)
            #expect(result.stderr.contains("has no animation: only the first frame is written"))
            #expect(try info(name, "frame_count") == "1")
            if name == "a.pam" { #expect(try film(name).hashes == [hashes[0]]) }
        }
    }

    @Test(arguments: ["gif", "webp", "apng", "avif"])
    func `writes a single frame on request`(format: String) throws {
        put("images/three-frames.gif", as: "a.gif")
        let hashes = try film("a.gif").hashes

        let first = try convert("a.gif", "-o", "first", "-f", format, "--first-frame", "--lossless")
        let second = try convert("a.gif", "-o", "second", "-f", format, "--frame", "1", "--lossless")

        #expect(first.status == 0 && second.status == 0, "\(first.stderr)\(second.stderr)")
        #expect(try info("first", "frame_count") == "1" && info("second", "frame_count") == "1")
        #expect(try film("first").hashes == [hashes[0]])
        #expect(try film("second").hashes == [hashes[1]])
        let absent = try convert("a.gif", "-o", "absent", "-f", format, "--frame", "3")
        #expect(absent.status == 64)
        #expect(absent.stderr.contains("it has 3, counted from 0"))
    }

    @Test func `keeps the animation's format by default`() throws {
        put("images/three-frames.gif", as: "a.gif")
        place.folder("out")

        #expect(try convert("a.gif", "-o", "out/").status == 0)

        #expect(try film("out/a.gif") == film("a.gif"))
    }

    // MARK: Truncated input

    @Test(arguments: ["hostile/truncated-f.jpg", "hostile/truncated-f.gif", "hostile/truncated-f.png"])
    func `writes a truncated image only with --incomplete`(fixture: String) throws {
        put(fixture, as: "cut")

        let refused = try convert("cut", "-o", "a.png", "--json")
        #expect(refused.status == 65)
        #expect(refused.documents[0]["error"]["code"].text == "truncated")
        #expect(readFile(place.file("a.png")) == nil)
        let result = try convert("cut", "-o", "a.png", "--incomplete", "--json")

        #expect(result.status == 0)
        #expect(result.documents[0]["incomplete"].bool == true)
        let warnings = result.documents[0]["warnings"].list.compactMap(\.text)
        #expect(warnings.contains { $0.contains("a part of the image is missing") })
        #expect(try Tool.run("info", "-f", "width,height", "a.png", directory: place.path).lines == ["31", "17"])
    }

    @Test func `reports complete images as complete`() throws {
        put("images/f.jpg", as: "f.jpg")

        let result = try convert("f.jpg", "-o", "a.png", "--incomplete", "--json")

        #expect(result.status == 0)
        #expect(result.documents[0]["incomplete"].bool == false)
        #expect(try film("a.png").hashes == [Fixture.named("images/f.jpg").expect?.pixelSHA256])
    }

    /// Truncated in the third, the second and the first frame.
    @Test(arguments: [(1100, 2), (700, 1), (350, 0)])
    func `writes the complete frames of a truncated animation with --incomplete`(bytes: Int, whole: Int) throws {
        put("images/three-frames.gif", as: "a.gif")
        let hashes = try film("a.gif").hashes
        place.write(Array(Fixture.named("images/three-frames.gif").bytes.prefix(bytes)), to: "cut.gif")
        let known = try Tool.run("frames", "info", "--json", "cut.gif", directory: place.path).documents[0]
        try #require(known["frames"].list.count == max(1, whole))

        #expect(try convert("cut.gif", "-o", "b.apng").status == 65)
        #expect(readFile(place.file("b.apng")) == nil)
        let result = try convert("cut.gif", "-o", "b.apng", "--incomplete")

        #expect(result.status == 0, "\(result.stderr)")
        #expect(result.stderr.contains("warning: truncated"))
        let written = try film("b.apng").hashes
        #expect(written.count == max(1, whole))
        #expect(Array(written.prefix(whole)) == Array(hashes.prefix(whole)))
    }
}
