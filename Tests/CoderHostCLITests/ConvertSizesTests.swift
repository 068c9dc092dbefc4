import TestSupport
import Testing

/// The sizes and parts that people type.
@Suite(.timeLimit(.minutes(40))) struct `Sizes in convert` {
    private typealias Color = QuarterImage
    private let image = QuarterImage()

    @Test(arguments: [
        (["--resize", "50%"], "8x4"), (["--resize", "200%"], "32x16"), (["--resize", "12.5%"], "2x1"),
        (["--max", "4"], "4x2"), (["--max", "99"], "16x8"), (["--resize", "4x4^"], "8x4"),
        (["--resize", "32x32^"], "64x32"), (["--resize", "4x4!"], "4x4"), (["--resize", "99x99>"], "16x8"),
        (["--resize", "8x>"], "8x4"), (["--resize", "300x300", "--fit", "cover"], "300x300"),
        (["--resize", "32x32", "--fit", "contain"], "32x32"), (["--resize", "30x10", "--fit", "fill"], "30x10"),
        (["--resize", "99x99", "--fit", "inside"], "16x8"), (["--resize", "99x99", "--fit", "outside"], "16x8"),
        (["--resize", "99x99", "--enlarge"], "99x50"),
        (["--resize", "30x30", "--fit", "contain", "--no-enlarge"], "30x30"),
        (["--crop", "1:1"], "8x8"), (["--crop", "16:9"], "14x8"), (["--crop", "1:4"], "2x8"),
        (["--crop", "4x4"], "4x4"),
        (["--crop", "1:1", "--resize", "4x"], "4x4"), (["--extend", "2"], "20x12"), (["--extend", "20x20"], "20x20"),
        (["--extend", "x20"], "16x20"),
    ])
    func `have the documented result`(words: [String], size: String) throws {
        let result = try image.convert(["q.ppm", "-o", "t.png"] + words)

        let isKept = size == "16x8" && ["inside", "outside"].contains(words.last)
        #expect(result.status == 0 && result.stderr.isEmpty != isKept, "\(result.stderr)")
        #expect(try image.size("t.png") == size)
    }

    @Test(arguments: [
        (["--resize", "3000"], "--resize 3000"), (["--resize", "17x8"], nil), (["--resize", "17x"], "--resize 17x"),
        (["--resize", "3000", "--enlarge"], nil), (["--resize", "3000", "--no-enlarge"], nil),
        (["--resize", "3000>"], nil), (["--max", "3000"], nil), (["--resize", "16x"], nil), (["--resize", "8x"], nil),
        (["--resize", "20x20", "--fit", "outside"], "--resize 20x20"),
        (["--crop", "4x4", "--resize", "8x"], "--resize 8x"),
    ])
    func `tell of an image that is smaller than the requested size`(words: [String], typed: String?) throws {
        let result = try image.convert(["q.ppm", "-o", "t.png", "--json"] + words)

        let size = words.contains("--crop") ? "4x4" : "16x8"
        let told = typed.map {
            "the image of \(size) pixels is smaller than \($0) and keeps its size; --enlarge enlarges it"
        }
        #expect(result.documents[0]["warnings"].list.compactMap(\.text) == [told].compactMap(\.self))
    }

    @Test(arguments: [
        (["--crop", "4x4", "--gravity", "northeast"], [Color.green, Color.green, Color.green, Color.green]),
        (["--crop", "4x4", "--gravity", "southwest"], [Color.blue, Color.blue, Color.blue, Color.blue]),
        (["--crop", "1:2", "--gravity", "west"], [Color.red, Color.red, Color.blue, Color.blue]),
        (
            ["--resize", "4x4", "--fit", "cover", "--gravity", "east", "--filter", "box"],
            [Color.green, Color.green, Color.white, Color.white]
        ),
        (
            ["--resize", "4x4", "--fit", "cover", "--crop", "west", "--filter", "box"],
            [Color.red, Color.red, Color.blue, Color.blue]
        ),
        (
            ["--resize", "16x16", "--fit", "contain", "--gravity", "north", "--bg", "#ffff00"],
            [Color.red, Color.green, [255, 255, 0], [255, 255, 0]]
        ),
        (
            ["--extend", "20x8", "--gravity", "west", "--bg", "#ffff00"],
            [Color.red, [255, 255, 0], Color.blue, [255, 255, 0]]
        ),
    ])
    func `keep the part at the gravity`(words: [String], corners: [[UInt8]]) throws {
        let result = try image.convert(["q.ppm", "-o", "t.png"] + words)

        #expect(result.status == 0, "\(result.stderr)")
        #expect(try image.corners("t.png") == corners)
    }

    @Test func `tell if the box stays unfilled`() throws {
        let result = try image.convert("q.ppm", "-o", "t.png", "--resize", "30x30", "--fit", "cover", "--no-enlarge")

        #expect(result.status == 0)
        #expect(
            result.stderr
                == "coderhost: q.ppm: warning: --no-enlarge keeps the size 16x8, which does not fill the box\n")
    }

    @Test(
        arguments: [
            (["--extend", "10x4"], "--extend 10x4 changes nothing: the image has 16x8 pixels; --crop cuts it"),
            (["--extend", "x4"], "--extend x4 changes nothing: the image has 16x8 pixels; --crop cuts it"),
            (
                ["--rotate", "90", "--extend", "8x12"],
                "--extend 8x12 changes nothing: the image has 8x16 pixels; --crop cuts it"
            ),
            (["--extend", "20x4"], "--extend 20x4 does not cut the longer side: the result has 20x8 pixels"),
            (["--extend", "16x8"], nil), (["--extend", "20x"], nil), (["--extend", "0"], nil),
            (["--resize", "8x", "--extend", "10x4"], nil),
        ] as [([String], String?)])
    func `tell if the image is larger than its new canvas`(words: [String], warning: String?) throws {
        let result = try image.convert(["q.ppm", "-o", "t.png", "--json"] + words)
        let report = try #require(result.documents.first)

        #expect(result.status == 0)
        #expect(report["warnings"].list.compactMap(\.text) == (warning.map { [$0] } ?? []))
        let plain = try image.convert(["q.ppm", "-o", "t.png"] + words)
        #expect(plain.stderr == (warning.map { "coderhost: q.ppm: warning: \($0)\n" } ?? ""))
    }

    @Test(arguments: [
        (["--trim"], "16x8"), (["--trim=2%", "--resize", "8"], "8x4"), (["--trim", "--crop", "1:1"], "8x8"),
        (["--crop", "10x14+0+0", "--trim"], "7x8"),
    ])
    func `follow a trimmed border`(words: [String], size: String) throws {
        #expect(try image.convert("q.ppm", "-o", "framed.png", "--extend", "3", "--bg", "#ffff00").status == 0)

        let result = try image.convert(["framed.png", "-o", "t.png", "--json"] + words)

        #expect(try image.size("t.png") == size, "\(result.stderr)")
        let report = try #require(result.documents.first)
        #expect("\(report["width"].integer ?? 0)x\(report["height"].integer ?? 0)" == size)
    }

    @Test func `trim all frames of an animation alike`() throws {
        let source = Repository.fixture("images/three-frames.gif")
        let frames = ["-f", "apng", "--bg", "#fe01fd"]
        #expect(try image.convert([source, "-o", "big.png", "--extend", "5"] + frames).status == 0)

        let result = try image.convert(["big.png", "-o", "t.png", "--trim"] + frames)

        #expect(result.status == 0, "\(result.stderr)")
        #expect(try image.info("frame_count", "t.png") == "3")
        #expect(try image.size("t.png") == image.size(source))
    }

    @Test func `tell that an image of one color has no border`() throws {
        let result = try image.convert("dot.ppm", "-o", "t.png", "--trim")
        #expect(result.stderr.contains("warning: --trim: the image has only one color"))
        #expect(try image.size("t.png") == "2x2")
    }

    @Test(arguments: [
        (["--resize", "0%"], "N%"), (["--resize", "8x8?"], "N%"),
        (["--resize", "50%", "--fit", "cover"], "choose one"),
        (["--resize", "8x8^", "--enlarge"], "choose one"), (["--resize", "8", "--max", "9"], "choose one"),
        (["--resize", "8", "--enlarge", "--no-enlarge"], "remove one"), (["--gravity", "north"], "--fit cover"),
        (["--crop", "16:0"], "W:H"), (["--trim=x"], "percent"), (["--extend", "-3"], "border"),
        (["--crop", "north"], "add --fit cover"), (["--opacity", "50"], "add --overlay FILE"),
        (["-q", "80", "-q", "90"], "-q is given twice: \"80\" and \"90\""),
        (["--resize", "8", "--resize", "9"], "--resize is given twice: \"8\" and \"9\""),
        (["--sizes", "8,x"], "widths"), (["--alt", "x"], "add --srcset"), (["--overlay", "none.png"], "cannot use"),
    ])
    func `are refused with a remedy if they are invalid`(words: [String], said: String) throws {
        let result = try image.convert(["q.ppm", "-o", "t.png"] + words)

        #expect(result.status == (words.contains("none.png") ? 66 : 64))
        #expect(result.stderr.contains(said), "\(result.stderr)")
        #expect(result.stderr.contains("\n  try: "))
    }
}
