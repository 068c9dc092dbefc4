import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `The command rewrite` {
    let place = TemporaryDirectory()

    private func rewrite(_ fixture: String, to name: String) throws -> CommandResult {
        try Tool.run(
            "rewrite", Repository.fixture(fixture), "--strip", "gps", "-o", name, directory: place.path)
    }

    @Test(arguments: [("pictures/photo.jpg", "x.png"), ("pictures/f.png", "x.jpg"), ("pictures/three-frames.gif", "x.webp")])
    func `refuses an ending that names another format, and writes nothing`(fixture: String, name: String) throws {
        let result = try rewrite(fixture, to: name)

        #expect(result.status == 64 && result.stderr.contains("\(name) names another format"), "\(result.stderr)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.path).isEmpty)
    }

    @Test(arguments: [
        ("pictures/photo.jpg", "x.jpeg"), ("apng/three-frames.png", "x.png"), ("apng/three-frames.png", "x.apng"),
        ("pictures/f.png", "x"), ("pictures/f.png", "x.backup"),
    ])
    func `takes every ending of the format, and unknown ones`(fixture: String, name: String) throws {
        #expect(try rewrite(fixture, to: name).status == 0)
        #expect(FileManager.default.fileExists(atPath: place.file(name)))
    }

    // MARK: A position in a PNG

    private static let head = Array("Exif".utf8) + [0, 0]

    /// Exif with an orientation, and with a position where `place` says so.
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

    /// A fixture with metadata behind its header.
    private func write(_ name: String, exif: [UInt8]?, rawProfile: [UInt8]?) throws {
        var bytes = try #require(readFile(Repository.fixture("pictures/f.png")))
        var metadata: [UInt8] = []
        if let exif { metadata += chunk("eXIf", exif) }
        if let rawProfile {
            let text = "\nexif\n      \(rawProfile.count)\n\(hexadecimal(rawProfile))\n"
            metadata += chunk("tEXt", Array("Raw profile type exif".utf8) + [0] + Array(text.utf8))
        }
        bytes.insert(contentsOf: metadata, at: 33)
        place.write(bytes, to: name)
    }

    @Test(arguments: [(true, false), (false, true), (true, true)])
    func `removes a position from Exif and from its older form as text`(_ inExif: Bool, _ inText: Bool) throws {
        let located = exif(place: true)
        try write("in.png", exif: inExif ? located : nil, rawProfile: inText ? Self.head + located : nil)

        let result = try Tool.run("rewrite", "in.png", "--strip", "gps", "-o", "out.png", directory: place.path)
        let bytes = try #require(readFile(place.file("out.png")))

        #expect(result.status == 0 && result.stderr.isEmpty, "\(result.stderr)")
        #expect(!hexadecimal(bytes).contains("25880400"))
        #expect(!hexadecimal(bytes).contains(hexadecimal(Array("25880400".utf8))))
        #expect(hexadecimal(bytes).contains("65584966"), "the rest of Exif stays, in a chunk of its own")
    }

    @Test func `warns where only the older form of Exif has a position`() throws {
        try write("in.png", exif: exif(place: false), rawProfile: Self.head + exif(place: true))

        let kept = try Tool.run("rewrite", "in.png", "--strip", "gps", "-o", "kept.png", directory: place.path)
        let removed = try Tool.run("rewrite", "in.png", "--strip", "gps,text", "-o", "out.png", directory: place.path)

        #expect(kept.stderr.contains("\"Raw profile type exif\" is kept and may hold a position"), "\(kept.stderr)")
        #expect(removed.status == 0 && removed.stderr.isEmpty)
        let bytes = try #require(readFile(place.file("out.png")))
        #expect(!hexadecimal(bytes).contains(hexadecimal(Array("25880400".utf8))))
    }
}
