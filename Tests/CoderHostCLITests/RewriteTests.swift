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

    // MARK: Locations in PNG

    private static let head = Array("Exif".utf8) + [0, 0]

    /// Exif with an orientation, and with a location if `place` is set.
    private func exif(place: Bool) -> [UInt8] {
        let orientation: [UInt8] = [0x12, 0x01, 3, 0, 1, 0, 0, 0, 1, 0, 0, 0]
        let end: [UInt8] = [0, 0, 0, 0]
        let start = Array("II".utf8) + [42, 0, 8, 0, 0, 0]
        if !place { return start + [1, 0] + orientation + end }
        let pointer: [UInt8] = [0x25, 0x88, 4, 0, 1, 0, 0, 0, 38, 0, 0, 0]
        let north: [UInt8] = [1, 0, 1, 0, 2, 0, 2, 0, 0, 0, 0x4E, 0, 0, 0]
        return start + [2, 0] + orientation + pointer + end + north + end
    }

    private func chunk(_ name: String, _ data: [UInt8]) -> [UInt8] {
        func bigEndian(_ value: UInt32) -> [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) } }
        var crc: UInt32 = .max
        for byte in Array(name.utf8) + data {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
        }
        return bigEndian(UInt32(data.count)) + Array(name.utf8) + data + bigEndian(~crc)
    }

    private func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    private func rawProfile(_ key: String, _ bytes: [UInt8]) -> [UInt8] {
        let text = "\nexif\n      \(bytes.count)\n\(hexadecimal(bytes))\n"
        return chunk("tEXt", Array(key.utf8) + [0] + Array(text.utf8))
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
        let text = rawProfile(Self.key, Self.head + exif(place: true))
        try write("in.png", (inExif ? [chunk("eXIf", exif(place: true))] : []) + (inText ? [text] : []))

        let result = try Tool.run("rewrite", "in.png", "--strip", "gps", "-o", "out.png", directory: place.path)
        let bytes = try #require(readFile(place.file("out.png")))

        #expect(result.status == 0 && result.stderr.isEmpty, "\(result.stderr)")
        #expect(try holdsPosition("in.png") && !holdsPosition("out.png"))
        #expect(hexadecimal(bytes).contains(hexadecimal(Array("eXIf".utf8))), "the rest of Exif stays")
    }

    @Test func `warns about a location in older Exif text, and removes it as a comment`() throws {
        try write("in.png", [chunk("eXIf", exif(place: false)), rawProfile(Self.key, Self.head + exif(place: true))])

        let kept = try Tool.run("rewrite", "in.png", "--strip", "gps", "-o", "kept.png", directory: place.path)
        let removed = try Tool.run(
            "rewrite", "in.png", "--strip", "gps,comment", "-o", "out.png", directory: place.path)
        let converted = try Tool.run("convert", "in.png", "--strip", "exif", "-o", "c.png", directory: place.path)

        #expect(
            kept.stderr.contains("\"\(Self.key)\" is kept and may contain a location: --strip comment"),
            "\(kept.stderr)")
        #expect(removed.status == 0 && removed.stderr.isEmpty, "\(removed.stderr)")
        #expect(converted.status == 0, "\(converted.stderr)")
        #expect(try holdsPosition("kept.png") && !holdsPosition("out.png") && !holdsPosition("c.png"))
    }

    @Test func `removes Exif text with any case of its key`() throws {
        try write("in.png", [rawProfile("raw profile type EXIF", Self.head + exif(place: true))])
        for parts in ["gps", "exif", "gps,exif"] {
            let result = try Tool.run("rewrite", "in.png", "--strip", parts, "-o", "out.png", directory: place.path)
            #expect(result.status == 0 && result.stderr.isEmpty, "\(result.stderr)")
            #expect(try !holdsPosition("out.png"), "\(parts)")
        }
    }

    @Test func `removes all locations of Exif`() throws {
        var twice = exif(place: true)
        // Changes the orientation field to a second location field.
        twice.replaceSubrange(10..<22, with: twice[22..<34])
        try write("in.png", [chunk("eXIf", twice)])
        #expect(try Tool.run("rewrite", "in.png", "--strip", "gps", "-o", "out.png", directory: place.path).status == 0)
        #expect(try !holdsPosition("out.png"))
    }

    @Test func `warns about unreadable metadata when removing a part of it`() throws {
        let packet = Array("XML:com.adobe.xmp".utf8) + [0] + Array("<x:xmpmeta/>".utf8)
        try write("twice.png", [chunk("eXIf", exif(place: false)), chunk("eXIf", exif(place: true))])
        try write("packet.png", [chunk("tEXt", packet)])
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
}
