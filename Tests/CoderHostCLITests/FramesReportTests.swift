import Foundation
import TestSupport
import Testing

/// The reports of `frames` on damaged files, mixed inputs and losses.
@Suite(.timeLimit(.minutes(40))) struct `Reports of the command frames` {
    let place = TemporaryDirectory()

    private func frames(_ words: String...) throws -> CommandResult {
        try Tool.run(["frames"] + words, directory: place.path)
    }

    private func put(_ fixture: String, as name: String) { place.write(Fixture.named(fixture).bytes, to: name) }

    /// Two different images of equal size.
    private func twoImages() throws {
        put("images/f.png", as: "f.png")
        put("images/rgba.png", as: "g.png")
    }

    /// A GIF with a broken introducer of its third frame: its coder warns and continues.
    private func damagedGIF() throws {
        var bytes = Fixture.named("images/three-frames.gif").bytes
        let controls = bytes.indices.dropLast().filter { bytes[$0] == 0x21 && bytes[$0 + 1] == 0xF9 }
        bytes[try #require(controls.last)] = 0x99
        place.write(bytes, to: "damaged.gif")
    }

    @Test func `passes on the warnings of a decoder`() throws {
        try damagedGIF()

        let text = try frames("assemble", "damaged.gif", "-o", "a.gif")
        let document = try #require(try frames("assemble", "damaged.gif", "-o", "a.gif", "--json").documents.first)

        let warning = "ignored invalid bytes after the last block"
        #expect(text.status == 0)
        #expect(text.stderr == "coderhost: damaged.gif: warning: \(warning)\n", "\(text.stderr)")
        #expect(document["warnings"].list.map(\.text) == ["damaged.gif: \(warning)"])
    }

    @Test func `prints warnings outside the table`() throws {
        try damagedGIF()

        let result = try frames("info", "--decode", "damaged.gif")

        #expect(result.status == 0)
        #expect(!result.stdout.contains("warning"))
        #expect(result.stderr.hasPrefix("coderhost: damaged.gif: warning: "), "\(result.stderr)")
    }

    @Test(arguments: [
        ("images/three-frames.webp", 100), ("apng/three-frames.png", 150), ("images/rgba.png", 60),
    ])
    func `writes no image without any pixels`(fixture: String, length: Int) throws {
        place.write(Array(Fixture.named(fixture).bytes.prefix(length)), to: "cut")

        let extracted = try frames("extract", "cut", "-o", "p{n}.png", "--timing", "t.json", "--incomplete")
        let converted = try Tool.run("convert", "cut", "-o", "c.png", "--incomplete", directory: place.path)

        for result in [extracted, converted] {
            #expect(result.status == 65)
            #expect(result.stderr.contains("coderhost: cut: the "), "\(result.stderr)")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.path) == ["cut"])
    }

    @Test func `reports different color profiles once`() throws {
        put("images/icc-wide.png", as: "wide.png")
        put("images/icc-srgb-like.png", as: "srgb.png")
        put("images/f.png", as: "none.png")

        let mixed = try frames("assemble", "wide.png", "srgb.png", "none.png", "-o", "a.apng")
        let alike = try frames("assemble", "wide.png", "wide.png", "-o", "b.apng")

        #expect(
            mixed.stderr.components(separatedBy: "\n").first
                == "coderhost: a.apng: warning: the color spaces of wide.png and srgb.png differ: "
                + "all frames are converted to that of wide.png", "\(mixed.stderr)")
        #expect(mixed.stderr.components(separatedBy: "color spaces").count == 2)
        #expect(!alike.stderr.contains("profile"))
        let profile = try Tool.run("info", "-f", "color_profile", "a.apng", directory: place.path)
        #expect(profile.lines == ["icc: wide gamut"])
    }

    /// The references are single images that convert makes of the same files.
    @Test(arguments: [
        ["wide.png", "srgb.png", "gray.png"], ["gray.png", "wide.png", "ink.jpg"], ["ink.jpg", "ink.jpg"],
    ])
    func `converts images to the color space of the first one`(names: [String]) throws {
        for (fixture, name) in [
            ("icc-wide.png", "wide.png"), ("icc-srgb-like.png", "srgb.png"), ("gray.png", "gray.png"),
            ("cmyk.jpg", "ink.jpg"),
        ] {
            put("images/\(fixture)", as: "in.\(name)")
            let same = try Tool.run("convert", "in.\(name)", "-o", name, "--resize", "20x20!", directory: place.path)
            #expect(same.status == 0, "\(same.stderr)")
        }
        #expect(try Tool.run(["frames", "assemble"] + names + ["-o", "a.apng"], directory: place.path).status == 0)
        #expect(try frames("extract", "a.apng", "-o", "x{n}.png").status == 0)

        let profile = try Tool.run("info", "-f", "color_profile", "a.apng", directory: place.path)
        #expect((profile.lines == ["icc: wide gamut"]) == (names[0] == "wide.png"), "\(profile.stdout)")
        // Consecutive equal images are one frame.
        for (index, name) in names.enumerated() where index == 0 || names[index - 1] != name {
            for (source, output) in [(name, "expected.png"), ("x\(index).png", "seen.png")] {
                let words = ["convert", source, "-o", output, "--to-srgb", "--first-frame"]
                #expect(try Tool.run(words, directory: place.path).status == 0)
            }
            let words = ["compare", "expected.png", "seen.png", "--within", "psnr=38"]
            let within = try Tool.run(words, directory: place.path)
            #expect(within.status == 0, "\(name): \(within.stdout)\(within.stderr)")
        }
    }

    @Test func `takes the images of a folder in the order of their names`() throws {
        place.folder("in")
        for (index, name) in ["b.png", "a.png", "c.png"].enumerated() {
            let made = try Tool.run(
                "convert", Repository.fixture("images/f.png"), "-o", "in/\(name)", "--tint",
                ["#ff0000", "#00ff00", "#0000ff"][index], directory: place.path)
            #expect(made.status == 0, "\(made.stderr)")
        }
        place.write(Array("no image".utf8), to: "in/notes.txt")
        place.folder("in/more")
        for _ in 0..<2 {
            // The second time, the output is in the folder.
            let result = try frames("assemble", "in", "-o", "in/film.gif", "--json")
            #expect(result.status == 0 && result.documents[0]["frame_count"].integer == 3, "\(result.stderr)")
        }
        #expect(try frames("assemble", "in/a.png", "in/b.png", "in/c.png", "-o", "same.gif").status == 0)
        #expect(readFile(place.file("same.gif")) == readFile(place.file("in/film.gif")))

        let empty = try frames("assemble", "in/more", "-o", "x.gif")
        #expect(empty.status == 66 && empty.stderr.contains("no images in the folder in/more"), "\(empty.stderr)")
    }

    @Test func `counts the input images`() throws {
        try twoImages()

        let result = try frames("assemble", "f.png", "f.png", "g.png", "-o", "a.gif", "-v")
        let document = try frames("assemble", "f.png", "f.png", "g.png", "-o", "a.gif", "--json").documents[0]

        #expect(result.stderr.hasPrefix("3 images -> a.gif (gif)"), "\(result.stderr)")
        #expect(document["frame_count"].integer == 3)
        #expect(try frames("info", "--json", "a.gif").documents[0]["frame_count"].integer == 2)
    }

    @Test(arguments: [("gif", false), ("apng", true), ("webp", true), ("avif", true)], [1, 2])
    func `warns if a single frame becomes a still`(format: (String, Bool), count: Int) throws {
        try twoImages()

        let words = ["frames", "assemble"] + Array(repeating: "f.png", count: count) + ["-o", "a", "-f", format.0]
        let result = try Tool.run(words, directory: place.path)

        #expect(result.status == 0)
        // AVIF does not merge equal images.
        let becomesStill = format.1 && (count == 1 || format.0 != "avif")
        #expect(
            result.stderr.contains("a single frame is written as a still, without duration and loop count")
                == becomesStill, "\(result.stderr)")
    }

    @Test func `names the output for an invalid encoder option`() throws {
        try twoImages()

        let unknown = try frames("assemble", "f.png", "g.png", "-o", "a.gif", "-O", "gif.effort=9")
        let range = try frames("assemble", "f.png", "g.png", "-o", "a.gif", "-O", "gif.colors=900")
        put("images/three-frames.gif", as: "a.gif")
        let other = try frames("extract", "a.gif", "-o", "p{n}.png", "-O", "png.effort=9")

        for (result, name) in [(unknown, "a.gif"), (range, "a.gif"), (other, "p0.png")] {
            #expect(result.status == 64)
            #expect(result.stderr.hasPrefix("coderhost: \(name): "), "\(result.stderr)")
        }
    }

    @Test func `does not report an unknown frame count`() throws {
        let result = try frames("info", Repository.fixture("images/three-frames.gif"), "--limits", "frames=1")

        #expect(result.status == 77)
        #expect(result.stderr.contains("there are more than 1 frame"), "\(result.stderr)")
    }

    // MARK: Text output

    @Test func `rounds numbers in text, but not in JSON`() throws {
        let file = Repository.fixture("avif/sequence-alpha.avif")

        let lines = try frames("info", file).lines
        let document = try frames("info", "--json", file).documents[0]

        #expect(lines[0].hasSuffix(": avif 24x16, 6 frames, 0.542 s, loop count not stored"), "\(lines)")
        #expect(lines[2].contains("1/24      41.667  "))
        #expect(document["frames"][0]["duration_ms"].number == 1000.0 / 24)
    }

    @Test func `reports the same loop count as info`() throws {
        for name in ["avif/sequence-alpha.avif", "avif/sequence-alpha-3-plays.avif", "apng/three-frames.png"] {
            let file = Repository.fixture(name)
            let all = try Tool.run("info", file).lines[0]
            let own = try frames("info", file).lines[0]
            let words = try #require(own.components(separatedBy: ", ").last)

            #expect(all.contains(", \(words)"), "\(all) and \(own)")
            let counts = try [
                Tool.run("info", "--json", file), frames("info", "--json", file),
            ].map { $0.documents[0]["loop_count"].integer }
            #expect(counts[0] == counts[1])
        }
    }

    @Test func `reports no duration for a still`() throws {
        let lines = try frames("info", Repository.fixture("images/f.png")).lines

        #expect(lines[0].hasSuffix("f.png: png 31x17, 1 frame"), "\(lines)")
        #expect(lines[2].split(separator: " ") == ["0", "31x17", "0,0", "-", "-", "source", "keep", "yes"])
    }

    @Test(arguments: [
        ("apng/three-frames.png", 60, 2), ("images/three-frames.webp", 60, 2), ("images/three-frames.webp", 500, 1),
    ])
    func `info warns about a truncated animation`(fixture: String, missing: Int, frame: Int) throws {
        let cut = fixture.hasSuffix("webp") ? "cut.webp" : "cut.png"
        place.write(Fixture.named(fixture).bytes.dropLast(missing), to: cut)

        let text = try Tool.run("info", cut, directory: place.path)
        let document = try Tool.run("info", "--json", cut, directory: place.path).documents[0]

        #expect(text.status == 0 && text.lines.count == 1)
        let warning = "truncated in frame \(frame)"
        #expect(text.stderr == "coderhost: \(cut): warning: \(warning)\n", "\(text.stderr)")
        #expect(document["warnings"].list.map(\.text) == [warning])
        #expect(try Tool.run("info", "-f", "width", cut, directory: place.path).stderr.isEmpty)
    }

    @Test func `has its own message for a damaged AVIF`() throws {
        var bytes = Fixture.named("images/f.avif").bytes
        let start = try #require(bytes.indices.dropLast(3).first { Array(bytes[$0..<$0 + 4]) == Array("mdat".utf8) })
        for index in bytes.indices[(start + 4)...] { bytes[index] ^= 0xFF }
        place.write(bytes, to: "damaged.avif")

        let result = try Tool.run("convert", "damaged.avif", "-o", "a.png", directory: place.path)

        #expect(result.status == 65)
        #expect(result.stderr.contains("coderhost: damaged.avif: the image is damaged"), "\(result.stderr)")
        #expect(!result.stderr.contains("getNextImage"))
    }
}
