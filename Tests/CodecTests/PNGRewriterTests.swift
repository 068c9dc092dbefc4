import CoderPluginKit
import ImageModel
import PNGCodec
import TestSupport
import Testing

/// A file with every kind of metadata, and chunks that change how pixels look.
private func everything() -> HandmadePNG {
    let xmp = Array("XML:com.adobe.xmp".utf8) + [0, 0, 0, 0, 0] + Array("<x/>".utf8)
    let raw = Array("Raw profile type exif".utf8) + [0, 0] + storedZlib(Array("\nexif\n       2\n4949\n".utf8))
    let iptc = Array("Raw profile type iptc".utf8) + [0] + Array("\niptc\n       2\n1c02\n".utf8)
    return onePixelPNG(
        before: [
            pngChunk("iCCP", Array("p".utf8) + [0, 0] + storedZlib(iccProfile())), pngChunk("gAMA", be32(45455)),
            pngChunk("cICP", [1, 13, 0, 1]), pngChunk("mDCV", [UInt8](repeating: 0, count: 24)),
            pngChunk("cLLI", [UInt8](repeating: 0, count: 8)), pngChunk("sBIT", [8, 8, 8]),
            pngChunk("tRNS", [0, 1, 0, 2, 0, 3]), pngChunk("bKGD", [0, 1, 0, 2, 0, 3]),
            pngChunk("pHYs", be32(1) + be32(1) + [1]), pngChunk("eXIf", ExifOrientation.blob(.right)),
            pngChunk("tEXt", Array("Title".utf8) + [0, 0x61]), pngChunk("zTXt", raw), pngChunk("tEXt", iptc),
            pngChunk("tIME", [7, 230, 1, 1, 0, 0, 0]), pngChunk("prVt", [1, 2, 3]),
        ],
        after: [pngChunk("iTXt", xmp), pngChunk("tEXt", Array("Title".utf8) + [0, 0x62])])
}

private let lookNames = ["gAMA", "cICP", "mDCV", "cLLI", "sBIT", "tRNS", "bKGD", "pHYs"]

@Suite struct `Rewriting the metadata of a PNG` {
    @Test(arguments: PNGKind.all, [false, true])
    func `copies every byte for an empty request`(_ kind: PNGKind, _ isInterlaced: Bool) throws {
        let bytes = kind.file(9, 5, interlaced: isInterlaced).bytes
        #expect(try rewritePNG(bytes) == bytes)
    }

    @Test func `copies every chunk and the bytes behind the end`() throws {
        let bytes = everything().bytes + [1, 2, 3]
        #expect(try rewritePNG(bytes) == bytes)
        #expect(try rewritePNG(bytes, RewriteRequest(removed: [.raw])).last == 0x82)
    }

    @Test(arguments: [
        (MetadataBlob.Kind.exif, ["eXIf", "zTXt"]), (.xmp, ["iTXt"]), (.icc, ["iCCP"]), (.text, ["tEXt", "zTXt"]),
        (.raw, ["tIME", "prVt"]),
    ])
    func `removes only the chunks of a kind`(_ kind: MetadataBlob.Kind, _ names: [String]) throws {
        let bytes = everything().bytes
        let result = try rewritePNG(bytes, RewriteRequest(removed: [kind]))
        var expected = pngChunks(bytes)
        expected.removeAll { names.contains($0.name) }
        #expect(pngNames(result) == expected.map(\.name))
        #expect(HandmadePNG.signature + expected.flatMap { pngChunk($0.name, $0.data) } == result)
        let left = try decodePNG(result).blobs.filter { $0.kind == kind }
        #expect(left.isEmpty)
    }

    @Test func `removes IPTC data in a text chunk`() throws {
        let result = try rewritePNG(everything().bytes, RewriteRequest(removed: [.iptc]))
        #expect(pngNames(result).count == pngNames(everything().bytes).count - 1)
        #expect(try decodePNG(result).blob(.text, "Raw profile type iptc") == nil)
        #expect(try decodePNG(result).blob(.text, "Title") == [0x61])
    }

    @Test func `always keeps chunks that change how pixels look`() throws {
        let result = try rewritePNG(everything().bytes, RewriteRequest(removed: Set(MetadataBlob.Kind.allCases)))
        #expect(pngNames(result) == ["IHDR"] + lookNames + ["IDAT", "IEND"])
        #expect(try pngPixels(result) == pngPixels(everything().bytes))
    }

    @Test func `writes metadata that the decoder reads`() throws {
        let blobs = [
            MetadataBlob(.icc, iccProfile()), MetadataBlob(.exif, ExifOrientation.blob(.left)),
            MetadataBlob(.xmp, Array("<x:xmpmeta/>".utf8)), MetadataBlob(.text, Array("plain".utf8), key: "Author"),
            MetadataBlob(.text, Array("čeština".utf8), key: "Comment"),
            MetadataBlob(.text, [UInt8](repeating: 0x61, count: 5000), key: "Long"),
            MetadataBlob(.raw, be32(50000), key: "gAMA"),
        ]
        let result = try rewritePNG(onePixelPNG().bytes, RewriteRequest(replaced: blobs))
        let image = try decodePNG(result)
        #expect(image.samples == [10, 20, 30])
        #expect(image.info.orientation == .left)
        #expect(image.info.color.gamma == 50000)
        for blob in blobs where blob.kind != .raw {
            #expect(image.blob(blob.kind, blob.key) == blob.bytes, "\(blob.kind)")
        }
        #expect(
            pngNames(result) == ["IHDR", "iCCP", "gAMA", "eXIf", "iTXt", "tEXt", "iTXt", "zTXt", "IDAT", "IEND"])
        #expect(HandmadePNG.signature + pngChunks(result).flatMap { pngChunk($0.name, $0.data) } == result)
    }

    @Test func `replaces metadata at its position`() throws {
        let blobs = [
            MetadataBlob(.exif, ExifOrientation.blob(.left)), MetadataBlob(.xmp, Array("<y/>".utf8)),
            MetadataBlob(.text, [0x63], key: "Title"),
        ]
        let result = try rewritePNG(everything().bytes, RewriteRequest(replaced: blobs))
        // The raw profile goes with the Exif data that it repeats, the second title with the first.
        var names = pngNames(everything().bytes)
        names.remove(at: names.lastIndex(of: "tEXt")!)
        names.remove(at: names.firstIndex(of: "zTXt")!)
        #expect(pngNames(result) == names)
        let image = try decodePNG(result)
        #expect(image.blob(.exif) == ExifOrientation.blob(.left))
        #expect(image.blob(.xmp) == Array("<y/>".utf8))
        #expect(image.blobs.filter { $0.key == "Title" } == [MetadataBlob(.text, [0x63], key: "Title")])
    }

    @Test func `writes a profile right behind the header and omits sRGB`() throws {
        var file = HandmadePNG(1, 1, depth: 8, type: 3, rows: [0, 0])
        file.before = [pngChunk("sRGB", [0]), pngChunk("PLTE", [1, 2, 3]), pngChunk("tRNS", [9])]
        let result = try rewritePNG(file.bytes, RewriteRequest(replaced: [MetadataBlob(.icc, iccProfile())]))
        #expect(pngNames(result) == ["IHDR", "iCCP", "PLTE", "tRNS", "IDAT", "IEND"])
        #expect(try decodePNG(result).blob(.icc) == iccProfile())
    }

    @Test func `uses the last of several blobs of a kind`() throws {
        let blobs = [MetadataBlob(.xmp, [0x61]), MetadataBlob(.xmp, [0x62])]
        let result = try rewritePNG(onePixelPNG().bytes, RewriteRequest(replaced: blobs))
        #expect(try decodePNG(result).blobs == [MetadataBlob(.xmp, [0x62])])
    }

    @Test(arguments: [
        MetadataBlob(.exif, [1, 2, 3, 4, 5, 6, 7, 8]), MetadataBlob(.exif, [0x49, 0x49]),
        MetadataBlob(.xmp, [0x3C, 0]), MetadataBlob(.xmp, [0xFF]), MetadataBlob(.icc, [1, 2, 3]),
        MetadataBlob(.text, [0x61], key: ""), MetadataBlob(.text, [0x61]), MetadataBlob(.text, [0], key: "A"),
        MetadataBlob(.text, [0x61], key: "Ž"), MetadataBlob(.raw, [1], key: "IDAT"),
        MetadataBlob(.raw, [1], key: "tRNS"), MetadataBlob(.raw, [1], key: "gAMA"), MetadataBlob(.raw, [1], key: "x"),
        MetadataBlob(.raw, [1]),
    ])
    func `refuses metadata that it cannot store`(_ blob: MetadataBlob) {
        #expect(pngRewriteFailure(onePixelPNG().bytes, RewriteRequest(replaced: [blob])) == .refused)
    }

    @Test func `refuses a profile of colors in an image of grays`() {
        let gray = HandmadePNG(1, 1, depth: 8, type: 0, rows: [0, 7]).bytes
        #expect(pngRewriteFailure(gray, RewriteRequest(replaced: [MetadataBlob(.icc, iccProfile())])) == .refused)
    }

    @Test(arguments: [
        RewriteRequest(transform: .right), RewriteRequest(crop: PixelRect(x: 0, y: 0, width: 1, height: 1)),
    ])
    func `refuses to rotate and to crop`(_ request: RewriteRequest) {
        #expect(pngRewriteFailure(onePixelPNG().bytes, request) == .refused)
    }
}

@Suite struct `Rewriting a damaged PNG` {
    @Test func `copies an ancillary chunk with a wrong checksum and warns`() throws {
        let bytes = onePixelPNG(before: [pngChunk("tEXt", Array("A".utf8) + [0], damaged: true)]).bytes
        let host = RecordingHost()
        #expect(try rewritePNG(bytes, host: host.services()) == bytes)
        #expect(host.warnings == ["the checksum of the chunk tEXt is wrong; the chunk is copied unchanged"])
    }

    @Test(arguments: ["IHDR", "PLTE", "IDAT", "IEND"])
    func `is corrupt if the checksum of a critical chunk is wrong`(_ name: String) {
        let chunks: [(String, [UInt8])] = [
            ("IHDR", be32(1) + be32(1) + [8, 3, 0, 0, 0]), ("PLTE", [1, 2, 3]), ("IDAT", storedZlib([0, 0])),
            ("IEND", []),
        ]
        let bytes = chunks.flatMap { pngChunk($0.0, $0.1, damaged: $0.0 == name) }
        #expect(pngRewriteFailure(HandmadePNG.signature + bytes) == .corrupt)
    }

    @Test func `is truncated at any cut`() {
        let bytes = everything().bytes
        for count in 0..<bytes.count {
            #expect(pngRewriteFailure(Array(bytes[..<count])) == .truncated, "\(count) bytes")
        }
    }

    @Test func `is not a PNG without the signature, and corrupt in an invalid order`() {
        #expect(pngRewriteFailure(Array("GIF89a, or something else".utf8)) == .notMine)
        let header = pngChunk("IHDR", be32(1) + be32(1) + [8, 0, 0, 0, 0])
        let end = pngChunk("IEND", [])
        let empty = pngChunk("IHDR", be32(0) + be32(1) + [8, 0, 0, 0, 0])
        for chunks in [[end], [header, end], [header, header, end], [empty, pngChunk("IDAT", []), end]] {
            #expect(pngRewriteFailure(HandmadePNG.signature + chunks.joined()) == .corrupt)
        }
        #expect(pngRewriteFailure(HandmadePNG.signature + pngChunk("CgBI", be32(0))) == .unsupportedFeature)
    }

    @Test func `reads only small pieces of a source, for any chunk length`() throws {
        let bytes = onePixelPNG(before: [pngChunk("prVt", [UInt8](repeating: 7, count: 3 << 20))]).bytes
        var longest = 0
        let source = ByteSource(count: bytes.count) { range throws(CoderError) in
            longest = max(longest, range.count)
            return Array(bytes[range])
        }
        let sink = ByteSink()
        _ = try PNGRewriter.rewrite(RewriteRequest(removed: [.text]), RewriteSession(source: source, sink: sink))
        #expect(sink.written == bytes)
        #expect(longest <= 1 << 16)
    }

    @Test(arguments: [false, true])
    func `ends when the host cancels`(_ optimizes: Bool) throws {
        let bytes = PNGKind(type: 2, depth: 8).file(40, 300, interlaced: false).bytes
        let request = RewriteRequest(optimizes: optimizes)
        let all = RecordingHost()
        _ = try rewritePNG(bytes, request, host: all.services())
        #expect(all.polls > 3)
        for patience in [0, 1, all.polls / 2, all.polls - 1] {
            let host = RecordingHost(allowedPolls: patience)
            #expect(try pngRewriteFailure(bytes, request, host: host.services()) == .cancelled)
            #expect(host.reserved == 0)
        }
    }
}
