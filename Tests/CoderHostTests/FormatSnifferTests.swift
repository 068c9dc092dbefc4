import CoderHost
import ImageModel
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `Format sniffer` {
    struct Sample: Sendable, CustomTestStringConvertible {
        var rule: String
        var head: [UInt8]
        var tail: [UInt8] = []
        /// The matched bits; nil if the signature must not match.
        var score: Int?
        var what: String
        init(_ what: String, _ rule: String, _ head: [UInt8], tail: [UInt8] = [], _ score: Int?) {
            (self.what, self.rule, self.head, self.tail, self.score) = (what, rule, head, tail, score)
        }
        var testDescription: String { what }
    }

    static func ftyp(_ major: String, _ compatible: [String], size: UInt32? = nil) -> [UInt8] {
        let size = size ?? UInt32(16 + compatible.count * 4)
        var bytes: [UInt8] = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: size >> $0) }
        bytes += "ftyp\(major)".utf8
        bytes += [0, 0, 0, 0]
        for brand in compatible { bytes += brand.utf8 }
        return bytes
    }

    static func riff(_ form: String, _ chunk: String = "", _ data: [UInt8] = []) -> [UInt8] {
        var bytes = Array("RIFF\0\0\0\0\(form)".utf8)
        if chunk.isEmpty { return bytes }
        bytes += chunk.utf8
        bytes += [UInt8(data.count), 0, 0, 0]
        return bytes + data
    }

    static func chunks(_ names: [(String, Int)]) -> [UInt8] {
        var bytes: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 13, 10, 26, 10]
        for (name, count) in names {
            bytes += [0, 0, UInt8(count >> 8), UInt8(count & 255)]
            bytes += name.utf8
            bytes += [UInt8](repeating: 0, count: count + 4)
        }
        return bytes
    }

    static let heif = "{\"brands\": [\"heic\", \"mif1\"]}"
    static let animated = "{\"riff\": \"WEBP\", \"chunk\": \"VP8X\", \"at\": 0, \"bytes\": \"02\", \"mask\": \"02\"}"
    static let apng = "{\"chunk\": \"acTL\", \"before\": \"IDAT\", \"from\": 8}"

    static let samples = [
        Sample("bytes at the start", "{\"at\": 0, \"bytes\": \"ffd8ff\"}", [0xFF, 0xD8, 0xFF, 0xE0], 24),
        Sample("bytes that end with the file", "{\"at\": 1, \"bytes\": \"d8ff\"}", [0xFF, 0xD8, 0xFF], 16),
        Sample("bytes behind the end", "{\"at\": 2, \"bytes\": \"d8ff\"}", [0xFF, 0xD8, 0xFF], nil),
        Sample("other bytes", "{\"at\": 0, \"bytes\": \"ffd8fe\"}", [0xFF, 0xD8, 0xFF], nil),
        Sample("a mask", "{\"at\": 0, \"bytes\": \"f2\", \"mask\": \"0f\"}", [0x32], 4),
        Sample("a mask that does not hold", "{\"at\": 0, \"bytes\": \"f2\", \"mask\": \"0f\"}", [0x33], nil),
        Sample(
            "all of two rules", "{\"all\": [{\"at\": 0, \"bytes\": \"01\"}, {\"at\": 2, \"bytes\": \"03\"}]}",
            [1, 2, 3], 16),
        Sample(
            "one of two rules", "{\"all\": [{\"at\": 0, \"bytes\": \"01\"}, {\"at\": 2, \"bytes\": \"04\"}]}",
            [1, 2, 3], nil),
        Sample("bytes from the end", "{\"at\": -2, \"bytes\": \"ae60\"}", [1], tail: [9, 0xAE, 0x60], 16),
        Sample("bytes from before the tail", "{\"at\": -4, \"bytes\": \"ae60\"}", [1], tail: [0xAE, 0x60, 1], nil),
        Sample("bytes over the end", "{\"at\": -1, \"bytes\": \"ae60\"}", [1], tail: [0xAE], nil),
        Sample("a far offset", "{\"at\": 1000000, \"bytes\": \"00\"}", [0], nil),
        Sample("a far offset from the end", "{\"at\": -1000000, \"bytes\": \"00\"}", [0], tail: [0], nil),
        Sample("the major brand", heif, ftyp("heic", []), 64),
        Sample("a compatible brand", heif, ftyp("isom", ["avif", "mif1"]), 64),
        Sample("no brand", heif, ftyp("isom", ["mp42"]), nil),
        Sample("a brand behind the box", heif, ftyp("isom", ["avif", "mif1"], size: 20), nil),
        Sample("a box that claims to be empty", heif, ftyp("isom", ["avif"], size: 0), nil),
        Sample("a box longer than the file", heif, ftyp("isom", ["avif", "mif1"], size: .max), 64),
        Sample("a brand that is not aligned", heif, ftyp("isom", ["xhei", "cxxx"]), nil),
        Sample("another box", heif, Array("\0\0\0\u{10}moovheic\0\0\0\0".utf8), nil),
        Sample("a RIFF form", "{\"riff\": \"WEBP\"}", riff("WEBP"), 64),
        Sample("another RIFF form", "{\"riff\": \"WEBP\"}", riff("WAVE"), nil),
        Sample("RIFF cut off", "{\"riff\": \"WEBP\"}", Array(riff("WEBP").dropLast()), nil),
        Sample("the animation flag", animated, riff("WEBP", "VP8X", [0x12, 0, 0, 0]), 97),
        Sample("the animation flag of a still", animated, riff("WEBP", "VP8X", [0x10, 0, 0, 0]), nil),
        Sample("the animation flag of another chunk", animated, riff("WEBP", "VP8L", [0x02]), nil),
        Sample("the animation flag cut off", animated, riff("WEBP", "VP8X", []), nil),
        Sample("a chunk before another", apng, chunks([("IHDR", 13), ("gAMA", 4), ("acTL", 8), ("IDAT", 9)]), 64),
        Sample("a chunk behind another", apng, chunks([("IHDR", 13), ("IDAT", 9), ("acTL", 8)]), nil),
        Sample("no such chunk", apng, chunks([("IHDR", 13)]), nil),
        Sample(
            "a chunk behind a cut-off one", apng, chunks([("IHDR", 13)]) + [0xFF, 0xFF, 0xFF, 0xFF, 65, 66, 67, 68], nil
        ),
        Sample(
            "the name of a chunk inside another", apng, Array(chunks([("tEXt", 0)]).dropLast(4)) + Array("acTL".utf8),
            nil),
    ]

    @Test(arguments: samples) func `matches`(sample: Sample) throws {
        let sniffer = FormatSniffer(head: sample.head, tail: sample.tail)

        #expect(sniffer.score(try signatures(sample.rule)) == sample.score)
    }

    /// The samples whose rules need the first bytes.
    private static let heads = samples.filter { !$0.rule.contains("\"at\": -") && !$0.what.contains("mask") }

    @Test(arguments: heads, [0, 1]) func `matches nothing in a source that is too short`(
        sample: Sample, count: Int
    ) throws {
        let sniffer = FormatSniffer(head: Array(sample.head.prefix(count)), tail: [])

        #expect(sniffer.score(try signatures(sample.rule)) == nil)
    }

    @Test func `uses the best of several signatures, by rank and then by bits`() throws {
        let rules = "{\"at\": 0, \"bytes\": \"0102\"}, {\"all\": [{\"at\": 0, \"bytes\": \"01\"}], \"rank\": 1}"

        #expect(FormatSniffer(head: [1, 2], tail: []).score(try signatures(rules)) == 10_008)
        #expect(FormatSniffer(head: [2], tail: []).score(try signatures(rules)) == nil)
    }

    @Test func `looks at the first 4096 and the last 64 bytes`() throws {
        let bytes = (0..<10_000).map { UInt8($0 % 251) }
        let sniffer = ImageSource(bytes).sniffer
        let growing = try ImageSource(growingTo: 20_000)
        try growing.append(bytes)

        #expect(sniffer.head == Array(bytes[..<4096]))
        #expect(sniffer.tail == Array(bytes.suffix(64)))
        #expect(growing.sniffer.tail.isEmpty, "the end is not known yet")
        #expect(ImageSource([]).sniffer.head.isEmpty)
        #expect(ImageSource([7]).sniffer.tail == [7])
    }

    // MARK: With the project's plugins

    @Test(arguments: Fixture.valid) func `recognizes every fixture by its bytes, whatever its name`(
        fixture: Fixture
    ) throws {
        let host = testHost(Repository.products)
        for name in [fixture.name, "x.png", "x.jpg", "x.gif", "noextension"] {
            let best = try #require(host.manager.candidates(for: ImageSource(fixture.bytes, name: name)).first)
            #expect(best.isCertain)
            #expect(best.descriptor.serves(fixture.format), "\(name): \(best.descriptor.id)")
        }
    }

    @Test(
        arguments: [[], [0x89], [0x50], [0xFF, 0xD8], Array("RIFF".utf8), [UInt8](repeating: 0, count: 5000)]
            as [[UInt8]])
    func `recognizes nothing in`(bytes: [UInt8]) throws {
        let host = testHost(Repository.products)
        for name in ["x.png", "x.jpg", "x.webp", "x.heic", "x"] {
            let source = ImageSource(bytes, name: name)
            let error = #expect(throws: CoderError.self) { try host.manager.decode(source) }
            #expect(error?.code == .unrecognizedFormat)
            #expect(!host.manager.canDecode(source))
        }
    }

    private func signatures(_ rules: String) throws -> [Signature] {
        let text = PluginManifestTests.smallest.replacing(
            "{\"id\": \"x\"}", with: "{\"id\": \"x\", \"signatures\": [\(rules)]}")
        return try PluginManifest(json: Array(text.utf8)).coders[0].formats[0].signatures
    }
}

private typealias PluginManifestTests = `Plugin manifest`
