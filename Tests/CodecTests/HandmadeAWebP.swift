import CoderPluginKit
import ImageModel
import TestSupport
import Testing

/// Animated WebP made by hand.
enum HandmadeAWebP {
    static func little(_ value: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }

    /// A chunk; `says` is its declared length.
    static func chunk(_ tag: String, _ payload: [UInt8], says count: Int? = nil) -> [UInt8] {
        Array(tag.utf8) + little(count ?? payload.count, 4) + payload + (payload.count % 2 == 0 ? [] : [0])
    }

    static func canvas(_ width: Int, _ height: Int, flags: UInt8 = 0x12) -> [UInt8] {
        chunk("VP8X", [flags, 0, 0, 0] + little(width - 1, 3) + little(height - 1, 3))
    }

    static let animation = chunk("ANIM", [0, 0, 0, 0, 0, 0])

    static func frame(
        _ chunks: [UInt8], x: Int = 0, y: Int = 0, size: PixelSize = PixelSize(40, 24), flags: UInt8 = 0
    ) -> [UInt8] {
        let place = little(x / 2, 3) + little(y / 2, 3) + little(size.width - 1, 3) + little(size.height - 1, 3)
        return chunk("ANMF", place + little(40, 3) + [flags] + chunks)
    }

    static func file(_ chunks: [UInt8], says count: Int? = nil) -> [UInt8] {
        Array("RIFF".utf8) + little(count ?? chunks.count + 4, 4) + Array("WEBP".utf8) + chunks
    }

    /// The chunks of a still without its header; 40 x 24 pixels.
    static func stillChunks(_ name: String) throws -> [UInt8] {
        let still = try #require(readFile(Repository.fixture("webp/\(name).webp")))
        let isExtended = still[12..<16].elementsEqual("VP8X".utf8)
        return Array(still[(isExtended ? 30 : 12)...])
    }

    /// The pixels of that still by dwebp.
    static func samples(_ name: String) throws -> [UInt8] {
        try #require(readFile(Repository.fixture("webp/\(name).pam"))).suffix(40 * 24 * 4)
    }
}

/// The bytes of a buffer without padding.
func bytes(of buffer: PixelBuffer) -> [UInt8] {
    var all: [UInt8] = []
    for y in 0..<buffer.size.height { buffer.withRow(y) { row in all += row.byteOffsets.map { row.byte(at: $0) } } }
    return all
}
