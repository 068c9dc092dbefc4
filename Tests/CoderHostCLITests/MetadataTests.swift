import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `The command metadata` {
    let place = TemporaryDirectory()

    private func run(_ words: String...) throws -> CommandResult { try Tool.run(words, directory: place.path) }

    private func hash(_ file: String) throws -> String {
        try Tool.run("info", "-f", "pixel_sha256", file, directory: place.path).stdout
    }

    init() throws {
        for name in ["a.jpg", "b.jpg"] { try Tool.copy(Repository.fixture("images/photo.jpg"), to: place.file(name)) }
        try Tool.copy(Repository.fixture("images/f.png"), to: place.file("c.png"))
    }

    @Test(arguments: ["a.jpg", "c.png"])
    func `sets texts and keeps the pixels`(name: String) throws {
        let pixels = try hash(name)
        let result = try run(
            "metadata", name, "--set", "copyright=© Ann = 1", "--set", "artist=Ann", "--set", "title=Tower", "-o",
            "out/\(name)", "--mkdir")

        #expect(result.status == 0, "\(result.stderr)")
        let fields = try run("metadata", "out/\(name)", "-f", "Copyright", "-f", "IFD0:Artist,XMP-dc:Title")
        #expect(fields.stdout == "© Ann = 1\nAnn\nTower\n")
        #expect(try hash("out/\(name)") == pixels && !pixels.isEmpty)
    }

    /// The text is that of exiftool 12.57 for the first file; it does not read the short header of the second.
    @Test(arguments: ["heif/rotated-with-thumbnail-exif-icc.heic", "heif/mini-turned-exif-icc.heic"])
    func `prints the orientation that the file stores, although the format ignores it`(path: String) throws {
        let file = Repository.fixture(path)

        #expect(try run("metadata", file, "-f", "Orientation").stdout == "Rotate 90 CW\n")
        #expect(try run("metadata", file, "-f", "Orientation", "--numeric").stdout == "6\n")
        #expect(try run("info", file, "-f", "orientation").stdout == "1\n")
        // A copy has upright pixels and no other orientation.
        #expect(try run("convert", file, "-o", "copy.jpg").status == 0)
        #expect(try run("metadata", "copy.jpg", "-f", "Orientation").stdout == "Horizontal (normal)\n")
        #expect(try run("info", "copy.jpg", "-f", "width,height").stdout == "120\n200\n")
    }

    @Test func `changes files in place only with --overwrite`() throws {
        let refused = try run("metadata", "a.jpg", "--set", "artist=Ann")
        #expect(refused.status == 64 && refused.stderr.contains("--overwrite to change the file itself"))
        #expect(try run("metadata", "-r", ".", "--glob", "*.jpg", "--set", "artist=Ann", "--overwrite").status == 0)
        #expect(try run("metadata", "-f", "Artist", "a.jpg", "b.jpg").stdout == "Ann\nAnn\n")
        #expect(try run("metadata", "a.jpg", "--strip", "all", "--overwrite").status == 0)
        #expect(try run("metadata", "a.jpg").stdout.contains("Artist") == false)
    }

    @Test func `prints JSON with groups, numbers and lists`() throws {
        _ = try run("metadata", "a.jpg", "--set", "artist=Ann", "--overwrite")
        let document = Document(try run("metadata", "--json", "a.jpg").stdout)

        #expect(document["format"].text == "jpeg")
        #expect(document["tags"]["IFD0:Artist"].text == "Ann")
        #expect(document["warnings"].list.isEmpty)
    }

    @Test func `reports an absent tag with the nearest name`() throws {
        _ = try run("metadata", "a.jpg", "--set", "artist=Ann", "--overwrite")
        let result = try run("metadata", "-f", "Artst", "a.jpg")

        #expect(result.status == 66 && result.stdout == "\n")
        #expect(result.stderr.contains("there is no tag Artst") && result.stderr.contains("try: did you mean Artist?"))
    }

    @Test func `reports an absent tag in JSON too`() throws {
        _ = try run("metadata", "a.jpg", "--set", "artist=Ann", "--overwrite")
        let result = try run("metadata", "-f", "Artist,Artst", "--json", "a.jpg")

        #expect(result.status == 66 && result.stderr.isEmpty && result.documents.count == 1)
        #expect(result.documents[0]["tags"].keys == ["IFD0:Artist"])
        #expect(result.documents[0]["error"]["message"].text == "there is no tag Artst")
    }

    @Test func `prints null for an absent tag among several files, without an error`() throws {
        _ = try run("metadata", "a.jpg", "--set", "artist=Ann", "--overwrite")
        let text = try run("metadata", "-r", ".", "-f", "Artist")
        #expect(text.status == 0 && text.stdout == "Ann\n" && text.stderr.isEmpty, "\(text)")

        let result = try run("metadata", "-f", "Artist", "--json", "a.jpg", "b.jpg")
        #expect(result.status == 0 && result.stderr.isEmpty)
        #expect(result.documents.map { $0["tags"]["IFD0:Artist"].text } == ["Ann", nil])
        #expect(result.documents[1]["tags"].keys == ["Artist"] && !result.documents[1]["error"].exists)
        // Lines of one file keep their places.
        #expect(try run("metadata", "-f", "Model,Artist", "a.jpg", "b.jpg").stdout == "\nAnn\n")
    }

    /// exiftool writes and reads the IPTC record; -L is its rule for records without a character set.
    @Test(arguments: [
        ("plain", "Ann", "Ann"), ("plain", "Björn Ö", "Björn Ö"), ("latin", "Björn", "Björn"),
        ("latin", "Владимир", nil),
        ("utf8", "Владимир", "Владимир"), ("plain", "", nil), ("plain", String(repeating: "n", count: 33), nil),
    ])
    func `sets a text in IPTC as in Exif and XMP`(kind: String, name: String, expected: String?) throws {
        let old = kind == "plain" ? "Old" : "Olé"
        let options = kind == "utf8" ? "-CodedCharacterSet=UTF8" : "-charset iptc=latin"
        let made = try Tool.shell(
            "exiftool -q -q \(options) -IPTC:By-line='\(old)' -IPTC:Keywords=tower -IPTC:City=Bonn a.jpg",
            directory: place.path)
        #expect(made.status == 0, "\(made.stderr)")
        #expect(try Tool.shell("exiftool -q -IPTCDigest=new a.jpg", directory: place.path).status == 0)
        let result = try run("metadata", "a.jpg", "--set", "artist=\(name)", "--set", "copyright=(c)", "--overwrite")
        #expect(result.status == 0)
        let isImpossible = expected == nil && !name.isEmpty
        #expect(result.stderr.contains("the IPTC data cannot hold this artist") == isImpossible, "\(result.stderr)")

        func read(_ tag: String) throws -> String {
            try Tool.shell(
                "exiftool -s3 \(kind == "utf8" ? "" : "-charset iptc=latin") -IPTC:\(tag) a.jpg", directory: place.path
            )
            .stdout.trimmingCharacters(in: .newlines)
        }
        #expect(try read("By-line") == expected ?? "")
        #expect(try read("CopyrightNotice") == "(c)")
        let digests = try Tool.shell("exiftool -s3 -IPTCDigest -CurrentIPTCDigest a.jpg", directory: place.path).lines
        #expect(digests.count == 2 && digests[0] == digests[1], "\(digests)")
        #expect(try read("Keywords") == "tower" && read("City") == "Bonn")
        #expect(try run("metadata", "a.jpg", "-f", "IPTC:By-line").stdout == (expected ?? "") + "\n")
        #expect(
            try Tool.shell("exiftool -validate -warning -s3 a.jpg", directory: place.path).stdout.contains("IPTC")
                == false)
    }

    @Test(arguments: [
        (["-o", "x.jpg", "--set", "artist"], "expected NAME=TEXT"),
        (["-o", "x.jpg", "--set", "artis=x"], "did you mean artist?"),
        (["-o", "x.jpg", "--set", "artist=a", "--set", "artist=b"], "--set names artist twice"),
        (["-o", "x.jpg", "--strip", "gsp"], "did you mean gps?"),
        (["--strip", "gps", "-f", "Make"], "--field and --numeric print tags"),
        (["-o", "x.jpg"], "--output needs --set or --strip"),
    ])
    func `refuses wrong options with a remedy`(words: [String], message: String) throws {
        let result = try Tool.run(["metadata", "a.jpg"] + words, directory: place.path)

        #expect(
            result.status == 64 && result.stderr.contains(message) && result.stderr.contains("  try: "),
            "\(result.stderr)")
    }

    @Test func `refuses texts that a packet cannot hold`() throws {
        let result = try run("metadata", "a.jpg", "-o", "x.jpg", "--set", "title=x\u{1}y")

        #expect(result.status != 0 && result.stderr.contains("cannot take these texts"), "\(result.stderr)")
        #expect(!FileManager.default.fileExists(atPath: place.file("x.jpg")))
    }

    @Test func `refuses to replace metadata that was left out`() throws {
        let long = "title=" + String(repeating: "x", count: 500)
        #expect(try run("metadata", "c.png", "-o", "d.png", "--set", long).status == 0)

        let result = try run("metadata", "d.png", "-o", "e.png", "--limits", "metadata=100", "--set", "title=y")

        #expect(result.status != 0 && result.stderr.contains("no text can be added, because "), "\(result.stderr)")
        #expect(!FileManager.default.fileExists(atPath: place.file("e.png")))
    }
}
