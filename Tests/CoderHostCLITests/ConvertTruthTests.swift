import TestSupport
import Testing

/// Nothing is reported wrongly, and nothing is lost silently.
@Suite(.timeLimit(.minutes(40))) struct `The report of convert` {
    private let image = QuarterImage()

    @Test(arguments: 1...8, ["pam", "jpg", "png", "webp"])
    func `states the size that was written`(orientation: Int, suffix: String) throws {
        let source = Repository.fixture("images/orientation-\(orientation).jpg")

        for more in [[], ["--strip", "exif"]] {
            let result = try image.convert([source, "-o", "{w}x{h}.\(suffix)", "--json", "-v"] + more)
            let report = try #require(result.documents.first)
            let file = try #require(report["output"].text)
            let written = try image.size(file)
            #expect("\(written).\(suffix)" == file)
            #expect("\(report["width"].integer ?? 0)x\(report["height"].integer ?? 0)" == written)
            let told = try image.convert([source, "-o", "{w}x{h}.\(suffix)", "-v"] + more).stderr
            #expect(told.contains("-> \(file) (") && told.contains(" \(written))  ["), "\(told)")
        }
    }

    @Test func `accumulates lists of metadata`() throws {
        let source = Repository.fixture("images/orientation-6-in-exif-3-in-xmp.jpg")
        #expect(try image.convert(source, "-o", "a.jpg").status == 0)
        #expect(try Set(image.metadata("a.jpg")).isSuperset(of: ["exif", "xmp"]))

        #expect(try image.convert(source, "-o", "b.jpg", "--strip", "exif", "--strip", "xmp").status == 0)
        #expect(try Set(image.metadata("b.jpg")).isDisjoint(with: ["exif", "xmp"]))
        #expect(try image.convert(source, "-o", "c.jpg", "--keep", "exif", "--keep", "xmp").status == 0)
        #expect(try Set(image.metadata("c.jpg")).isSuperset(of: ["exif", "xmp"]))
    }

    // MARK: Color profiles

    @Test(arguments: [["convert", "--strip", "all"], ["convert", "--keep", "exif"], ["thumbnail", "--keep", "exif"]])
    func `has no untagged colors after the profile is removed`(words: [String]) throws {
        let source = Repository.fixture("images/icc-wide.png")
        let command = [words[0], source, "-o"]
        #expect(
            try Tool.run(command + ["t.png"] + words.dropFirst(), directory: image.place.path).status == 0)
        #expect(try Tool.run(command + ["s.png", "--to-srgb"], directory: image.place.path).status == 0)

        #expect(try image.hash("t.png") == image.hash("s.png"))
        #expect(try image.hash("t.png") != image.hash(source))
        #expect(try !image.metadata("t.png").contains("icc"))
    }

    @Test func `warns of converted colors only if the profile is named`() throws {
        let source = Repository.fixture("images/icc-wide.png")
        let text = "warning: --strip icc removes the color profile, so the colors are converted to sRGB"
        #expect(try image.convert(source, "-o", "t.png", "--strip", "icc").stderr.contains(text))
        #expect(try image.convert(source, "-o", "t.png", "--strip", "all").stderr.isEmpty)
    }

    @Test func `does not touch pixels whose profile is sRGB`() throws {
        let source = "tagged.png"
        #expect(try image.convert("q.ppm", "-o", source, "--icc", "srgb").status == 0)
        #expect(try image.metadata(source) == ["icc"])
        #expect(try image.convert(source, "-o", "t.png", "--strip", "all").stderr.isEmpty)
        #expect(try image.hash("t.png") == image.hash(source))
        #expect(try image.metadata("t.png").isEmpty)
    }

    /// Display P3 as code points, which PNG stores and JPEG does not.
    @Test func `keeps code points where they can be stored, and converts the colors elsewhere`() throws {
        var bytes = Fixture.named("images/f.png").bytes
        bytes.insert(contentsOf: PNGChunk.bytes("cICP", [12, 13, 0, 1]), at: 33)
        image.place.write(bytes, to: "p3.png")

        #expect(try image.convert("p3.png", "-o", "t.png", "--strip", "all").status == 0)
        #expect(try image.hash("t.png") == image.hash("p3.png"))
        let written = try #require(readFile(image.place.file("t.png")))
        #expect(written.firstRange(of: Array("cICP".utf8)) != nil)
        #expect(try image.convert("p3.png", "-o", "t.jpg", "--strip", "all", "-q", "100").status == 0)
        #expect(try image.convert("p3.png", "-o", "s.jpg", "--to-srgb", "-q", "100").status == 0)
        #expect(try image.hash("t.jpg") == image.hash("s.jpg"))
        #expect(try image.metadata("t.jpg").isEmpty)
    }

    @Test(arguments: ["gif", "pam", "ppm", "ff"], ["auto", "off"])
    func `has no untagged colors in a format without profiles`(suffix: String, isolation: String) throws {
        let source = Repository.fixture("images/icc-wide.png")
        let result = try image.convert(source, "-o", "t.\(suffix)", "--isolation", isolation, "--json")
        let told = "the format cannot store the color profile: the colors are converted to sRGB; "
        let warnings = try #require(result.documents.first)["warnings"].list.compactMap(\.text)
        #expect(warnings.filter { $0.hasPrefix(told) }.count == 1, "\(warnings)")
        #expect(!warnings.contains { $0.contains("icc metadata") })
        #expect(try image.convert(source, "-o", "s.\(suffix)", "--to-srgb").status == 0)
        #expect(try image.hash("t.\(suffix)") == image.hash("s.\(suffix)"))

        #expect(try image.convert(source, "-o", "k.\(suffix)", "--dynamic-range", "keep").status == 0)
        #expect(try image.hash("k.\(suffix)") != image.hash("s.\(suffix)"))
        let named = try image.convert(source, "-o", "i.\(suffix)", "--icc", "srgb")
        #expect(named.status == 0 && !named.stderr.contains("converted"), "\(named.stderr)")
        #expect(try image.hash("i.\(suffix)") == image.hash("s.\(suffix)"))
    }

    @Test func `keeps the stored values without a profile on request, with a warning`() throws {
        let source = Repository.fixture("images/icc-wide.png")
        let result = try image.convert(source, "-o", "t.png", "--strip", "icc", "--dynamic-range", "keep")
        #expect(result.stderr.contains("the colors look different"), "\(result.stderr)")
        #expect(try image.hash("t.png") == image.hash(source))
    }

    @Test(arguments: [["rewrite"], ["metadata"]], ["icc-wide.png", "icc-wide-in-three-segments.jpg"])
    func `names convert where a profile is removed from stored pixels`(words: [String], name: String) throws {
        func strip(_ part: String, _ name: String) throws -> CommandResult {
            try Tool.run(
                words + [Repository.fixture("images/\(name)"), "--strip", part, "-o", "r-\(name)", "--overwrite"],
                directory: image.place.path)
        }
        let result = try strip("icc", name)
        #expect(result.status == 0)
        #expect(
            result.stderr.contains(
                "warning: the color profile is removed and the pixels stay, so the colors look different: "
                    + "coderhost convert --strip icc converts them to sRGB"), "\(result.stderr)")
        #expect(try strip("exif", name).stderr.isEmpty)
    }

    @Test(
        arguments: ["avif/with-thumbnail.avif", "heif/rotated-with-thumbnail-exif-icc.heic", "jpeg/gain-map.jpg"],
        ["thumbnail", "gps"])
    func `have no thumbnail after a rewrite that removes it`(name: String, part: String) throws {
        let output = "r-\(name.split(separator: "/")[1])"
        let source = Repository.fixture(name)
        let result = try Tool.run(["rewrite", source, "--strip", part, "-o", output], directory: image.place.path)

        #expect(result.status == 0)
        #expect(!result.stderr.contains("outside Exif"), "\(result.stderr)")
        func thumbnails(_ file: String) throws -> Int {
            let result = try Tool.run(["info", "--items", "--json", file], directory: image.place.path)
            return try #require(result.documents.first)["items"].list.count { $0["role"].text == "thumbnail" }
        }
        #expect(try thumbnails(output) == (part == "thumbnail" ? 0 : thumbnails(source)))
        #expect(try image.hash(output) == image.hash(source))
    }

    // MARK: Places

    @Test func `has no place after strip gps, but the rest of Exif`() throws {
        let north: [UInt8] = [1, 0, 1, 0, 2, 0, 2, 0, 0, 0, 0x4E, 0, 0, 0, 0, 0, 0, 0]
        let exif: [UInt8] =
            Array("II".utf8) + [42, 0, 8, 0, 0, 0, 2, 0, 0x12, 0x01, 3, 0, 1, 0, 0, 0, 1, 0, 0, 0]
            + [0x25, 0x88, 4, 0, 1, 0, 0, 0, 38, 0, 0, 0, 0, 0, 0, 0] + north
        let xmp = Array(
            "XML:com.adobe.xmp\0\0\0\0\0<x:xmpmeta xmlns:x='adobe:ns:meta/' exif:GPSLatitude=\"51,30N\" a='b'/>".utf8)
        var bytes = Fixture.named("images/f.png").bytes
        bytes.insert(contentsOf: PNGChunk.bytes("eXIf", exif) + PNGChunk.bytes("iTXt", xmp), at: 33)
        image.place.write(bytes, to: "place.png")
        func holdsPlace(_ file: String) throws -> [Bool] {
            let bytes = try #require(readFile(image.place.file(file)))
            return [[0x25, 0x88, 4, 0], Array("GPSLatitude".utf8)].map { bytes.firstRange(of: $0) != nil }
        }
        #expect(try image.convert("place.png", "-o", "kept.png").status == 0)
        #expect(try holdsPlace("kept.png") == [true, true])

        let result = try image.convert("place.png", "-o", "t.png", "--strip", "gps")

        #expect(result.status == 0 && result.stderr.isEmpty, "\(result.stderr)")
        #expect(try holdsPlace("t.png") == [false, false])
        #expect(try Set(image.metadata("t.png")).isSuperset(of: ["exif", "xmp"]))
        #expect(try image.convert("place.png", "-o", "u.png", "--strip", "all").status == 0)
        #expect(try image.metadata("u.png").isEmpty)
    }

    // MARK: Names and backgrounds

    @Test func `tells that a name has the extension of another format`() throws {
        let result = try image.convert("q.ppm", "-o", "z.webp", "-f", "jpeg", "--json")
        #expect(result.documents[0]["format"].text == "jpeg")
        #expect(
            result.documents[0]["warnings"].list.compactMap(\.text)
                == ["z.webp has the file extension of webp, but holds jpeg"])
        let told = try Tool.run("info", "z.webp", directory: image.place.path)
        #expect(told.status == 0)
        #expect(
            told.stderr
                == "coderhost: z.webp: warning: the file has the file extension of webp, but holds jpeg\n")
        #expect(try image.convert("q.ppm", "-o", "z.jpg", "-f", "jpeg").stderr.isEmpty)
        #expect(try Tool.run("info", "z.jpg", directory: image.place.path).stderr.isEmpty)
    }

    @Test(arguments: ["transparent", "#ff000000"])
    func `tells the real background of a format without alpha`(color: String) throws {
        let source = Repository.fixture("images/rgba.png")
        let result = try image.convert(source, "-o", "t.jpg", "--bg", color)
        #expect(result.status == 0)
        #expect(result.stderr.contains("the format has no alpha: the image is drawn over white"), "\(result.stderr)")
        #expect(try image.convert(source, "-o", "s.jpg", "--bg", "white").status == 0)
        #expect(try image.hash("t.jpg") == image.hash("s.jpg"))
    }

    @Test func `of compare asks which metric a bare number bounds`() throws {
        let result = try Tool.run("compare", "q.ppm", "q.ppm", "--within", "0.9", directory: image.place.path)
        #expect(result.status == 64)
        #expect(result.stderr.contains("invalid --within value \"0.9\": no metric, expected METRIC=N"))
        #expect(result.stderr.contains("  try: for example --within ssim=0.9"))
    }
}

/// Chunks of PNG files.
enum PNGChunk {
    static func bytes(_ name: String, _ data: [UInt8]) -> [UInt8] {
        func bigEndian(_ value: UInt32) -> [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) } }
        var crc: UInt32 = .max
        for byte in Array(name.utf8) + data {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
        }
        return bigEndian(UInt32(data.count)) + Array(name.utf8) + data + bigEndian(~crc)
    }
}
