import AVIFCodec
import CoderPluginKit
import Foundation
import HEIFCodec
import ImageModel
import TestSupport
import Testing

private func avif(_ bytes: [UInt8]) throws -> AVIFDecoder {
    try AVIFDecoder(DecoderSession(source: ByteSource(bytes)))
}

private func heif(_ bytes: [UInt8]) throws -> HEIFDecoder {
    try HEIFDecoder(DecoderSession(source: ByteSource(bytes)))
}

private func fixture(_ path: String) throws -> [UInt8] {
    try #require(readFile(Repository.fixture(path)), "the fixture \(path) is missing")
}

/// A coder's description of an item.
private struct Listed: Equatable {
    let role: ImageItem.Role
    let owner, group: Int?
    let kind, name: String?
    let size: PixelSize
}

/// The items of a file; nil for a refused item.
private func list(_ decoder: some ItemDecoder) throws -> [Listed?] {
    let hasItems = try decoder.readHeader().hasItems
    let count = try #require(try decoder.itemCount())
    #expect(hasItems == (count > 1))
    #expect(try decoder.item(at: count) == nil)
    return (0..<count).map { index in
        do throws(CoderError) {
            let item = try decoder.item(at: index)
            return item.map {
                Listed(
                    role: $0.role, owner: $0.owner, group: $0.group, kind: $0.kind, name: $0.name, size: $0.info.size)
            }
        } catch {
            #expect(error.code == .refused)
            return nil
        }
    }
}

/// The selected image.
private func pixels(_ decoder: some ItemDecoder, as format: PixelFormat? = nil) throws -> PixelBuffer {
    let info = try decoder.readHeader()
    let buffer = try PixelBuffer(size: info.size, format: format ?? info.nativeFormat)
    #expect(try decoder.decode(DecodeRequest(), into: Surface(buffer)) == .complete)
    return buffer
}

private let gainMap = "urn:com:apple:photo:2020:aux:hdrgainmap"
private let alpha = "urn:mpeg:mpegB:cicp:systems:auxiliary:alpha"

@Suite struct `AVIF items` {
    static let corpus = ["\(Repository.root)/../shared/corpus/open", "\(Repository.root)/../../shared/corpus/open"]
        .first { FileManager.default.fileExists(atPath: $0) }

    @Test(arguments: [
        "avif/alpha.avif", "avif/gray-limited-range.avif", "avif/grid-420.avif", "avif/grid-444-odd-size.avif",
        "avif/grid-422-10bit-alpha-cropped-turned-mirrored.avif", "avif/known-samples-444-cropped.avif",
        "avif/known-samples-422-bt709-turned.avif", "avif/ramp-12bit.avif", "avif/rgb-10bit.avif",
        "avif/sequence-alpha.avif", "avif/sequence-alpha-3-plays.avif", "avif/with-thumbnail.avif",
        "images/f.avif", "images/rgba.avif",
    ])
    func `equal the HEIF coder's list`(path: String) throws {
        let bytes = try fixture(path)
        let found = try list(avif(bytes))
        #expect(try found == list(heif(bytes)))
        #expect(found.allSatisfy { $0 != nil })
    }

    @Test(.enabled(if: corpus != nil, "there is no ../shared/corpus"), .timeLimit(.minutes(40)))
    func `of third-party files equal the HEIF coder's list`() throws {
        let folder = try #require(Self.corpus)
        let names = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
        var compared = 0
        for name in names.sorted() where name.hasSuffix(".avif") || name.hasSuffix(".avifs") {
            let bytes = try #require(readFile("\(folder)/\(name)"))
            guard let own = try? list(avif(bytes)), let other = try? list(heif(bytes)) else { continue }
            // A crop of half pixels is ignored by one coder and rounded by the other; a track may have its own size.
            if name.contains("crop") || name.contains("/bad/") { continue }
            #expect(own == other, "\(name)")
            compared += 1
        }
        #expect(compared > 50)
    }

    @Test func `are auxiliary images with their kind, and their thumbnails`() throws {
        let bytes = HandmadeHEIF.collection([
            ("auxl", 1, gainMap), ("thmb", 1, ""), ("auxl", 1, alpha), ("thmb", 2, ""), ("", 0, ""),
        ]).bytes
        let decoder = try avif(bytes)
        let found = try list(decoder)
        #expect(try found == list(heif(bytes)))
        #expect(found.map(\.?.role) == [.primary, .page, .thumbnail, .auxiliary, .auxiliary, .thumbnail])
        #expect(found.map(\.?.kind) == [nil, nil, nil, gainMap, alpha, nil])
        let gray = try pixels(avif(HandmadeHEIF().bytes)).packed
        for index in 1..<6 {
            try decoder.select(item: index)
            #expect(try decoder.readHeader().nativeFormat == .gray8)
            #expect(try pixels(decoder).packed == gray)
        }
    }

    @Test func `include alternatives, groups, and the gain map of a tone mapping once`() throws {
        var file = HandmadeHEIF.collection([("", 0, ""), ("", 0, ""), ("", 0, ""), ("", 0, "")])
        func group(_ type: String, _ id: Int, _ members: [Int]) -> [UInt8] {
            Boxes.full(type, Boxes.u32(id) + Boxes.u32(members.count) + members.flatMap(Boxes.u32))
        }
        file.moreMeta = Boxes.box("grpl", group("altr", 9, [2, 1]) + group("brst", 11, [3, 4, 77]))
        file.items.append(.init(id: 6, type: "tmap", extents: [(32, 8)], properties: [2]))
        file.references.append(("dimg", 6, [1, 5]))
        let found = try list(avif(file.bytes))
        #expect(try found == list(heif(file.bytes)))
        #expect(found.map(\.?.role) == [.primary, .alternative, .page, .page, .auxiliary])
        #expect(found.last??.kind == "urn:iso:std:iso:ts:21496:-1")
    }

    @Test(arguments: ["avif/alpha.avif", "avif/with-thumbnail.avif", "images/rgba.avif"])
    func `decode to the same pixels as in the HEIF coder`(path: String) throws {
        let bytes = try fixture(path)
        let (own, other) = (try avif(bytes), try heif(bytes))
        #expect(try list(own).count == 2)
        for index in [1, 0, 1] {
            try own.select(item: index)
            try other.select(item: index)
            let format = try own.readHeader().nativeFormat
            #expect(try other.readHeader().nativeFormat == format)
            #expect(try pixels(own).packed == pixels(other).packed, "\(index)")
        }
    }

    @Test func `that are tiles of a grid decode to its parts`() throws {
        // Each tile becomes a visible image, and the first one the primary image.
        var bytes = try fixture("avif/grid-444-odd-size.avif")
        let whole = try pixels(avif(bytes)).packed
        func places(_ text: String) -> [Int] { bytes.indices.filter { bytes[$0...].starts(with: Array(text.utf8)) } }
        for place in places("infe") { bytes[place + 7] = 0 }
        for place in places("dimg") { bytes.replaceSubrange(place..<place + 4, with: Array("skip".utf8)) }
        bytes[try #require(places("pitm").first) + 9] = 10
        let decoder = try avif(bytes)
        let found = try list(decoder)
        // The grid has lost its tiles.
        #expect(found.map(\.?.role) == [.primary, nil, .page, .page, .page, .page, .page])
        for (index, tile) in [(0, 0), (2, 1), (3, 2), (4, 3), (5, 4), (6, 5)] {
            try decoder.select(item: index)
            let buffer = try pixels(decoder)
            let shown = PixelRect(x: tile % 3 * 64, y: tile / 3 * 64, width: 64, height: 64)
                .intersection(PixelRect(x: 0, y: 0, width: 151, height: 121))
            let region = PixelRect(x: 0, y: 0, width: shown.width, height: shown.height)
            #expect(
                part(region, of: buffer.packed, buffer.size, .rgb8)
                    == part(shown, of: whole, PixelSize(151, 121), .rgb8))
        }
    }

    @Test func `of a file with a sequence have one frame each`() throws {
        let decoder = try avif(try fixture("avif/sequence-alpha.avif"))
        #expect(try decoder.readHeader().frameCount == 6)
        #expect(try decoder.itemCount() == 2)
        try decoder.select(item: 1)
        #expect(try decoder.readHeader().frameCount == 1 && !decoder.readHeader().hasAlpha)
        #expect(try decoder.nextFrame() != nil)
        #expect(try decoder.nextFrame() == nil)
        let alpha = try pixels(decoder).packed
        try decoder.select(item: 0)
        #expect(try decoder.nextFrame() != nil)
        let colors = try pixels(decoder).packed
        #expect(alpha == stride(from: 3, to: colors.count, by: 4).map { colors[$0] })
    }

    @Test func `that are damaged are refused, and the others decode`() throws {
        var file = HandmadeHEIF.collection([("", 0, ""), ("", 0, ""), ("", 0, "")])
        // Contains itself; an unsupported kind; without a size, for which libavif refuses the whole file.
        file.items[1].type = "iden"
        file.references = [("dimg", 2, [2])]
        file.items[2].type = "unci"
        for isSized in [true, false] {
            file.items[3].properties = isSized ? [1, 2, 3] : [1]
            let decoder = try avif(file.bytes)
            let first = try pixels(decoder)
            #expect(try first.packed == pixels(avif(HandmadeHEIF().bytes)).packed)
            let expected: [ImageItem.Role?] = [.primary, nil, nil, isSized ? .page : nil]
            #expect(try list(decoder).map(\.?.role) == expected)
            for (index, role) in expected.enumerated() where role == nil {
                let error = #expect(throws: CoderError.self) { try decoder.select(item: index) }
                #expect(error?.code == .refused)
            }
            #expect(try pixels(decoder).packed == first.packed)
        }
    }

    @Test func `with a damaged stream do not prevent decoding the primary image`() throws {
        var bytes = try fixture("avif/with-thumbnail.avif")
        // The last 89 bytes are the data of the thumbnail.
        for index in bytes.count - 89..<bytes.count { bytes[index] = 0xFF }
        let decoder = try avif(bytes)
        try decoder.select(item: 1)
        let error = #expect(throws: CoderError.self) { try pixels(decoder) }
        #expect(error?.code == .corrupt)
        try decoder.select(item: 0)
        #expect(try pixels(decoder).packed == pixels(avif(fixture("avif/with-thumbnail.avif"))).packed)
    }

    @Test func `have their own metadata`() throws {
        var file = HandmadeHEIF.collection([("", 0, ""), ("", 0, "")])
        let exif: [UInt8] = [0, 0, 0, 0, 0x49, 0x49, 0x2A, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        file.idat = exif
        file.items.append(
            .init(id: 9, type: "Exif", method: 1, extents: [(0, UInt64(exif.count))], properties: []))
        file.references.append(("cdsc", 9, [2]))
        let decoder = try avif(file.bytes)
        for index in [0, 1, 2] {
            _ = try decoder.readHeader()
            try decoder.select(item: index)
            #expect(try decoder.metadata().map(\.bytes) == (index == 1 ? [Array(exif.dropFirst(4))] : []))
        }
    }
}

@Suite struct `Excessive AVIF items` {
    @Test func `repeated references make one item`() throws {
        var file = HandmadeHEIF.collection([("thmb", 1, ""), ("auxl", 1, gainMap)])
        for _ in 0..<10_000 { file.references += [("thmb", 2, [1]), ("auxl", 3, [1])] }
        #expect(try list(avif(file.bytes)).map(\.?.role) == [.primary, .thumbnail, .auxiliary])
    }

    @Test func `a chain of derived images ends as refused items`() throws {
        var file = HandmadeHEIF()
        file.sizes = (0, 0, 0, 0)
        file.items[0].method = 1
        for id in 2...3_000 { file.items.append(.init(id: id, type: "grid", extents: [], properties: [2])) }
        file.references = (3...3_000).map { ("dimg", $0, [$0 - 1]) } + [("dimg", 2, [3_000])]
        file.sizes = (8, 8, 8, 0)
        file.items[0] = HandmadeHEIF.image
        let found = try list(avif(file.bytes))
        #expect(found.first??.role == .primary)
        #expect(found.dropFirst().allSatisfy { $0 == nil })
    }
}
