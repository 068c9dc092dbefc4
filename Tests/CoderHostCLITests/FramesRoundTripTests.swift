import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `Round trips of the command frames` {
    let place = TemporaryDirectory()

    private func frames(_ words: String...) throws -> CommandResult {
        try Tool.run(["frames"] + words, directory: place.path)
    }

    private func put(_ fixture: String, as name: String) { place.write(Fixture.named(fixture).bytes, to: name) }

    private func images(_ names: String...) throws {
        for name in names {
            let result = try Tool.run("convert", Repository.fixture("images/\(name)"), "-o", place.file(name))
            #expect(result.status == 0)
        }
    }

    private func film(_ file: String) throws -> Film { try Film(place.file(file)) }

    // MARK: info

    @Test func `reports every frame and the common properties`() throws {
        put("apng/three-frames.png", as: "a.png")

        let document = try #require(try frames("info", "--json", "a.png").documents.first)
        let text = try frames("info", "a.png").lines

        #expect(document["format"].text == "apng")
        #expect(document["frame_count"].integer == 3 && document["loop_count"].integer == 0)
        #expect(document["duration_ms"].number == 120)
        // As the recipe writes them; denominator 0 means 100 (PNG, third edition, 11.3.6.2).
        let list = document["frames"].list
        #expect(list.map { $0["duration"].list.map(\.integer) } == [[1, 25], [3, 100], [5, 100]])
        #expect(list.map { $0["disposal"].text } == ["keep", "background", "previous"])
        #expect(list.map { [$0["x"], $0["y"], $0["width"], $0["height"]].map(\.integer) }[1] == [8, 4, 10, 8])
        #expect(list.map { $0["key_frame"].bool } == [true, false, true])
        #expect(text.first == "a.png: apng 24x16, 3 frames, 0.12 s, plays forever")
        #expect(text.count == 5)
    }

    @Test func `lists the frames of a truncated file before the error`() throws {
        place.write(Fixture.named("apng/three-frames.png").bytes.dropLast(60), to: "cut.png")

        let document = try #require(try frames("info", "--json", "cut.png").documents.first)

        #expect(document["frames"].list.count == 2)
        #expect(document["problem"]["code"].text == "truncated")
        let text = try frames("info", "cut.png")
        #expect(text.status == 65 && text.lines.count == 4)
        #expect(text.stderr.contains("cut.png: the data ends too early"), "\(text.stderr)")
        #expect(try frames("info", "--json", "cut.png").status == 65)
        #expect(try frames("info", "--json", "cut.png").stderr.isEmpty)
        place.write(Array(Fixture.named("apng/three-frames.png").bytes.prefix(20)), to: "nothing.png")
        #expect(try frames("info", "nothing.png").status == 65)
    }

    // MARK: Round trips

    static let exact = [
        ("images/three-frames.gif", "gif", []), ("images/three-frames.gif", "apng", []),
        ("images/three-frames.gif", "webp", ["--lossless"]), ("images/three-frames.gif", "avif", ["--lossless"]),
        ("images/three-frames.webp", "apng", []), ("images/three-frames.webp", "webp", ["--lossless"]),
        ("apng/three-frames.png", "apng", []), ("apng/three-frames.png", "webp", ["--lossless"]),
        ("apng/hidden-default-image.png", "apng", []),
    ]

    @Test(arguments: exact)
    func `extracts an animation and assembles it identically`(
        fixture: String, format: String, words: [String]
    ) throws {
        put(fixture, as: "in")
        let before = try film("in")

        let apart = try frames("extract", "in", "-o", "p{n:03}.png", "--timing", "t.json")
        #expect(apart.status == 0 && apart.stderr.isEmpty, "\(apart.stderr)")
        let names = (0..<before.hashes.count).map { "p00\($0).png" }
        let together = try Tool.run(
            ["frames", "assemble"] + names + ["-o", "out.\(format)", "--timing", "t.json"] + words,
            directory: place.path)

        #expect(together.status == 0 && together.stderr.isEmpty, "\(together.stderr)")
        #expect(try film("out.\(format)") == before)
    }

    @Test func `extracts composited or raw frames`() throws {
        put("apng/three-frames.png", as: "a.png")

        #expect(try frames("extract", "a.png", "-o", "seen{n}.png").status == 0)
        #expect(try frames("extract", "a.png", "-o", "raw{n}.png", "--raw").status == 0)

        func size(_ name: String) throws -> [String] {
            try Tool.run("info", "-f", "width,height", place.file(name)).lines
        }
        #expect(try size("seen1.png") == ["24", "16"])
        #expect(try size("raw1.png") == ["10", "8"])
        let hashes = try film("a.png").hashes
        for index in 0..<3 { #expect(try film("seen\(index).png").hashes == [hashes[index]]) }
    }

    @Test func `lists the extracted images in the timing file, in order`() throws {
        put("images/three-frames.gif", as: "a.gif")

        let report = try frames("extract", "a.gif", "-o", "{stem}-{n}.png", "--timing", "t.json", "--json")
        let timing = Document(String(decoding: try #require(readFile(place.file("t.json"))), as: UTF8.self))

        #expect(timing["loop_count"].integer == 3)
        #expect(timing["frames"].list.map { $0["file"].text } == ["a-0.png", "a-1.png", "a-2.png"])
        #expect(
            timing["frames"].list.map { $0["duration"].list.map(\.integer) } == [[10, 100], [20, 100], [10, 100]])
        #expect(report.documents[0]["frames"].list.count == 3)
    }

    @Test func `pads frame numbers to the digits of the last frame`() throws {
        put("images/three-frames.gif", as: "a.gif")
        #expect(try frames("assemble", "a.gif", "a.gif", "a.gif", "a.gif", "-o", "b.apng").status == 0)

        #expect(try frames("extract", "b.apng", "-o", "p{n}.png").status == 0)
        #expect(try frames("extract", "b.apng", "-o", "q{n:1}.png").status == 0)

        let names = try Set(FileManager.default.contentsOfDirectory(atPath: place.path))
        #expect(names.isSuperset(of: ["p00.png", "p09.png", "p11.png", "q0.png", "q11.png"]))
    }

    @Test func `extracts the complete frames of a truncated file only with --incomplete`() throws {
        put("images/three-frames.gif", as: "a.gif")
        place.write(Array(Fixture.named("images/three-frames.gif").bytes.prefix(1100)), to: "cut.gif")

        let refused = try frames("extract", "cut.gif", "-o", "p{n}.png", "--timing", "t.json")
        #expect(refused.status == 65)
        #expect(refused.stderr.contains("try: --incomplete writes the available part"), "\(refused.stderr)")
        #expect(readFile(place.file("p0.png")) == nil && readFile(place.file("t.json")) == nil)
        let result = try frames("extract", "cut.gif", "-o", "p{n}.png", "--timing", "t.json", "--incomplete")

        #expect(result.status == 0, "\(result.stderr)")
        #expect(result.stderr.contains("warning: truncated in frame 2"), "\(result.stderr)")
        let timing = Document(String(decoding: try #require(readFile(place.file("t.json"))), as: UTF8.self))
        #expect(timing["frames"].list.map { $0["file"].text } == ["p0.png", "p1.png"])
        #expect(readFile(place.file("p2.png")) == nil)
    }

    // MARK: Durations and loop count

    static let times: [([String], [[Int]])] = [
        ([], [[1, 10], [1, 10]]), (["--fps", "25"], [[1, 25], [1, 25]]), (["--delay", "1/30"], [[1, 30], [1, 30]]),
        (["--fps", "30000/1001"], [[1001, 30000], [1001, 30000]]), (["--delay", "70"], [[70, 1000], [70, 1000]]),
        (["--fps", "12.5"], [[1000, 12500], [1000, 12500]]), (["--delay", "0"], [[0, 1000], [0, 1000]]),
    ]

    @Test(arguments: times) func `applies the given durations`(words: [String], durations: [[Int]]) throws {
        try images("f.png", "icc-srgb-like.png", "orientation-6.png")
        // Two different images of equal size.
        #expect(try Tool.run("convert", place.file("f.png"), "-o", place.file("g.jpg"), "-q", "20").status == 0)
        let result = try Tool.run(
            ["frames", "assemble", "f.png", "g.jpg", "-o", "a.apng"] + words, directory: place.path)

        #expect(result.status == 0 && result.stderr.isEmpty)
        let list = try frames("info", "--json", "a.apng").documents[0]["frames"].list
        let stored = list.map { $0["duration"].list.compactMap(\.integer) }
        #expect(stored.count == 2)
        for (a, b) in zip(stored, durations) { #expect(a[0] * b[1] == b[0] * a[1], "\(stored)") }
    }

    @Test func `warns if the format cannot store the duration`() throws {
        try images("f.png")
        #expect(try Tool.run("convert", place.file("f.png"), "-o", place.file("g.jpg"), "-q", "20").status == 0)

        let result = try frames("assemble", "f.png", "g.jpg", "f.png", "-o", "a.webp", "--delay", "1/30")

        #expect(result.status == 0)
        #expect(result.stderr.contains("warning: "))
        #expect(try film("a.webp").milliseconds.reduce(0, +) == 100)
    }

    static let loops: [([String], Int)] = [
        ([], 0), (["--loop", "forever"], 0), (["--loop", "0"], 0), (["--loop", "1"], 1), (["--loop", "3"], 3),
    ]

    @Test(arguments: loops, ["gif", "apng", "webp", "avif"])
    func `applies the given loop count`(loop: ([String], Int), format: String) throws {
        try images("f.png")
        #expect(try Tool.run("convert", place.file("f.png"), "-o", place.file("g.jpg"), "-q", "20").status == 0)

        let result = try Tool.run(
            ["frames", "assemble", "f.png", "g.jpg", "-o", "a", "-f", format] + loop.0, directory: place.path)

        #expect(result.status == 0)
        #expect(try film("a").plays == loop.1)
    }

    @Test func `writes the same bytes to a pipe as to a file`() throws {
        try images("f.png")
        #expect(try Tool.run("convert", place.file("f.png"), "-o", place.file("g.jpg"), "-q", "20").status == 0)

        for format in ["gif", "apng", "webp", "avif"] {
            let words = ["frames", "assemble", "f.png", "g.jpg", "-f", format]
            let piped = try Tool.run(words + ["-o", "-"], directory: place.path)
            #expect(try Tool.run(words + ["-o", "file"], directory: place.path).status == 0)
            #expect(piped.status == 0 && piped.stderr.isEmpty)
            #expect(piped.output == readFile(place.file("file")), "\(format)")
        }
    }

    // MARK: Errors

    static let mistakes: [([String], Int32, String)] = [
        (["assemble", "-o", "b.gif"], 64, "no input images"),
        (["extract", "-o", "p{n}.png"], 64, "no input file (use - for stdin)"),
        (["assemble", "f.png", "-o", "b.gif", "--timing", "nosuch.json"], 66, "coderhost: nosuch.json: "),
        (["extract", "a.gif", "-o", "c-{i}.png"], 64, "unknown placeholder {i}"),
        (["extract", "a.gif", "-o", "c-{n}.png", "--fps", "5"], 64, "--fps is an option of frames assemble"),
        (["info", "a.gif", "-o", "c-{n}.png"], 64, "--output is an option of frames extract and frames assemble"),
        (
            ["assemble", "f.png", "-o", "b.gif", "--dither", "foo"], 64,
            "coderhost: invalid --dither value \"foo\": expected none, ordered, diffusion, auto\n"
        ),
        (
            ["assemble", "f.png", "-o", "b.gif", "--colors", "1"], 64,
            "coderhost: invalid --colors value \"1\": below 2, range 2 to 256\n"
        ),
        (["extrct", "a.gif"], 64, "did you mean frames extract?"),
        (["burn", "a.gif"], 64, "unknown subcommand \"burn\""),
        (["extract", "a.gif"], 64, "missing option -o OUT"),
        (["extract", "a.gif", "-o", "p.png"], 64, "-o must contain {n}: there are many frames"),
        (["extract", "a.gif", "f.png", "-o", "p{n}.png"], 64, "-o must contain {stem}"),
        (["extract", "a.gif", "f.png", "-o", "{stem}{n}.png", "--timing", "t"], 64, "with one input only"),
        (["extract", "nowhere", "-o", "p{n}.png"], 66, "there is no such file"),
        (["assemble", "f.png"], 64, "missing option -o OUT"),
        (["assemble", "f.png", "-o", "a"], 64, "unknown output format for a"),
        (["assemble", "f.png", "-o", "a.jpg"], 69, "animation formats: "),
        (["assemble", "f.png", "-o", "a.gif", "--fps", "25", "--delay", "40"], 64, "choose one"),
        (["assemble", "f.png", "-o", "a.gif", "--fps", "0"], 64, "expected frames per second"),
        (["assemble", "f.png", "-o", "a.gif", "--fps", "25/0"], 64, "expected frames per second"),
        (["assemble", "f.png", "-o", "a.gif", "--delay", "1/0"], 64, "expected milliseconds, such as 33.3"),
        (["assemble", "f.png", "-o", "a.gif", "--loop", "often"], 64, "invalid --loop value"),
        (["assemble", "f.png", "photo.png", "-o", "a.gif"], 64, "photo.png: frame 1 has 160x120 pixels"),
        (["assemble", "f.png", "-o", "f.png", "-f", "apng"], 73, "f.png is one of the input images"),
        (["assemble", "f.png", "nowhere.png", "-o", "a.gif"], 66, "nowhere.png"),
        (["assemble", "f.png", "-o", "a.gif", "--timing", "f.png"], 64, "not a timing file"),
    ]

    @Test(arguments: mistakes)
    func `reports errors with hints and writes nothing`(
        words: [String], status: Int32, message: String
    ) throws {
        put("images/three-frames.gif", as: "a.gif")
        put("images/f.png", as: "f.png")
        put("images/photo.png", as: "photo.png")
        let before = try FileManager.default.contentsOfDirectory(atPath: place.path).sorted()
        let contents = before.map { readFile(place.file($0)) }

        let result = try Tool.run(["frames"] + words, directory: place.path)

        #expect(result.status == status, "\(result.stderr)")
        #expect(result.stderr.contains(message), "\(result.stderr)")
        #expect(result.stdout.isEmpty)
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.path).sorted() == before)
        #expect(before.map { readFile(place.file($0)) } == contents)
    }
}

/// The frames and durations of an animation, as `info` reports them.
struct Film: Equatable {
    var hashes: [String]
    var milliseconds: [Double]
    var plays: Int?

    init(_ path: String) throws {
        let document = try #require(try Tool.run("info", "--json", "--frames", "--hash", path).documents.first)
        hashes = document["frames"].list.compactMap { $0["pixel_sha256"].text }
        milliseconds = document["frames"].list.compactMap { $0["duration_ms"].number }
        plays = document["loop_count"].integer
    }
}
