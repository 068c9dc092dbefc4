import CoderPluginKit
import ImageModel
import TestSupport
import Testing

@testable import JPEGCodec

/// A small image with these segments behind its start marker and these bytes behind its end.
private func file(_ segments: [UInt8]..., trailer: [UInt8] = []) -> [UInt8] {
    var image = Sampling.quarter.image(20, 20)
    image.segments = segments.flatMap { $0 }
    image.trailer = trailer
    return image.file
}

private let jfif = JPEGSegments.jfif()
private let adobe = JPEGSegments.adobe
private let tiff: [UInt8] = [0x4D, 0x4D, 0, 42, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0]
private let exif = JPEGSegments.exif(tiff)
private let name = "0123456789ABCDEF0123456789abcdef"
private let announcement = "<x:xmpmeta xmpNote:HasExtendedXMP=\"\(name)\"/>"
private let xmp = JPEGSegments.xmp(announcement)
private let xmpExtension = JPEGSegments.xmpExtension(name, [1, 2, 3])
private let icc = JPEGSegments.icc([4, 5], 1, of: 2) + JPEGSegments.icc([6], 2, of: 2)
private let record = JPEGSegments.resource(0x0404, [0x1C, 2, 0, 0, 1, 65])
private let digest = JPEGSegments.resource(0x0425, [7, 7, 7])
private let photoshop = JPEGSegments.photoshop(record + digest)
private let comment = JPEGSegments.comment("a comment")
private let other = JPEGSegments.make(0xE5, "vendor\0", [1]) + JPEGSegments.make(0xEE, "not Adobe's", [])

/// A file with one segment of every kind, without those of some kinds.
private func fileWithout(_ kinds: Set<MetadataBlob.Kind>) -> [UInt8] {
    func unless(_ kind: MetadataBlob.Kind, _ bytes: [UInt8]) -> [UInt8] { kinds.contains(kind) ? [] : bytes }
    return file(
        jfif, unless(.raw, JPEGSegments.jfifExtension), unless(.exif, exif), unless(.xmp, xmp + xmpExtension),
        unless(.icc, icc), unless(.iptc, photoshop), adobe, unless(.text, comment), unless(.raw, other))
}

@Suite struct `JPEG metadata rewriting` {
    @Test(arguments: Fixture.valid("jpeg"))
    func `without changes writes the same bytes`(fixture: Fixture) throws {
        let result = try rewrite(fixture.bytes)

        #expect(result.bytes == fixture.bytes)
        #expect(result.kept.size == fixture.expect?.size ?? result.kept.size)
        #expect(result.warnings.isEmpty)
    }

    @Test(arguments: MetadataBlob.Kind.allCases)
    func `removes only one kind`(kind: MetadataBlob.Kind) throws {
        #expect(try rewrite(fileWithout([]), RewriteRequest(removed: [kind])).bytes == fileWithout([kind]))
    }

    @Test func `keeps the segments that decoding needs when every kind is removed`() throws {
        let all = Set(MetadataBlob.Kind.allCases)
        let bare = try rewrite(fileWithout([]), RewriteRequest(removed: all)).bytes

        #expect(bare == fileWithout(all))
        #expect(bare == file(jfif, adobe))
        #expect(try pixels(of: bare).samples == pixels(of: fileWithout([])).samples)
    }

    @Test func `removes segments at any position`() throws {
        var image = Sampling.full.image(20, 20)
        image.isSeparate = true
        let bytes = image.file
        let scan = try #require(bytes.indices.dropLast().last { bytes[$0] == 0xFF && bytes[$0 + 1] == 0xDA })
        let late = Array(bytes[..<scan]) + comment + exif + Array(bytes[scan...])

        #expect(try rewrite(late, RewriteRequest(removed: [.exif, .text])).bytes == bytes)
        #expect(try rewrite(late, RewriteRequest(removed: [.icc])).bytes == late)
        let turned = try rewrite(late, RewriteRequest(removed: [.text], transform: .leftMirrored)).bytes
        #expect(Array(turned[2..<2 + exif.count]) == exif)
    }

    @Test func `keeps fill bytes and bytes outside of segments`() throws {
        let odd = file(jfif, [0xFF, 0xFF], comment, [1, 2, 3], exif)

        #expect(try rewrite(odd, RewriteRequest(removed: [.text])).bytes == file(jfif, [0xFF, 0xFF, 1, 2, 3], exif))
    }

    // MARK: Replacing

    @Test func `writes a blob at the position of the first of its kind`() throws {
        let new = MetadataBlob(.exif, tiff + [9])
        let source = file(comment, exif, jfif, exif, icc)

        #expect(
            try rewrite(source, RewriteRequest(replaced: [new])).bytes
                == file(comment, JPEGSegments.exif(tiff + [9]), jfif, icc))
    }

    @Test func `writes new blobs in the conventional order`() throws {
        let blobs = [
            MetadataBlob(.text, Array("a comment".utf8)), MetadataBlob(.iptc, [1, 2]), MetadataBlob(.icc, [3]),
            MetadataBlob(.xmp, Array("<x/>".utf8)), MetadataBlob(.exif, tiff),
        ]
        let all =
            [JPEGSegments.xmp("<x/>"), JPEGSegments.icc([3])]
            + [JPEGSegments.photoshop(JPEGSegments.resource(0x0404, [1, 2])), comment]

        #expect(
            try rewrite(file(jfif, adobe), RewriteRequest(replaced: blobs)).bytes
                == file(jfif, exif, all[0], all[1], all[2], all[3], adobe))
        #expect(
            try rewrite(file(exif, adobe), RewriteRequest(replaced: Array(blobs.dropLast()))).bytes
                == file(exif, all[0], all[1], all[2], all[3], adobe))
        #expect(try rewrite(file(), RewriteRequest(replaced: [blobs[4]])).bytes == file(exif))
    }

    @Test func `writes every blob as the decoder reported it`() throws {
        let source = fileWithout([])
        let blobs = try metadata(of: source)
        #expect(Set(blobs.map(\.kind)) == [.exif, .xmp, .icc, .iptc, .text, .raw])

        let bare = try rewrite(source, RewriteRequest(removed: Set(MetadataBlob.Kind.allCases))).bytes
        #expect(try metadata(of: bare).isEmpty)
        #expect(try metadata(of: rewrite(bare, RewriteRequest(replaced: blobs)).bytes) == blobs)
        #expect(try metadata(of: rewrite(source, RewriteRequest(replaced: blobs)).bytes) == blobs)
        let turned = RewriteRequest(replaced: blobs, transform: .leftMirrored)
        #expect(try metadata(of: rewrite(source, turned).bytes) == blobs)
    }

    @Test func `splits a profile`() throws {
        let profile = MetadataBlob(.icc, (0..<140_000).map { UInt8(truncatingIfNeeded: $0 * 7) })
        let result = try rewrite(file(jfif, icc), RewriteRequest(replaced: [profile])).bytes

        #expect(try metadata(of: result) == [profile])
        #expect(result.count == file(jfif).count + 140_000 + 3 * 18)
    }

    @Test func `splits a packet that fits no segment`() throws {
        let long = "<x:xmpmeta tiff:Orientation=\"6\">\(String(repeating: "<!-- -->", count: 20_000))</x:xmpmeta>"
        let packet = "<?xpacket begin=\"\" id=\"\"?>\n\(long)\n   <?xpacket end=\"w\"?>"
        let request = RewriteRequest(replaced: [MetadataBlob(.xmp, Array(packet.utf8))])
        let result = try rewrite(file(jfif, xmp, xmpExtension), request).bytes
        let blobs = try metadata(of: result)

        #expect(blobs.map(\.kind) == [.xmp, .raw])
        #expect(blobs[1] == MetadataBlob(.raw, Array(long.utf8), key: "xmp-extension"))
        #expect(XMPOrientation.read(blobs[0].bytes) == .right)
        #expect(String(decoding: blobs[0].bytes, as: UTF8.self).contains("HasExtendedXMP"))
    }

    @Test func `keeps an extension as long as the packet announces it`() throws {
        let source = file(xmp, xmpExtension, comment)
        let edited = announcement.replacing("<x:xmpmeta", with: "<x:xmpmeta edited=\"1\"")
        let replacing = { (packet: String) in RewriteRequest(replaced: [MetadataBlob(.xmp, Array(packet.utf8))]) }

        #expect(
            try rewrite(source, replacing(edited)).bytes == file(JPEGSegments.xmp(edited), xmpExtension, comment))
        #expect(try rewrite(source, replacing("<x/>")).bytes == file(JPEGSegments.xmp("<x/>"), comment))

        let new = MetadataBlob(.raw, [9, 8], key: "xmp-extension")
        #expect(
            try rewrite(source, RewriteRequest(replaced: [new])).bytes
                == file(xmp, JPEGSegments.xmpExtension(name, [9, 8]), comment))
        #expect(refusal(file(comment), RewriteRequest(replaced: [new]))?.code == .refused)
        #expect(refusal(source, RewriteRequest(removed: [.xmp], replaced: [new]))?.code == .refused)
    }

    @Test func `replaces the IPTC record and keeps the resources around it`() throws {
        let new = MetadataBlob(.iptc, [0x1C, 2, 0, 0, 1, 66, 9])
        let resource = JPEGSegments.resource(0x0404, new.bytes)

        #expect(
            try rewrite(file(photoshop), RewriteRequest(replaced: [new])).bytes
                == file(JPEGSegments.photoshop(resource + digest)))
        // A digest of the old record becomes one of the new record; md5sum computed both.
        let digests = [
            [196, 150, 167, 159, 74, 174, 114, 151, 169, 239, 38, 5, 161, 148, 82, 209] as [UInt8],
            [37, 195, 172, 9, 104, 62, 182, 121, 174, 62, 227, 229, 120, 158, 175, 141],
        ].map { JPEGSegments.resource(0x0425, $0) }
        #expect(
            try rewrite(file(JPEGSegments.photoshop(record + digests[0])), RewriteRequest(replaced: [new])).bytes
                == file(JPEGSegments.photoshop(resource + digests[1])))
        // The resources are split into two segments at any position.
        let cut = JPEGSegments.photoshop(Array(digest[..<7])) + JPEGSegments.photoshop(Array(digest[7...]))
        #expect(
            try rewrite(file(cut), RewriteRequest(replaced: [new])).bytes
                == file(JPEGSegments.photoshop(digest + resource)))
        #expect(
            try rewrite(file(photoshop), RewriteRequest(removed: [.iptc], replaced: [new])).bytes
                == file(JPEGSegments.photoshop(resource)))
        let damaged = file(JPEGSegments.photoshop(Array(digest.dropLast(4))))
        #expect(refusal(damaged, RewriteRequest(replaced: [new]))?.code == .refused)
    }

    @Test(arguments: [
        (MetadataBlob.Kind.exif, 65_527, true), (.exif, 65_528, false), (.text, 65_533, true), (.text, 65_534, false),
        (.icc, 255 * 65_519, true), (.icc, 255 * 65_519 + 1, false),
    ])
    func `refuses more bytes than the format can store`(kind: MetadataBlob.Kind, count: Int, isHeld: Bool) throws {
        let blob = MetadataBlob(kind, [UInt8](repeating: 65, count: count))
        #expect(refusal(file(jfif), RewriteRequest(replaced: [blob]))?.code == (isHeld ? nil : .refused))
    }

    @Test(arguments: [
        (MetadataBlob(.text, [65], key: "Comment"), true), (MetadataBlob(.text, [65], key: "Title"), false),
        (MetadataBlob(.raw, [1], key: "gAMA"), false), (MetadataBlob(.raw, [1]), false),
    ])
    func `refuses metadata that the format cannot store`(blob: MetadataBlob, isHeld: Bool) throws {
        #expect(refusal(file(jfif), RewriteRequest(replaced: [blob]))?.code == (isHeld ? nil : .refused))
    }

    @Test func `refuses two blobs of one kind and empty blobs`() throws {
        let twice = [MetadataBlob(.exif, tiff), MetadataBlob(.exif, tiff)]

        #expect(refusal(file(), RewriteRequest(replaced: twice))?.code == .invalidArgument)
        #expect(refusal(file(), RewriteRequest(replaced: [MetadataBlob(.icc, [])]))?.code == .invalidArgument)
        let comments = ["one", "two"].map { MetadataBlob(.text, Array($0.utf8)) }
        #expect(
            try rewrite(file(comment), RewriteRequest(replaced: comments)).bytes
                == file(JPEGSegments.comment("one"), JPEGSegments.comment("two")))
    }

    // MARK: Without decoding

    @Test func `decodes nothing`() throws {
        var deep = Sampling.full.image(20, 20)
        deep.precision = 12
        let broken = try jpegFixture("hostile/huffman-code-overflow.jpg")
        for bytes in [deep.file, broken] {
            let commented = Array(bytes[..<2]) + comment + Array(bytes[2...])
            #expect(try rewrite(commented, RewriteRequest(removed: [.text])).bytes == bytes)
        }
    }

    @Test func `reads a large file piece by piece`() throws {
        let large = file(jfif, exif, trailer: [UInt8](repeating: 7, count: 3 << 20))
        let middle = [UInt8](repeating: 7, count: 3 << 20)
        let scan = try #require(large.indices.dropLast().first { large[$0] == 0xFF && large[$0 + 1] == 0xDA })
        let longer = Array(large[..<(scan + 20)]) + middle + Array(large[(scan + 20)...])
        for source in [large, longer] {
            var longest = 0
            let pieces = ByteSource(count: source.count) { range throws(CoderError) in
                longest = max(longest, range.count)
                return Array(source[range])
            }
            let sink = ByteSink()
            let request = RewriteRequest(removed: [.exif])
            _ = try JPEGRewriter.rewrite(request, RewriteSession(source: pieces, sink: sink))

            #expect(sink.written == (try rewrite(source, request).bytes))
            #expect(sink.written.count == source.count - exif.count)
            #expect(longest <= 1 << 18)
        }
    }

    @Test func `names extended packets by the standard`() {
        let digests = [
            "": "D41D8CD98F00B204E9800998ECF8427E", "abc": "900150983CD24FB0D6963F7D28E17F72",
            "12345678901234567890123456789012345678901234567890123456789012345678901234567890":
                "57EDF4A22BE3C955AC49DA2E2107B67A",
        ]
        for (text, digest) in digests { #expect(MD5.hexDigits(of: Array(text.utf8)) == Array(digest.utf8)) }
    }
}
