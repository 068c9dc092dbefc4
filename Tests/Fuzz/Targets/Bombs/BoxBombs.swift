/// HEIF and AVIF, stills and sequences.
///
/// - Source: ISO/IEC 14496-12 (boxes), ISO/IEC 23008-12 (items, grids), AV1-ISOBMFF 2.3 (av1C).
extension Bomb {
    private static func brands(_ names: String...) -> [UInt8] {
        box("ftyp", Array(names[0].utf8), .big(0, 4), Array(names.joined().utf8))
    }
    private static let heic = brands("heic", "mif1", "heic")
    private static let avif = brands("avif", "mif1", "avif", "miaf")
    private static let image = fullBox("hdlr", .big(0, 4), Array("pict".utf8), [UInt8](repeating: 0, count: 13))
    private static func primary(_ id: Int = 1) -> [UInt8] { fullBox("pitm", .big(id, 2)) }
    private static func entry(_ id: Int, _ kind: String, hidden: Bool = false) -> [UInt8] {
        fullBox("infe", version: 2, flags: hidden ? 1 : 0, .big(id, 2), .big(0, 2), Array(kind.utf8), [0])
    }
    private static func items(_ entries: [UInt8]...) -> [UInt8] {
        fullBox("iinf", .big(entries.count, 2), entries.flatMap { $0 })
    }
    private static func size(_ width: Int, _ height: Int) -> [UInt8] {
        fullBox("ispe", .big(width, 4), .big(height, 4))
    }
    /// Item 1 has properties 1 … count.
    private static func properties(_ all: [[UInt8]], items: [Int] = [1]) -> [UInt8] {
        let association = items.flatMap { id in
            joined(.big(id, 2), [UInt8(all.count)], (1...max(1, all.count)).map { UInt8($0) })
        }
        return box("iprp", box("ipco", all.flatMap { $0 }), fullBox("ipma", .big(items.count, 4), association))
    }
    /// Item positions: offset and length of 4 bytes, or 8.
    private static func locations(_ all: [(id: Int, extents: [(Int, Int)])], width: Int = 4) -> [UInt8] {
        let body = all.flatMap { item in
            joined(
                .big(item.id, 2), .big(0, 2), .big(item.extents.count, 2),
                item.extents.flatMap { joined(.big($0.0, width), .big($0.1, width)) })
        }
        return fullBox("iloc", [UInt8(width << 4 | width), 0], .big(all.count, 2), body)
    }
    /// - Source: AV1-ISOBMFF 2.3.3; profile 0, level 31 (any), 8 bits, 4:2:0.
    private static let av1C = box("av1C", [0x81, 0x1F, 0x0C, 0x00])
    private static let hvcC = box("hvcC", [1] + [UInt8](repeating: 0, count: 20) + [0x03, 0])
    /// A temporal delimiter, then a sequence header that ends at once.
    private static let noise = box(
        "mdat", [0x12, 0x00, 0x0A, 0x0B, 0, 0, 0, 0x4A] + [UInt8](repeating: 0x55, count: 64))

    private static func still(_ ftyp: [UInt8], _ kind: String, _ width: Int, _ height: Int, _ more: [UInt8]...)
        -> [UInt8]
    {
        let configuration = kind == "av01" ? av1C : hvcC
        return ftyp
            + fullBox(
                "meta", image, primary(), items(entry(1, kind)), properties([size(width, height), configuration]),
                locations([(1, [(ftyp.count + 400, 60)])]), more.flatMap { $0 }) + repeated(noise, 20)
    }

    /// A grid whose tiles are all item 2.
    private static func grid(
        _ ftyp: [UInt8], _ kind: String, columns: Int, rows: Int, _ width: Int, _ height: Int,
        tiles: [Int]
    ) -> [UInt8] {
        let layout = joined([0, 1, UInt8(rows - 1), UInt8(columns - 1)], .big(width, 4), .big(height, 4))
        let references = fullBox(
            "iref", box("dimg", .big(1, 2), .big(tiles.count, 2), tiles.flatMap { [UInt8].big($0, 2) }))
        let inner = box("idat", layout)
        let place = fullBox(
            "iloc", version: 1, [0x44, 0], .big(2, 2), .big(1, 2), .big(1, 2), .big(0, 2), .big(1, 2), .big(0, 4),
            .big(layout.count, 4), .big(2, 2), .big(0, 2), .big(0, 2), .big(1, 2), .big(ftyp.count, 4), .big(60, 4))
        let configuration = kind == "av01" ? av1C : hvcC
        return ftyp
            + fullBox(
                "meta", image, primary(), items(entry(1, "grid"), entry(2, kind, hidden: true)),
                properties([size(width, height), configuration], items: [1, 2]), place, references, inner) + noise
    }

    private static func nested(_ depth: Int, _ kind: String) -> [UInt8] {
        // From the inside out, so that the length is known.
        var result: [UInt8] = []
        var reversed: [UInt8] = []
        for level in 1...depth {
            reversed += (Array(kind.utf8).reversed() as [UInt8]) + ([UInt8].big(8 * level, 4).reversed() as [UInt8])
        }
        result = reversed.reversed()
        return result
    }

    static let isoMedia = [
        Bomb("4294967295x4294967295.heic") { still(heic, "hvc1", 0xFFFF_FFFF, 0xFFFF_FFFF) },
        Bomb("4294967295x4294967295.avif") { still(avif, "av01", 0xFFFF_FFFF, 0xFFFF_FFFF) },
        Bomb("65535x65535.heic", limit: "pixels") { still(heic, "hvc1", 65_535, 65_535) },
        Bomb("65535x65535.avif", limit: "pixels") { still(avif, "av01", 65_535, 65_535) },
        Bomb("grid-of-one-tile-65535x65535.heic") {
            grid(heic, "hvc1", columns: 1, rows: 1, 65_535, 65_535, tiles: [2])
        },
        Bomb("grid-of-65536-times-the-same-tile.heic") {
            grid(heic, "hvc1", columns: 256, rows: 256, 65_535, 65_535, tiles: [Int](repeating: 2, count: 65_535))
        },
        Bomb("grid-of-one-tile-65535x65535.avif") {
            grid(avif, "av01", columns: 1, rows: 1, 65_535, 65_535, tiles: [2])
        },
        Bomb("grid-of-15000x15000-from-nothing.heic") {
            grid(heic, "hvc1", columns: 256, rows: 256, 15_000, 15_000, tiles: [Int](repeating: 2, count: 65_535))
        },
        Bomb("grid-of-15000x15000-from-nothing.avif") {
            grid(avif, "av01", columns: 256, rows: 256, 15_000, 15_000, tiles: [Int](repeating: 2, count: 65_535))
        },
        Bomb("grid-of-itself.heic") { grid(heic, "hvc1", columns: 2, rows: 2, 512, 512, tiles: [1, 1, 1, 1]) },
        Bomb("grid-of-itself.avif") { grid(avif, "av01", columns: 2, rows: 2, 512, 512, tiles: [1, 1, 1, 1]) },
        Bomb("extents-that-overlap.heic", .refusedWhenDecoded) { overlapping(heic, "hvc1") },
        Bomb("extents-that-overlap.avif") { overlapping(avif, "av01") },
        Bomb("extent-of-eight-exabytes.heic", .refusedWhenDecoded) { endless(heic, "hvc1") },
        Bomb("extent-of-eight-exabytes.avif") { endless(avif, "av01") },
        Bomb("ten-thousand-boxes-deep.heic") { heic + nested(10_000, "meta") },
        Bomb("ten-thousand-boxes-deep.avif") { avif + nested(10_000, "moov") },
        Bomb("ten-thousand-property-boxes-deep.heic") {
            heic + fullBox("meta", image, primary(), nested(10_000, "iprp"))
        },
        Bomb("four-billion-items.heic", .refusedWhenDecoded) { crowd(heic) },
        Bomb("four-billion-items.avif") { crowd(avif) },
        Bomb("associations-without-end.heic", .refusedWhenDecoded) {
            heic
                + fullBox(
                    "meta", image, primary(), items(entry(1, "hvc1")),
                    box(
                        "iprp", box("ipco", size(64, 64), hvcC),
                        fullBox("ipma", .big(60_000, 4), repeated([0, 1, 2, 1, 2], 60_000))),
                    locations([(1, [(24, 60)])])) + noise
        },
        Bomb("properties-without-end.avif") {
            avif
                + fullBox(
                    "meta", image, primary(), items(entry(1, "av01")),
                    box(
                        "iprp", box("ipco", repeated(size(64, 64), 100_000)),
                        fullBox("ipma", .big(1, 4), [0, 1, 1, 1])), locations([(1, [(24, 60)])])) + noise
        },
        Bomb("references-without-end.heic", .refusedWhenDecoded) {
            heic
                + fullBox(
                    "meta", image, primary(), items(entry(1, "hvc1")), properties([size(64, 64), hvcC]),
                    fullBox("iref", repeated(box("thmb", .big(1, 2), .big(1, 2), .big(1, 2)), 100_000)),
                    locations([(1, [(24, 60)])])) + noise
        },
        Bomb("brands-without-end.avif") {
            box("ftyp", Array("avif".utf8), .big(0, 4), repeated(Array("avis".utf8), 1_000_000))
        },
        Bomb("box-of-eight-exabytes.heic") {
            heic + .big(1, 4) + Array("meta".utf8) + .big(0x7FFF_FFFF_FFFF_FFFF, 8) + [UInt8](repeating: 0, count: 64)
        },
        Bomb("sequence-of-four-billion-frames.avif") { sequence(count: 0xFFFF_FFFF, width: 64, height: 64) },
        Bomb("sequence-of-ten-million-frames.avif") { sequence(count: 10_000_000, width: 64, height: 64) },
        Bomb("sequence-of-65535x65535.avif") { sequence(count: 10, width: 65_535, height: 65_535) },
        Bomb("configuration-lies.avif") {
            avif
                + fullBox(
                    "meta", image, primary(), items(entry(1, "av01")),
                    properties([
                        size(15_000, 15_000),
                        box("av1C", [0xFF, 0xFF, 0xFF, 0xFF] + [UInt8](repeating: 0xFF, count: 4096)),
                    ]),
                    locations([(1, [(24, 60)])])) + noise
        },
        Bomb("channels-without-end.avif") {
            avif
                + fullBox(
                    "meta", image, primary(), items(entry(1, "av01")),
                    properties([size(64, 64), av1C, fullBox("pixi", [255] + [UInt8](repeating: 255, count: 255))]),
                    locations([(1, [(24, 60)])])) + noise
        },
    ]

    private static func overlapping(_ ftyp: [UInt8], _ kind: String) -> [UInt8] {
        // A thousand times the same megabyte.
        let configuration = kind == "av01" ? av1C : hvcC
        let extents = [(Int, Int)](repeating: (64, 1 << 20), count: 4000)
        return ftyp
            + fullBox(
                "meta", image, primary(), items(entry(1, kind)), properties([size(64, 64), configuration]),
                locations([(1, extents)])) + box("mdat", [UInt8](repeating: 0x55, count: 1 << 20))
    }

    private static func endless(_ ftyp: [UInt8], _ kind: String) -> [UInt8] {
        let configuration = kind == "av01" ? av1C : hvcC
        return ftyp
            + fullBox(
                "meta", image, primary(), items(entry(1, kind)), properties([size(64, 64), configuration]),
                locations([(1, [(0x7FFF_FFFF_FFFF_0000, 0x7FFF_FFFF_FFFF_FFFF)])], width: 8)) + noise
    }

    private static func crowd(_ ftyp: [UInt8]) -> [UInt8] {
        ftyp
            + fullBox(
                "meta", image, primary(),
                fullBox("iinf", version: 1, .big(0xFFFF_FFFF, 4), repeated(entry(1, "hvc1", hidden: true), 50_000)),
                properties([size(64, 64)]), locations([(1, [(24, 60)])])) + noise
    }

    /// - Source: ISO/IEC 14496-12, 8.3 … 8.7.
    private static func sequence(count: Int, width: Int, height: Int) -> [UInt8] {
        let matrix = joined(
            .big(0x1_0000, 4), .big(0, 12), .big(0x1_0000, 4), .big(0, 12), .big(0x4000_0000, 4))
        let sample = joined(
            .big(0, 6), .big(1, 2), .big(0, 16), .big(width, 2), .big(height, 2), .big(0x48_0000, 4),
            .big(0x48_0000, 4), .big(0, 4), .big(1, 2), .big(0, 32), .big(24, 2), .big(0xFFFF, 2), av1C)
        let table = box(
            "stbl", fullBox("stsd", .big(1, 4), box("av01", sample)),
            fullBox("stts", .big(1, 4), .big(count, 4), .big(1, 4)),
            fullBox("stsc", .big(1, 4), .big(1, 4), .big(count, 4), .big(1, 4)),
            fullBox("stsz", .big(60, 4), .big(count, 4)),
            fullBox("stco", .big(1, 4), .big(40, 4)))
        let media = box(
            "mdia", fullBox("mdhd", .big(0, 8), .big(1000, 4), .big(count, 4), .big(0, 4)),
            fullBox("hdlr", .big(0, 4), Array("pict".utf8), [UInt8](repeating: 0, count: 13)),
            box("minf", fullBox("vmhd", flags: 1, .big(0, 8)), table))
        let header = fullBox(
            "tkhd", flags: 3, .big(0, 8), .big(1, 4), .big(0, 4), .big(count, 4), .big(0, 16), matrix,
            .big(width << 16, 4), .big(height << 16, 4))
        return brands("avis", "avis", "avif", "msf1")
            + box(
                "moov",
                fullBox(
                    "mvhd", .big(0, 8), .big(1000, 4), .big(count, 4), .big(0x1_0000, 4), .big(0, 12), matrix,
                    .big(0, 24), .big(2, 4)),
                box("trak", header, media)) + noise
    }
}
