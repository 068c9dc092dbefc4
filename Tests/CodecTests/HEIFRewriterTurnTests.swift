import CoderPluginKit
import HEIFCodec
import ImageModel
import TestSupport
import Testing

private let turned = [
    "heif/rgb-8bit.heic", "heif/grid-cropped-turned-mirrored.heic", "heif/rotated-with-thumbnail-exif-icc.heic",
    "heif/alpha.heic",
]

@Suite(.timeLimit(.minutes(40))) struct `HEIF turning without decoding` {
    @Test(arguments: turned, Orientation.allCases)
    func `shows the turned pixels of the image and its thumbnails`(name: String, transform: Orientation) throws {
        let file = try #require(readFile(Repository.fixture(name)))
        let result = try HEIFRoom.heif.rewrite(file, RewriteRequest(transform: transform))
        let (before, after) = (try decodeHEIF(file), try decodeHEIF(result))
        #expect(after.info.size == transform.applied(to: before.info.size))
        var different = 0
        for y in 0..<after.info.size.height {
            for x in 0..<after.info.size.width {
                let old = transform.source(x: x, y: y, in: before.info.size)
                if after.samples(x, y) != before.samples(old.x, old.y) { different += 1 }
            }
        }
        #expect(different == 0)
        let (old, new) = (try heifDecoder(file), try heifDecoder(result))
        let count = try old.itemCount() ?? 0
        #expect(try new.itemCount() == count)
        for index in 0..<count {
            let (was, now) = (try old.item(at: index), try new.item(at: index))
            #expect(now?.info.size == was.map { transform.applied(to: $0.info.size) } && now?.role == was?.role)
        }
    }

    @Test(arguments: turned) func `does not grow the file with each turn`(name: String) throws {
        let file = try #require(readFile(Repository.fixture(name)))
        var turns = [file]
        for _ in 0..<9 {
            turns.append(try HEIFRoom.heif.rewrite(turns[turns.count - 1], RewriteRequest(transform: .right)))
        }
        // Four turns show the first image again; a file without transforms then has none.
        #expect(turns[4].count <= file.count)
        #expect(turns[5].count == turns[1].count && turns[9].count == turns[1].count)
        #expect(turns[8] == turns[4])
        #expect(try HEIFRoom.heif.digest(turns[8]) == HEIFRoom.heif.digest(file))
    }

    @Test func `keeps a property that another image shares`() throws {
        var file = HandmadeHEIF()
        file.properties.append(Boxes.box("irot", [1]))
        file.items[0].properties.append(0x84)
        file.items.append(.init(id: 2, extents: HandmadeHEIF.image.extents, properties: [1, 2, 3, 0x84]))
        let result = try HEIFRoom.heif.rewrite(file.bytes, RewriteRequest(transform: .right))
        let decoder = try HEIFRoom.heif.decoder(result)
        #expect(try decoder.readHeader().size == PixelSize(64, 48))
        #expect(try decoder.item(at: 1)?.info.size == PixelSize(48, 64))
    }

    @Test func `is refused for an image of which another one is made`() throws {
        var file = HandmadeHEIF()
        file.items.append(.init(id: 2, type: "iden", extents: [], properties: [2]))
        file.references = [("dimg", 2, [1])]
        #expect(code { try HEIFRoom.heif.rewrite(file.bytes, RewriteRequest(transform: .right)) } == .refused)
    }

    @Test func `is refused by Exif, which does not turn the image`() throws {
        for room in HEIFRoom.allCases {
            let request = RewriteRequest(replaced: [MetadataBlob(.exif, ExifOrientation.blob(.right))])
            #expect(code { try room.rewrite(HandmadeHEIF().bytes, request) } == .refused)
        }
    }
}

@Suite(.timeLimit(.minutes(40))) struct `HEIF rewriting refuses` {
    private static let requests = [
        RewriteRequest(crop: PixelRect(x: 0, y: 0, width: 8, height: 8)), RewriteRequest(optimizes: true),
        RewriteRequest(replaced: [MetadataBlob(.iptc, [1])]), RewriteRequest(replaced: [MetadataBlob(.icc, [1])]),
        RewriteRequest(replaced: [MetadataBlob(.text, [1], key: "Comment")]),
        RewriteRequest(replaced: [MetadataBlob(.raw, [1], key: "uuid")]),
    ]

    @Test(arguments: requests.indices, HEIFRoom.allCases)
    func `changes that the container cannot hold`(index: Int, room: HEIFRoom) {
        #expect(code { try room.rewrite(HandmadeHEIF().bytes, Self.requests[index]) } == .refused)
    }

    @Test(arguments: ["mini-gray.avif", "mini-alpha-xmp.avif"]) func `the short header, by its name`(name: String)
        throws
    {
        let file = try #require(readFile(Repository.fixture("avif/\(name)")))
        let error = #expect(throws: CoderError.self) {
            try HEIFRoom.heif.rewrite(file, RewriteRequest(removed: [.xmp]))
        }
        #expect(error?.code == .refused && error?.message.contains("'mini'") == true)
        #expect(try HEIFRoom.heif.rewrite(file, RewriteRequest()) == file)
    }

    @Test(arguments: HEIFRoom.allCases) func `items made of other items`(room: HEIFRoom) {
        var file = HandmadeHEIF.exif([(0, 4)], method: 2)
        file.idat = [0, 0, 0, 0]
        #expect(code { try room.rewrite(file.bytes, RewriteRequest(removed: [.exif])) } == .refused)
    }
}

/// The code of the error; nil without one.
private func code(_ body: () throws -> [UInt8]) -> CoderError.Code? {
    do {
        _ = try body()
        return nil
    } catch {
        return (error as? CoderError)?.code
    }
}

private let damageable = [
    "heif/rotated-with-thumbnail-exif-icc.heic", "heif/collection.heic", "avif/with-thumbnail.avif",
    "avif/sequence-alpha.avif",
]

private let changes = [
    RewriteRequest(removed: Set(MetadataBlob.Kind.allCases)),
    RewriteRequest(
        replaced: [MetadataBlob(.exif, ExifOrientation.blob(.up)), MetadataBlob(.xmp, Array("<x/>".utf8))]),
    RewriteRequest(removed: [.exif, .xmp], transform: .left),
]

@Suite(.timeLimit(.minutes(40))) struct `HEIF rewriting of damaged files` {
    private static let expected: Set<CoderError.Code> = [
        .notMine, .corrupt, .truncated, .refused, .limitExceeded, .unsupportedFeature,
    ]

    private func decoded(_ bytes: [UInt8], _ room: HEIFRoom) -> String {
        do {
            let info = try room.decoder(bytes).readHeader()
            if info.size.area ?? .max > 1 << 18 { return "large" }
            return try room.digest(bytes)
        } catch {
            return "error"
        }
    }

    @Test(arguments: changes.indices, HEIFRoom.allCases)
    func `ends with a typed error or the same pixels`(index: Int, room: HEIFRoom) throws {
        let sources = try damageable.map { try #require(readFile(Repository.fixture($0))) }
        var random = SeededRandom(UInt64(41 + index))
        var (copied, refused) = (0, 0)
        for round in 0..<400 {
            let source = sources[room == .heif ? round % 3 : 2 + round % 2]
            // Damage in the lists, which come first in these files.
            let head = 1200 + source.count % 512
            let bytes =
                Array(source.prefix(head)).mutated([0, 1, 4, 8, 0xFF], &random) + source.dropFirst(head)
            do {
                let result = try room.rewrite(bytes, changes[index])
                copied += 1
                if changes[index].transform != .up { continue }
                let (before, after) = (decoded(bytes, room), decoded(result, room))
                #expect(before == after || before == "error", "round \(round)")
            } catch {
                refused += 1
                #expect(Self.expected.contains((error as? CoderError)?.code ?? .misuse), "round \(round): \(error)")
            }
        }
        #expect(refused > 20 && copied + refused == 400)
    }

    @Test(arguments: damageable) func `reports a truncated file at any cut`(name: String) throws {
        let file = try #require(readFile(Repository.fixture(name)))
        let room = name.hasPrefix("heif") ? HEIFRoom.heif : .avif
        for count in stride(from: 0, to: file.count - 1, by: 7) {
            let error = code { try room.rewrite(Array(file.prefix(count)), changes[0]) }
            #expect(error.map(Self.expected.contains) == true, "\(count) bytes: \(String(describing: error))")
        }
    }
}
