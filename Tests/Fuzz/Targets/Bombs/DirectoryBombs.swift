/// TIFF: directories that declare more than the file holds.
extension Bomb {
    private static func little(_ value: Int, _ count: Int) -> [UInt8] { [UInt8].big(value, count).reversed() }

    /// A directory at the start of a file; every field is a LONG.
    private static func directory(_ fields: [(tag: Int, value: Int)], next: Int = 0) -> [UInt8] {
        let entries = fields.flatMap { field in
            little(field.tag, 2) + little(4, 2) + little(1, 4) + little(field.value, 4)
        }
        return little(fields.count, 2) + entries + little(next, 4)
    }

    private static func file(_ fields: [(tag: Int, value: Int)], _ rest: [UInt8] = []) -> [UInt8] {
        [0x49, 0x49, 42, 0, 8, 0, 0, 0] + directory(fields) + rest
    }

    private static func strip(_ width: Int, _ height: Int, bits: Int = 8, compression: Int, bytes: Int)
        -> [(tag: Int, value: Int)]
    {
        [
            (256, width), (257, height), (258, bits), (259, compression), (262, 1), (273, 200), (277, 1),
            (278, height), (279, bytes),
        ]
    }

    /// A chain of directories that each have one strip of one byte.
    private static func chain(_ count: Int) -> [UInt8] {
        let size = directory(strip(1, 1, compression: 1, bytes: 1)).count
        var bytes: [UInt8] = [0x49, 0x49, 42, 0, 8, 0, 0, 0]
        for index in 0..<count {
            bytes += directory(
                strip(1, 1, compression: 1, bytes: 1), next: index + 1 < count ? 8 + (index + 1) * size : 0)
        }
        return bytes
    }

    static let tiff = [
        Bomb("65535x65535.tif", .refusedWhenDecoded, limit: "pixels") {
            file(strip(65_535, 65_535, compression: 1, bytes: 1))
        },
        Bomb("2147483647-squared.tif") { file(strip(0x7FFF_FFFF, 0x7FFF_FFFF, compression: 5, bytes: 1)) },
        Bomb("15000x15000-of-deflated-zeros.tif", .refusedWhenDecoded, limit: "ratio") {
            let zeros = deflatedZeros(15_000 * 1875)
            let head = file(strip(15_000, 15_000, bits: 1, compression: 8, bytes: zeros.count))
            return head + [UInt8](repeating: 0, count: 200 - head.count) + zeros
        },
        Bomb("tile-of-a-tebibyte.tif", .refusedWhenDecoded) {
            file([
                (256, 16), (257, 16), (258, 8), (259, 1), (262, 1), (277, 1), (322, 1 << 20), (323, 1 << 20), (324, 8),
                (325, 256),
            ])
        },
        Bomb("chain-of-200000-directories.tif", .cheap) { chain(200_000) },
    ]
}
