import CoderHost
import ImageModel
import TestSupport
import Testing

@Suite struct `Metadata that a format cannot store` {
    @Test(arguments: ["webp", "gif", "farbfeld"] as [ImageFormat])
    func `is named in one warning for each kind`(format: ImageFormat) throws {
        let plain = try Bench.manager.decode(Bench.source(Fixture.named("images/f.png")))
        let texts = ["Shelf", "Creation Time"].map { MetadataBlob(.text, Array("somebody".utf8), key: $0) }
        let image = DecodedImage(
            info: plain.info, pixels: plain.pixels, metadata: texts + [MetadataBlob(.raw, [1, 2, 3], key: "prVt")],
            format: "png", coder: plain.coder)

        let warnings = try Bench.manager.encode(image, to: format, EncodeOptions(), into: MemorySink()).warnings

        let named = warnings.filter { $0.contains("metadata") }
        #expect(named == ["the format cannot store text metadata: it is left out"], "\(warnings)")
    }

    private static let record: [UInt8] =
        [0x1C, 1, 90, 0, 3, 0x1B, 0x25, 0x47, 0x1C, 2, 5, 0, 4] + Array("Sk\u{E5}".utf8) + [0x1C, 2, 25, 0, 3]
        + Array("sea".utf8) + [0x1C, 2, 25, 0, 3] + Array("sky".utf8) + [0x1C, 2, 55, 0, 8] + Array("20260131".utf8) + [
            0x1C, 2, 60, 0, 1, 0x31,
        ]

    private func image(_ blobs: [MetadataBlob]) throws -> DecodedImage {
        let plain = try Bench.manager.decode(Bench.source(Fixture.named("images/f.png")))
        return DecodedImage(
            info: plain.info, pixels: plain.pixels, metadata: blobs, format: "png", coder: plain.coder)
    }

    private func text(_ key: String, _ value: String) -> MetadataBlob {
        MetadataBlob(.text, Array(value.utf8), key: key)
    }

    @Test(arguments: ["webp", "jpeg", "avif", "gif"] as [ImageFormat])
    func `becomes XMP where it is text`(format: ImageFormat) throws {
        let texts = [
            text("Title", "A & <B>"), text("Author", "Ann"), text("Artist", "Bo"), text("Description", "two\nlines"),
            text("Copyright", "\u{A9} 2026"), text("Software", "tool 1"), text("Shelf", "4"),
        ]

        let (bytes, warnings) = try Bench.encode(image(texts), to: format)

        let packet = String(decoding: try #require(try Bench.decode(bytes).blob(.xmp)), as: UTF8.self)
        let alternative = "<rdf:Alt><rdf:li xml:lang=\"x-default\">"
        #expect(packet.contains("<dc:title>\(alternative)A &amp; &lt;B&gt;</rdf:li></rdf:Alt></dc:title>"))
        #expect(packet.contains("<dc:creator><rdf:Seq><rdf:li>Ann</rdf:li><rdf:li>Bo</rdf:li></rdf:Seq></dc:creator>"))
        #expect(packet.contains("<dc:description>\(alternative)two\nlines</rdf:li></rdf:Alt></dc:description>"))
        #expect(packet.contains("<dc:rights>\(alternative)\u{A9} 2026</rdf:li></rdf:Alt></dc:rights>"))
        #expect(packet.contains("<xmp:CreatorTool>tool 1</xmp:CreatorTool>"))
        let named = warnings.filter { $0.contains("text") }
        #expect(named == ["the format stores text metadata as XMP, without a place for Shelf: left out"])
    }

    @Test func `joins a packet that has other properties, and never replaces one`() throws {
        let old =
            "<x:xmpmeta xmlns:x='adobe:ns:meta/'><rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>"
        let kept = "<rdf:Description rdf:about='' xmlns:dc='http://purl.org/dc/elements/1.1/' dc:title='Old'/>"
        let packet = MetadataBlob(.xmp, Array("\(old)\(kept)</rdf:RDF></x:xmpmeta>".utf8))

        let (bytes, warnings) = try Bench.encode(
            image([text("Title", "New"), text("Author", "Ann"), packet]), to: "webp")
        let (same, none) = try Bench.encode(image([text("Title", "Old"), packet]), to: "webp")

        let merged = String(decoding: try #require(try Bench.decode(bytes).blob(.xmp)), as: UTF8.self)
        #expect(merged.hasPrefix(old + kept + "<rdf:Description rdf:about=\"\" xmlns:dc="))
        #expect(merged.hasSuffix("</rdf:Description></rdf:RDF></x:xmpmeta>") && !merged.contains("New"))
        #expect(merged.contains("<rdf:li>Ann</rdf:li>"))
        #expect(warnings == ["the format stores text metadata as XMP, without a place for dc:title: left out"])
        #expect(try Bench.decode(same).blob(.xmp) == packet.bytes && none.isEmpty)
    }

    @Test func `stays IPTC in JPEG, and becomes XMP elsewhere`() throws {
        let jpeg = try Bench.encode(image([MetadataBlob(.iptc, Self.record)]), to: "jpeg")
        let decoded = try Bench.decode(jpeg.bytes)
        #expect(decoded.blob(.iptc) == Self.record && jpeg.warnings.isEmpty)
        #expect(try Bench.passThrough(decoded, "jpeg").blob(.iptc) == Self.record)

        for format in ["webp", "png"] as [ImageFormat] {
            let (bytes, warnings) = try Bench.encode(decoded, to: format)
            let packet = String(decoding: try #require(try Bench.decode(bytes).blob(.xmp)), as: UTF8.self)
            #expect(packet.contains("Sk\u{E5}</rdf:li></rdf:Alt></dc:title>"))
            #expect(packet.contains("<rdf:Bag><rdf:li>sea</rdf:li><rdf:li>sky</rdf:li></rdf:Bag></dc:subject>"))
            #expect(packet.contains("<photoshop:DateCreated>2026-01-31</photoshop:DateCreated>"))
            #expect(warnings == ["the format stores iptc metadata as XMP, without a place for 2:60: left out"])
        }
    }

    @Test func `is named if an IPTC record has no text`() throws {
        for record in [[0x1C, 2, 60, 0, 1, 0x31], [1, 2, 3], [0x1C, 2, 5, 0xFF, 0xFF, 0]] as [[UInt8]] {
            let warnings = try Bench.encode(image([MetadataBlob(.iptc, record)]), to: "webp").warnings
            #expect(warnings == ["the format cannot store iptc metadata: it is left out"])
        }
    }

    @Test func `goes from comment to comment, and from comment to XMP`() throws {
        let jpeg = try Bench.encode(image([text("Comment", "Gr\u{FC}n"), text("Comment", "two")]), to: "jpeg")
        let decoded = try Bench.decode(jpeg.bytes)

        #expect(decoded.metadata == [text("Comment", "Gr\u{FC}n"), text("Comment", "two")] && jpeg.warnings.isEmpty)
        #expect(try Bench.passThrough(decoded, "gif").metadata == decoded.metadata)
        #expect(try Bench.passThrough(decoded, "png").metadata == decoded.metadata)
        let packet = try #require(try Bench.passThrough(decoded, "webp").blob(.xmp))
        #expect(
            String(decoding: packet, as: UTF8.self).contains(">Gr\u{FC}n\ntwo</rdf:li></rdf:Alt></exif:UserComment>"))
    }

    // MARK: NUL bytes

    private static let packet = Array("<x:xmpmeta xmlns:x='adobe:ns:meta/' a='b'/>".utf8)

    @Test(arguments: ["jpeg", "png", "webp", "gif", "heic", "avif"] as [ImageFormat])
    func `is not XMP with NUL bytes at its end`(format: ImageFormat) throws {
        let (bytes, warnings) = try Bench.encode(image([MetadataBlob(.xmp, Self.packet + [0, 0])]), to: format)

        #expect(try Bench.decode(bytes).blob(.xmp) == Self.packet)
        #expect(warnings.allSatisfy { !$0.contains("metadata") }, "\(warnings)")
    }

    @Test func `is read without NUL bytes at the end of XMP`() throws {
        var bytes = try Bench.encode(image([MetadataBlob(.xmp, Self.packet + [0x20])]), to: "webp").bytes
        let place = try #require(bytes.firstRange(of: Self.packet + [0x20]))
        bytes[place.upperBound - 1] = 0

        #expect(try Bench.decode(bytes).blob(.xmp) == Self.packet)
    }

    @Test func `is told apart from metadata that is invalid`() throws {
        let broken = MetadataBlob(.xmp, [0x3C, 0x61, 0x20, 0x62, 0, 0x3E])
        #expect(
            try Bench.encode(image([broken]), to: "png").warnings == [
                "the encoder rejects the xmp metadata: it is left out"
            ])
        #expect(
            try Bench.encode(image([broken]), to: "pnm").warnings
                == ["the format cannot store xmp metadata: it is left out"])
    }

    /// NUL is half of each letter in UTF-16.
    @Test func `is not cut in UTF-16`() throws {
        let packet = Self.packet.flatMap { byte -> [UInt8] in [byte, 0] }
        #expect(try Bench.passThrough(image([MetadataBlob(.xmp, packet)]), "webp").blob(.xmp) == packet)
        let marked: [UInt8] = [0xFF, 0xFE] + packet
        #expect(try Bench.passThrough(image([MetadataBlob(.xmp, marked)]), "webp").blob(.xmp) == marked)
    }
}
