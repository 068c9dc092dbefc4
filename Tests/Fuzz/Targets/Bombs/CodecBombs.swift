/// JPEG and WebP.
extension Bomb {
    // MARK: JPEG

    private static func segment(_ marker: UInt8, _ data: [UInt8]) -> [UInt8] {
        [0xFF, marker] + .big(data.count + 2, 2) + data
    }
    private static func frame(_ marker: UInt8, _ width: Int, _ height: Int, precision: UInt8 = 8) -> [UInt8] {
        segment(marker, joined([precision], .big(height, 2), .big(width, 2), [1, 1, 0x11, 0]))
    }
    private static let quantizers = segment(0xDB, [0] + [UInt8](repeating: 1, count: 64))
    /// One code of one bit, for the value 0.
    private static let tables =
        segment(0xC4, [0x00, 1] + [UInt8](repeating: 0, count: 15) + [0])
        + segment(0xC4, [0x10, 1] + [UInt8](repeating: 0, count: 15) + [0])
    private static func scan(_ first: UInt8 = 0, _ last: UInt8 = 63, _ bits: UInt8 = 0) -> [UInt8] {
        segment(0xDA, [1, 1, 0, first, last, bits])
    }
    private static func jpeg(_ parts: [UInt8]...) -> [UInt8] { [0xFF, 0xD8] + parts.flatMap { $0 } + [0xFF, 0xD9] }
    private static let small = frame(0xC0, 8, 8)
    private static let smallData: [UInt8] = [0x3F]

    static let jpeg = [
        Bomb("65500x65500.jpg", limit: "pixels") {
            jpeg(quantizers, frame(0xC0, 65_500, 65_500), tables, scan(), smallData)
        },
        Bomb("65500x65500-progressive.jpg", limit: "pixels") {
            jpeg(quantizers, frame(0xC2, 65_500, 65_500), tables, scan(0, 0), smallData)
        },
        Bomb("65500x65500-arithmetic.jpg", limit: "pixels") {
            jpeg(quantizers, frame(0xC9, 65_500, 65_500), scan(), smallData)
        },
        Bomb("15000x15000-of-one-scan.jpg", limit: "ratio") {
            jpeg(quantizers, frame(0xC2, 15_000, 15_000), tables, scan(0, 0), smallData)
        },
        Bomb("five-hundred-scans.jpg", .refusedWhenDecoded, limit: "scans") {
            jpeg(quantizers, frame(0xC2, 2000, 2000), tables, repeated(scan(0, 0) + smallData, 500))
        },
        Bomb("hundred-thousand-scans.jpg", .refusedWhenDecoded, limit: "scans") {
            jpeg(quantizers, frame(0xC2, 8, 8), tables, repeated(scan(0, 0) + smallData, 100_000))
        },
        Bomb("five-hundred-scans-of-no-bits.jpg", .refusedWhenDecoded, limit: "scans") {
            jpeg(
                quantizers, frame(0xC2, 4000, 4000), tables, scan(0, 0, 0x0D) + [0],
                repeated(scan(0, 0, 0x10) + [0], 500))
        },
        Bomb("height-said-later.jpg") {
            jpeg(quantizers, frame(0xC0, 65_500, 0), tables, scan(), smallData, segment(0xDC, .big(65_500, 2)))
        },
        Bomb("restarts-without-end.jpg", .cheap) {
            jpeg(
                quantizers, frame(0xC0, 4000, 4000), tables, segment(0xDD, .big(1, 2)), scan(),
                repeated([0xFF, 0xD7], 1_000_000))
        },
        Bomb("application-segments-of-32-megabytes.jpg", .cheap) {
            jpeg(
                repeated(segment(0xE5, [UInt8](repeating: 0, count: 65_533)), 500), quantizers, small, tables, scan(),
                smallData)
        },
        Bomb("xmp-in-a-thousand-parts.jpg", .cheap) {
            let name = Array("http://ns.adobe.com/xap/1.0/\0".utf8)
            return jpeg(
                repeated(segment(0xE1, name + [UInt8](repeating: 0x20, count: 65_000)), 500), quantizers, small, tables,
                scan(), smallData)
        },
        Bomb("profile-in-255-parts.jpg", .cheap) {
            var parts: [UInt8] = []
            for index in 1...255 {
                parts += segment(
                    0xE2,
                    Array("ICC_PROFILE\0".utf8) + [UInt8(index), 255] + [UInt8](repeating: 0, count: 65_519))
            }
            return jpeg(parts, quantizers, small, tables, scan(), smallData)
        },
        Bomb("exif-thumbnail-of-65500x65500.jpg", .cheap) {
            let inner = jpeg(quantizers, frame(0xC0, 65_500, 65_500), tables, scan(), smallData)
            let tiff = joined(
                [0x4D, 0x4D, 0, 42, 0, 0, 0, 8, 0, 0, 0, 0, 0, 14, 0, 2, 2, 1, 0, 4, 0, 0, 0, 1], .big(44, 4),
                [2, 2, 0, 4, 0, 0, 0, 1], .big(inner.count, 4), [0, 0, 0, 0], inner)
            return jpeg(segment(0xE1, Array("Exif\0\0".utf8) + tiff), quantizers, small, tables, scan(), smallData)
        },
        Bomb("fill-bytes-without-end.jpg") { [0xFF, 0xD8] + [UInt8](repeating: 0xFF, count: 32 << 20) },
        Bomb("tables-without-end.jpg") { [0xFF, 0xD8] + repeated(tables + quantizers, 100_000) },
        Bomb("twelve-bits.jpg", .refusedWhenDecoded) {
            jpeg(quantizers, frame(0xC1, 4000, 4000, precision: 12), tables, scan(), smallData)
        },
        Bomb("lossless-65500x65500.jpg") {
            jpeg(frame(0xC3, 65_500, 65_500, precision: 16), tables, scan(1, 0), smallData)
        },
        Bomb("lossless-4000x4000-of-one-byte.jpg", .refusedWhenDecoded) {
            jpeg(frame(0xC3, 4000, 4000, precision: 8), tables, scan(1, 0), smallData)
        },
        Bomb("lossless-restarts-without-end.jpg", .refusedWhenDecoded) {
            jpeg(
                frame(0xC3, 4000, 4000, precision: 8), tables, segment(0xDD, .big(4000, 2)), scan(1, 0),
                repeated([0xFF, 0xD7], 1_000_000))
        },
        Bomb("lossless-tables-without-end.jpg") {
            [0xFF, 0xD8] + frame(0xC3, 8, 8) + repeated(tables + quantizers, 100_000)
        },
        Bomb("twelve-bits-of-five-hundred-scans.jpg", .refusedWhenDecoded, limit: "scans") {
            jpeg(
                quantizers, frame(0xC2, 1000, 1000, precision: 12), tables,
                repeated(scan(0, 0) + [UInt8](repeating: 0, count: 1954), 500))
        },
        Bomb("twelve-bits-of-five-hundred-empty-scans.jpg", .refusedWhenDecoded, limit: "scans") {
            // A code of one bit and 14 further bits: 32,767 blocks without a coefficient.
            let runs = segment(0xC4, [0x10, 1] + [UInt8](repeating: 0, count: 15) + [0xE0])
            return jpeg(
                quantizers, frame(0xC2, 2000, 2000, precision: 12), tables, scan(0, 0),
                [UInt8](repeating: 0, count: 7813), runs,
                repeated(scan(1, 63) + [0x7F, 0xFE, 0xFF, 0, 0xFC], 500))
        },
    ]

    // MARK: WebP

    private static func webp(_ chunks: [UInt8]...) -> [UInt8] {
        let body = Array("WEBP".utf8) + chunks.flatMap { $0 }
        return Array("RIFF".utf8) + .little(body.count, 4) + body
    }
    /// - Source: WebP Container Specification, "Extended File Format"; flags: animation 2, XMP 4, Exif 8, alpha 16, ICC 32.
    private static func extended(_ width: Int, _ height: Int, flags: Int) -> [UInt8] {
        riffChunk("VP8X", .little(flags, 4) + .little(width - 1, 3) + .little(height - 1, 3))
    }
    /// A lossless image of one color: every code has one symbol, so no pixel takes a bit.
    ///
    /// - Source: WebP Lossless Bitstream Specification, 3 (header), 6.2.1 (simple codes).
    private static func plain(_ width: Int, _ height: Int) -> [UInt8] {
        var bits = BitWriter()
        bits.put(0x2F, 8)
        bits.put(width - 1, 14)
        bits.put(height - 1, 14)
        bits.put(0, 4)  // alpha is not used, version 0
        bits.put(0, 3)  // no transform, no cache, one group of codes
        for _ in 0..<5 {
            bits.put(1, 1)  // simple
            bits.put(0, 1)  // one symbol
            bits.put(0, 1)  // of one bit
            bits.put(0, 1)
        }
        return riffChunk("VP8L", bits.finish() + [0, 0])
    }
    /// - Source: RFC 6386, 9.1: a key frame that is shown, then the start code and the size.
    private static func lossy(_ width: Int, _ height: Int) -> [UInt8] {
        let first = [0x10, 0x02, 0x00, 0x9D, 0x01, 0x2A] as [UInt8]
        return riffChunk("VP8 ", first + .little(width, 2) + .little(height, 2) + [UInt8](repeating: 0, count: 40))
    }
    private static let animation = riffChunk("ANIM", [0, 0, 0, 0, 0, 0])
    private static func frame(x: Int = 0, _ width: Int, _ height: Int, _ data: [UInt8]) -> [UInt8] {
        riffChunk(
            "ANMF",
            joined(
                .little(x / 2, 3), .little(0, 3), .little(width - 1, 3), .little(height - 1, 3), .little(100, 3), [0],
                data))
    }

    static let webp = [
        Bomb("16383x16383-lossless.webp", limit: "pixels") { webp(plain(16_383, 16_383)) },
        Bomb("16383x16383-lossy.webp", limit: "pixels") { webp(lossy(16_383, 16_383)) },
        Bomb("15000x15000-of-one-color.webp", limit: "ratio") { webp(plain(15_000, 15_000)) },
        Bomb("canvas-of-16777216.webp") { webp(extended(1 << 24, 1 << 24, flags: 0), plain(1, 1)) },
        Bomb("canvas-of-65535-animated.webp") {
            webp(extended(65_535, 65_535, flags: 2), animation, frame(1, 1, plain(1, 1)))
        },
        Bomb("15000x15000-ten-thousand-frames.webp") {
            webp(extended(15_000, 15_000, flags: 2), animation, repeated(frame(1, 1, plain(1, 1)), 10_000))
        },
        Bomb("16383x16383-ten-thousand-lossy-frames.webp") {
            webp(extended(16_383, 16_383, flags: 2), animation, repeated(frame(1, 1, lossy(1, 1)), 10_000))
        },
        Bomb("twenty-thousand-frames.webp", .refusedWhenDecoded, limit: "frames") {
            webp(extended(4, 4, flags: 2), animation, repeated(frame(1, 1, plain(1, 1)), 20_000))
        },
        Bomb("five-megapixels-nine-thousand-frames.webp", .refusedWhenDecoded, limit: "total") {
            webp(extended(2500, 2000, flags: 2), animation, repeated(frame(1, 1, plain(1, 1)), 9000))
        },
        Bomb("frame-larger-than-canvas.webp", .refusedWhenDecoded) {
            webp(extended(4, 4, flags: 2), animation, frame(16_000, 15_000, plain(16_000, 15_000)))
        },
        Bomb("frame-of-another-size-than-it-says.webp", .refusedWhenDecoded) {
            webp(extended(16, 16, flags: 2), animation, frame(4, 4, plain(16_000, 15_000)))
        },
        Bomb("promises-everything-has-nothing.webp") { webp(extended(15_000, 15_000, flags: 0x3E)) },
        Bomb("profile-of-16-megabytes.webp", .cheap) {
            webp(
                extended(1, 1, flags: 0x20), riffChunk("ICCP", [UInt8](repeating: 0, count: 16 << 20)), plain(1, 1))
        },
        Bomb("half-a-million-unknown-chunks.webp", .cheap) {
            webp(extended(1, 1, flags: 0), plain(1, 1), repeated(riffChunk("abcd", []), 500_000))
        },
        Bomb("chunk-of-four-gigabytes.webp") {
            Array("RIFF".utf8) + .little(0xFFFF_FFFE, 4) + Array("WEBPVP8L".utf8) + .little(0xFFFF_FFF0, 4) + [0x2F]
        },
    ]
}
