import CoderPluginKit
import ImageModel
import TIFFCodec
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(40))) struct `TIFF pyramids` {
    private static let size = PixelSize(150, 67)

    private static func pixels(_ format: PixelFormat) throws -> PixelBuffer {
        let buffer = try PixelBuffer(size: size, format: format)
        for y in 0..<size.height {
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
        _ buffer: PixelBuffer, _ pyramid: String, _ more: CoderOptions = [:], bandRows: Int? = nil
    ) throws -> [UInt8] {
        var options = more
        options["tiff.pyramid"] = .string(pyramid)
        if options["tiff.tile"] == nil { options["tiff.tile"] = .integer(32) }
        let encoder = try TIFFEncoder(EncoderSession(options: options))
        let sink = ByteSink()
        try encoder.begin(ImageInfo(size: buffer.size, nativeFormat: buffer.format), to: sink)
        #expect(try encoder.add(MetadataBlob(.xmp, Array("<x:xmpmeta/>".utf8))))
        try encoder.add(FrameInfo(index: 0, rect: PixelRect(buffer.size)), pixels: Surface(buffer))
        try encoder.finish()
        return sink.written
    }

    /// The mean of four samples; the last column and row count twice.
    private static func halved(_ samples: [Int], _ size: PixelSize, _ channels: Int) -> ([Int], PixelSize) {
        let half = PixelSize((size.width + 1) / 2, (size.height + 1) / 2)
        var result: [Int] = []
        for y in 0..<half.height {
            for x in 0..<half.width {
                for channel in 0..<channels {
                    var sum = 0
                    for (dx, dy) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                        let (column, row) = (min(2 * x + dx, size.width - 1), min(2 * y + dy, size.height - 1))
                        sum += samples[(row * size.width + column) * channels + channel]
                    }
                    result.append((sum + 2) / 4)
                }
            }
        }
        return (result, half)
    }

    @Test(arguments: ["subifd", "cog"], [PixelFormat.rgb8, .gray8, .cmyk8])
    func `have levels that are means of the level above`(pyramid: String, format: PixelFormat) throws {
        let image = try Self.pixels(format)
        let decoder = try TIFFDecoder(
            DecoderSession(source: ByteSource(try Self.encoded(image, pyramid))))
        _ = try decoder.readHeader()
        var (samples, size) = (image.packed.map(Int.init), Self.size)

        // 150, 75, 38, 19: the first that fits a tile of 32.
        #expect(try decoder.itemCount() == 4)
        for index in 0..<4 {
            let item = try #require(try decoder.item(at: index))
            #expect(item.role == (index == 0 ? .primary : .level))
            #expect(item.info.size == size)
            try decoder.select(item: index)
            let buffer = try PixelBuffer(size: size, format: format)
            #expect(try decoder.decode(DecodeRequest(), into: Surface(buffer)) == .complete)
            let difference = zip(buffer.packed, samples).map { abs(Int($0) - $1) }.max() ?? 0
            // A half may be rounded either way, and the next level starts from the rounded one.
            #expect(difference <= 1, "level \(index)")
            (samples, size) = Self.halved(buffer.packed.map(Int.init), size, format.channels.count)
        }
    }

    @Test func `weigh colors with straight alpha`() throws {
        let image = try PixelBuffer(size: PixelSize(34, 2), format: .rgba8)
        for y in 0..<2 {
            image.withMutableRow(y) { row in
                for x in 0..<34 {
                    // Red with alpha 255 beside invisible blue.
                    let pixel: [UInt8] = x % 2 == 0 ? [200, 0, 0, 255] : [0, 0, 250, 0]
                    for channel in 0..<4 {
                        row.storeBytes(of: pixel[channel], toByteOffset: 4 * x + channel, as: UInt8.self)
                    }
                }
            }
        }
        let decoder = try TIFFDecoder(DecoderSession(source: ByteSource(try Self.encoded(image, "subifd"))))
        _ = try decoder.readHeader()
        try decoder.select(item: 1)
        let level = try PixelBuffer(size: PixelSize(17, 1), format: .rgba8)
        #expect(try decoder.decode(DecodeRequest(), into: Surface(level)) == .complete)

        #expect(Array(level.packed.prefix(4)) == [200, 0, 0, 128])
    }

    /// The directories of a classic TIFF in little endian: their place, and their fields as tag, count and value.
    private static func directories(_ bytes: [UInt8]) -> [(place: Int, fields: [Int: (count: Int, value: Int)])] {
        func number(_ place: Int, _ width: Int) -> Int {
            (0..<width).reduce(0) { $0 | Int(bytes[place + $1]) << (8 * $1) }
        }
        var (place, result) = (number(4, 4), [(place: Int, fields: [Int: (count: Int, value: Int)])]())
        while place != 0, result.count < 100 {
            let count = number(place, 2)
            var fields: [Int: (Int, Int)] = [:]
            for field in stride(from: place + 2, to: place + 2 + 12 * count, by: 12) {
                let values = number(field + 4, 4)
                let isShort = number(field + 2, 2) == 3 && values == 1
                var value = number(field + 8, isShort ? 2 : 4)
                // The first of several 32-bit numbers.
                if number(field + 2, 2) == 4, values > 1 { value = number(value, 4) }
                fields[number(field, 2)] = (values, value)
            }
            result.append((place, fields))
            place = number(place + 2 + 12 * count, 4)
        }
        return result
    }

    /// OGC 21-026: all directories first, the largest level first; then the tiles, the smallest level first.
    @Test func `of a cloud optimized file have their directories first`() throws {
        let found = Self.directories(try Self.encoded(try Self.pixels(.rgb8), "cog"))
        let places = found.map(\.place)
        let tiles = found.compactMap { $0.fields[324]?.value }

        #expect(found.compactMap { $0.fields[256]?.value } == [150, 75, 38, 19])
        #expect(found.map { $0.fields[254]?.value ?? 0 } == [0, 1, 1, 1])
        #expect(places.first == 8 && places == places.sorted())
        #expect(tiles.count == 4 && tiles == tiles.sorted(by: >))
        #expect(try #require(tiles.last) > #require(places.last))
        #expect(found[0].fields[330] == nil && found.map { $0.fields[324]?.count } == [15, 6, 2, 1])
    }

    @Test func `below a page are not in its chain`() throws {
        let found = Self.directories(try Self.encoded(try Self.pixels(.rgb8), "subifd"))

        #expect(found.count == 1 && found[0].fields[330]?.count == 3)
    }

    @Test(arguments: ["subifd", "cog"]) func `belong to each page, or to the only one`(pyramid: String) throws {
        let image = try Self.pixels(.rgb8)
        let encoder = try TIFFEncoder(
            EncoderSession(options: ["tiff.pyramid": .string(pyramid), "tiff.tile": .integer(64)]))
        let sink = ByteSink()
        func add(_ role: ImageItem.Role) throws {
            try encoder.beginItem(ItemDescription(role))
            try encoder.begin(ImageInfo(size: image.size, nativeFormat: .rgb8), to: sink)
            try encoder.add(FrameInfo(index: 0, rect: PixelRect(image.size)), pixels: Surface(image))
        }
        try add(.primary)
        if pyramid == "cog" {
            let error = #expect(throws: CoderError.self) { try add(.page) }
            #expect(error?.code == .refused)
        } else {
            try add(.page)
        }
        try encoder.finish()

        let decoder = try TIFFDecoder(DecoderSession(source: ByteSource(sink.written)))
        _ = try decoder.readHeader()
        let count = try #require(try decoder.itemCount())
        let roles = try (0..<count).map { try #require(try decoder.item(at: $0)).role }
        let page: [ImageItem.Role] = [.level, .level]
        #expect(roles == [.primary] + page + (pyramid == "cog" ? [] : [.page] + page))
    }

    @Test(arguments: ["jpeg", "lzw", "none", "webp", "zstd"], ["subifd", "cog"])
    func `decode with every compression`(compression: String, pyramid: String) throws {
        let image = try Self.pixels(.rgb8)
        let bytes = try Self.encoded(
            image, pyramid, ["tiff.compression": .string(compression), "tiff.bigtiff": .string("on")])
        let decoder = try TIFFDecoder(DecoderSession(source: ByteSource(bytes)))
        _ = try decoder.readHeader()

        #expect(try decoder.itemCount() == 4)
        for index in 0..<4 {
            try decoder.select(item: index)
            let info = try decoder.readHeader()
            let buffer = try PixelBuffer(size: info.size, format: .rgb8)
            #expect(try decoder.decode(DecodeRequest(), into: Surface(buffer)) == .complete)
            if index == 0, !["jpeg", "webp"].contains(compression) { #expect(buffer.packed == image.packed) }
        }
        #expect(try decoder.metadata().allSatisfy { $0.kind != .xmp })
        try decoder.select(item: 0)
        #expect(try decoder.metadata().contains { $0.kind == .xmp })
    }
}
