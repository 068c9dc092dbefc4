/// Damages directories of a TIFF structure: tags, types, counts, offsets, and the position of the next directory.
///
/// - Source: TIFF 6.0, section 2.
public struct TIFFMutator: Mutator {
    public init() {}

    /// Two directories, of which the second has a thumbnail.
    static func thumbnail(isBig: Bool) -> [UInt8] {
        func number(_ value: Int, _ count: Int) -> [UInt8] { isBig ? .big(value, count) : .little(value, count) }
        func field(_ tag: Int, _ type: Int, _ value: Int) -> [UInt8] {
            number(tag, 2) + number(type, 2) + number(1, 4)
                + (type == 3 ? number(value, 2) + [0, 0] : number(value, 4))
        }
        let first = number(1, 2) + field(0x0112, 3, 6)
        let second = number(3, 2) + field(0x0103, 3, 6) + field(0x0201, 4, 70) + field(0x0202, 4, 6)
        return (isBig ? [0x4D, 0x4D] : [0x49, 0x49]) + number(42, 2) + number(8, 4) + first + number(26, 4) + second
            + number(0, 4) + [0, 0] + [0xFF, 0xD8, 0xFF, 0xD9, 0, 0]
    }

    public func mutate(_ bytes: inout [UInt8], _ dice: inout Dice, other: [UInt8]) {
        guard bytes.count >= 14 else { return BytesMutator().mutate(&bytes, &dice, other: other) }
        let isBig = bytes[0] == 0x4D
        func number(_ at: Int, _ count: Int) -> Int { isBig ? bytes.big(at, count) : bytes.little(at, count) }
        var directory = number(4, 4)
        if dice.once(in: 2) {
            let next = number(directory + 2 + 12 * number(directory, 2), 4)
            if next > 0, next < bytes.count { directory = next }
        }
        let entry = directory + 2 + 12 * dice.below(max(1, min(64, number(directory, 2))))
        let at = dice.pick([0, 2, 4, directory, entry, entry + 2, entry + 4, entry + 8, entry + 12])
        let value = dice.once(in: 2) ? UInt32(dice.below(bytes.count + 8)) : dice.awkwardNumber()
        BytesMutator().write(value, at, &bytes, isBig: isBig, count: at - entry < 4 ? 2 : 4)
        if dice.once(in: 4) { bytes.removeLast(dice.below(bytes.count)) }
    }
}

/// Damages a profile: header, tag table, and the numbers at the start of each tag.
///
/// - Source: ICC.1:2022, 7.2 (header) and 7.3 (tag table).
public struct ICCMutator: Mutator {
    public init() {}

    public func mutate(_ bytes: inout [UInt8], _ dice: inout Dice, other: [UInt8]) {
        guard bytes.count >= 144 else { return BytesMutator().mutate(&bytes, &dice, other: other) }
        for _ in 0...dice.below(3) {
            let entry = 132 + 12 * dice.below(max(1, min(32, bytes.big(128, 4))))
            let tag = bytes.big(entry + 4, 4)
            let at = dice.pick([
                0, 8, 12, 16, 20, 64, 128, entry, entry + 4, entry + 8, tag, tag + 8, tag + 12 + dice.below(64),
            ])
            let value = dice.once(in: 2) ? UInt32(dice.below(bytes.count + 8)) : dice.awkwardNumber()
            BytesMutator().write(value, at, &bytes, isBig: true, count: dice.pick([1, 2, 4]))
        }
        // The size in the header is correct, so that it is not the first error.
        if !dice.once(in: 8) { BytesMutator().write(UInt32(bytes.count), 0, &bytes, isBig: true, count: 4) }
    }
}
