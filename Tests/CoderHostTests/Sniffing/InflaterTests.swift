@testable import CoderHost
@testable import PluginCatalogue
import TestSupport
import Testing

/// The output must equal the input of gzip(1).
@Suite(.timeLimit(.minutes(40))) struct `Inflater` {
    private static func content(_ kind: String) -> [UInt8] {
        var random = SeededRandom(11)
        return switch kind {
        case "nothing": []
        case "text": Array("It is a truth universally acknowledged, that a truth is acknowledged.".utf8)
        case "one byte again and again": [UInt8](repeating: 65, count: 100_000)
        case "noise": (0..<6000).map { _ in .random(in: 0...255, using: &random) }
        default: (0..<20_000).map { _ in "etaoin shrdlu".utf8.randomElement(using: &random)! }
        }
    }

    @Test(
        arguments: ["nothing", "text", "one byte again and again", "noise", "letters"],
        [["-1n"], ["-9n"], ["-9N", "-S", ".gz"]])
    func `expands what gzip packs, up to the limit`(kind: String, flags: [String]) throws {
        let content = Self.content(kind)
        let folder = TemporaryDirectory()
        let file = folder.write(content, to: "with a name")
        let packed = try run(["gzip", "-c"] + flags + [file]).output

        for limit in [0, 1, 100, 4096, 1 << 20] {
            #expect(GzipHead.inflate(packed, limit: limit) == Array(content.prefix(limit)))
        }
    }

    @Test func `expands truncated data to a prefix of the content`() throws {
        let content = Self.content("letters")
        let packed = try SniffedSample.gzipped(content)
        var longest = 0
        for count in 0..<min(packed.count, 4096) {
            let part = GzipHead.inflate(Array(packed.prefix(count)), limit: 4096)
            #expect(content.starts(with: part))
            #expect(part.count >= longest)
            longest = max(longest, part.count)
        }
        #expect(longest == 4096)
    }

    @Test func `expands a bomb no further than the limit`() throws {
        let bomb = try SniffedSample.gzipped([UInt8](repeating: 0, count: 64 << 20))

        #expect(GzipHead.inflate(Array(bomb.prefix(4096)), limit: 4096) == [UInt8](repeating: 0, count: 4096))
    }

    /// RFC 1952, §2.3: extra field, name, comment and the header's checksum, one or all of them.
    @Test(arguments: 0..<32 as Range<UInt8>) func `skips every optional part of a header`(flags: UInt8) throws {
        let content = Array("<svg/>".utf8)
        let stream = try SniffedSample.gzipped(content).dropFirst(10)
        var header: [UInt8] = [0x1F, 0x8B, 8, flags, 1, 2, 3, 4, 2, 3]
        if flags & 4 != 0 { header += [3, 0, 9, 0, 9] }
        if flags & 8 != 0 { header += Array("a.svg".utf8) + [0] }
        if flags & 16 != 0 { header += [0] }
        if flags & 2 != 0 { header += [0xAA, 0xBB] }

        #expect(GzipHead.inflate(header + stream, limit: 100) == content)
        for count in 0..<header.count { #expect(GzipHead.inflate(Array(header.prefix(count)), limit: 100).isEmpty) }
    }

    @Test(
        arguments: [
            ("another method", [0x1F, 0x8B, 7, 0, 0, 0, 0, 0, 0, 3, 0x03, 0]),
            ("a reserved flag", [0x1F, 0x8B, 8, 0x20, 0, 0, 0, 0, 0, 3, 0x03, 0]),
            ("a name without end", [0x1F, 0x8B, 8, 8, 0, 0, 0, 0, 0, 3, 65, 66]),
            ("an extra field that is longer than the head", [0x1F, 0x8B, 8, 4, 0, 0, 0, 0, 0, 3, 0xFF, 0xFF, 1]),
            // RFC 1951, §3.2: 3 is not a block type; a stored length has a complement; 30 is not a distance.
            ("a block of kind 3", [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0x07, 0]),
            ("a stored block with a wrong length", [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0x01, 1, 0, 1, 0, 65]),
            // Fixed code, length 3 (0000001), distance 1 (00000) before any byte: 1 1 0 │ 0000001 │ 00000.
            ("a distance before the first byte", [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0x03, 0x02, 0, 0]),
        ] as [(String, [UInt8])])
    func `expands nothing from`(what: String, bytes: [UInt8]) {
        #expect(GzipHead.inflate(bytes, limit: 4096).isEmpty)
    }

    @Test func `terminates for any bytes`() throws {
        var random = SeededRandom(5)
        let packed = try SniffedSample.gzipped(Self.content("letters"))
        for round in 0..<3000 {
            var bytes = round % 2 == 0 ? Array(packed.prefix(600)) : Array(packed.prefix(10))
            if round % 2 == 1 { bytes += (0..<600).map { _ in .random(in: 0...255, using: &random) } }
            bytes[Int.random(in: 10..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)

            #expect(GzipHead.inflate(bytes, limit: 4096).count <= 4096)
        }
    }
}
