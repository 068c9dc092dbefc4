import CoderPluginKit
import IconsCodec
import ImageModel
import TestSupport
import Testing

/// The pixels of the largest image are those of the fixtures, which every bundled coder must decode.
@Suite(.timeLimit(.minutes(40))) struct `Icons codec` {
    private func decoder(_ bytes: [UInt8]) -> IconDecoder {
        IconDecoder(DecoderSession(source: ByteSource(bytes)))
    }

    private func fixture(_ name: String) throws -> [UInt8] {
        try #require(readFile(Repository.fixture("icons/\(name)")), "the fixture \(name) is missing")
    }

    private func pixels(_ decoder: IconDecoder, _ size: PixelSize) throws -> [UInt8] {
        let buffer = try PixelBuffer(size: size, format: .rgba8)
        #expect(try decoder.decode(DecodeRequest(), into: Surface(buffer)) == .complete)
        return buffer.packed
    }

    @Test func `lists the largest size first as the primary one, the others in the order of the file`() throws {
        let decoder = decoder(try fixture("sizes.ico"))
        #expect(try decoder.readHeader().size == PixelSize(64, 64))
        let items = try (0..<4).map { try #require(try decoder.item(at: $0)) }

        #expect(try decoder.itemCount() == 4)
        #expect(try decoder.item(at: 4) == nil)
        #expect(items.map(\.info.size.width) == [64, 16, 32, 16])
        #expect(items.map(\.role) == [.primary, .alternative, .alternative, .alternative])
    }

    @Test(arguments: [(1, 16), (2, 32), (3, 16)]) func `decodes a size by its number`(index: Int, side: Int) throws {
        let decoder = decoder(try fixture("sizes.ico"))
        _ = try decoder.readHeader()
        try decoder.select(item: index)
        let decoded = try pixels(decoder, PixelSize(side, side))

        // The recipe gives every size the same color at the same place.
        for (x, y) in [(0, 0), (1, 0), (5, 9), (side - 1, side - 1)] {
            let place = 4 * (y * side + x)
            let color = [x * 13 % 256, y * 11 % 256, (x * 7 + y * 29) % 256].map { UInt8($0) }
            #expect(Array(decoded[place..<place + 3]) == color)
            let alpha = index == 1 ? ((x + y) % 3 == 0 ? 0 : 255) : (x * 17 + y * 5) % 256
            #expect(decoded[place + 3] == UInt8(alpha))
        }
    }

    @Test func `refuses a damaged size and decodes the others`() throws {
        let decoder = decoder(try fixture("damaged-size.ico"))
        #expect(try decoder.readHeader().size == PixelSize(16, 16))
        let error = #expect(throws: CoderError.self) { try decoder.item(at: 1) }
        #expect(error?.code == .refused)
        #expect(try decoder.item(at: 2)?.info.size == PixelSize(8, 8))
    }

    @Test func `decodes a cursor whose directory states fewer bytes than a header has`() throws {
        var bytes = try fixture("hotspot.cur")
        let whole = decoder(bytes)
        let size = try whole.readHeader().size
        bytes.replaceSubrange(14..<18, with: [8, 0, 0, 0])
        let short = decoder(bytes)

        #expect(try short.readHeader().size == size)
        #expect(try pixels(short, size) == pixels(whole, size))
    }

    @Test func `reports the pixel that points as text`() throws {
        let decoder = decoder(try fixture("hotspot.cur"))
        _ = try decoder.readHeader()
        #expect(try decoder.metadata() == [MetadataBlob(.text, Array("3,7".utf8), key: "Hotspot")])
    }

    /// An uncompressed TGA without a palette begins like a cursor; so do the others with one field changed.
    @Test(
        arguments: [
            [0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 4, 0, 24, 0], [0, 0, 1, 0, 0, 0], [0, 0, 3, 0, 1, 0],
            [0, 0, 1, 0, 1, 0, 1, 1, 0, 0, 1, 0, 32, 0, 40, 0, 0, 0, 6, 0, 0, 0],
        ] as [[UInt8]])
    func `leaves files that only begin like an icon to others`(start: [UInt8]) throws {
        let decoder = decoder(start + [UInt8](repeating: 7, count: 64))
        let error = #expect(throws: CoderError.self) { try decoder.readHeader() }
        #expect(error?.code == .notMine)
    }

    @Test func `waits for the whole file`() throws {
        let bytes = try fixture("alpha.ico")
        let decoder = IconDecoder(DecoderSession(source: ByteSource(bytes, arrived: bytes.count - 1)))
        let error = #expect(throws: CoderError.self) { try decoder.readHeader() }
        #expect(error?.code == .needsInput)
    }

    @Test func `warns of images of a fixed palette`() throws {
        let host = RecordingHost()
        let bytes = try fixture("png.icns")
        let extra: [UInt8] = Array("icl8".utf8) + [0, 0, 0, 9, 1]
        var file = bytes + extra
        for index in 0..<4 { file[4 + index] = UInt8(truncatingIfNeeded: file.count >> (24 - 8 * index)) }
        let decoder = IconDecoder(DecoderSession(source: ByteSource(file), host: try host.services()))
        #expect(try decoder.readHeader().size == PixelSize(64, 64))
        #expect(host.warnings == ["images with the colors of a fixed palette are left out: icl8"])
    }
}

@Suite(.timeLimit(.minutes(40))) struct `Icons encoder` {
    /// Pixels of which some are transparent.
    private func pixels(_ size: PixelSize) throws -> PixelBuffer {
        let buffer = try PixelBuffer(size: size, format: .rgba8)
        for y in 0..<size.height {
            buffer.withMutableRow(y) { row in
                for at in row.byteOffsets {
                    let value = at % 4 == 3 ? ((at / 4 + y) % 3 == 0 ? 0 : 255 - y) : (at * 3 + y * 7) % 256
                    row.storeBytes(of: UInt8(value), toByteOffset: at, as: UInt8.self)
                }
            }
        }
        return buffer
    }

    private func encoded(_ size: PixelSize) throws -> (bytes: [UInt8], source: PixelBuffer) {
        let buffer = try pixels(size)
        let encoder = ICOEncoder(EncoderSession())
        let info = ImageInfo(size: size, nativeFormat: .rgba8, bitDepth: 8, hasAlpha: true)
        let sink = ByteSink()
        try encoder.begin(info, to: sink)
        try encoder.add(FrameInfo(index: 0, rect: PixelRect(size)), pixels: Surface(buffer))
        try encoder.finish()
        return (sink.written, buffer)
    }

    @Test(arguments: [(1, 1), (16, 16), (48, 33), (49, 20), (256, 256)])
    func `keeps all pixels, as a bitmap up to 48 pixels, else as a PNG`(width: Int, height: Int) throws {
        let (bytes, source) = try encoded(PixelSize(width, height))
        #expect(Array(bytes.prefix(8)) == [0, 0, 1, 0, 1, 0, UInt8(width % 256), UInt8(height % 256)])
        #expect(bytes[22] == (max(width, height) > 48 ? 0x89 : 40))

        let decoder = IconDecoder(DecoderSession(source: ByteSource(bytes)))
        let info = try decoder.readHeader()
        #expect(info.size == PixelSize(width, height))
        let target = try PixelBuffer(size: info.size, format: .rgba8)
        try #require(decoder.pixelFormats.contains(.rgba8))
        #expect(try decoder.decode(DecodeRequest(), into: Surface(target)) == .complete)
        #expect(target.packed == source.packed)
    }

    /// `NEWHEADER`: 6 bytes with the count at 4; `RESDIR`: 16 bytes with length and place at 8 and 12.
    @Test func `writes several sizes with one directory`() throws {
        let sizes = [PixelSize(256, 256), PixelSize(48, 33), PixelSize(16, 16)]
        let encoder = ICOEncoder(EncoderSession())
        let sink = ByteSink()
        for size in sizes {
            try encoder.beginItem(ItemDescription(size == sizes[0] ? .primary : .alternative, owner: 0))
            try encoder.begin(ImageInfo(size: size, nativeFormat: .rgba8, bitDepth: 8, hasAlpha: true), to: sink)
            try encoder.add(FrameInfo(index: 0, rect: PixelRect(size)), pixels: Surface(try pixels(size)))
        }
        try encoder.finish()
        let bytes = sink.written
        func number(_ place: Int) -> Int { (0..<4).reduce(0) { $0 | Int(bytes[place + $1]) << (8 * $1) } }

        #expect(Array(bytes.prefix(6)) == [0, 0, 1, 0, 3, 0])
        #expect((0..<3).map { Array(bytes[6 + 16 * $0..<8 + 16 * $0]) } == [[0, 0], [48, 33], [16, 16]])
        let places = (0..<3).map { (number(14 + 16 * $0), number(18 + 16 * $0)) }
        #expect(places[0].1 == 6 + 3 * 16)
        #expect(places[1].1 == places[0].1 + places[0].0 && places[2].1 == places[1].1 + places[1].0)
        #expect(bytes.count == places[2].1 + places[2].0)
        #expect(places.map { bytes[$0.1] } == [0x89, 40, 40])
        let decoder = IconDecoder(DecoderSession(source: ByteSource(bytes)))
        _ = try decoder.readHeader()
        for (index, size) in sizes.enumerated() {
            try decoder.select(item: index)
            let target = try PixelBuffer(size: size, format: .rgba8)
            #expect(try decoder.decode(DecodeRequest(), into: Surface(target)) == .complete)
            #expect(target.packed == (try pixels(size)).packed)
        }
    }

    @Test func `refuses thumbnails and a 256th image, and keeps the images before`() throws {
        let encoder = ICOEncoder(EncoderSession())
        let (size, sink) = (PixelSize(1, 1), ByteSink())
        for _ in 0..<255 {
            try encoder.beginItem(ItemDescription(.page))
            try encoder.begin(ImageInfo(size: size, nativeFormat: .rgba8), to: sink)
            try encoder.add(FrameInfo(index: 0, rect: PixelRect(size)), pixels: Surface(try pixels(size)))
        }

        for role in [ImageItem.Role.thumbnail, .page] {
            let error = #expect(throws: CoderError.self) { try encoder.beginItem(ItemDescription(role)) }
            #expect(error?.code == .refused)
        }
        try encoder.finish()
        #expect(sink.written[4] == 255)
        #expect(try IconDecoder(DecoderSession(source: ByteSource(sink.written))).itemCount() == 255)
    }

    @Test func `sets the mask where a pixel is transparent`() throws {
        let (bytes, _) = try encoded(PixelSize(3, 2))
        // Behind the directory, the header and six pixels: two rows of the mask, the bottom one first.
        #expect(Array(bytes[(22 + 40 + 24)...]) == [0b0010_0000, 0, 0, 0, 0b1000_0000, 0, 0, 0])
    }

    @Test func `refuses more than 256 pixels with a remedy`() throws {
        let error = #expect(throws: CoderError.self) { try encoded(PixelSize(257, 10)) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.hint == "scale the image to 256x256 or less")
    }
}
