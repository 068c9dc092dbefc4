import TestSupport
import Testing

/// What convert tells beside its outputs.
@Suite(.timeLimit(.minutes(40))) struct `Notices of convert` {
    private let place = TemporaryDirectory()

    private func convert(_ words: String...) throws -> CommandResult {
        try Tool.run(["convert"] + words + ["--json"], directory: place.path)
    }

    private func warnings(_ result: CommandResult) -> [String] {
        result.documents.flatMap { $0["warnings"].list }.compactMap(\.text)
    }

    // MARK: Animations

    @Test(arguments: [
        ("images/three-frames.gif", "a.png", [], true), ("images/three-frames.gif", "a.bin", ["-f", "png"], true),
        ("images/three-frames.webp", "a.png", [], true), ("images/three-frames.gif", "a.png", ["-f", "apng"], false),
        ("images/three-frames.gif", "a.png", ["--first-frame"], false),
        ("images/three-frames.gif", "a.png", ["--frame", "1"], false), ("images/f.gif", "a.png", [], false),
        ("images/three-frames.gif", "a.webp", [], false), ("apng/three-frames.png", "a.png", ["-q", "50"], false),
    ])
    func `tell of an animation in a format better known for stills`(
        source: String, output: String, words: [String], isTold: Bool
    ) throws {
        let result = try Tool.run(
            ["convert", Repository.fixture(source), "-o", output, "--json"] + words, directory: place.path)

        #expect(result.status == 0, "\(result.stderr)")
        let told = warnings(result).filter { $0.hasPrefix("the output is an animation (apng); --first-frame") }
        #expect(told.count == (isTold ? 1 : 0), "\(result.stdout)")
    }

    @Test func `state the bytes of input and output`() throws {
        let source = Repository.fixture("images/photo.png")
        let result = try convert(source, "-o", "{stem}.{ext}", "-f", "webp,jpeg")

        for document in result.documents {
            #expect(try document["input_bytes"].integer == #require(readFile(source)).count)
            let file = try #require(document["output"].text)
            #expect(try document["bytes"].integer == #require(readFile(place.file(file))).count)
        }
        #expect(result.documents.count == 2)
    }

    /// The letter alone is binary, as in dd; with B, it is decimal.
    @Test(arguments: [("6k", 6144), ("6kB", 6000), ("6KiB", 6144)])
    func `keep a file within the size of its unit`(text: String, bytes: Int) throws {
        let result = try convert(Repository.fixture("images/photo.png"), "-o", "o.jpg", "--target-size", text)
        let written = try #require(result.documents.first?["bytes"].integer)
        #expect(written <= bytes && written > bytes * 8 / 10, "\(written)")
        let wrong = try convert("x.png", "-o", "o.jpg", "--target-size", "6kX")
        #expect(wrong.status == 64 && wrong.stderr.contains("200k is 204800 bytes, 200kB is 200000"), "\(wrong.stderr)")
    }

    // MARK: Metadata

    /// The tag of exiftool is a number with -n: 1 is sRGB, 65535 another space, 2 Adobe RGB.
    @Test(arguments: [(["--to-srgb"], "1"), (["--icc", "srgb"], "1"), (["--icc", "p3"], "65535"), ([], "2")])
    func `leave no color space in Exif that the pixels do not have`(words: [String], expected: String) throws {
        try Tool.copy(Repository.fixture("images/icc-wide-in-three-segments.jpg"), to: place.file("w.jpg"))
        let made = try Tool.shell("exiftool -q -n -ColorSpace=2 w.jpg", directory: place.path)
        #expect(made.status == 0, "\(made.stderr)")
        let result = try Tool.run(["convert", "w.jpg", "-o", "o.jpg", "-q", "90"] + words, directory: place.path)
        #expect(result.status == 0, "\(result.stderr)")
        let told = try Tool.shell("exiftool -n -s3 -ExifIFD:ColorSpace o.jpg", directory: place.path)
        #expect(told.stdout == expected + "\n", "\(told.stderr)")
    }

    @Test(arguments: [
        (["--sizes", "8,16", "-o", "{stem}-{w}.png"], true),
        (["--sizes", "8", "--strip", "gps", "-o", "o.png"], false),
        (["--sizes", "8", "--keep", "icc", "-o", "o.png"], false), (["--resize", "8", "-o", "o.png"], false),
    ])
    func `tell of a location in outputs for the web`(words: [String], isTold: Bool) throws {
        place.write(PNGPieces.image([PNGPieces.chunk("eXIf", PNGPieces.exif(place: true))]), to: "in.png")
        place.write(PNGPieces.image([PNGPieces.chunk("eXIf", PNGPieces.exif(place: false))]), to: "nowhere.png")

        let result = try Tool.run(["convert", "in.png", "--json"] + words, directory: place.path)
        #expect(result.status == 0, "\(result.stderr)")
        #expect(warnings(result).filter { $0.contains("--strip gps removes it") }.count == (isTold ? 1 : 0))
        let without = try Tool.run(["convert", "nowhere.png", "--json"] + words, directory: place.path)
        #expect(without.status == 0 && warnings(without).isEmpty, "\(without.stdout)\(without.stderr)")
    }

    @Test(arguments: [
        ("metadata=200", "ignored metadata of "), ("all-metadata=9000", "text metadata of "),
    ])
    func `count many texts that are left out`(limit: String, start: String) throws {
        // 60 texts of different lengths: each warning would be another one.
        let texts = (0..<60).map { number in
            PNGPieces.chunk("tEXt", Array("Key\(number)".utf8) + [0] + [UInt8](repeating: 0x61, count: 300 + number))
        }
        place.write(PNGPieces.image(texts), to: "in.png")

        let result = try convert("in.png", "-o", "out.png", "--limits", limit)

        #expect(result.status == 0, "\(result.stderr)")
        let told = warnings(result)
        #expect((1...2).contains(told.count) && told[0].hasPrefix(start), "\(told)")
        if limit.hasPrefix("all") { #expect(told[0].hasSuffix(" more pieces of text too"), "\(told)") }
    }

    /// All words, and their further spellings.
    private static let words = [
        "exif", "gps", "thumbnail", "xmp", "icc", "iptc", "text", "other", "comment", "raw", "all",
    ]

    @Test(arguments: ["convert", "thumbnail", "rewrite"], ["--strip", "--keep"])
    func `all commands take the same words for metadata`(command: String, option: String) throws {
        for word in Self.words {
            let result = try Tool.run(
                command, Repository.fixture("images/f.jpg"), option, word, "-o", "o.jpg", directory: place.path)
            #expect(result.status == 0, "\(command) \(option) \(word): \(result.stderr)")
        }
        let wrong = try Tool.run(
            command, Repository.fixture("images/f.jpg"), option, "exfi", "-o", "o.jpg", directory: place.path)
        #expect(wrong.stderr == "coderhost: unknown metadata part exfi\n  try: did you mean exif?\n")
        let help = try Tool.run(command, "--help").stdout
        #expect(help.contains("exif,gps,thumbnail,xmp,icc,iptc,text,other"))
    }

    @Test func `--strip thumbnail removes the thumbnail from Exif, and nothing else`() throws {
        let source = Repository.fixture("images/photo.png")
        let words = ["-q", "90", "--embed-thumbnail", "-o"]
        #expect(try Tool.run(["convert", source] + words + ["t.jpg"], directory: place.path).status == 0)
        func thumbnails(_ file: String) throws -> Int {
            try Tool.run("info", "--json", file, directory: place.path).documents[0]["thumbnails"].list.count
        }
        try #require(try thumbnails("t.jpg") == 1)
        for (words, count) in [
            ([], 1), (["--strip", "thumbnail"], 0), (["--strip", "gps"], 1), (["--keep", "gps"], 0),
        ] {
            let result = try Tool.run(
                ["convert", "t.jpg", "-q", "50", "-o", "c.jpg"] + words, directory: place.path)
            #expect(try result.status == 0 && thumbnails("c.jpg") == count, "\(words) \(result.stderr)")
        }
        for (option, count) in [("--strip", 0), ("--keep", 1)] {
            let result = try Tool.run(
                "rewrite", "t.jpg", option, "thumbnail", "-o", "r.jpg", directory: place.path)
            #expect(try result.status == 0 && thumbnails("r.jpg") == count, "\(result.stderr)")
        }
    }

    // MARK: The encoder

    @Test func `--encoder selects the coder that writes`() throws {
        let source = Repository.fixture("images/f.png")
        let one = try convert(source, "-o", "a.jpg", "--encoder", "org.coderhost.jpeg")
        #expect(one.documents[0]["encoder"].text == "org.coderhost.jpeg", "\(one.stderr)")
        let animation = try convert(
            Repository.fixture("images/three-frames.gif"), "-o", "a.webp", "--encoder", "org.coderhost.awebp")
        #expect(animation.documents[0]["encoder"].text == "org.coderhost.awebp", "\(animation.stderr)")
        // The coder of stills writes one frame.
        let still = try convert(
            Repository.fixture("images/three-frames.gif"), "-o", "b.png", "--encoder", "org.coderhost.png")
        #expect(still.documents[0]["encoder"].text == "org.coderhost.png", "\(still.stderr)")
        #expect(warnings(still) == ["png has no animation: only the first frame is written"])
    }

    @Test(arguments: [
        ("a.jpg", "org.coderhost.jpg", "did you mean org.coderhost.jpeg?"),
        ("a.png", "org.coderhost.jpeg", "encoders of png: "),
    ])
    func `an unusable --encoder is an error with the usable ones`(output: String, id: String, hint: String) throws {
        let result = try Tool.run(
            "convert", Repository.fixture("images/f.png"), "-o", output, "--encoder", id, directory: place.path)
        #expect(result.status == 69 && result.stderr.contains("there is no usable encoder \(id)"), "\(result.stderr)")
        #expect(result.stderr.contains(hint) && readFile(place.file(output)) == nil)
    }
}
