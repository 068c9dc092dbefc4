import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `The command convert with selected frames` {
    let place = TemporaryDirectory()

    private func convert(_ words: String...) throws -> CommandResult {
        try Tool.run(["convert"] + words, directory: place.path)
    }

    private func put(_ fixture: String, as name: String) { place.write(Fixture.named(fixture).bytes, to: name) }
    private func film(_ file: String) throws -> Film { try Film(place.file(file)) }
    private func size(_ file: String) throws -> Int { try #require(readFile(place.file(file))).count }

    /// 24 frames of 40 ms: a noisy plane on which a square moves.
    private func putNoise(as name: String) throws {
        var state: UInt64 = 9
        var names: [String] = []
        for frame in 0..<24 {
            var pixels: [UInt8] = []
            for y in 0..<60 {
                for x in 0..<80 {
                    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                    let isInside = (frame * 2..<frame * 2 + 20).contains(x) && (10..<40).contains(y)
                    let noise = Int(state >> 59)
                    let pixel: [Int] = isInside ? [200, noise * 4, 30] : [x * 2 + noise, y * 3 + noise, 90]
                    pixels += pixel.map { UInt8($0) }
                }
            }
            names.append("n\(frame < 10 ? "0" : "")\(frame).ppm")
            place.write(Array("P6 80 60 255\n".utf8) + pixels, to: names[frame])
        }
        let result = try Tool.run(
            ["frames", "assemble"] + names + ["-o", name, "--delay", "40", "--loop", "3"], directory: place.path)
        try #require(result.status == 0, "\(result.stderr)")
    }

    @Test func `selects, retimes and reverses frames`() throws {
        try putNoise(as: "a.apng")
        let all = try film("a.apng")
        try #require(all.hashes.count == 24)
        let cases: [(words: [String], frames: [Int], milliseconds: Double)] = [
            (["--trim-frames", "4..9"], Array(4...9), 40), (["--trim-frames", "20.."], Array(20..<24), 40),
            (["--trim-frames", "..2"], Array(0...2), 40),
            (["--every", "4"], Array(stride(from: 0, to: 24, by: 4)), 160),
            (["--speed", "2x"], Array(0..<24), 20), (["--speed", "50%"], Array(0..<24), 80),
            (["--fps", "12.5"], Array(stride(from: 0, to: 24, by: 2)), 80),
            (["--reverse"], (0..<24).reversed(), 40),
            (["--every", "2", "--reverse"], stride(from: 22, through: 0, by: -2).map { $0 }, 80),
        ]
        for (words, frames, milliseconds) in cases {
            let result = try Tool.run(["convert", "a.apng", "-o", "b.apng"] + words, directory: place.path)
            #expect(result.status == 0 && result.stderr.isEmpty, "\(words): \(result.stderr)")
            let written = try film("b.apng")
            #expect(written.hashes == frames.map { all.hashes[$0] }, "\(words)")
            #expect(written.milliseconds == frames.map { _ in milliseconds }, "\(words)")
            #expect(written.plays == 3)
        }
    }

    @Test func `writes a selection of one frame to a still format`() throws {
        put("images/three-frames.gif", as: "a.gif")
        let result = try convert("a.gif", "-o", "b.pam", "--trim-frames", "1..1")
        #expect(result.status == 0 && result.stderr.isEmpty)
        #expect(try film("b.pam").hashes == [film("a.gif").hashes[1]])
    }

    @Test func `warns if an image has only one frame`() throws {
        put("images/f.png", as: "a.png")
        let result = try convert("a.png", "-o", "b.png", "--speed", "2", "--json")
        #expect(result.status == 0)
        let warnings = result.documents[0]["warnings"].list.compactMap(\.text)
        #expect(warnings.contains { $0.hasPrefix("the image has one frame") })
    }

    @Test func `uses the complete frames of a truncated file with --incomplete`() throws {
        place.write(Array(Fixture.named("images/three-frames.gif").bytes.prefix(1100)), to: "cut.gif")
        #expect(try convert("cut.gif", "-o", "b.apng", "--reverse").status == 65)
        let result = try convert("cut.gif", "-o", "b.apng", "--reverse", "--incomplete")
        #expect(result.status == 0)
        #expect(result.stderr.contains("warning: truncated in frame 2"))
        put("images/three-frames.gif", as: "a.gif")
        #expect(try film("b.apng").hashes == film("a.gif").hashes.prefix(2).reversed())
    }

    @Test(arguments: [
        (["--trim-frames", "5..2"], "--trim-frames"), (["--trim-frames", "a"], "--trim-frames"),
        (["--trim-frames", ".."], "--trim-frames"), (["--every", "0"], "--every"), (["--speed", "0"], "--speed"),
        (["--speed", "fast"], "--speed"), (["--fps", "-3"], "--fps"), (["--reverse", "--frame", "1"], "--frame"),
    ])
    func `refuses invalid values`(words: [String], option: String) throws {
        put("images/three-frames.gif", as: "a.gif")
        let result = try Tool.run(["convert", "a.gif", "-o", "b.gif"] + words, directory: place.path)
        #expect(result.status == 64)
        #expect(result.stderr.contains(option))
    }

    @Test func `names the frames of the file if the range is beyond them`() throws {
        put("images/three-frames.gif", as: "a.gif")
        let result = try convert("a.gif", "-o", "b.gif", "--trim-frames", "1..3")
        #expect(result.status == 64)
        #expect(result.stderr.contains("there is no frame 3") && result.stderr.contains("it has 3, counted from 0"))
    }

    // MARK: Size

    @Test(arguments: ["gif", "webp", "avif"]) func `meets a file size by lower quality`(format: String) throws {
        try putNoise(as: "a.apng")
        #expect(try convert("a.apng", "-o", "full.\(format)", "-q", "100").status == 0)
        let limit = try size("full.\(format)") / 2

        let result = try convert("a.apng", "-o", "small.\(format)", "--target-size", "\(limit)")

        #expect(result.status == 0, "\(result.stderr)")
        #expect(try (limit / 2...limit).contains(size("small.\(format)")))
        #expect(try film("small.\(format)").milliseconds == film("a.apng").milliseconds)
    }

    @Test func `states the size at the lowest quality if that is too large`() throws {
        try putNoise(as: "a.apng")
        #expect(try convert("a.apng", "-o", "least.webp", "-q", "0").status == 0)

        let result = try convert("a.apng", "-o", "b.webp", "--target-size", "300")

        #expect(result.status == 77)
        #expect(result.stderr.contains("at the lowest quality it has \(try size("least.webp")) bytes"))
        #expect(result.stderr.contains("--every 2"))
        #expect(readFile(place.file("b.webp")) == nil)
    }

    @Test func `has no quality to lower in a lossless format`() throws {
        put("images/three-frames.gif", as: "a.gif")
        let result = try convert("a.gif", "-o", "b.apng", "--target-size", "300")
        #expect(result.status == 77)
        #expect(result.stderr.contains("this format has no quality to lower"))
        #expect(try convert("a.gif", "-o", "b.apng", "--target-size", "1M").status == 0)
        #expect(try film("b.apng") == film("a.gif"))
    }

    /// The encoder alone makes these files larger.
    @Test(arguments: ["images/three-frames.gif", "images/f.gif"])
    func `never makes a file larger in its own format`(fixture: String) throws {
        put(fixture, as: "a.gif")

        let result = try convert("a.gif", "-o", "b.gif", "--json")

        #expect(result.status == 0 && result.stderr.isEmpty)
        #expect(try size("b.gif") <= size("a.gif"))
        #expect(try film("b.gif") == film("a.gif"))
        #expect(result.documents[0]["encoder"].text == "org.coderhost.gif")
    }

    @Test func `removes metadata although it keeps the stored frames`() throws {
        put("images/three-frames.gif", as: "a.gif")
        var bytes = try #require(readFile(place.file("a.gif")))
        bytes.insert(contentsOf: [0x21, 0xFE, 5] + Array("hello".utf8) + [0], at: bytes.count - 1)
        place.write(bytes, to: "a.gif")

        #expect(try convert("a.gif", "-o", "b.gif", "--strip", "all").status == 0)

        let written = try #require(readFile(place.file("b.gif")))
        #expect(try written.count <= size("a.gif") - 9)
        #expect(!String(decoding: written, as: UTF8.self).contains("hello"))
        #expect(try film("b.gif") == film("a.gif"))
    }

    @Test func `refuses damage although it keeps the stored frames`() throws {
        place.write(Array(Fixture.named("images/three-frames.gif").bytes.prefix(1100)), to: "cut.gif")
        #expect(try convert("cut.gif", "-o", "b.gif").status == 65)
        #expect(readFile(place.file("b.gif")) == nil)
    }

    @Test func `writes the same file to standard output`() throws {
        put("images/three-frames.gif", as: "a.gif")
        #expect(try convert("a.gif", "-o", "b.gif").status == 0)
        let result = try Tool.shell("\"$coderhost\" convert a.gif -o - -f gif > c.gif", directory: place.path)
        #expect(result.status == 0)
        #expect(readFile(place.file("c.gif")) == readFile(place.file("b.gif")))
    }
}
