import CoderPluginKit
import ImageModel
import TestSupport
import Testing

/// Ways to damage the lists of a file behind the entries of its primary image.
private let damages: [(name: String, apply: @Sendable (inout [UInt8]) -> Void)] = [
    ("an infe box of size 4", { $0.set(4, at: $0.last("infe") - 4) }),
    ("an infe box longer than the list", { $0.set(4000, at: $0.last("infe") - 4) }),
    ("an item with two types", { $0[$0.last("infe") + 9] = 2 }),
    ("a reference of size 3", { $0.set(3, at: $0.last("thmb") - 4) }),
    ("a reference longer than the list", { $0.set(4000, at: $0.last("thmb") - 4) }),
    ("more targets than bytes", { $0[$0.last("thmb") + 7] = 200 }),
]

extension [UInt8] {
    /// The position of the last box of a type.
    fileprivate func last(_ type: String) -> Int {
        let letters = Array(type.utf8)
        return indices.last { self[$0...].starts(with: letters) } ?? 4
    }

    fileprivate mutating func set(_ value: Int, at place: Int) {
        replaceSubrange(place..<place + 4, with: Boxes.u32(value))
    }
}

@Suite(.timeLimit(.minutes(40))) struct `HEIF files with damaged lists` {
    /// An image, its Exif, and another two images, the last a thumbnail.
    private var file: HandmadeHEIF {
        var file = HandmadeHEIF()
        file.items.append(.init(id: 2, extents: HandmadeHEIF.image.extents))
        file.items.append(.init(id: 3, extents: HandmadeHEIF.image.extents))
        file.references = [("thmb", 2, [1]), ("thmb", 3, [1])]
        return file
    }

    @Test(arguments: damages.indices, HEIFRoom.allCases)
    func `show the primary image, with a warning`(index: Int, room: HEIFRoom) throws {
        var bytes = file.bytes
        damages[index].apply(&bytes)
        #expect(bytes != file.bytes)
        let host = RecordingHost()
        let decoder = try room.decoder(ByteSource(bytes), host: host)
        let info = try decoder.readHeader()
        let buffer = try PixelBuffer(size: info.size, format: .gray8)
        #expect(try decoder.decode(DecodeRequest(), into: Surface(buffer)) == .complete)
        #expect(try PixelDigest.of(buffer) == room.digest(HandmadeHEIF().bytes), "\(damages[index].name)")
        #expect(
            host.warnings.count == 1
                && host.warnings.allSatisfy { $0.hasPrefix("another item of the file is damaged: ") },
            "\(damages[index].name): \(host.warnings)")
    }

    @Test(arguments: HEIFRoom.allCases) func `do not show a grid whose list of tiles is cut`(room: HEIFRoom) throws {
        var bytes = HandmadeHEIF.grid(rows: 1, columns: 2, canvas: (128, 48)).bytes
        bytes[bytes.last("dimg") + 7] = 200
        #expect(throws: CoderError.self) { try room.digest(bytes) }
    }

    @Test(arguments: damages.indices) func `are not rewritten`(index: Int) {
        var bytes = file.bytes
        damages[index].apply(&bytes)
        let error = #expect(throws: CoderError.self) {
            try HEIFRoom.heif.rewrite(bytes, RewriteRequest(removed: [.exif]))
        }
        #expect(error?.code == .corrupt, "\(damages[index].name)")
    }
}
