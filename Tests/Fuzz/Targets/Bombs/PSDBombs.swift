/// Photoshop documents.
extension Bomb {
    /// A gray image of 8 bits or a bitmap, up to the resources; then `rest`.
    private static func document(
        _ width: Int, _ height: Int, isBitmap: Bool = false, isLarge: Bool = false, resources: [UInt8] = [],
        _ rest: [UInt8]
    ) -> [UInt8] {
        let head = Array("8BPS".utf8) + .big(isLarge ? 2 : 1, 2) + [UInt8](repeating: 0, count: 6) + .big(1, 2)
        let facts: [UInt8] = .big(height, 4) + .big(width, 4) + (isBitmap ? [0, 1, 0, 0] : [0, 8, 0, 1])
        return joined(head, facts, .big(0, 4), .big(resources.count, 4), resources, rest)
    }

    private static let noLayers: [UInt8] = .big(0, 4)

    static let photoshop = [
        Bomb("300000x300000.psb", limit: "side") {
            document(300_000, 300_000, isLarge: true, .big(0, 8) + [0, 1])
        },
        Bomb("30000x30000.psd", limit: "pixels") { document(30_000, 30_000, noLayers + [0, 1]) },
        Bomb("15000x15000-of-zeros.psd", limit: "ratio") {
            document(15_000, 15_000, isBitmap: true, noLayers + [0, 2] + deflatedZeros(15_000 * 1875))
        },
        Bomb("gigabyte-behind-one-pixel.psd", .cheap) {
            document(1, 1, noLayers + [0, 2] + deflatedZeros(1 << 30))
        },
        Bomb("million-resources.psd", .cheap) {
            document(
                1, 1, resources: repeated(Array("8BIM".utf8) + [4, 0, 0, 0, 0, 0, 0, 0], 1_000_000),
                noLayers + [0, 0, 7])
        },
        Bomb("resources-of-four-gigabytes.psd") {
            document(1, 1, []).dropLast(4) + .big(0xFFFF_FFFF, 4) + Array("8BIM".utf8)
        },
        Bomb("layers-of-an-exabyte.psb") {
            document(1, 1, isLarge: true, .big(1 << 59, 8) + .big(1 << 58, 8) + [0, 1])
        },
        Bomb("rows-of-four-gigabytes.psb", .refusedWhenDecoded) {
            document(8, 8, isLarge: true, .big(0, 8) + [0, 1] + [UInt8](repeating: 255, count: 32))
        },
    ]
}
