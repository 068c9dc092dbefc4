import CoderPluginKit
import ImageModel
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `HEIF thumbnails of a growing file` {
    /// An image behind its thumbnail and unused bytes, the lists first.
    private var file: (bytes: [UInt8], thumbnailEnd: Int) {
        var file = HandmadeHEIF()
        let stream = HandmadeHEIF.stream
        let start = UInt64(HandmadeHEIF.dataPlace)
        file.data = stream + [UInt8](repeating: 7, count: 5000) + stream
        file.items[0].extents = [(start + UInt64(stream.count) + 5000, UInt64(stream.count))]
        file.items.append(.init(id: 2, extents: [(start, UInt64(stream.count))]))
        // libavif reads colors that the boxes do not state from the data of the image.
        file.properties.append(
            Boxes.box("colr", Array("nclx".utf8) + Boxes.u16(1) + Boxes.u16(13) + Boxes.u16(6) + [0x80]))
        for index in file.items.indices { file.items[index].properties.append(4) }
        file.references = [("thmb", 2, [1])]
        return (file.bytesListsFirst, file.meta.count + HandmadeHEIF.dataPlace + stream.count)
    }

    private func decode(_ decoder: any ItemDecoder) throws -> String {
        let buffer = try PixelBuffer(size: PixelSize(64, 48), format: .gray8)
        #expect(try decoder.decode(DecodeRequest(), into: Surface(buffer)) == .complete)
        return PixelDigest.of(buffer)
    }

    @Test(arguments: HEIFRoom.allCases) func `are decoded as soon as their bytes are there`(room: HEIFRoom) throws {
        let (bytes, end) = file
        let source = ByteSource(bytes, arrived: end - 1)
        let decoder = try room.decoder(source)
        _ = try decoder.readHeader()
        #expect(try decoder.item(at: 1)?.role == .thumbnail)
        try decoder.select(item: 1)
        #expect(needsInput { try decode(decoder) })
        source.arrive(1)
        let digest = try room.digest(bytes)
        #expect(try decode(decoder) == digest)
        // The image itself waits for its own bytes.
        try decoder.select(item: 0)
        #expect(needsInput { try decode(decoder) })
        source.arrive()
        #expect(try decode(decoder) == digest)
    }

    private func needsInput(_ body: () throws -> String) -> Bool {
        do {
            _ = try body()
            return false
        } catch {
            return (error as? CoderError)?.code == .needsInput
        }
    }
}
