import ImageMetadata
import ImageModel
import Testing

@Suite(.timeLimit(.minutes(40))) struct `Texts written into metadata` {
    private func texts(_ kind: MetadataBlob.Kind, _ bytes: [UInt8]?) -> [String: String] {
        let tags = MetadataTag.read(from: bytes.map { [MetadataBlob(kind, $0)] } ?? [])
        return Dictionary(tags.map { ("\($0.group):\($0.name)", $0.text) }) { first, _ in first }
    }

    @Test(arguments: [false, true])
    func `replace one tag of Exif and keep all others`(isBigEndian: Bool) {
        let before = texts(.exif, Blobs.photo(isBigEndian: isBigEndian))
        let after = texts(
            .exif,
            ExifFields.storing(
                [.copyright: "© Ö", .artist: "Ann", .description: "abc"], in: Blobs.photo(isBigEndian: isBigEndian)))

        var expected = before
        expected["IFD0:Copyright"] = "© Ö"
        expected["IFD0:Artist"] = "Ann"
        expected["IFD0:ImageDescription"] = "abc"
        #expect(after == expected)
    }

    @Test func `create Exif where there is none, and remove a tag if they are empty`() {
        let created = ExifFields.storing([.artist: "Ann"], in: ExifFields.empty)

        #expect(texts(.exif, created) == ["IFD0:Artist": "Ann"])
        #expect(texts(.exif, created.flatMap { ExifFields.storing([.artist: ""], in: $0) }) == [:])
    }

    @Test(arguments: [false, true]) func `leave nothing of the old ones, and need no more bytes`(isBigEndian: Bool)
        throws
    {
        func holds(_ text: String, _ bytes: [UInt8]) -> Bool { bytes.firstRange(of: Array(text.utf8)) != nil }
        var exif = Blobs.photo(isBigEndian: isBigEndian)
        var packet = Array(Blobs.packet.utf8)
        var sizes: Set<Int> = []
        for round in 0..<10 {
            exif = try #require(
                ExifFields.storing([.copyright: "secret \(round)", .artist: "Jane \(round)"], in: exif))
            packet = try #require(XMPFields.storing([.copyright: "secret \(round)"], in: packet))
            sizes.insert(exif.count)
            #expect(holds("secret \(round)", exif) && holds("secret \(round)", packet))
            if round > 0 {
                for old in ["secret \(round - 1)", "Jane \(round - 1)"] {
                    #expect(!holds(old, exif) && !holds(old, packet))
                }
            }
        }
        #expect(sizes.count == 1)
        #expect(
            packet.count(where: { $0 == UInt8(ascii: "<") }) <= Blobs.packet.utf8.count { $0 == UInt8(ascii: "<") } + 8)

        exif = try #require(ExifFields.storing([.copyright: "", .artist: ""], in: exif))
        packet = try #require(XMPFields.storing([.copyright: ""], in: packet))
        for text in ["secret", "Jane"] { #expect(!holds(text, exif) && !holds(text, packet)) }
    }

    @Test func `are refused by damaged Exif`() {
        #expect(ExifFields.storing([.artist: "Ann"], in: [0x49, 0x49, 42, 0, 200, 0, 0, 0, 0, 0, 0, 0]) == nil)
    }

    @Test func `replace properties of XMP and keep all others`() {
        let before = texts(.xmp, Array(Blobs.packet.utf8))
        let after = texts(
            .xmp, XMPFields.storing([.title: "A < B & \"C\"", .copyright: "© Ann"], in: Array(Blobs.packet.utf8)))

        var expected = before
        expected["XMP-dc:Title"] = "A < B & \"C\""
        expected["XMP-dc:Title-de"] = nil
        expected["XMP-dc:Rights"] = "© Ann"
        #expect(after == expected)
    }

    @Test func `create an XMP packet where there is none or an empty one`() {
        for packet in [nil, "<x:xmpmeta xmlns:x='adobe:ns:meta/'/>", "<x:xmpmeta/>"] {
            let new = XMPFields.storing([.title: "A"], in: packet.map { Array($0.utf8) })
            #expect(texts(.xmp, new) == ["XMP-dc:Title": "A"])
        }
    }

    @Test func `are refused by a packet that cannot hold them`() {
        let other = Blobs.packet.split(separator: "dc:").joined(separator: "other:")
            .split(separator: "xmlns:dc=").joined(separator: "xmlns:other=")

        #expect(XMPFields.storing([.title: "A"], in: Array("no packet".utf8)) == nil)
        #expect(XMPFields.storing([.title: "A"], in: Array(other.utf8)) == nil)
    }

    @Test func `take their place in the order of an IPTC record`() throws {
        let record = Blobs.iptc([(25, "a"), (80, "Old"), (80, "Older"), (90, "Bonn"), (120, "c")])
        let new = try #require(IPTCFields.storing([.artist: "Ann", .title: "T", .copyright: "(c)"], in: record))

        #expect(new.left.isEmpty)
        #expect(
            new.bytes == Blobs.iptc([(5, "T"), (25, "a"), (80, "Ann"), (90, "Bonn"), (116, "(c)"), (120, "c")]))
        #expect(
            IPTCFields.storing([.artist: ""], in: Blobs.iptc([(80, "Old"), (90, "B")]))?.bytes
                == Blobs.iptc([(90, "B")]))
    }

    @Test(arguments: [[], [1, 2, 3], Array(Blobs.iptc([(80, "Old")]).dropLast())])
    func `leave a damaged IPTC record as it is`(record: [UInt8]) {
        #expect(IPTCFields.storing([.artist: "Ann"], in: record) == nil)
    }

    @Test func `find the fields that IPTC repeats`() {
        let blob = Blobs.iptc([(116, "(c)")])

        #expect(MetadataField.allCases.filter { $0.isStored(inIPTC: blob) } == [.copyright])
    }
}
