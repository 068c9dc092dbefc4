import CoderPluginKit
import ImageModel
import TestSupport
import Testing

private let stream = HandmadeHEIF.stream
private let start = UInt64(HandmadeHEIF.dataPlace)
/// The first piece of the thumbnail: an OBU of the type "padding" that decoders skip.
private let mark = [0x7A, 11] + Array("a thumbnail".utf8)
private let request = RewriteRequest(removesThumbnails: true)
private let alpha = Boxes.full("auxC", Array("urn:mpeg:mpegB:cicp:systems:auxiliary:alpha\0".utf8))

/// An image, and behind it the data of its thumbnail, which has a property of its own.
private var plain: HandmadeHEIF {
    var file = HandmadeHEIF()
    file.data = mark + stream + stream
    file.items[0].extents = [(start + UInt64(mark.count + stream.count), UInt64(stream.count))]
    file.properties.append(Boxes.box("pasp", Boxes.u32(1) + Boxes.u32(1)))
    file.items.append(.init(id: 2, extents: [(start, UInt64(mark.count + stream.count))], properties: [1, 2, 3, 4]))
    file.references = [("thmb", 2, [1])]
    return file
}

private func roles(_ bytes: [UInt8], _ room: HEIFRoom) throws -> [ImageItem.Role] {
    let decoder = try room.decoder(bytes)
    _ = try decoder.readHeader()
    return try (0..<(try decoder.itemCount() ?? 0)).compactMap { try decoder.item(at: $0)?.role }
}

@Suite(.timeLimit(.minutes(40))) struct `HEIF rewriting without thumbnails` {
    @Test(arguments: HEIFRoom.allCases, [false, true])
    func `removes the thumbnail with its bytes and properties`(room: HEIFRoom, isListFirst: Bool) throws {
        let source = isListFirst ? plain.bytesListsFirst : plain.bytes
        #expect(try roles(source, room) == [.primary, .thumbnail])
        let result = try room.rewrite(source, request)
        #expect(try roles(result, room) == [.primary])
        #expect(try room.digest(result) == room.digest(HandmadeHEIF().bytes))
        for word in [mark, Array("pasp".utf8), Array("thmb".utf8)] { #expect(!result.contains(word)) }
        #expect(source.count - result.count > mark.count + stream.count)
        // A second time there is nothing to remove.
        #expect(try room.rewrite(result, request) == result)
    }

    @Test(arguments: HEIFRoom.allCases) func `removes all that belongs to thumbnails only`(room: HEIFRoom) throws {
        var file = plain
        file.properties.append(alpha)
        // The alpha channel and the Exif of the thumbnail, a thumbnail of two tiles, and its thumbnail.
        file.items.append(.init(id: 3, extents: HandmadeHEIF.image.extents, properties: [1, 2, 3, 5]))
        file.items.append(.init(id: 4, type: "Exif", method: 1, extents: [(0, 14)], properties: []))
        file.items.append(.init(id: 5, type: "grid", method: 1, extents: [(14, 8)], properties: [2, 3]))
        file.items += [6, 7].map { .init(id: $0, extents: HandmadeHEIF.image.extents) }
        file.items.append(.init(id: 8, extents: HandmadeHEIF.image.extents))
        file.idat = [0, 0, 0, 0] + ExifOrientation.blob(.up).prefix(10) + [0, 0, 0, 1, 0, 128, 0, 48]
        file.references += [
            ("auxl", 3, [2]), ("cdsc", 4, [2]), ("thmb", 5, [1]), ("dimg", 5, [6, 7]), ("thmb", 8, [5]),
        ]
        let result = try room.rewrite(file.bytes, request)
        #expect(try roles(result, room) == [.primary])
        #expect(try room.digest(result) == room.digest(HandmadeHEIF().bytes))
        for word in ["auxC", "Exif", "grid", "dimg", "cdsc"] { #expect(!result.contains(Array(word.utf8)), "\(word)") }
    }

    @Test(arguments: HEIFRoom.allCases) func `keeps what other images use`(room: HEIFRoom) throws {
        var file = plain
        // A second image with its alpha channel, of which a thumbnail is made.
        file.properties.append(alpha)
        file.items.append(.init(id: 3, extents: HandmadeHEIF.image.extents))
        file.items.append(.init(id: 4, extents: HandmadeHEIF.image.extents, properties: [1, 2, 3, 5]))
        file.items.append(.init(id: 5, type: "iden", extents: [], properties: [2, 3]))
        file.items.append(.init(id: 6, type: "Exif", method: 1, extents: [(0, 8)], properties: []))
        file.idat = [0, 0, 0, 0] + Array("II*\0".utf8)
        file.references += [("thmb", 5, [1]), ("dimg", 5, [3]), ("auxl", 4, [3, 2]), ("cdsc", 6, [1, 2])]
        let result = try room.rewrite(file.bytes, request)
        #expect(try roles(result, room) == [.primary, .page, .auxiliary])
        #expect(try room.digest(result) == room.digest(HandmadeHEIF().bytes))
        #expect(result.contains(Array("Exif".utf8)))
    }

    /// libavif finds no primary image in such a file.
    @Test func `keeps bytes that the image shares, with a warning`() throws {
        let room = HEIFRoom.heif
        var file = HandmadeHEIF()
        file.items.append(.init(id: 2, extents: HandmadeHEIF.image.extents))
        file.references = [("thmb", 2, [1]), ("thmb", 1, [2])]
        let host = RecordingHost()
        let result = try room.rewrite(file.bytes, request, host: host)
        #expect(try roles(result, room) == [.primary])
        #expect(try room.digest(result) == room.digest(HandmadeHEIF().bytes))
        #expect(
            host.warnings == ["\(stream.count) bytes of removed items stay in the file, because other items use them"])
    }
}
