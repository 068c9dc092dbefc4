import CoderPluginKit
import HEIFCodec
import ImageModel
import TestSupport
import Testing

private func makeDecoder(_ bytes: [UInt8], limits: DecodeLimits = .default) throws -> HEIFDecoder {
    try HEIFDecoder(DecoderSession(source: ByteSource(bytes), limits: limits))
}

private func items(_ decoder: HEIFDecoder) throws -> [ImageItem] {
    _ = try decoder.readHeader()
    var found: [ImageItem] = []
    while let item = try decoder.item(at: found.count) { found.append(item) }
    return found
}

/// The digest of the selected image.
private func pixels(_ decoder: HEIFDecoder) throws -> String {
    let info = try decoder.readHeader()
    let buffer = try PixelBuffer(size: info.size, format: info.nativeFormat)
    #expect(try decoder.decode(DecodeRequest(), into: Surface(buffer)) == .complete)
    return PixelDigest.of(buffer)
}

private func code(_ body: () throws(CoderError) -> Void) -> CoderError.Code? {
    do throws(CoderError) { try body() } catch { return error.code }
    return nil
}

private let gainMap = "urn:com:apple:photo:2020:aux:hdrgainmap"
private let alpha = "urn:mpeg:mpegB:cicp:systems:auxiliary:alpha"

extension HandmadeHEIF {
    /// One stream for every item: `kinds` declares the items behind the primary one.
    static func collection(_ kinds: [(reference: String, of: Int, kind: String)]) -> HandmadeHEIF {
        var file = HandmadeHEIF()
        for (index, kind) in kinds.enumerated() {
            var item = Item(id: index + 2, extents: image.extents)
            if !kind.kind.isEmpty {
                file.properties.append(Boxes.full("auxC", Array((kind.kind + "\0").utf8)))
                item.properties.append(UInt8(file.properties.count))
            }
            file.items.append(item)
            if !kind.reference.isEmpty { file.references.append((kind.reference, index + 2, [kind.of])) }
        }
        return file
    }
}

@Suite struct `HEIF items` {
    /// Digests of pillow-heif 1.x, see Fixtures/recipes/heif/collection.py.
    private static let digests = [
        "36cb256da8b56f73f32f75c4a9a6e681fe0876568c72c5ee53191364a0e77620",
        "a50eb26724e7b63ad1133f5f82ad1ac2b0bc0d9facb0cf543026d0ec4feeae46",
        "413f32fadc7c22b0ec24aae86744aad7eb22e5acd7e9b8054ec67220416caea2",
    ]

    @Test func `list all images of a collection, the primary one first`() throws {
        let bytes = try #require(readFile(Repository.fixture("heif/collection.heic")))
        let decoder = try makeDecoder(bytes)
        let found = try items(decoder)
        #expect(try decoder.itemCount() == 4)
        #expect(found.map(\.role) == [.primary, .page, .page, .thumbnail])
        #expect(found.map(\.owner) == [nil, nil, nil, 0])
        #expect(
            found.map(\.info.size) == [PixelSize(128, 64), PixelSize(64, 64), PixelSize(64, 128), PixelSize(64, 32)])
        for (index, digest) in Self.digests.enumerated() {
            try decoder.select(item: index)
            #expect(try pixels(decoder) == digest)
        }
    }

    @Test func `can be switched back to the primary image`() throws {
        let decoder = try makeDecoder(try #require(readFile(Repository.fixture("heif/collection.heic"))))
        let first = try pixels(decoder)
        try decoder.select(item: 2)
        #expect(try decoder.readHeader().size == PixelSize(64, 128))
        try decoder.select(item: 0)
        #expect(try pixels(decoder) == first)
    }

    @Test func `are auxiliary images with their kind, and their thumbnails`() throws {
        let file = HandmadeHEIF.collection([
            ("auxl", 1, gainMap), ("thmb", 1, ""), ("auxl", 1, alpha), ("thmb", 2, ""), ("", 0, ""),
        ])
        let decoder = try makeDecoder(file.bytes)
        let found = try items(decoder)
        #expect(found.map(\.role) == [.primary, .page, .thumbnail, .auxiliary, .auxiliary, .thumbnail])
        #expect(found.map(\.owner) == [nil, nil, 0, 0, 0, 3])
        #expect(found.map(\.kind) == [nil, nil, nil, gainMap, alpha, nil])
        #expect(found[0].info.hasAlpha && !found[1].info.hasAlpha)
        let gray = try pixels(try makeDecoder(HandmadeHEIF().bytes))
        for index in 1..<6 {
            try decoder.select(item: index)
            #expect(try pixels(decoder) == gray)
        }
    }

    @Test func `have the names, groups and alternatives of the file`() throws {
        var file = HandmadeHEIF.collection([("", 0, ""), ("", 0, ""), ("", 0, "")])
        func group(_ type: String, _ id: Int, _ members: [Int]) -> [UInt8] {
            Boxes.full(type, Boxes.u32(id) + Boxes.u32(members.count) + members.flatMap(Boxes.u32))
        }
        file.moreMeta = Boxes.box("grpl", group("altr", 9, [2, 1]) + group("brst", 11, [3, 4, 77]))
        let found = try items(try makeDecoder(file.bytes))
        #expect(found.map(\.role) == [.primary, .alternative, .page, .page])
        #expect(found.map(\.owner) == [nil, 0, nil, nil])
        #expect(found.map(\.group) == [9, 9, 11, 11])
    }

    @Test func `omit tiles of a grid, and list the gain map of a tone mapping once`() throws {
        var file = HandmadeHEIF.grid(rows: 1, columns: 2, canvas: (128, 48))
        file.items.append(.init(id: 4, extents: HandmadeHEIF.image.extents))
        file.items.append(.init(id: 5, type: "tmap", extents: [(32, 8)], properties: [4]))
        file.references += [("dimg", 5, [1, 4])]
        let found = try items(try makeDecoder(file.bytes))
        #expect(found.map(\.role) == [.primary, .auxiliary])
        #expect(found[1].kind == "urn:iso:std:iso:ts:21496:-1" && found[1].owner == 0)
    }

    @Test func `that are damaged are refused, and the others decode`() throws {
        var file = HandmadeHEIF.collection([("", 0, ""), ("", 0, ""), ("", 0, "")])
        // Contains itself; an unsupported kind; without a size.
        file.items[1].type = "iden"
        file.references = [("dimg", 2, [2])]
        file.items[2].type = "unci"
        file.items[3].properties = [1]
        let decoder = try makeDecoder(file.bytes)
        let first = try pixels(decoder)
        for index in 1...3 {
            #expect(code { () throws(CoderError) in _ = try decoder.item(at: index) } == .refused, "\(index)")
            #expect(code { () throws(CoderError) in try decoder.select(item: index) } == .refused, "\(index)")
        }
        #expect(try decoder.item(at: 4) == nil)
        #expect(try pixels(decoder) == first)
    }

    @Test func `with a damaged stream do not prevent decoding the primary image`() throws {
        var file = HandmadeHEIF.collection([("", 0, "")])
        file.items[1].extents = [(0, 16)]
        let decoder = try makeDecoder(file.bytes)
        #expect(try items(decoder).count == 2)
        #expect(try pixels(decoder) == pixels(try makeDecoder(HandmadeHEIF().bytes)))
        try decoder.select(item: 1)
        #expect(throws: CoderError.self) { try pixels(decoder) }
    }
}

@Suite struct `Excessive HEIF items` {
    @Test func `repeated references make one item`() throws {
        var file = HandmadeHEIF.collection([("thmb", 1, ""), ("auxl", 1, gainMap)])
        for _ in 0..<50_000 { file.references += [("thmb", 2, [1]), ("auxl", 3, [1])] }
        for _ in 0..<50_000 { file.references += [("thmb", 1, [1]), ("auxl", 1, [2])] }
        #expect(try items(try makeDecoder(file.bytes)).map(\.role) == [.primary, .thumbnail, .auxiliary])
    }

    @Test func `twenty thousand images of one grid are listed in linear time`() throws {
        var file = HandmadeHEIF()
        file.sizes = (0, 0, 0, 0)
        let count = 19_990
        for id in 2..<count { file.items.append(.init(id: id, type: "iden", extents: [], properties: [2])) }
        file.items.append(.init(id: count, type: "grid", extents: [], properties: [2]))
        file.references =
            (2..<count).map { ("dimg", $0, [count]) } + [("dimg", count, Array(repeating: 1, count: 60_000))]
        let decoder = try makeDecoder(file.bytes)
        _ = try decoder.readHeader()
        var refused = 0
        for index in 0..<(try #require(try decoder.itemCount())) {
            do throws(CoderError) { _ = try decoder.item(at: index) } catch {
                refused += error.code == .refused ? 1 : 0
            }
        }
        // 60,000 times the same tile is more than a canvas of 64 x 48 can show.
        #expect(refused == count - 1)
    }

    @Test func `a chain and a circle of twenty thousand images end as refused items`() throws {
        var file = HandmadeHEIF()
        file.sizes = (0, 0, 0, 0)
        let count = 19_990
        for id in 2...count { file.items.append(.init(id: id, type: "iden", extents: [], properties: [2])) }
        for last in [1, 2] {
            file.references = (3...count).map { ("dimg", $0, [$0 - 1]) } + [("dimg", 2, [last])]
            let decoder = try makeDecoder(file.bytes)
            _ = try decoder.readHeader()
            var described = 0
            for index in (1..<count).reversed() {
                do throws(CoderError) { described += try decoder.item(at: index) == nil ? 0 : 1 } catch {
                    #expect(error.code == .refused)
                }
            }
            // The nesting limit.
            #expect(described == (last == 1 ? DecodeLimits.default.maxNesting : 0))
        }
    }
}
