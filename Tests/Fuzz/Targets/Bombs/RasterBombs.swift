/// PNG, APNG, GIF and the formats without compression.
extension Bomb {
    private static let gigabyte = 1 << 30
    private static func text(_ words: String) -> [UInt8] { Array(words.utf8) + [0] }
    private static func tiny() -> [UInt8] { PNGParts.header(1, 1, color: 0) }
    private static let tinyData = deflatedZeros(2)

    static let png = [
        Bomb("60000x60000.png", limit: "pixels") { PNGParts.file(PNGParts.header(60_000, 60_000), data: tinyData) },
        Bomb("65535x65535.png", limit: "pixels") {
            PNGParts.file(PNGParts.header(65_535, 65_535, depth: 1, color: 0), data: tinyData)
        },
        Bomb("1x2147483647.png", limit: "side") { PNGParts.file(PNGParts.header(1, 0x7FFF_FFFF), data: tinyData) },
        Bomb("2147483647x2147483647-rgba16.png", limit: "side") {
            PNGParts.file(PNGParts.header(0x7FFF_FFFF, 0x7FFF_FFFF, depth: 16, color: 6), data: tinyData)
        },
        Bomb("4294967295x4294967295.png") { PNGParts.file(PNGParts.header(0xFFFF_FFFF, 0xFFFF_FFFF), data: tinyData) },
        Bomb("60000x60000-interlaced.png", limit: "pixels") {
            PNGParts.file(PNGParts.header(60_000, 60_000, interlaced: true), data: tinyData)
        },
        Bomb("15000x15000-interlaced-rgba16.png", limit: "ratio") {
            PNGParts.file(PNGParts.header(15_000, 15_000, depth: 16, color: 6, interlaced: true), data: tinyData)
        },
        Bomb("15000x15000-of-zeros.png", limit: "ratio") {
            PNGParts.file(
                PNGParts.header(15_000, 15_000, depth: 1, color: 3), PNGParts.chunk("PLTE", [0, 0, 0]),
                data: deflatedZeros(15_000 * 1876))
        },
        Bomb("1x1-with-a-gigabyte-behind.png", .cheap) { PNGParts.file(tiny(), data: deflatedZeros(gigabyte)) },
        Bomb("gigabyte-of-text-compressed.png", .cheap) {
            PNGParts.file(
                tiny(), PNGParts.chunk("zTXt", text("Comment") + [0] + deflatedZeros(gigabyte)), data: tinyData)
        },
        Bomb("gigabyte-of-international-text.png", .cheap) {
            PNGParts.file(
                tiny(), PNGParts.chunk("iTXt", text("XML:com.adobe.xmp") + [1, 0, 0, 0] + deflatedZeros(gigabyte)),
                data: tinyData)
        },
        Bomb("gigabyte-of-profile.png", .cheap) {
            PNGParts.file(
                tiny(), PNGParts.chunk("iCCP", text("icc") + [0] + deflatedZeros(gigabyte)), data: tinyData)
        },
        Bomb("gigabyte-of-raw-exif.png", .cheap) {
            PNGParts.file(
                tiny(), PNGParts.chunk("zTXt", text("Raw profile type exif") + [0] + deflatedZeros(gigabyte)),
                data: tinyData)
        },
        Bomb("sixty-four-profiles.png", .cheap) {
            PNGParts.file(
                tiny(),
                repeated(PNGParts.chunk("zTXt", text("Raw profile type xmp") + [0] + deflatedZeros(16 << 20)), 64),
                data: tinyData)
        },
        Bomb("exif-of-two-gigabytes.png") {
            tiny() + .big(0x7FFF_FFFF, 4) + Array("eXIf".utf8) + [0x4D, 0x4D, 0, 42, 0, 0, 0, 8]
        },
        Bomb("exif-of-eight-megabytes.png", .cheap) {
            PNGParts.file(
                tiny(), PNGParts.chunk("eXIf", [0x4D, 0x4D, 0, 42] + [UInt8](repeating: 0, count: 8 << 20)),
                data: tinyData)
        },
        Bomb("hundred-thousand-data-chunks.png", .cheap) {
            tiny() + repeated(PNGParts.chunk("IDAT"), 100_000) + PNGParts.chunk("IDAT", tinyData)
                + PNGParts.chunk("IEND")
        },
        Bomb("three-hundred-thousand-texts.png", .cheap) {
            PNGParts.file(tiny(), repeated(PNGParts.chunk("tEXt", text("a") + [0x62]), 300_000), data: tinyData)
        },
        Bomb("chunk-of-four-gigabytes.png") { tiny() + .big(0xFFFF_FFFF, 4) + Array("IDAT".utf8) + tinyData },
    ]

    // MARK: APNG

    private static func control(_ number: Int, _ width: Int, _ height: Int) -> [UInt8] {
        PNGParts.chunk(
            "fcTL",
            joined(.big(number, 4), .big(width, 4), .big(height, 4), .big(0, 8), .big(1, 2), .big(10, 2), [0, 0]))
    }

    /// Frame 0 is the image; every further one has one pixel.
    private static func animation(_ width: Int, _ height: Int, declared: Int, frames: Int) -> [UInt8] {
        var file = PNGParts.header(width, height, depth: 1, color: 0)
        file += PNGParts.chunk("acTL", .big(declared, 4) + .big(0, 4)) + control(0, width, height)
        file += PNGParts.chunk("IDAT", deflatedZeros(min(10_000_000, (width + 7) / 8 + 1) * height))
        for index in 0..<max(0, frames - 1) {
            file += control(2 * index + 1, 1, 1) + PNGParts.chunk("fdAT", .big(2 * index + 2, 4) + tinyData)
        }
        return file + PNGParts.chunk("IEND")
    }

    static let apng = [
        // The declared number is ignored, and the frames are counted.
        Bomb("ten-million-frames-declared.png", .cheap) { animation(4, 4, declared: 10_000_000, frames: 2) },
        Bomb("four-billion-frames-declared.png", .cheap) { animation(4, 4, declared: 0xFFFF_FFFF, frames: 2) },
        Bomb("twenty-thousand-frames.png", limit: "frames") { animation(4, 4, declared: 20_000, frames: 20_000) },
        Bomb("frames-of-200-megapixels.png", limit: "total") {
            animation(14_000, 14_000, declared: 5000, frames: 50)
        },
        Bomb("controls-without-data.png", .refusedWhenDecoded) {
            var file = PNGParts.header(4, 4, color: 0) + PNGParts.chunk("acTL", .big(9000, 4) + .big(0, 4))
            for index in 0..<200_000 { file += control(index, 4, 4) }
            return file + PNGParts.chunk("IDAT", tinyData) + PNGParts.chunk("IEND")
        },
        Bomb("frame-larger-than-canvas.png", .cheap) {
            PNGParts.header(4, 4, color: 0) + PNGParts.chunk("acTL", .big(2, 4) + .big(0, 4))
                + control(0, 65_535, 65_535)
                + PNGParts.chunk("IDAT", deflatedZeros(20)) + PNGParts.chunk("IEND")
        },
        Bomb("gigabyte-in-a-frame-of-one-pixel.png", .cheap) {
            PNGParts.header(1, 1, color: 0) + PNGParts.chunk("acTL", .big(2, 4) + .big(0, 4)) + control(0, 1, 1)
                + PNGParts.chunk("IDAT", tinyData) + control(1, 1, 1)
                + PNGParts.chunk("fdAT", .big(2, 4) + deflatedZeros(gigabyte)) + PNGParts.chunk("IEND")
        },
    ]

    // MARK: GIF

    private static func screen(_ width: Int, _ height: Int) -> [UInt8] {
        joined(Array("GIF89a".utf8), .little(width, 2), .little(height, 2), [0x80, 0, 0, 0, 0, 0, 255, 255, 255])
    }
    private static func descriptor(_ width: Int, _ height: Int, flags: UInt8 = 0) -> [UInt8] {
        joined([0x2C, 0, 0, 0, 0], .little(width, 2), .little(height, 2), [flags])
    }
    /// One pixel: clear, 0, end in codes of three bits.
    private static let onePixel: [UInt8] = [2, 2, 0x44, 0x01, 0]

    /// Codes that each represent one pixel more than the code before, from clear to clear.
    private static func longCodes(_ pixels: Int) -> [UInt8] {
        var bits = BitWriter()
        var left = pixels
        while left > 0 {
            bits.put(4, 3)
            bits.put(0, 3)
            left -= 1
            var (width, next, length) = (3, 6, 2)
            while left > 0, next < 4095 {
                bits.put(next, width)
                left -= length
                length += 1
                next += 1
                if next == 1 << width, width < 12 { width += 1 }
            }
            // A code behind the last defined one is the clear code, in the current width.
            if left > 0 { bits.put(4, width) }
            if left > 0 { continue }
            bits.put(5, width)
        }
        let all = bits.finish()
        var blocks: [UInt8] = [2]
        for at in stride(from: 0, to: all.count, by: 255) {
            let piece = all[at..<min(all.count, at + 255)]
            blocks += [UInt8(piece.count)] + piece
        }
        return blocks + [0]
    }

    static let gif = [
        Bomb("65535x65535.gif", limit: "pixels") {
            screen(65_535, 65_535) + descriptor(65_535, 65_535) + onePixel + [0x3B]
        },
        Bomb("65535x65535-interlaced.gif", limit: "pixels") {
            screen(65_535, 65_535) + descriptor(65_535, 65_535, flags: 0x40) + onePixel + [0x3B]
        },
        Bomb("65535x65535-ten-thousand-frames.gif", limit: "pixels") {
            screen(65_535, 65_535) + repeated(descriptor(1, 1) + onePixel, 10_000) + [0x3B]
        },
        Bomb("15000x15000-ten-thousand-frames.gif") {
            screen(15_000, 15_000) + repeated(descriptor(1, 1) + onePixel, 10_000) + [0x3B]
        },
        Bomb("five-megapixels-nine-thousand-frames.gif", .refusedWhenDecoded, limit: "total") {
            screen(2500, 2000) + repeated(descriptor(1, 1) + onePixel, 9000) + [0x3B]
        },
        Bomb("twenty-thousand-frames.gif", .refusedWhenDecoded, limit: "frames") {
            screen(10, 10) + repeated(descriptor(1, 1) + onePixel, 20_000) + [0x3B]
        },
        Bomb("long-codes-15000x15000.gif", limit: "ratio") {
            screen(15_000, 15_000) + descriptor(15_000, 15_000) + longCodes(15_000 * 15_000) + [0x3B]
        },
        Bomb("frame-larger-than-canvas.gif", limit: "pixels") {
            screen(1, 1) + descriptor(65_535, 65_535) + onePixel + [0x3B]
        },
        Bomb("comments-without-end.gif") { screen(10, 10) + repeated([0x21, 0xFE, 1, 0x61, 0], 1_000_000) },
        Bomb("one-comment-of-16-megabytes.gif") {
            screen(10, 10) + [0x21, 0xFE] + repeated([255] + [UInt8](repeating: 0x61, count: 255), 65_536)
        },
        Bomb("applications-without-end.gif") {
            screen(10, 10) + repeated([0x21, 0xFF, 11] + Array("NETSCAPE2.0".utf8) + [3, 1, 0, 0, 0], 400_000)
        },
        Bomb("controls-without-frames.gif") { screen(10, 10) + repeated([0x21, 0xF9, 4, 0, 1, 0, 0, 0], 800_000) },
        Bomb("xmp-of-16-megabytes.gif", .cheap) {
            screen(1, 1) + [0x21, 0xFF, 11] + Array("XMP DataXMP".utf8)
                + repeated([255] + [UInt8](repeating: 0x20, count: 255), 65_536) + [0]
                + descriptor(1, 1) + onePixel + [0x3B]
        },
        Bomb("palettes-without-images.gif", .refusedWhenDecoded) {
            screen(1, 1) + repeated(descriptor(1, 1, flags: 0x87) + [UInt8](repeating: 9, count: 768) + [2, 0], 12_000)
        },
    ]

    // MARK: No compression

    private static func bitmap(_ width: Int, _ height: Int, depth: Int, compression: Int = 0) -> [UInt8] {
        func little(_ value: Int, _ count: Int) -> [UInt8] { [UInt8].big(value, count).reversed() }
        let header = joined(
            little(40, 4), little(width, 4), little(height, 4), [1, 0], little(depth, 2), little(compression, 4),
            [UInt8](repeating: 0, count: 20))
        let palette = [UInt8](repeating: 0, count: depth == 8 ? 1024 : 0)
        return joined(Array("BM".utf8), [UInt8](repeating: 0, count: 8), little(54 + palette.count, 4), header, palette)
    }

    static let plain = [
        Bomb("65535x65535.ppm", limit: "pixels") { Array("P6 65535 65535 255\n123".utf8) },
        Bomb("2147483647-squared.pbm") { Array("P4 2147483647 2147483647\n1".utf8) },
        Bomb("numbers-of-twenty-digits.pgm") { Array("P5 99999999999999999999 99999999999999999999 255\n1".utf8) },
        Bomb("number-without-end.pgm") { Array("P2 ".utf8) + [UInt8](repeating: 0x31, count: 4 << 20) },
        Bomb("comment-without-end.pgm") { Array("P2 #".utf8) + [UInt8](repeating: 0x23, count: 16 << 20) },
        Bomb("depth-of-two-billion.pam") {
            Array("P7\nWIDTH 65535\nHEIGHT 65535\nDEPTH 2147483647\nMAXVAL 65535\nENDHDR\n1".utf8)
        },
        Bomb("header-lines-without-end.pam") { Array("P7\n".utf8) + repeated(Array("WIDTH 1\n".utf8), 1_000_000) },
        Bomb("65535x65535.ff", limit: "pixels") { Array("farbfeld".utf8) + .big(65_535, 4) + .big(65_535, 4) + [0] },
        Bomb("4294967295-squared.ff") {
            Array("farbfeld".utf8) + .big(0xFFFF_FFFF, 4) + .big(0xFFFF_FFFF, 4) + [0]
        },
        Bomb("65535x65535.bmp", limit: "pixels") { bitmap(65_535, 65_535, depth: 32) },
        Bomb("65535-squared-in-runs.bmp", limit: "pixels") {
            bitmap(65_535, 65_535, depth: 8, compression: 1) + [0, 1]
        },
        Bomb("15000x15000-in-no-runs.bmp", limit: "ratio") {
            bitmap(15_000, 15_000, depth: 8, compression: 1) + [0, 1]
        },
        Bomb("millions-of-empty-rows.bmp", .cheap) {
            bitmap(1, 1 << 20, depth: 8, compression: 1) + [UInt8](repeating: 0, count: 2 << 20)
        },
        Bomb("15000x15000-of-nothing.ff", limit: "ratio") {
            Array("farbfeld".utf8) + .big(15_000, 4) + .big(15_000, 4) + [0]
        },
    ]
}
