import Foundation
import TestSupport
import Testing

/// The changes that `convert` makes to pixels.
@Suite(.timeLimit(.minutes(40))) struct `Changes in convert` {
    let place = TemporaryDirectory()

    init() throws {
        // Four quarters: red, green / blue, white.
        var samples: [UInt8] = []
        for y in 0..<8 {
            for x in 0..<16 {
                samples += y < 4 ? (x < 8 ? [255, 0, 0] : [0, 255, 0]) : (x < 8 ? [0, 0, 255] : [255, 255, 255])
            }
        }
        place.write(Array("P6 16 8 255\n".utf8) + samples, to: "q.ppm")
    }

    private func convert(_ words: String...) throws -> CommandResult {
        try Tool.run(["convert"] + words, directory: place.path)
    }

    /// Width, height and the corners of an image: top left, top right, bottom left, bottom right.
    private func look(_ file: String) throws -> (size: String, corners: [[UInt8]]) {
        #expect(try convert(file, "-o", "look.pam", "--dynamic-range", "keep").status == 0)
        let bytes = try #require(readFile(place.file("look.pam")))
        let mark = try #require(bytes.firstRange(of: Array("ENDHDR\n".utf8)))
        let header = String(decoding: bytes[..<mark.lowerBound], as: UTF8.self).split(separator: "\n")
        func number(_ name: String) -> Int {
            Int(header.first { $0.hasPrefix(name + " ") }?.split(separator: " ")[1] ?? "") ?? 0
        }
        let (width, height, depth) = (number("WIDTH"), number("HEIGHT"), number("DEPTH"))
        let pixels = Array(bytes[mark.upperBound...])
        func pixel(_ x: Int, _ y: Int) -> [UInt8] {
            Array(pixels[(y * width + x) * depth..<(y * width + x + 1) * depth])
        }
        return (
            "\(width)x\(height)",
            [pixel(0, 0), pixel(width - 1, 0), pixel(0, height - 1), pixel(width - 1, height - 1)]
        )
    }

    static let (red, green, blue, white): ([UInt8], [UInt8], [UInt8], [UInt8]) = (
        [255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 255]
    )

    @Test(arguments: [
        (["--flip", "horizontal"], "16x8", [green, red, white, blue]),
        (["--flip", "vertical"], "16x8", [blue, white, red, green]),
        (["--flip", "both"], "16x8", [white, blue, green, red]),
        (["--rotate", "90"], "8x16", [blue, red, white, green]),
        (["--rotate", "-90"], "8x16", [green, white, red, blue]),
        (["--rotate", "180"], "16x8", [white, blue, green, red]),
        (["--crop", "8x4+8+0"], "8x4", [green, green, green, green]),
        (["--crop", "8,0,8,4"], "8x4", [green, green, green, green]),
        (["--crop", "100x100+8+4"], "8x4", [white, white, white, white]),
        (["--resize", "8x4"], "8x4", [red, green, blue, white]),
        (["--crop", "8x8+0+0", "--resize", "4"], "4x4", [red, red, blue, blue]),
        (["--effect", "invert"], "16x8", [[0, 255, 255], [255, 0, 255], [255, 255, 0], [0, 0, 0]]),
    ])
    func `transform the pixels as documented`(words: [String], size: String, corners: [[UInt8]]) throws {
        // An edge-preserving filter has no ringing.
        let more = words.contains("--resize") ? ["--filter", "box"] : []
        #expect(try Tool.run(["convert", "q.ppm", "-o", "t.ppm"] + words + more, directory: place.path).status == 0)

        let seen = try look("t.ppm")
        #expect(seen.size == size)
        #expect(seen.corners == corners)
    }

    @Test func `round the corners, transparent if the format has alpha`() throws {
        #expect(try convert("q.ppm", "-o", "t.png", "--round", "4").status == 0)
        #expect(try look("t.png").corners.allSatisfy { $0.count == 4 && $0[3] == 0 })
        #expect(try convert("q.ppm", "-o", "t.ppm", "--round", "4", "--bg", "#102030").status == 0)
        #expect(try look("t.ppm").corners[0] == [16, 32, 48])
    }

    @Test func `pad a box with the given color`() throws {
        #expect(
            try convert("q.ppm", "-o", "t.png", "--resize", "16x16", "--fit", "contain", "--bg", "#0a141e").status == 0)
        let seen = try look("t.png")
        #expect(seen.size == "16x16")
        #expect(seen.corners.allSatisfy { Array($0.prefix(3)) == [10, 20, 30] })
        #expect(try convert("q.ppm", "-o", "t.png", "--resize", "16x16", "--fit", "contain").status == 0)
        #expect(try look("t.png").corners.allSatisfy { $0.count == 4 && $0[3] == 0 })
    }

    @Test func `to sRGB convert wide-gamut colors and drop the profile`() throws {
        let source = Repository.fixture("images/icc-wide.png")

        #expect(try convert(source, "-o", "s.png", "--to-srgb").status == 0)
        #expect(try convert(source, "-o", "p.png", "--icc", "srgb").status == 0)

        func profile(_ file: String) throws -> String {
            try Tool.run("info", file, directory: place.path).stdout
        }
        #expect(try look("s.png").corners == look("p.png").corners)
        #expect(try look("s.png").corners != look(source).corners)
        #expect(try Tool.run("info", "-f", "color_profile", "p.png", directory: place.path).stdout.contains("sRGB"))
    }

    @Test func `respect the maximum file size`() throws {
        let source = Repository.fixture("images/photo.png")
        #expect(try convert(source, "-o", "big.jpg", "-q", "95").status == 0)
        let big = try #require(readFile(place.file("big.jpg"))).count

        #expect(try convert(source, "-o", "t.jpg", "--target-size", "\(big / 2)").status == 0)
        #expect(try #require(readFile(place.file("t.jpg"))).count <= big / 2)
        let result = try convert(source, "-o", "u.jpg", "--target-size", "20")
        #expect(result.status == 77)
        #expect(result.stderr.contains("lowest quality"))
        #expect(!FileManager.default.fileExists(atPath: place.file("u.jpg")))
    }

    @Test func `respect the limit of decoded bytes`() throws {
        let source = Repository.fixture("images/photo.png")

        #expect(try convert(source, "-o", "t.png", "--limit-bytes", "400").status == 0)
        let size = try look("t.png").size.split(separator: "x").compactMap { Int($0) }
        #expect(size[0] * size[1] <= 100 && size[0] * size[1] > 60)
    }

    @Test func `apply to all frames of an animation and keep durations`() throws {
        let source = Repository.fixture("images/three-frames.gif")

        #expect(
            try convert(source, "-o", "t.png", "-f", "apng", "--resize", "9x9", "--fit", "cover", "--crop", "entropy")
                .status == 0)
        let lines = try Tool.run("info", "-f", "frame_count,width,height", "t.png", directory: place.path).lines
        #expect(lines == ["3", "9", "9"])
    }

    @Test(arguments: [
        (["--resize", "8", "--limit-bytes", "100"], "choose one"), (["--crop", "8x8x8"], "WxH+X+Y"),
        (["--crop", "0x8+1+1"], "WxH+X+Y"), (["--crop", "8x8,1,1"], "X,Y,W,H"), (["--crop", "1,2,3"], "X,Y,W,H"),
        (["--crop", "1,2,0,3"], "X,Y,W,H"), (["--crop", "8+8x1+1"], "X,Y,W,H"), (["--fit", "cover"], "add a size"),
        (["--flip", "sideways"], "invalid --flip value"),
        (["--to-srgb", "--icc", "srgb"], "embeds"), (["--icc", "nowhere.icc"], "ICC profile"),
        (["--bg", "#12"], "not a color"), (["--rotate", "ninety"], "number"), (["--limit-bytes", "0"], "bytes"),
    ])
    func `report invalid option values`(words: [String], said: String) throws {
        let result = try Tool.run(["convert", "q.ppm", "-o", "t.png"] + words, directory: place.path)

        #expect(result.status == 64)
        #expect(result.stderr.contains(said), "\(result.stderr)")
    }

    @Test func `that exceed the image are clipped with a warning`() throws {
        let result = try convert("q.ppm", "-o", "t.png", "--crop", "100x100+8+4")

        #expect(result.status == 0)
        #expect(
            result.stderr
                == "coderhost: q.ppm: warning: the region 100x100+8+4 exceeds the image of 16x8 pixels: "
                + "8x4 pixels of it are inside\n")
        #expect(try convert("q.ppm", "-o", "u.png", "--crop", "8x4+8+4").stderr.isEmpty)
    }

    @Test func `outside the image are an error with both sizes`() throws {
        let result = try convert("q.ppm", "-o", "t.png", "--crop", "8x8+100+0")

        #expect(result.status == 64)
        #expect(result.stderr.contains("16x8") && result.stderr.contains("8x8+100+0"))
    }

    @Test(arguments: [
        ["--resize", "16777216", "--enlarge"], ["--resize", "16777216x16", "--fit", "fill", "--enlarge"],
        ["--resize", "20000", "--fit", "contain"], ["--resize", "4000", "--enlarge", "--limits", "pixels=1000000"],
        ["--resize", "30000x10", "--fit", "fill", "--limits", "side=100"],
    ])
    func `create no image above the limits`(words: [String]) throws {
        let result = try Tool.run(["convert", "q.ppm", "-o", "t.png"] + words, directory: place.path)

        #expect(result.status == 77, "\(result.stderr)")
        #expect(result.stderr.contains("limit"))
    }

    @Test func `do not rotate a line into a huge canvas`() throws {
        place.write(Array("P5 60000 1 255\n".utf8) + [UInt8](repeating: 9, count: 60_000), to: "line.pgm")

        let result = try convert("line.pgm", "-o", "t.png", "--rotate", "45")

        #expect(result.status == 77)
        #expect(result.stderr.contains("pixels"))
    }

    @Test func `draw the image on the given background in every format`() throws {
        let source = Repository.fixture("images/rgba.png")

        #expect(try convert(source, "-o", "t.png", "--bg", "#ff0000").status == 0)
        #expect(try look("t.png").corners.allSatisfy { $0.count == 3 })
        #expect(try convert("q.ppm", "-o", "r.png", "--rotate", "45", "--bg", "#204060").status == 0)
        #expect(try look("r.png").corners.allSatisfy { $0 == [32, 64, 96] })
    }

    @Test func `with the value zero change nothing`() throws {
        let same = try #require(try? look("q.ppm"))
        #expect(try convert("q.ppm", "-o", "t.png", "--round", "0", "--blur", "0", "--rotate", "0").status == 0)
        #expect(try look("t.png").corners == same.corners)
        #expect(try Tool.run("info", "-f", "has_alpha", "t.png", directory: place.path).lines == ["false"])
    }

    @Test func `report an unusable profile`() throws {
        let result = try convert(
            Repository.fixture("images/gray.png"), "-o", "t.png", "--icc", Repository.fixture("images/f.png"))
        #expect(result.status == 64)
        #expect(result.stderr.contains("cannot use --icc"))
    }

    @Test func `in linear light do not average stored values in the coder`() throws {
        // Alternating black and white: the mean in linear light is 188, of stored values 128.
        var samples: [UInt8] = []
        for y in 0..<128 { for x in 0..<128 { samples.append((x + y) % 2 == 0 ? 0 : 255) } }
        place.write(Array("P5 128 128 255\n".utf8) + samples, to: "c.pgm")
        for name in ["c.jpg", "c.webp", "c.png"] {
            #expect(try convert("c.pgm", "-o", name, "-q", "100").status == 0)
            #expect(try convert(name, "-o", "t.pgm", "--resize", "8", "--linear").status == 0)
            let bytes = try #require(readFile(place.file("t.pgm")))
            #expect(bytes.suffix(64).allSatisfy { (184...192).contains($0) }, "\(name) \(bytes.suffix(8))")
        }
    }

    @Test func `distinguish a folder from the root in a template`() throws {
        #expect(try convert("q.ppm", "-o", "{dir}/{stem}-new.png").status == 0)
        #expect(FileManager.default.fileExists(atPath: place.file("q-new.png")))
    }

    @Test func `do not take an option as the value of another`() throws {
        let result = try convert("q.ppm", "-o", "-f", "png")
        #expect(result.status == 64)
        #expect(result.stderr.contains("needs a value"))
        #expect(!FileManager.default.fileExists(atPath: place.file("-f")))
    }

    @Test func `do not replace a link to itself`() throws {
        try Tool.link("b.png", at: place.file("a.png"))
        try Tool.link("a.png", at: place.file("b.png"))
        let result = try convert("q.ppm", "-o", "a.png")
        #expect(result.status == 73)
        #expect(result.stderr.contains("itself"))
    }

    @Test func `share the byte limit among the written frames, and report their size`() throws {
        let source = Repository.fixture("images/three-frames.gif")
        for (words, frames) in [
            (["-o", "a.webp"], 3), (["-o", "s.png", "--first-frame"], 1), (["-o", "f.png", "--frame", "2"], 1),
        ] {
            let report = try Tool.run(
                ["convert", source, "--limit-bytes", "600", "--json"] + words, directory: place.path
            ).documents[0]
            let size = try look(words[1]).size.split(separator: "x").compactMap { Int($0) }
            #expect(report["width"].integer == size[0] && report["height"].integer == size[1])
            #expect(size[0] * size[1] * 4 * frames <= 600)
            #expect(size[0] * size[1] * 4 * frames > 300)
        }
    }
}
