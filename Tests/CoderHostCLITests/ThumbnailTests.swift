import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `The command thumbnail` {
    let place = TemporaryDirectory()

    private func put(_ names: String...) throws {
        for name in names {
            try FileManager.default.copyItem(
                atPath: Repository.fixture("images/\(name)"), toPath: place.file(name))
        }
    }

    private func thumbnail(_ words: String..., input: [UInt8] = []) throws -> CommandResult {
        try Tool.run(["thumbnail"] + words, input: input, directory: place.path)
    }

    private func size(_ file: String) throws -> String {
        let lines = try Tool.run("info", "-f", "width,height", file, directory: place.path).lines
        return lines.joined(separator: "x")
    }

    private func field(_ name: String, _ file: String) throws -> String? {
        try Tool.run("info", "-f", name, file, directory: place.path).lines.first
    }

    /// A small animation fits its thumbnail, so its frames stay as they are.
    @Test(arguments: ["three-frames.gif", "f.gif", "three-frames.webp"])
    func `of an image that fits the box has no more bytes than the image`(name: String) throws {
        try put(name)
        let document = try #require(try thumbnail(name, "--json").documents.first)

        #expect(try #require(document["bytes"].integer) <= #require(document["input_bytes"].integer))
        #expect(try size(document["output"].text ?? "") == size(name))
        #expect(try field("frame_count", document["output"].text ?? "") == field("frame_count", name))
        // A WebP of this size is encoded again, because that needs fewer bytes.
        if name.hasSuffix("webp") { return }
        #expect(try field("pixel_sha256", document["output"].text ?? "") == field("pixel_sha256", name))
    }

    @Test func `tells if it needs more bytes than the image`() throws {
        // One color compresses to fewer bytes than the noise of a reduced checkerboard.
        var rows = Array("P5 400 400 255\n".utf8)
        for y in 0..<400 { for x in 0..<400 { rows.append((x / 3 + y / 3) % 2 == 0 ? 0 : 255) } }
        place.write(rows, to: "board.pgm")
        #expect(try Tool.run("convert", "board.pgm", "-o", "board.png", directory: place.path).status == 0)
        let result = try thumbnail("board.png")
        let document = try #require(try thumbnail("board.png", "--json", "-o", "t.png").documents.first)
        let (bytes, source) = (try #require(document["bytes"].integer), try #require(document["input_bytes"].integer))

        #expect(bytes > source && result.status == 0)
        #expect(
            result.stderr.contains("needs more bytes than the image, \(bytes) instead of \(source)"), "\(result.stderr)"
        )
    }

    static let images = ["f.jpg", "f.png", "f.webp", "f.heic", "f.avif", "f.gif", "rgba.ff", "rgba.pam", "f.ppm"]

    @Test(arguments: images)
    func `is written beside its image, in the same format`(name: String) throws {
        try put(name)

        let result = try thumbnail(name, "-s", "10")

        #expect(result.status == 0)
        #expect(result.stdout.isEmpty && result.stderr.isEmpty)
        let written = try FileManager.default.contentsOfDirectory(atPath: place.path).filter { $0 != name }
        #expect(written.count == 1 && written[0].contains("-thumb."))
        let file = try #require(written.first)
        #expect(try size(file) == "10x6")
        #expect(try field("format", file) == field("format", name))
    }

    @Test(arguments: [
        ("inside", "10x10", "10x6"), ("inside", "10x4", "8x4"), ("inside", "12x", "12x7"), ("inside", "x5", "10x5"),
        ("outside", "10x10", "19x10"), ("cover", "10x10", "10x10"), ("fill", "10x10", "10x10"),
        ("contain", "10x10", "10x10"), ("contain", "40x40", "40x40"), ("inside", "100", "31x17"),
        ("fill", "100x5", "100x5"), ("cover", "100x10", "100x10"),
    ])
    func `fits its box as requested`(fit: String, box: String, expected: String) throws {
        try put("f.png")

        #expect(try thumbnail("f.png", "-s", box, "--fit", fit, "-o", "t.png").status == 0)

        #expect(try size("t.png") == expected)
    }

    @Test func `enlarges only on request`() throws {
        try put("f.png")

        #expect(try thumbnail("f.png", "-s", "62x62", "--enlarge", "-o", "t.png").status == 0)
        #expect(try size("t.png") == "62x34")
        #expect(try thumbnail("f.png", "-s", "62x62", "--enlarge", "--fit", "cover", "-o", "t.png").status == 0)
        #expect(try size("t.png") == "62x62")
    }

    @Test(arguments: 1...8)
    func `is upright for every orientation`(orientation: Int) throws {
        let name = "orientation-\(orientation).jpg"
        try put(name)

        #expect(try thumbnail(name, "-s", "10", "-o", "t.jpg").status == 0)

        #expect(try size("t.jpg") == (orientation < 5 ? "10x6" : "6x10"))
        #expect(try field("orientation", "t.jpg").map { ["", "1", "null", "-"].contains($0) } ?? true)
    }

    @Test func `keeps only the profile`() throws {
        try put("icc-wide.png", "orientation-6.jpg")

        #expect(try thumbnail("icc-wide.png", "-s", "10", "-o", "t.png").status == 0)
        #expect(try field("color_profile", "t.png") == field("color_profile", "icc-wide.png"))
        #expect(try thumbnail("orientation-6.jpg", "-s", "10", "-o", "t.jpg").status == 0)
        let kept = try Tool.run("info", "--json", "t.jpg", directory: place.path).stdout
        #expect(!kept.contains("\"exif\""))
    }

    @Test func `of an animation keeps the durations`() throws {
        try put("three-frames.gif")

        #expect(try thumbnail("three-frames.gif", "-s", "10", "-o", "t.webp").status == 0)
        #expect(try thumbnail("three-frames.gif", "-s", "10", "--first-frame", "-o", "t.png").status == 0)

        #expect(try field("frame_count", "t.webp") == "3")
        #expect(try size("t.webp") == "10x6")
        let times = try ["three-frames.gif", "t.webp"].map { file in
            try Document(Tool.run("frames", "info", "--json", file, directory: place.path).stdout)["frames"].list
                .map { $0["duration_ms"].number }
        }
        #expect(times[0] == times[1])
        #expect(try field("frame_count", "t.png") == "1")
    }

    @Test func `works in a pipe`() throws {
        let bytes = try #require(readFile(Repository.fixture("images/f.jpg")))

        let result = try thumbnail("-", "-s", "10", "-f", "png", "-o", "t.png", input: bytes)

        #expect(result.status == 0)
        #expect(try size("t.png") == "10x6")
    }

    @Test func `is made for all valid inputs, reported in order`() throws {
        place.folder("out")
        var names: [String] = []
        for index in 0..<40 {
            let source = Self.images[index % Self.images.count]
            let name = "\(index).\(source.split(separator: ".")[1])"
            try FileManager.default.copyItem(
                atPath: Repository.fixture("images/\(source)"), toPath: place.file(name))
            names.append(name)
        }
        place.write(Array("no image".utf8), to: "bad.png")
        names.insert("bad.png", at: 7)

        let result = try Tool.run(
            ["thumbnail", "-s", "8", "-o", "out/", "-f", "png", "--json", "-j", "4"] + names, directory: place.path)

        #expect(result.status == 1)
        #expect(result.lines.map { Document($0)["file"].text } == names)
        #expect(Document(result.lines[7])["error"]["code"].text != nil)
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.file("out")).count == 40)
    }

    @Test func `never writes two inputs to one file`() throws {
        try put("f.jpg", "f.png")
        place.folder("out")

        let result = try thumbnail("f.jpg", "f.png", "-s", "8", "-o", "out/", "-f", "webp", "-j", "2")

        #expect(result.status == 1)
        #expect(result.stderr.contains("already written from f.jpg") && result.stderr.contains("template"))
    }

    @Test func `with a budget of one byte processes the inputs one by one`() throws {
        try put("f.jpg", "f.png", "f.webp")
        place.folder("out")

        let result = try thumbnail(
            "f.jpg", "f.png", "f.webp", "-s", "8", "-o", "out/{stem}-{ext}.png", "--budget", "1")

        #expect(result.status == 0)
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.file("out")).count == 3)
    }

    @Test(arguments: [
        (["-s", "0"], "invalid --size value"), (["-s", "0x0"], "invalid --size value"),
        (["-s", "x"], "invalid --size value"),
        (["-s", "10x10x10"], "invalid --size value"),
        (["-s", "-5"], "invalid --size value"), (["-s", "99999999999"], "invalid --size value"),
        (["--fit", "covr"], "did you mean cover"),
        (["--crop", "atention", "--fit", "cover"], "did you mean attention"), (["--crop", "attention"], "--fit cover"),
        (["--filter", "lanczos"], "did you mean lanczos3"), (["--bg", "whit"], "did you mean white"),
        (["--jobs", "0"], "--jobs"), (["--budget", "lots"], "--budget"), (["--target-size", "0"], "--target-size"),
    ])
    func `reports invalid option values`(words: [String], said: String) throws {
        try put("f.png")

        let result = try Tool.run(["thumbnail", "f.png", "-o", "t.png"] + words, directory: place.path)

        #expect(result.status == 64)
        #expect(result.stderr.contains(said), "\(result.stderr)")
        #expect(!FileManager.default.fileExists(atPath: place.file("t.png")))
    }

    @Test func `keeps the interesting part of an image`() throws {
        // Gray, with a red and green pattern at the right.
        var samples: [UInt8] = []
        for y in 0..<20 {
            for x in 0..<60 {
                samples += x < 40 ? [128, 128, 128] : (x + y) % 2 == 0 ? [255, 0, 0] : [0, 200, 0]
            }
        }
        place.write(Array("P6 60 20 255\n".utf8) + samples, to: "a.ppm")
        for position in ["attention", "entropy"] {
            #expect(
                try thumbnail("a.ppm", "-s", "20x20", "--fit", "cover", "--crop", position, "-o", "t.ppm").status == 0)
            let written = try #require(readFile(place.file("t.ppm")))
            var expected: [UInt8] = []
            for y in 0..<20 { expected += samples[(y * 60 + 40) * 3..<(y * 60 + 60) * 3] }
            #expect(Array(written.suffix(1200)) == expected)
        }
    }

    @Test func `takes a watermark, a limit and a series`() throws {
        try put("photo.png", "f.png")

        #expect(try thumbnail("photo.png", "--max", "50", "-o", "m.png").status == 0)
        #expect(try size("m.png") == "50x38")
        #expect(try thumbnail("photo.png", "-s", "8", "--max", "50", "-o", "m.png").stderr.contains("choose one"))
        let marked = try thumbnail(
            "photo.png", "-s", "64", "--overlay", "f.png", "--overlay-gravity", "north", "-o", "w.png")
        #expect(marked.status == 0 && marked.stderr.isEmpty, "\(marked.stderr)")
        let series = try thumbnail("photo.png", "--sizes", "8,16", "-f", "webp,png", "-o", "s/", "--srcset", "html")
        #expect(series.status == 0 && series.stdout.hasPrefix("<picture>"), "\(series.stderr)")
        #expect(try size("s/photo-16.webp") == "16x12")
    }
}
