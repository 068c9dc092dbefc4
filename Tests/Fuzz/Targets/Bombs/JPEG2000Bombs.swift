extension Bomb {
    /// A codestream of one tile that ends behind its header.
    ///
    /// - Source: ISO/IEC 15444-1, A.5 and A.6.
    private static func codestream(side: UInt32, components: Int = 1) -> [UInt8] {
        func number(_ value: UInt32) -> [UInt8] {
            (0..<4).map { UInt8(truncatingIfNeeded: value >> UInt32(24 - 8 * $0)) }
        }
        func short(_ value: Int) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 255)] }
        let size = [side, side, 0, 0, side, side, 0, 0].flatMap(number)
        let parts = (0..<components).flatMap { _ -> [UInt8] in [7, 1, 1] }
        let head = short(38 + 3 * components) + [0, 0] + size + short(components) + parts
        let coding: [UInt8] = [0xFF, 0x52, 0, 12, 0, 0, 0, 1, 0, 5, 4, 4, 0, 1]
        let quantization: [UInt8] = [0xFF, 0x5C, 0, 0x13, 0x40] + (8..<24)
        let tile: [UInt8] = [0xFF, 0x90, 0, 10, 0, 0, 0, 0, 0, 14, 0, 1, 0xFF, 0x93, 0xFF, 0xD9]
        return [0xFF, 0x4F, 0xFF, 0x51] + head + coding + quantization + tile
    }

    static let jpeg2000 = [
        Bomb("4294967295-squared.j2k") { codestream(side: .max) },
        Bomb("60000-squared.j2k", .refusedWhenDecoded, limit: "pixels") { codestream(side: 60_000) },
        Bomb("15000x15000-of-nothing.j2k", .refusedWhenDecoded) { codestream(side: 15_000) },
        Bomb("16384-components.j2k", .refusedWhenDecoded) { codestream(side: 4096, components: 16_384) },
    ]
}
