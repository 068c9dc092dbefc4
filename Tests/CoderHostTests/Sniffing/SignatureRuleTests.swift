import ImageModel
import TestSupport
import Testing

@testable import CoderHost

@Suite(.timeLimit(.minutes(40))) struct `Signature rules that search` {
    private let svg = #"{"xml-root": "svg"}"#
    private let svgInNamespace = #"{"xml-root": "svg", "namespace": "http://www.w3.org/2000/svg"}"#
    private let pdf = #"{"find": "255044462d", "within": 1024}"#
    private let dng = #"{"tiff-tag": 50706}"#

    private func score(_ rules: String, _ head: [UInt8]) throws -> Int? {
        FormatSniffer(head: Array(head.prefix(FormatSniffer.headCount)), tail: []).score(try signatures(rules))
    }

    private func signatures(_ rules: String) throws -> [Signature] {
        let text =
            #"{"schema": 1, "plugin": {"id": "a.b", "version": "1"}, "#
            + #""abi": {"major": 1, "minor_built": 0, "minor_needed": 0}, "#
            + #""coders": [{"id": "a", "roles": ["decode"], "formats": [{"id": "x", "signatures": ["#
            + rules + "]}]}]}"
        return try PluginManifest(json: Array(text.utf8)).coders[0].formats[0].signatures
    }

    // MARK: XML

    @Test(arguments: SniffedSample.svg.map(\.what)) func `find the root element after`(what: String) throws {
        let head = try #require(SniffedSample.svg.first { $0.what == what }).bytes

        #expect(try score(svg, head) == 2)
        #expect(try score(svgInNamespace, head) == 3)
        #expect(try score(#"{"xml-root": "html"}"#, head) == nil)
        #expect(try score(#"{"xml-root": "svg", "namespace": "http://example.org/"}"#, head) == nil)
    }

    @Test(arguments: SniffedSample.noSVG.map(\.what)) func `find no root element svg in`(what: String) throws {
        let head = try #require(SniffedSample.noSVG.first { $0.what == what }).bytes

        #expect(try score(svg, head) == nil)
        #expect(try score(svgInNamespace, head) == nil)
    }

    @Test(arguments: [
        "<svg/>", "<svg xmlns=''/>", "<svg xmlns='http://www.w3.org/2000/svg", "<svg xmlns=http://www.w3.org/2000/svg>",
        "<svg xmlns:a='http://www.w3.org/2000/svg'/>", "<a:svg xmlns='http://www.w3.org/2000/svg'/>",
        "<svg><g xmlns='http://www.w3.org/2000/svg'/></svg>", "<svg xmlns='&ns;'/>",
        "<svg title=\"xmlns='http://www.w3.org/2000/svg'\"/>", "<svg a xmlns='http://www.w3.org/2000/svg'/>",
    ])
    func `distinguish a name from the same name in a namespace`(text: String) throws {
        #expect(try score(svg, Array(text.utf8)) == 2)
        #expect(try score(svgInNamespace, Array(text.utf8)) == nil)
    }

    // MARK: Bytes anywhere

    @Test(arguments: [0, 1, 700, 1023]) func `find bytes that begin within the first ones`(junk: Int) throws {
        let file = [UInt8](repeating: 0x25, count: junk) + Array("%PDF-1.7\n".utf8)

        #expect(try score(pdf, file) == 1)
    }

    @Test(arguments: ["%PDF", "%PD%F-", "%pdf-1.4", String(repeating: " ", count: 1024) + "%PDF-1.7", ""])
    func `do not find missing bytes, or bytes that begin later`(text: String) throws {
        #expect(try score(pdf, Array(text.utf8)) == nil)
    }

    /// Self-similar bytes: a search without fallback after a mismatch would miss them.
    @Test(arguments: [("aaab", "aaaab"), ("abab", "abaabab"), ("aabaac", "aabaabaac"), ("a", "ba"), ("aa", "baa")])
    func `find self-similar bytes`(wanted: String, text: String) throws {
        let hex = wanted.utf8.map { String($0, radix: 16) }.joined()

        #expect(try score("{\"find\": \"\(hex)\", \"within\": 4096}", Array(text.utf8)) == 1)
    }

    @Test func `find the same bytes as a plain search`() throws {
        var random = SeededRandom(7)
        for _ in 0..<2000 {
            let text = (0..<20).map { _ in UInt8.random(in: 0...1, using: &random) }
            let wanted = (0..<Int.random(in: 1...6, using: &random)).map { _ in UInt8.random(in: 0...1, using: &random)
            }
            let within = Int.random(in: 1...24, using: &random)
            let expected = (0..<within).contains { text.dropFirst($0).starts(with: wanted) }

            let rule = Signature(rules: [.find(wanted, within: within)])
            #expect((FormatSniffer(head: text, tail: []).score([rule]) != nil) == expected, "\(wanted) in \(text)")
        }
    }

    @Test(arguments: [Int.min, -1, 0, .max]) func `accept any number from an application`(within: Int) {
        let sniffer = FormatSniffer(head: [1, 2], tail: [])

        #expect((sniffer.score([Signature(rules: [.find([1], within: within)])]) != nil) == (within > 0))
        #expect(sniffer.score([Signature(rules: [.find([], within: within)])]) == nil)
        #expect(sniffer.score([Signature(rules: [.tiffTag(within)])]) == nil)
    }

    // MARK: TIFF

    @Test(arguments: [false, true], [false, true]) func `find a tag of a TIFF file`(isLittle: Bool, isBig: Bool) throws
    {
        for tags in [[50706], [254, 256, 257, 50706, 50707], Array(256..<400) + [50706]] {
            for padding in [0, 1, 500] {
                #expect(
                    try score(dng, SniffedSample.tiff(tags, isLittle: isLittle, isBig: isBig, padding: padding)) == 64)
            }
        }
        #expect(try score(dng, SniffedSample.tiff([254, 50707], isLittle: isLittle, isBig: isBig)) == nil)
        #expect(try score(dng, SniffedSample.tiff([], isLittle: isLittle, isBig: isBig)) == nil)
        let far = SniffedSample.tiff([50706], isLittle: isLittle, isBig: isBig, padding: 4096)
        #expect(try score(dng, far) == nil, "the directory is beyond the bytes that are read")
    }

    /// Impossible offsets and counts, in both byte orders and widths.
    @Test(arguments: [0, 1, 4, 7, 4095, 4096, 0x7FFF_FFFF, 0xFFFF_FFFF, Int.max])
    func `find no tag if an offset or a count is wrong`(number: Int) throws {
        for (isLittle, isBig) in [(false, false), (true, false), (false, true), (true, true)] {
            let whole =
                SniffedSample.tiff([254, 255, 256], isLittle: isLittle, isBig: isBig)
                + [UInt8](repeating: 0, count: 4096)
            let width = isBig ? 8 : 4
            let bytes = (0..<width).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
            var head = whole
            head.replaceSubrange(width..<2 * width, with: isLittle ? bytes : bytes.reversed())
            #expect(try score(dng, head) == nil)
            head = whole
            // The largest possible count of the field.
            let place = isBig ? 16 : 8
            head.replaceSubrange(place..<place + (isBig ? 8 : 2), with: [UInt8](repeating: 0xFF, count: isBig ? 8 : 2))
            #expect(try score(dng, head) == nil)
        }
    }

    @Test(arguments: ["IM*\0", "MI\0*", "II\0*", "MM*\0", "II+\0", "MM\0+", "IIRO", "JJ*\0"])
    func `find no tag in a file that is not TIFF`(magic: String) throws {
        let rest = SniffedSample.tiff([50706], isLittle: magic.hasPrefix("I"), isBig: false).dropFirst(4)

        #expect(try score(dng, Array(magic.utf8) + rest) == nil)
    }

    // MARK: gzip

    @Test func `examine the content of a gzip file`() throws {
        for sample in SniffedSample.svg {
            let packed = try SniffedSample.gzipped(sample.bytes)

            #expect(try score("{\"gzip\": \(svgInNamespace)}", packed) == 27, "\(sample.what)")
            #expect(try score(svg, packed) == nil)
            #expect(try score("{\"gzip\": \(svg)}", sample.bytes) == nil)
        }
        let sticker = try SniffedSample.gzipped(Array(#"{"tgs":1,"v":"5.5.2","layers":[]}"#.utf8))
        #expect(
            try score(
                #"{"all": [{"gzip": {"at": 0, "bytes": "7b"}}, {"gzip": {"find": "22746773223a31", "within": 512}}]}"#,
                sticker) == 57)
    }

    @Test func `examine only one level of gzip`() throws {
        let once = try SniffedSample.gzipped(Array("<svg/>".utf8))

        #expect(try score("{\"gzip\": \(svg)}", try SniffedSample.gzipped(once)) == nil)
    }

    // MARK: Truncation and damage

    @Test func `match only prefixes that are long enough`() throws {
        let plain = SniffedSample.svg.map { (svg, $0.bytes) }
        let packed = try SniffedSample.svg.map { ("{\"gzip\": \(svg)}", try SniffedSample.gzipped($0.bytes)) }
        let directories = [(false, false), (true, false), (false, true), (true, true)].map { order in
            (dng, SniffedSample.tiff([254, 256, 50706], isLittle: order.0, isBig: order.1))
        }
        let document = [(pdf, Array("junk%PDF-1.4".utf8))]
        for (rule, bytes) in plain + packed + directories + document {
            let signatures = try signatures(rule)
            let scores = (0...bytes.count).map { count in
                FormatSniffer(head: Array(bytes.prefix(count)), tail: []).score(signatures) != nil
            }
            // After a match, more bytes change nothing.
            #expect(scores.last == true)
            #expect(scores.first == false)
            #expect(Array(scores.drop { !$0 }).allSatisfy { $0 }, "\(rule)")
        }
    }

    @Test func `match or not after any damage`() throws {
        var random = SeededRandom(3)
        let rules = try signatures([svgInNamespace, pdf, dng, "{\"gzip\": \(svg)}"].joined(separator: ", "))
        var files = SniffedSample.svg.map(\.bytes)
        files += try files.map { try SniffedSample.gzipped($0) }
        files += [SniffedSample.tiff([50706], isLittle: true, isBig: true)]
        for file in files {
            for _ in 0..<200 {
                var bytes = file
                for _ in 0..<Int.random(in: 1...4, using: &random) {
                    bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
                }
                _ = FormatSniffer(head: bytes, tail: []).score(rules)
            }
        }
    }

    // MARK: Precedence

    @Test func `rank below one byte at a fixed offset`() throws {
        let head = Array("<svg xmlns='http://www.w3.org/2000/svg'><!--%PDF-1.4--></svg>".utf8)
        let exact = try #require(try score(#"{"at": 0, "bytes": "3c"}"#, head))

        #expect(try #require(try score(pdf, head)) < exact)
        #expect(try #require(try score(svgInNamespace, head)) < exact)
        #expect(try #require(try score(pdf, head)) < #require(try score(svg, head)))
    }

    @Test func `distinguish a DNG from any TIFF, and an SVG from any gzip file`() throws {
        let negative = SniffedSample.tiff([50706], isLittle: true, isBig: false)
        let packed = try SniffedSample.gzipped(Array("<svg/>".utf8))

        #expect(
            try #require(try score(dng, negative)) > #require(try score(#"{"at": 0, "bytes": "49492a00"}"#, negative)))
        #expect(
            try #require(try score("{\"gzip\": \(svg)}", packed)) > #require(
                try score(#"{"at": 0, "bytes": "1f8b08"}"#, packed)))
    }

    // MARK: Manifests

    @Test(arguments: [
        (#"{"find": "255044462d"}"#, "within is missing"),
        (#"{"find": "255044462d", "within": 0}"#, "within is 0; expected 1 to 4096"),
        (#"{"find": "255044462d", "within": 4097}"#, "within is 4097; expected 1 to 4096"),
        (#"{"find": "", "within": 10}"#, "find is not hexadecimal text of 2 to 128 digits"),
        (#"{"find": 25, "within": 10}"#, "find is not a string"),
        (#"{"xml-root": ""}"#, #"xml-root is not an element name; write it without prefix, for example "svg""#),
        (#"{"xml-root": "s:svg"}"#, "xml-root is not an element name"),
        (#"{"xml-root": "<svg>"}"#, "xml-root is not an element name"),
        (#"{"xml-root": ["svg"]}"#, "xml-root is not a string"),
        (#"{"xml-root": "svg", "namespace": 1}"#, "namespace is not a string"),
        (#"{"tiff-tag": 0}"#, "tiff-tag is 0; expected 1 to 65535"),
        (#"{"tiff-tag": 65536}"#, "tiff-tag is 65536; expected 1 to 65535"),
        (#"{"tiff-tag": "50706"}"#, "tiff-tag is not an integer in range"),
        (#"{"gzip": "svg"}"#, "gzip is not an object"),
        (#"{"gzip": {"gzip": {"xml-root": "svg"}}}"#, "gzip is a gzip rule inside a gzip rule"),
        (#"{"gzip": {"at": -2, "bytes": "00"}}"#, "gzip.at is -2: the end of gzip content is not read"),
        (#"{"gzip": {"xml-root": ""}}"#, "gzip.xml-root is not an element name"),
        (#"{"gzip": {}}"#, "gzip has no known rule"),
        (#"{"regex": "a"}"#, "correct it, or update coderhost"),
        (
            #"{"find": "00", "within": 1, "xml-root": "svg"}"#,
            "has both find and xml-root; put each into its own rule"
        ),
        (#"{"xml-root": "svg", "at": 0, "bytes": "3c"}"#, "has both xml-root and at"),
    ])
    func `cause a manifest error that names the key and the remedy`(rule: String, message: String) throws {
        for rules in [rule, "{\"all\": [\(rule)]}"] {
            let failure = #expect(throws: PluginManifest.Failure.self) { try signatures(rules) }

            #expect(failure?.message.hasPrefix("coders[0].formats[0].signatures[0]") == true)
            #expect(failure?.message.contains(message) == true, "\(failure?.message ?? "")")
        }
    }
}
