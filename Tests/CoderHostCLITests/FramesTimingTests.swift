import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `Input images of frames assemble` {
    let place = TemporaryDirectory()

    private func frames(_ words: String...) throws -> CommandResult {
        try Tool.run(["frames"] + words, directory: place.path)
    }

    private func film(_ file: String) throws -> Film { try Film(place.file(file)) }

    /// An image of one color; opaque unless `alpha` is given.
    private func paint(_ name: String, _ level: UInt8, alpha: UInt8? = nil, depth: Int = 8) throws {
        let samples = [level, 10, 20] + (alpha.map { [$0] } ?? [])
        let pixel = depth == 8 ? samples : samples.flatMap { [$0, 0x55] }
        let kind = alpha == nil ? "RGB" : "RGB_ALPHA"
        let header =
            "P7\nWIDTH 8\nHEIGHT 6\nDEPTH \(samples.count)\nMAXVAL \(depth == 8 ? 255 : 65535)\nTUPLTYPE \(kind)\nENDHDR\n"
        place.write(Array(header.utf8) + (0..<48).flatMap { _ in pixel }, to: "x.pam")
        #expect(try Tool.run("convert", "x.pam", "-o", name, directory: place.path).status == 0)
    }

    private func timing(_ entries: [(String?, Int)], schema: Int = 1) {
        let list = entries.map { file, hundredths in
            "{" + (file.map { "\"file\": \"\($0)\", " } ?? "") + "\"duration\": [\(hundredths), 100]}"
        }
        let text = "{\"schema\": \(schema), \"loop_count\": 2, \"frames\": [\(list.joined(separator: ", "))]}"
        place.write(Array(text.utf8), to: "t.json")
    }

    /// Four images whose glob order differs from the timing file.
    private func four() throws -> [String] {
        var hashes: [String] = []
        for (index, name) in ["p0.png", "p1.png", "p2.png", "p10.png"].enumerated() {
            try paint(name, UInt8(40 * index + 20))
            hashes += try film(name).hashes
        }
        timing([("p0.png", 10), ("p1.png", 20), ("p2.png", 30), ("p10.png", 40)])
        return hashes
    }

    @Test func `take order and durations from the timing file, for any names`() throws {
        let hashes = try four()

        let result = try frames(
            "assemble", "./p0.png", "p1.png", "p10.png", "p2.png", "-o", "a.apng", "--timing", "t.json")

        #expect(result.status == 0 && result.stderr.isEmpty, "\(result.stderr)")
        let written = try film("a.apng")
        #expect(written.hashes == hashes)
        #expect(written.milliseconds == [100, 200, 300, 400])
        #expect(written.plays == 2)
    }

    @Test func `can be fewer than the entries of the timing file`() throws {
        let hashes = try four()

        let result = try frames("assemble", "p10.png", "p1.png", "-o", "a.apng", "--timing", "t.json")

        #expect(result.status == 0)
        #expect(result.stderr.contains("2 frames of t.json have no image: skipped"), "\(result.stderr)")
        #expect(try film("a.apng").hashes == [hashes[1], hashes[3]])
        #expect(try film("a.apng").milliseconds == [200, 400])
    }

    @Test func `need an entry each`() throws {
        _ = try four()
        try paint("other.png", 250)

        let result = try frames("assemble", "p0.png", "other.png", "-o", "a.apng", "--timing", "t.json")

        #expect(result.status == 64)
        #expect(
            result.stderr.contains("coderhost: t.json: the timing file has no entry for other.png"), "\(result.stderr)")
        #expect(result.stderr.contains("try: add an entry, or remove the image"))
        #expect(readFile(place.file("a.apng")) == nil)
        #expect(try frames("assemble", "p0.png", "p0.png", "-o", "a.apng", "--timing", "t.json").status == 64)
    }

    @Test func `match by position if no entry has a name`() throws {
        let hashes = try four()
        timing([(nil, 10), (nil, 20)])

        #expect(try frames("assemble", "p2.png", "p0.png", "-o", "a.apng", "--timing", "t.json").status == 0)
        let other = try frames("assemble", "p2.png", "-o", "b.apng", "--timing", "t.json")

        #expect(try film("a.apng").hashes == [hashes[2], hashes[0]])
        #expect(try film("a.apng").milliseconds == [100, 200])
        #expect(other.status == 64)
        #expect(other.stderr.contains("t.json: the timing file has 2 images, but the inputs are 1"), "\(other.stderr)")
    }

    @Test func `come from the timing file by default`() throws {
        let hashes = try four()
        place.folder("fr")
        place.folder("elsewhere")
        #expect(try frames("assemble", "-o", "a.gif", "--timing", "t.json").status == 0)
        let extracted = try frames("extract", "a.gif", "-o", "fr/q{n}.png", "--timing", "fr/u.json")
        #expect(extracted.status == 0, "\(extracted.stderr)")

        let result = try Tool.run(
            ["frames", "assemble", "-o", "b.apng", "--timing", "../fr/u.json"], directory: place.file("elsewhere"))

        #expect(result.status == 0, "\(result.stderr)")
        #expect(try film("elsewhere/b.apng").hashes == hashes)
        timing([("gone.png", 10)])
        let gone = try frames("assemble", "-o", "c.gif", "--timing", "t.json")
        #expect(gone.status == 66)
        #expect(gone.stderr.contains("coderhost: gone.png: "), "\(gone.stderr)")
    }

    @Test func `reject a timing file with another schema`() throws {
        _ = try four()
        timing([("p0.png", 10)], schema: 2)

        let result = try frames("assemble", "p0.png", "-o", "a.apng", "--timing", "t.json")

        #expect(result.status == 64)
        #expect(result.stderr.contains("unknown schema 2 of the timing file"), "\(result.stderr)")
    }

    // MARK: Input properties

    @Test func `can be reversed and played at another speed`() throws {
        let hashes = try four()
        let words = ["p0.png", "p1.png", "p2.png", "p10.png", "--timing", "t.json", "--reverse", "--speed", "2x"]
        #expect(try Tool.run(["frames", "assemble"] + words + ["-o", "a.apng"], directory: place.path).status == 0)
        let written = try film("a.apng")
        #expect(written.hashes == hashes.reversed() && written.milliseconds == [200, 150, 100, 50])

        // The frames of an animated input are reversed too.
        #expect(try frames("assemble", "a.apng", "-o", "b.apng", "--reverse", "--speed", "50%").status == 0)
        let back = try film("b.apng")
        #expect(back.hashes == hashes && back.milliseconds == [100, 200, 300, 400])
        #expect(try frames("assemble", "a.apng", "-o", "b.apng", "--speed", "0").status == 64)
    }

    @Test func `include all frames of animated inputs`() throws {
        place.write(Fixture.named("images/three-frames.gif").bytes, to: "a.gif")
        let one = try film("a.gif")

        let joined = try frames("assemble", "a.gif", "a.gif", "-o", "b.apng", "-v")
        let paced = try frames("assemble", "a.gif", "-o", "c.apng", "--fps", "5")

        #expect(joined.status == 0 && paced.status == 0, "\(joined.stderr)\(paced.stderr)")
        #expect(joined.stderr.contains("6 images -> b.apng"), "\(joined.stderr)")
        #expect(try film("b.apng").hashes == one.hashes + one.hashes)
        #expect(try film("b.apng").milliseconds == one.milliseconds + one.milliseconds)
        #expect(try film("c.apng").milliseconds == [200, 200, 200])
    }

    @Test(arguments: [("apng", []), ("webp", ["--lossless"]), ("gif", [])])
    func `keep transparency if only a later image has it`(format: String, words: [String]) throws {
        try paint("opaque.png", 200)
        try paint("clear.png", 0, alpha: 0)

        let result = try Tool.run(
            ["frames", "assemble", "opaque.png", "clear.png", "-o", "a", "-f", format] + words, directory: place.path)
        #expect(try frames("extract", "a", "-o", "p{n}.pam").status == 0)

        #expect(result.status == 0 && result.stderr.isEmpty, "\(result.stderr)")
        let alpha = try ["p0.pam", "p1.pam"].map { try #require(readFile(place.file($0))).last }
        #expect(alpha == [255, 0])
    }

    @Test func `keep 16 bits if only a later image has them`() throws {
        try paint("shallow.png", 200)
        try paint("deep.png", 100, depth: 16)

        #expect(try frames("assemble", "shallow.png", "deep.png", "-o", "a.apng").status == 0)

        #expect(try Tool.run("info", "-f", "bit_depth", "a.apng", directory: place.path).lines == ["16"])
    }

    @Test(arguments: [("gif", "60", true), ("gif", "50", false), ("apng", "60", false)])
    func `warn about durations that viewers extend`(
        format: String, rate: String, warns: Bool
    ) throws {
        try paint("a.png", 10)
        try paint("b.png", 200)

        let result = try Tool.run(
            ["frames", "assemble", "a.png", "b.png", "-o", "x", "-f", format, "--fps", rate], directory: place.path)

        #expect(result.status == 0)
        let warnings = result.stderr.components(separatedBy: "frames of 17 ms are shown for 100 ms by most viewers")
        #expect(warnings.count == (warns ? 2 : 1), "\(result.stderr)")
        if rate == "50" { #expect(result.stderr.isEmpty) }
    }
}
