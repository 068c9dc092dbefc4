import ClassicsCodec
import CoderPluginKit
import ImageModel
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `DCX codec` {
    /// Different kinds of PCX, one of them with a palette at its end.
    private static let pages = ["palette", "planes", "sixteen-colors", "one-bit"]
        .map { Fixture.named("classics/\($0).pcx").bytes }

    private static func little(_ value: Int) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }

    /// A file of pages; the list may name them in another order than that of their bytes.
    private static func file(order: [Int]) -> [UInt8] {
        let start = 4 + 4 * (pages.count + 1)
        let starts = pages.indices.map { index in start + pages[..<index].map(\.count).reduce(0, +) }
        return [0xB1, 0x68, 0xDE, 0x3A] + order.flatMap { little(starts[$0]) } + little(0) + pages.flatMap { $0 }
    }

    private static func decoder(_ bytes: [UInt8]) throws -> any ItemDecoder {
        try #require(try Classic.decoder("dcx", ByteSource(bytes)) as? any ItemDecoder)
    }

    @Test(arguments: [[0, 1, 2, 3], [3, 1, 0, 2]]) func `decodes each page like its PCX`(order: [Int]) throws {
        let decoder = try Self.decoder(Self.file(order: order))
        #expect(try decoder.readHeader().hasItems)
        #expect(try decoder.itemCount() == 4)
        #expect(try decoder.item(at: 4) == nil)
        for (index, page) in order.enumerated() {
            let (info, pixels) = try Classic.decode("pcx", Self.pages[page])
            let item = try #require(try decoder.item(at: index))
            #expect(item.role == (index == 0 ? .primary : .page) && item.info == info)
            try decoder.select(item: index)
            let buffer = try PixelBuffer(size: info.size, format: try decoder.readHeader().nativeFormat)
            #expect(try decoder.decode(DecodeRequest(), into: Surface(buffer)) == .complete)
            #expect(buffer.packed == pixels, "page \(index)")
        }
    }

    @Test func `reads the pages before a cut`() throws {
        let whole = Self.file(order: [0, 1, 2, 3])
        let decoder = try Self.decoder(Array(whole.dropLast(Self.pages[3].count)))

        #expect(try decoder.itemCount() == 3)
    }

    @Test(
        arguments: [
            ([0, 0, 0, 0], .corrupt), ([6, 0, 0, 0, 0, 0, 0, 0], .corrupt), ([200, 0, 0, 0, 0, 0, 0, 0], .truncated),
            ([12, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4], .corrupt), ([12, 0], .truncated),
        ] as [([UInt8], CoderError.Code)])
    func `refuses lists without a page`(list: [UInt8], code: CoderError.Code) throws {
        let error = #expect(throws: CoderError.self) {
            try Self.decoder([0xB1, 0x68, 0xDE, 0x3A] + list).readHeader()
        }
        #expect(error?.code == code)
    }
}
