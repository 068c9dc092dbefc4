/// OpenEXR: headers that declare more than the file holds.
extension Bomb {
    private static func little(_ value: Int, _ count: Int) -> [UInt8] { [UInt8].big(value, count).reversed() }

    private static func attribute(_ name: String, _ type: String, _ value: [UInt8]) -> [UInt8] {
        Array(name.utf8) + [0] + Array(type.utf8) + [0] + little(value.count, 4) + value
    }

    private static func window(_ width: Int, _ height: Int) -> [UInt8] {
        little(0, 8) + little(width - 1, 4) + little(height - 1, 4)
    }

    /// The attributes of a part; the sides are those of both windows, or of the data window alone.
    private static func header(
        _ width: Int, _ height: Int, display: (Int, Int)? = nil, compression: Int = 0, channels: [String] = ["R"],
        _ rest: [UInt8] = []
    ) -> [UInt8] {
        // Halves without fewer samples.
        let kind: [UInt8] = [0] + little(1, 4) + little(0, 4) + little(1, 4) + little(1, 4)
        var list: [UInt8] = []
        for channel in channels { list += Array(channel.utf8) + kind }
        let shown = display ?? (width, height)
        var bytes = attribute("channels", "chlist", list + [0])
        bytes += attribute("compression", "compression", [UInt8(compression)])
        bytes += attribute("dataWindow", "box2i", window(width, height))
        bytes += attribute("displayWindow", "box2i", window(shown.0, shown.1))
        bytes += attribute("lineOrder", "lineOrder", [0])
        bytes += attribute("pixelAspectRatio", "float", [0, 0, 0x80, 0x3F])
        bytes += attribute("screenWindowCenter", "v2f", little(0, 8))
        bytes += attribute("screenWindowWidth", "float", [0, 0, 0x80, 0x3F])
        return bytes + rest + [0]
    }

    private static func start(_ flags: Int = 0) -> [UInt8] { [0x76, 0x2F, 0x31, 0x01] + little(2 | flags, 4) }

    /// A pixel of one half, behind the table with its position.
    private static func pixel(_ head: [UInt8]) -> [UInt8] {
        head + little(head.count + 8, 8) + little(0, 4) + little(2, 4) + little(0x3C00, 2)
    }

    /// Groups of 16 rows that are zeros in the codes of ZIP.
    private static func zipped(_ side: Int) -> [UInt8] {
        let head = start() + header(side, side, compression: 3)
        let tops = Array(stride(from: 0, to: side, by: 16))
        var (table, body) = ([UInt8](), [UInt8]())
        let whole = deflatedZeros(16 * side * 2)
        for top in tops {
            let data = top + 16 <= side ? whole : deflatedZeros((side - top) * side * 2)
            table += little(head.count + 8 * tops.count + body.count, 8)
            body += little(top, 4) + little(data.count, 4) + data
        }
        return head + table + body
    }

    static let openEXR = [
        Bomb("65535x65535.exr", .refusedWhenDecoded, limit: "pixels") { start() + header(65_535, 65_535) },
        Bomb("2147483647x1.exr") { start() + header(0x7FFF_FFFF, 1) },
        Bomb("15000x15000-of-zipped-zeros.exr", .refusedWhenDecoded, limit: "ratio") { zipped(15_000) },
        Bomb("tile-of-60000x60000.exr", .refusedWhenDecoded) {
            let tiles = attribute("tiles", "tiledesc", little(60_000, 4) + little(60_000, 4) + [0])
            return start(0x200) + header(60_000, 60_000, display: (16, 16), compression: 3, tiles) + little(0, 8)
        },
        Bomb("preview-of-30000x30000.exr", .refusedWhenDecoded) {
            start() + header(1, 1, attribute("preview", "preview", little(30_000, 4) + little(30_000, 4)))
        },
        Bomb("text-of-eight-megabytes.exr", .cheap) {
            let text = attribute("comments", "string", [UInt8](repeating: 0x61, count: 8 << 20))
            return pixel(start() + header(1, 1, text))
        },
        Bomb("ten-thousand-channels.exr", .cheap) {
            start() + header(1, 1, channels: (10_000..<20_000).map { "layer\($0).R" }) + little(0, 8)
        },
        Bomb("two-thousand-parts.exr", .cheap) {
            var parts: [UInt8] = []
            for number in 0..<2000 {
                let name = attribute("name", "string", Array("part \(number)".utf8))
                let type = attribute("type", "string", Array("scanlineimage".utf8))
                parts += header(1, 1, name + type + attribute("chunkCount", "int", little(1, 4)))
            }
            return start(0x1000) + parts + [0] + [UInt8](repeating: 0, count: 8 * 2000)
        },
    ]
}
