/// The formats of the plugin of classics.
extension Bomb {
    private static func little(_ value: Int, _ count: Int) -> [UInt8] { [UInt8].big(value, count).reversed() }

    private static func targa(_ kind: UInt8, _ side: Int) -> [UInt8] {
        [0, 0, kind, 0, 0, 0, 0, 0, 0, 0, 0, 0] + little(side, 2) + little(side, 2) + [24, 0x20, 0]
            + [UInt8](repeating: 0, count: 8) + Array("TRUEVISION-XFILE.\0".utf8)
    }

    private static func paintbrush(_ side: Int) -> [UInt8] {
        let head: [UInt8] = [10, 5, 1, 8, 0, 0, 0, 0] + little(side - 1, 2) + little(side - 1, 2)
        let rest = [UInt8](repeating: 0, count: 52) + [0, 3] + little(side, 2)
        return head + rest + [UInt8](repeating: 0, count: 128 - head.count - rest.count) + [0]
    }

    private static func planes(_ side: Int, storage: UInt8) -> [UInt8] {
        [1, 0xda, storage, 1, 0, 3] + .big(side, 2) + .big(side, 2) + .big(4, 2) + [UInt8](repeating: 0, count: 600)
    }

    private static func icon(_ side: Int, count: Int) -> [UInt8] {
        let image =
            little(40, 4) + little(side, 4) + little(2 * side, 4) + [1, 0, 32, 0] + [UInt8](repeating: 0, count: 24)
        var bytes: [UInt8] = [0, 0, 1, 0] + little(count, 2)
        for _ in 0..<count { bytes += [0, 0, 0, 0, 1, 0, 32, 0] + little(image.count, 4) + little(6 + 16 * count, 4) }
        return bytes + image
    }

    private static func surface(_ side: Int, _ code: String, images: Int? = nil) -> [UInt8] {
        let sizes = little(124, 4) + little(0x1007, 4) + little(side, 4) + little(side, 4)
        let format = little(32, 4) + little(4, 4) + Array(code.utf8)
        let head = Array("DDS ".utf8) + sizes + [UInt8](repeating: 0, count: 56) + format
        let rest = [UInt8](repeating: 0, count: 128 - head.count)
        return head + rest
            + (images.map { little(98, 4) + little(3, 4) + little(0, 4) + little($0, 4) + little(0, 4) } ?? [])
    }

    static let classics = [
        Bomb("65535x65535.ico", limit: "pixels") { icon(65_535, count: 1) },
        Bomb("65535-images-at-one-place.ico") { icon(8, count: 65_535) },
        Bomb("4294967295-squared.qoi") { Array("qoif".utf8) + .big(0xFFFF_FFFF, 4) + .big(0xFFFF_FFFF, 4) + [4, 0] },
        Bomb("65535x65535.qoi", limit: "pixels") { Array("qoif".utf8) + .big(65_535, 4) + .big(65_535, 4) + [4, 0] },
        Bomb("15000x15000-of-nothing.qoi", limit: "ratio") {
            Array("qoif".utf8) + .big(15_000, 4) + .big(15_000, 4) + [3, 0, 0xfd]
        },
        Bomb("65535x65535.tga", limit: "pixels") { targa(2, 65_535) },
        Bomb("15000x15000-in-no-packets.tga", limit: "ratio") { targa(10, 15_000) },
        Bomb("2147483647-squared.pfm") { Array("PF\n2147483647 2147483647\n-1\n".utf8) },
        Bomb("65535x65535.pfm", limit: "pixels") { Array("PF\n65535 65535\n-1\n".utf8) },
        Bomb("65535x65535.hdr", limit: "pixels") { Array("#?RADIANCE\n\n-Y 65535 +X 65535\n".utf8) },
        Bomb("megabytes-of-header.hdr") { Array("#?RADIANCE\n".utf8) + [UInt8](repeating: 0x20, count: 8 << 20) },
        Bomb("65535x65535.pcx", limit: "pixels") { paintbrush(65_535) },
        Bomb("15000x15000-in-no-runs.pcx", limit: "ratio") { paintbrush(15_000) },
        Bomb("1023-pages-of-15000x15000.dcx", limit: "ratio") {
            let places = [UInt8].little(4 + 4 * 1024, 4)
            return [0xB1, 0x68, 0xDE, 0x3A] + repeated(places, 1023) + [0, 0, 0, 0] + paintbrush(15_000)
        },
        Bomb("65535x65535.sgi", limit: "pixels") { planes(65_535, storage: 1) },
        Bomb("4294967295-squared.ras") {
            [0x59, 0xa6, 0x6a, 0x95] + .big(0xFFFF_FFFF, 4) + .big(0xFFFF_FFFF, 4) + .big(24, 4) + .big(0, 4)
                + .big(1, 4) + .big(0, 4) + .big(0, 4)
        },
        Bomb("65535x65535.ras", limit: "pixels") {
            [0x59, 0xa6, 0x6a, 0x95] + .big(65_535, 4) + .big(65_535, 4) + .big(24, 4) + .big(0, 4) + .big(2, 4)
                + .big(0, 4) + .big(0, 4)
        },
        Bomb("65535x65535.xbm", limit: "pixels") {
            Array("#define a_width 65535\n#define a_height 65535\nstatic char a_bits[] = { 0 };\n".utf8)
        },
        Bomb("65535x65535.xpm", limit: "pixels") {
            Array("/* XPM */\nstatic char *a[] = {\n\"65535 65535 1 1\",\n\"a c red\"};\n".utf8)
        },
        Bomb("65535x65535.dds", limit: "pixels") { surface(65_535, "DXT1") },
        Bomb("4294967295-squared.dds") { surface(0xFFFF_FFFF, "DXT1") },
        Bomb("15000x15000-of-nothing.dds", limit: "ratio") { surface(15_000, "DXT5") },
        Bomb("four-billion-images.dds") { surface(4, "DX10", images: 0xFFFF_FFFF) },
        Bomb("a-billion-colors.xpm") {
            Array("/* XPM */\nstatic char *a[] = {\n\"1 1 1000000000 1\",\n\"a c red\"};\n".utf8)
        },
    ]
}
