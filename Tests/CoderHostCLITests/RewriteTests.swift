import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `The command rewrite` {
    let place = TemporaryDirectory()

    private func rewrite(_ fixture: String, to name: String) throws -> CommandResult {
        try Tool.run(
            "rewrite", Repository.fixture(fixture), "--strip", "gps", "-o", name, directory: place.path)
    }

    @Test(arguments: [("images/photo.jpg", "x.png"), ("images/f.png", "x.jpg"), ("images/three-frames.gif", "x.webp")])
    func `refuses the file extension of another format without output`(fixture: String, name: String) throws {
        let result = try rewrite(fixture, to: name)

        #expect(result.status == 64)
        #expect(result.stderr.contains("\(name) has the file extension of another format"), "\(result.stderr)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.path).isEmpty)
    }

    @Test(arguments: [
        ("images/photo.jpg", "x.jpeg"), ("apng/three-frames.png", "x.png"), ("apng/three-frames.png", "x.apng"),
        ("images/f.png", "x"), ("images/f.png", "x.backup"),
    ])
    func `accepts all file extensions of the format, and unknown ones`(fixture: String, name: String) throws {
        #expect(try rewrite(fixture, to: name).status == 0)
        #expect(FileManager.default.fileExists(atPath: place.file(name)))
    }

    // MARK: Repacking

    @Test(arguments: [[], ["-f", "jxl"]])
    func `repacks a JPEG as a smaller JPEG XL and restores it bit for bit`(format: [String]) throws {
        let photo = Repository.fixture("images/photo.jpg")
        let packed = try Tool.run(
            ["rewrite", photo, "--json", "-o", format.isEmpty ? "photo.jxl" : "./"] + format, directory: place.path)
        let back = try Tool.run("rewrite", "photo.jxl", "-o", "back.jpg", directory: place.path)

        #expect(packed.status == 0 && back.status == 0, "\(packed.stderr)\(back.stderr)")
        let report = Document(packed.stdout)
        #expect(report["format"].text == "jxl" && report["coder"].text == "org.coderhost.jxl")
        #expect(report["width"].integer == Document(try Tool.run("info", "--json", photo).stdout)["width"].integer)
        let original = try #require(readFile(photo))
        #expect(readFile(place.file("back.jpg")) == original)
        #expect(try #require(readFile(place.file("photo.jxl"))).count < original.count)
    }

    @Test func `refuses to change and repack at once`() throws {
        let named = try rewrite("images/photo.jpg", to: "x.jxl")
        let asked = try Tool.run(
            "rewrite", Repository.fixture("images/photo.jpg"), "--optimize", "-f", "jxl", directory: place.path)

        #expect(named.status == 64 && named.stderr.contains("so rewrite cannot also remove metadata"))
        #expect(asked.status == 64 && asked.stderr.contains("so it cannot also compress it better"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.path).isEmpty)
    }

    @Test func `refuses to restore a JPEG from a JPEG XL that was made of pixels`() throws {
        let result = try Tool.run(
            "rewrite", Repository.fixture("jxl/lossy.jxl"), "-o", "x.jpg", directory: place.path)

        #expect(result.status != 0 && !FileManager.default.fileExists(atPath: place.file("x.jpg")))
        #expect(result.stderr.contains("JPEG"), "\(result.stderr)")
    }

    // MARK: Locations in PNG

    private static let head = Array("Exif".utf8) + [0, 0]

    private func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    private func rawProfile(_ key: String, _ bytes: [UInt8]) -> [UInt8] {
        let text = "\nexif\n      \(bytes.count)\n\(hexadecimal(bytes))\n"
        return PNGPieces.chunk("tEXt", Array(key.utf8) + [0] + Array(text.utf8))
    }

    /// A fixture with metadata after its header.
    private func write(_ name: String, _ chunks: [[UInt8]]) throws {
        var bytes = try #require(readFile(Repository.fixture("images/f.png")))
        bytes.insert(contentsOf: chunks.joined(), at: 33)
        place.write(bytes, to: name)
    }

    /// Whether a file has a location field, as bytes or as digits.
    private func holdsPosition(_ name: String) throws -> Bool {
        let digits = hexadecimal(try #require(readFile(place.file(name))))
        return digits.contains("25880400") || digits.contains(hexadecimal(Array("25880400".utf8)))
    }

    private static let key = "Raw profile type exif"

    @Test(arguments: [(true, false), (false, true), (true, true)])
    func `removes a location from Exif and from its older text form`(_ inExif: Bool, _ inText: Bool) throws {
        let text = rawProfile(Self.key, Self.head + PNGPieces.exif(place: true))
        try write(
            "in.png", (inExif ? [PNGPieces.chunk("eXIf", PNGPieces.exif(place: true))] : []) + (inText ? [text] : []))

        let result = try Tool.run("rewrite", "in.png", "--strip", "gps", "-o", "out.png", directory: place.path)
        let bytes = try #require(readFile(place.file("out.png")))

        #expect(result.status == 0 && result.stderr.isEmpty, "\(result.stderr)")
        #expect(try holdsPosition("in.png") && !holdsPosition("out.png"))
        #expect(hexadecimal(bytes).contains(hexadecimal(Array("eXIf".utf8))), "the rest of Exif stays")
    }

    @Test func `warns about a location in older Exif text, and removes it as a comment`() throws {
        try write(
            "in.png",
            [
                PNGPieces.chunk("eXIf", PNGPieces.exif(place: false)),
                rawProfile(Self.key, Self.head + PNGPieces.exif(place: true)),
            ])

        let kept = try Tool.run("rewrite", "in.png", "--strip", "gps", "-o", "kept.png", directory: place.path)
        let removed = try Tool.run(
            "rewrite", "in.png", "--strip", "gps,comment", "-o", "out.png", directory: place.path)
        let converted = try Tool.run("convert", "in.png", "--strip", "exif", "-o", "c.png", directory: place.path)

        #expect(
            kept.stderr.contains("\"\(Self.key)\" is kept and may contain a location: --strip text"),
            "\(kept.stderr)")
        #expect(removed.status == 0 && removed.stderr.isEmpty, "\(removed.stderr)")
        #expect(converted.status == 0, "\(converted.stderr)")
        #expect(try holdsPosition("kept.png") && !holdsPosition("out.png") && !holdsPosition("c.png"))
    }

    @Test func `removes Exif text with any case of its key`() throws {
        try write("in.png", [rawProfile("raw profile type EXIF", Self.head + PNGPieces.exif(place: true))])
        for parts in ["gps", "exif", "gps,exif"] {
            let result = try Tool.run("rewrite", "in.png", "--strip", parts, "-o", "out.png", directory: place.path)
            #expect(result.status == 0 && result.stderr.isEmpty, "\(result.stderr)")
            #expect(try !holdsPosition("out.png"), "\(parts)")
        }
    }

    @Test func `removes all locations of Exif`() throws {
        var twice = PNGPieces.exif(place: true)
        // Changes the orientation field to a second location field.
        twice.replaceSubrange(10..<22, with: twice[22..<34])
        try write("in.png", [PNGPieces.chunk("eXIf", twice)])
        #expect(try Tool.run("rewrite", "in.png", "--strip", "gps", "-o", "out.png", directory: place.path).status == 0)
        #expect(try !holdsPosition("out.png"))
    }

    @Test func `warns about unreadable metadata when removing a part of it`() throws {
        let packet = Array("XML:com.adobe.xmp".utf8) + [0] + Array("<x:xmpmeta/>".utf8)
        try write(
            "twice.png",
            [
                PNGPieces.chunk("eXIf", PNGPieces.exif(place: false)),
                PNGPieces.chunk("eXIf", PNGPieces.exif(place: true)),
            ])
        try write("packet.png", [PNGPieces.chunk("tEXt", packet)])
        for (input, warning) in [
            ("twice.png", "ignored a second Exif chunk"), ("packet.png", "may contain a location"),
        ] {
            let part = try Tool.run("rewrite", input, "--strip", "gps", "-o", "out.png", directory: place.path)
            #expect(part.status == 0 && part.stderr.contains(warning), "\(part.stderr)")
            let all = try Tool.run("rewrite", input, "--strip", "exif,xmp", "-o", "out.png", directory: place.path)
            #expect(all.status == 0 && !all.stderr.contains(warning), "\(all.stderr)")
            #expect(try !holdsPosition("out.png"))
        }
    }

    // MARK: Turns

    @Test(arguments: [("-90", "270"), ("450", "90"), ("-450", "270"), ("720", "0"), ("-180", "180")])
    func `turns by every multiple of 90 degrees`(degrees: String, same: String) throws {
        // All blocks of this image are complete.
        let source = Repository.fixture("jpeg/baseline-444-restart.jpg")
        var hashes: [String] = []
        for value in [degrees, same] {
            let result = try Tool.run("rewrite", source, "--rotate", value, "-o", "t.jpg", directory: place.path)
            #expect(result.status == 0, "\(result.stderr)")
            hashes.append(try Tool.run("info", "-f", "pixel_sha256", "t.jpg", directory: place.path).stdout)
        }
        #expect(hashes[0] == hashes[1] && !hashes[0].isEmpty)
    }

    @Test(arguments: ["45", "-91", "x", "90.0"]) func `refuses other turns`(degrees: String) throws {
        let result = try Tool.run(
            "rewrite", Repository.fixture("images/photo.jpg"), "--rotate", degrees, "-o", "t.jpg",
            directory: place.path)

        #expect(result.status == 64 && result.stderr.contains("invalid --rotate value \"\(degrees)\""))
        #expect(result.stderr.contains("  try: coderhost convert rotates by any angle"))
    }

    // MARK: Incomplete blocks

    private func digest(_ file: String) throws -> String {
        try Tool.run("info", "-f", "pixel_sha256", file, directory: place.path).stdout
    }

    /// The image of 40x24 pixels has blocks of 16x16, so those at the right and lower edge are incomplete.
    @Test(arguments: [
        ["--rotate", "90"], ["--rotate", "180"], ["--flip", "horizontal"], ["--rotate", "270", "--optimize"],
    ])
    func `stores a turn as orientation if it would lose pixels`(words: [String]) throws {
        let source = Repository.fixture("jpeg/baseline-420.jpg")
        let result = try Tool.run(["rewrite", source, "-o", "t.jpg"] + words, directory: place.path)
        #expect(result.status == 0)
        #expect(
            result.stderr.contains(
                "incomplete blocks at the edge cannot be turned: the pixels stay, and the orientation"))
        #expect(result.stderr.contains("--trim-edges turns the pixels and cuts "), "\(result.stderr)")

        // Every stored pixel is there, and the image appears as one that is turned after decoding.
        #expect(try digest("t.jpg") == digest(source))
        #expect(try Tool.run("convert", "t.jpg", "-o", "t.png", "--max", "9999", directory: place.path).status == 0)
        let turn = Array(words.prefix(2))
        #expect(try Tool.run(["convert", source, "-o", "r.png"] + turn, directory: place.path).status == 0)
        #expect(try Tool.run("compare", "t.png", "r.png", directory: place.path).status == 0)
    }

    @Test func `crops the pixels and stores the turn if it would lose some of the part`() throws {
        let source = Repository.fixture("jpeg/baseline-420.jpg")
        let part = "24x24+16+0"
        let words = ["rewrite", source, "--crop", part, "--rotate", "90", "-o", "t.jpg"]
        #expect(try Tool.run(words, directory: place.path).status == 0)

        let words2 = ["rewrite", source, "--crop", part, "-o", "c.jpg"]
        #expect(try Tool.run(words2, directory: place.path).status == 0)
        #expect(try digest("t.jpg") == digest("c.jpg"))
        #expect(try Tool.run("info", "-f", "orientation", "t.jpg", directory: place.path).stdout == "6\n")
    }

    @Test func `cuts incomplete blocks only if asked to, as jpegtran does`() throws {
        let source = Repository.fixture("jpeg/baseline-420.jpg")
        let words = ["rewrite", source, "--rotate", "90", "--trim-edges", "-o", "t.jpg"]
        let result = try Tool.run(words, directory: place.path)
        #expect(result.status == 0 && result.stderr.contains("is kept; --perfect refuses this"), "\(result.stderr)")

        let trimmed = try Tool.shell(
            "jpegtran -rotate 90 -trim -copy none '\(source)' | djpeg -pnm", directory: place.path)
        let own = try Tool.shell("djpeg -pnm t.jpg", directory: place.path)
        #expect(own.stdout == trimmed.stdout && !own.stdout.isEmpty)
        #expect(try Tool.run("info", "-f", "orientation", "t.jpg", directory: place.path).stdout == "1\n")
    }

    @Test func `turns complete blocks without an orientation`() throws {
        let source = Repository.fixture("jpeg/baseline-420.jpg")
        #expect(
            try Tool.run("rewrite", source, "--crop", "16x16+0+0", "-o", "c.jpg", directory: place.path).status == 0)
        let result = try Tool.run("rewrite", "c.jpg", "--rotate", "90", "-o", "t.jpg", directory: place.path)
        #expect(result.status == 0 && result.stderr.isEmpty, "\(result.stderr)")
        #expect(try Tool.run("info", "-f", "orientation", "t.jpg", directory: place.path).stdout == "1\n")
    }

    @Test(arguments: [
        (["--trim-edges"], "needs --rotate"), (["--trim-edges", "--rotate", "90", "--perfect"], "forbids"),
    ])
    func `refuses to cut blocks without a turn`(words: [String], message: String) throws {
        let source = Repository.fixture("images/photo.jpg")
        let result = try Tool.run(["rewrite", source, "-o", "t.jpg"] + words, directory: place.path)
        #expect(result.status == 64 && result.stderr.contains(message), "\(result.stderr)")
    }
}
