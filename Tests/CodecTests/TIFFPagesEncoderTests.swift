import CoderPluginKit
import ImageModel
import TIFFCodec
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `TIFF encoder of several pages` {
    private typealias Page = (size: PixelSize, format: PixelFormat, item: ItemDescription)

    private static let pages: [Page] = [
        (PixelSize(53, 41), .rgb8, ItemDescription(.primary, name: "first")),
        (PixelSize(20, 60), .gray16, ItemDescription(.page, name: "second")),
        (PixelSize(7, 5), .rgba8, ItemDescription(.page)),
    ]

    private static func pixels(_ page: Page) throws -> PixelBuffer {
        let buffer = try PixelBuffer(size: page.size, format: page.format)
        for y in 0..<page.size.height {
            buffer.withMutableRow(y) { row in
                for at in row.byteOffsets {
                    row.storeBytes(
                        of: UInt8(truncatingIfNeeded: at * at / 3 + y * 31), toByteOffset: at, as: UInt8.self)
                }
            }
        }
        return buffer
    }

    private static func encoded(
        _ pages: [Page], _ options: CoderOptions = [:], blobs: [[MetadataBlob]] = []
    ) throws -> [UInt8] {
        let encoder = try TIFFEncoder(EncoderSession(options: options))
        let sink = ByteSink()
        for (index, page) in pages.enumerated() {
            try encoder.beginItem(page.item)
            try encoder.begin(ImageInfo(size: page.size, nativeFormat: page.format), to: sink)
            for blob in index < blobs.count ? blobs[index] : [] { #expect(try encoder.add(blob)) }
            try encoder.add(FrameInfo(index: 0, rect: PixelRect(page.size)), pixels: Surface(try pixels(page)))
        }
        try encoder.finish()
        return sink.written
    }

    /// The directories of a classic TIFF in little endian: their fields as tag and value.
    private static func directories(_ bytes: [UInt8]) -> [[Int: Int]] {
        func number(_ place: Int, _ width: Int) -> Int {
            (0..<width).reduce(0) { $0 | Int(bytes[place + $1]) << (8 * $1) }
        }
        var (place, result) = (number(4, 4), [[Int: Int]]())
        while place != 0, result.count < 100 {
            let count = number(place, 2)
            var fields: [Int: Int] = [:]
            for field in stride(from: place + 2, to: place + 2 + 12 * count, by: 12) {
                fields[number(field, 2)] = number(field + 8, number(field + 2, 2) == 3 ? 2 : 4)
            }
            result.append(fields)
            place = number(place + 2 + 12 * count, 4)
        }
        return result
    }

    @Test(arguments: [[:], ["tiff.tile": .integer(16)], ["tiff.bigtiff": .string("on")]] as [CoderOptions])
    func `keeps every page`(options: CoderOptions) throws {
        let bytes = try Self.encoded(Self.pages, options)
        let decoder = try TIFFDecoder(DecoderSession(source: ByteSource(bytes)))
        _ = try decoder.readHeader()

        #expect(try decoder.itemCount() == 3)
        for (index, page) in Self.pages.enumerated() {
            let item = try #require(try decoder.item(at: index))
            #expect(item.role == (index == 0 ? .primary : .page) && item.name == page.item.name)
            try decoder.select(item: index)
            let info = try decoder.readHeader()
            #expect(info.size == page.size && info.nativeFormat == page.format)
            let buffer = try PixelBuffer(size: page.size, format: page.format)
            #expect(try decoder.decode(DecodeRequest(), into: Surface(buffer)) == .complete)
            #expect(buffer.packed == (try Self.pixels(page)).packed)
        }
    }

    @Test func `links the directories, and marks smaller versions`() throws {
        let versions: [Page] = [
            Self.pages[0], (PixelSize(27, 21), .rgb8, ItemDescription(.alternative, owner: 0)),
            (PixelSize(53, 41), .rgb8, ItemDescription(.alternative, owner: 0)),
        ]
        let profile = MetadataBlob(.icc, [UInt8](repeating: 7, count: 300))
        let xmp = MetadataBlob(.xmp, Array("<x/>".utf8))
        let found = Self.directories(try Self.encoded(versions, blobs: [[profile, xmp], [profile, xmp]]))

        #expect(found.map { $0[256] } == [53, 27, 53])
        #expect(found.map { $0[254] ?? 0 } == [0, 1, 0])
        // The profile is needed by each of them, the rest only by the first.
        #expect(found.map { $0[34_675] != nil } == [true, true, false])
        #expect(found.map { $0[700] != nil } == [true, false, false])
    }

    @Test func `writes one page as without items`() throws {
        let page = Page(PixelSize(20, 60), .gray8, ItemDescription(.primary))
        let encoder = try TIFFEncoder(EncoderSession())
        let sink = ByteSink()
        try encoder.begin(ImageInfo(size: page.size, nativeFormat: page.format), to: sink)
        try encoder.add(FrameInfo(index: 0, rect: PixelRect(page.size)), pixels: Surface(try Self.pixels(page)))
        try encoder.finish()

        #expect(try Self.encoded([page]) == sink.written)
    }

    /// Pages of a file have one byte order; Exif of the other order is converted.
    @Test func `converts Exif of another byte order`() throws {
        func exif(_ order: [UInt8], _ fields: [UInt8]) -> [UInt8] { order + fields }
        // IFD0 with one field: 34665, the Exif directory at 26; there 34855, the ISO speed, 200.
        let little = exif(
            [0x49, 0x49, 42, 0, 8, 0, 0, 0],
            [1, 0, 0x69, 0x87, 4, 0, 1, 0, 0, 0, 26, 0, 0, 0, 0, 0, 0, 0]
                + [1, 0, 0x27, 0x88, 3, 0, 1, 0, 0, 0, 200, 0, 0, 0, 0, 0, 0, 0])
        let big = exif(
            [0x4D, 0x4D, 0, 42, 0, 0, 0, 8],
            [0, 1, 0x87, 0x69, 0, 4, 0, 0, 0, 1, 0, 0, 0, 26, 0, 0, 0, 0]
                + [0, 1, 0x88, 0x27, 0, 3, 0, 0, 0, 1, 0, 200, 0, 0, 0, 0, 0, 0])
        let bytes = try Self.encoded(
            Array(Self.pages.prefix(2)), blobs: [[MetadataBlob(.exif, little)], [MetadataBlob(.exif, big)]])
        let decoder = try TIFFDecoder(DecoderSession(source: ByteSource(bytes)))
        _ = try decoder.readHeader()

        for index in 0..<2 {
            try decoder.select(item: index)
            let stored = try #require(try decoder.metadata().first { $0.kind == .exif })
            let exif = try #require(TIFFStructure(stored.bytes))
            let camera = try #require(exif.number(34_665, in: exif.first))
            #expect(exif.number(34_855, in: camera) == 200)
        }
    }

    @Test func `refuses auxiliary images, and continues`() throws {
        let encoder = try TIFFEncoder(EncoderSession())
        let error = #expect(throws: CoderError.self) { try encoder.beginItem(ItemDescription(.auxiliary, owner: 0)) }
        #expect(error?.code == .refused)
        try encoder.beginItem(ItemDescription(.primary))
    }
}
