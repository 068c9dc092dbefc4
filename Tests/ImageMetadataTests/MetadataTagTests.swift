import ImageMetadata
import ImageModel
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `Tags of metadata` {
    private func texts(_ kind: MetadataBlob.Kind, _ bytes: [UInt8]) -> [String: String] {
        let tags = MetadataTag.read(from: [MetadataBlob(kind, bytes)])
        return Dictionary(tags.map { ("\($0.group):\($0.name)", $0.text) }) { first, _ in first }
    }

    // The expected texts are those of exiftool 12.57 for the same fields.
    @Test(arguments: [false, true])
    func `of Exif have the names and texts of exiftool`(isBigEndian: Bool) {
        #expect(
            texts(.exif, Blobs.photo(isBigEndian: isBigEndian)) == [
                "IFD0:Make": "Canon", "IFD0:Model": "EOS 90D", "IFD0:Orientation": "Rotate 90 CW",
                "IFD0:Copyright": "(c) Ann", "ExifIFD:ExposureTime": "1/125", "ExifIFD:FNumber": "2.8",
                "ExifIFD:ISO": "200", "ExifIFD:DateTimeOriginal": "2024:05:06 07:08:09",
                "ExifIFD:ExposureCompensation": "-1/3", "ExifIFD:Flash": "Auto, Fired",
                "ExifIFD:FocalLength": "35.0 mm",
                "ExifIFD:LensInfo": "18-55mm f/3.5-5.6", "GPS:GPSLatitudeRef": "North",
                "GPS:GPSLatitude": "48 deg 51' 29.60\"", "GPS:GPSLongitudeRef": "West",
                "GPS:GPSLongitude": "2 deg 17' 40.20\"", "GPS:GPSAltitudeRef": "Below Sea Level",
                "GPS:GPSAltitude": "35.5 m", "GPS:GPSTimeStamp": "05:08:09.25",
                "Composite:GPSAltitude": "35.5 m Below Sea Level", "Composite:GPSLatitude": "48 deg 51' 29.60\" N",
                "Composite:GPSLongitude": "2 deg 17' 40.20\" W",
                "Composite:GPSPosition": "48 deg 51' 29.60\" N, 2 deg 17' 40.20\" W",
            ])
    }

    @Test func `of Exif have values in degrees with a sign`() throws {
        let tags = MetadataTag.read(from: [MetadataBlob(.exif, Blobs.photo(isBigEndian: false))])
        let longitude = try #require(tags.first { $0.matches("composite:gpslongitude") })

        #expect(abs((longitude.value.number ?? 0) + 2.294_5) < 1e-9)
        #expect(tags.first { $0.name == "ExposureTime" }?.value == .real(0.008))
    }

    @Test(arguments: [
        (0x829A, [(1, 4)], "1/4"), (0x829A, [(3, 10)], "0.3"), (0x829A, [(2, 1)], "2"), (0x829A, [(1, 0)], "inf"),
        (0x829D, [(95, 100)], "0.95"), (0x9201, [(6965784, 1_000_000)], "1/125"), (0x9202, [(4, 1)], "4.0"),
        (0x920A, [(425, 100)], "4.2 mm"), (0x9206, [(0, 0)], "undef"),
        (0xA432, [(24, 1), (24, 1), (0, 1), (0, 0)], "24mm f/0"),
    ])
    func `of numbers round as exiftool does`(tag: Int, pairs: [(Int, Int)], text: String) {
        let blob = Blobs.exif([], exif: [Blobs.ratios(tag, pairs)])

        #expect(MetadataTag.read(from: [MetadataBlob(.exif, blob)]).first?.text == text)
    }

    @Test(
        arguments: [
            (0, (35, 1), "35 m Above Sea Level"), (1, (357, 100), "3.5 m Below Sea Level"),
            (0, (3599, 100), "35.9 m Above Sea Level"), (0, (0, 1), "0 m Above Sea Level"), (nil, (35, 1), nil),
            (0, (1, 0), nil),
        ] as [(Int?, (Int, Int), String?)])
    func `of an altitude have its side of the sea level`(side: Int?, altitude: (Int, Int), text: String?) {
        let sides = side.map { [(tag: 5, type: 1, count: 1, value: [UInt8($0)])] } ?? []
        let blob = Blobs.exif([], gps: sides + [Blobs.ratios(6, [altitude])])

        #expect(texts(.exif, blob)["Composite:GPSAltitude"] == text)
    }

    @Test func `of a comment decode its three encodings`() {
        func comment(_ code: String, _ text: [UInt8]) -> String? {
            let value = Array(code.utf8) + [UInt8](repeating: 0, count: 8 - code.utf8.count) + text
            let blob = Blobs.exif([], exif: [(0x9286, 7, value.count, value)])
            return MetadataTag.read(from: [MetadataBlob(.exif, blob)]).first?.text
        }
        #expect(comment("ASCII", Array("hello".utf8)) == "hello")
        #expect(comment("UNICODE", [0x47, 0, 0xFC, 0]) == "Gü")
        #expect(comment("UNICODE", [0, 0x47, 0, 0xFC]) == "Gü")
    }

    @Test func `of XMP have groups, lists, languages and structures`() {
        let tags = MetadataTag.read(from: [MetadataBlob(.xmp, Array(Blobs.packet.utf8))])

        #expect(tags.first { $0.name == "Subject" }?.value == .list(["paris", "tower"]))
        #expect(
            texts(.xmp, Array(Blobs.packet.utf8)) == [
                "XMP-x:XMPToolkit": "Test 1", "XMP-photoshop:City": "Paris & Lyon", "XMP-dc:Title": "Tower",
                "XMP-dc:Title-de": "Turm", "XMP-dc:Subject": "paris, tower", "XMP-exif:FNumber": "2.8",
                "XMP-exif:GPSLatitude": "48 deg 51' 29.60\" N",
                "XMP-exif:DateTimeOriginal": "2024:05:06 07:08:09+02:00", "XMP-xmpMM:DerivedFromInstanceID": "abc",
                "XMP-photoshop:Headline": "a < b & c",
            ])
    }

    @Test(arguments: [
        ("Title", true), ("title", true), ("xmp:TITLE", true), ("XMP-dc:Title", true), ("XMP-d:Title", false),
        ("dc:Title", false), ("XMP-exif:Title", false), ("xmp:", false), ("", false), ("Titles", false),
    ])
    func `are found by name, by group, or by the family of the group`(typed: String, isFound: Bool) throws {
        let tags = MetadataTag.read(from: [MetadataBlob(.xmp, Array(Blobs.packet.utf8))])
        let title = try #require(tags.first { $0.name == "Title" && $0.group == "XMP-dc" })
        #expect(title.matches(typed) == isFound)
    }

    @Test(arguments: [true, false])
    func `of IPTC have lists, dates and both encodings`(isUTF8: Bool) {
        let blob = Blobs.iptc(
            [(25, "a"), (80, "Ann Müller"), (25, "b"), (55, "20240506"), (60, "070809+0200")], isUTF8: isUTF8)
        var expected = [
            "IPTC:Keywords": "a, b", "IPTC:By-line": "Ann Müller", "IPTC:DateCreated": "2024:05:06",
            "IPTC:TimeCreated": "07:08:09+02:00",
        ]
        if isUTF8 { expected["IPTC:CodedCharacterSet"] = "UTF8" }

        #expect(texts(.iptc, blob) == expected)
        let wrapped = Array("8BIM".utf8) + [4, 4, 0, 0, 0, 0, 0, UInt8(blob.count)] + blob
        #expect(texts(.iptc, wrapped) == expected)
    }

    @Test func `of texts have a name without spaces`() {
        let blob = MetadataBlob(.text, Array("today".utf8), key: "Creation time")

        #expect(
            MetadataTag.read(from: [blob]).map { "\($0.group):\($0.name)=\($0.text)" } == ["Text:CreationTime=today"])
    }

    // MARK: Untrusted bytes

    @Test(arguments: 0..<6)
    func `stay within bounds when bytes are damaged`(part: Int) {
        let seeds: [(MetadataBlob.Kind, [UInt8])] = [
            (.exif, Blobs.photo(isBigEndian: false)), (.exif, Blobs.photo(isBigEndian: true)),
            (.xmp, Array(Blobs.packet.utf8)), (.iptc, Blobs.iptc([(25, "a"), (80, "Ann"), (60, "070809")])),
            (.iptc, Array("8BIM".utf8) + [4, 4, 0, 0, 0, 0, 0, 7] + Blobs.iptc([(25, "ab")], isUTF8: false)),
            (
                .icc,
                [UInt8](repeating: 0, count: 128) + [0, 0, 0, 1] + Array("desc".utf8) + [0, 0, 0, 144, 0, 0, 0, 20]
                    + Array("desc".utf8) + [0, 0, 0, 0, 0, 0, 0, 8] + Array("Test sRGB".utf8)
            ),
        ]
        let (kind, seed) = seeds[part]
        var random = SeededRandom(UInt64(part) + 1)
        var read = 0
        for _ in 0..<3000 {
            var bytes = seed
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes[place] = [0, 0xFF, 0x7F, 0x80].randomElement(using: &random) ?? 0
                case 1: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                case 2: bytes.removeLast(min(bytes.count - 1, Int.random(in: 1...40, using: &random)))
                default: bytes.insert(UInt8.random(in: 0...255, using: &random), at: place)
                }
            }
            let tags = MetadataTag.read(from: [MetadataBlob(kind, bytes)])
            read += tags.isEmpty ? 0 : 1
            #expect(tags.count <= 200)
        }
        // Many damaged blobs still have tags, so the loop did not test the first check only.
        #expect(read > 50)
    }

    @Test func `that repeat a value form one list, in the order of the file`() {
        let words = (0..<5000).map { "k\($0)" }
        let packet =
            "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns:dc='http://purl.org/dc/elements/1.1/'>"
            + "<rdf:Description><dc:subject><rdf:Bag>" + words.map { "<rdf:li>\($0)</rdf:li>" }.joined()
            + "</rdf:Bag></dc:subject></rdf:Description></rdf:RDF>"

        for blob in [MetadataBlob(.xmp, Array(packet.utf8)), MetadataBlob(.iptc, Blobs.iptc(words.map { (25, $0) }))] {
            let tag = MetadataTag.read(from: [blob]).last
            #expect(tag?.value == .list(words))
            #expect(tag?.text == words.joined(separator: ", "))
        }
    }

    static let large = String(repeating: "x", count: 70_000)

    @Test(arguments: [
        (
            MetadataBlob(.xmp, Array("\u{FEFF}<a/>".utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] })),
            "no UTF-8 XML"
        ),
        (MetadataBlob(.xmp, Array("<a><b></a".utf8)), "damaged or too large"),
        (MetadataBlob(.xmp, Array("<a>\(large)</a>".utf8)), "a text in the XMP packet is longer than 65536 bytes"),
        (MetadataBlob(.text, Array(large.utf8), key: "Comment"), "Comment is longer than 65536 bytes"),
        (MetadataBlob(.iptc, Blobs.iptc((0..<20_000).map { _ in (5, "n") })), ""),
    ])
    func `that are left out are named`(blob: MetadataBlob, warning: String) {
        var omissions: [String] = []

        _ = MetadataTag.read(from: [blob], omissions: &omissions)

        #expect(omissions.count == (warning.isEmpty ? 0 : 1))
        #expect(omissions.allSatisfy { $0.contains(warning) })
    }

    @Test func `end when directories form a loop`() {
        var blob = Blobs.exif([(0x8769, 4, 1, [8, 0, 0, 0]), Blobs.short(0x112, 6)])
        // The link to the next directory leads to the first one.
        blob.replaceSubrange(blob.count - 4..<blob.count, with: [8, 0, 0, 0])

        #expect(MetadataTag.read(from: [MetadataBlob(.exif, blob)]).map(\.name) == ["Orientation"])
    }

    @Test(arguments: ["<a>", "<a ", "<a b='", "<!DOCTYPE x [<!ENTITY a \"b\">]><a>&a;</a>", "<a>&#x110000;</a>", ""])
    func `of malformed XML are empty`(text: String) {
        #expect(MetadataTag.read(from: [MetadataBlob(.xmp, Array(text.utf8))]).isEmpty)
    }

    @Test func `of deep XML end at a limit`() {
        let deep = String(repeating: "<a>", count: 100_000)

        #expect(MetadataTag.read(from: [MetadataBlob(.xmp, Array(deep.utf8))]).isEmpty)
    }
}
