/// Damage without knowledge of the format: wrong bits and numbers; removed, doubled, moved or foreign pieces.
public struct BytesMutator: Mutator {
    public init() {}

    public func mutate(_ bytes: inout [UInt8], _ dice: inout Dice, other: [UInt8]) {
        switch dice.below(8) {
        case 0: bytes.removeLast(min(bytes.count, dice.below(bytes.count + 1)))
        case 1: splice(&bytes, &dice, other)
        default: for _ in 0...dice.below(6) { change(&bytes, &dice) }
        }
    }

    /// The start of one input and the end of another.
    private func splice(_ bytes: inout [UInt8], _ dice: inout Dice, _ other: [UInt8]) {
        let cut = dice.below(bytes.count + 1)
        let from = dice.once(in: 2) ? min(cut, other.count) : dice.below(other.count + 1)
        bytes = Array(bytes[..<cut] + other[from...])
    }

    func change(_ bytes: inout [UInt8], _ dice: inout Dice) {
        if bytes.isEmpty { return bytes.append(dice.byte()) }
        // Half of the damage affects the first bytes, with lengths and counts.
        let at = dice.below(dice.once(in: 2) ? min(bytes.count, 128) : bytes.count)
        switch dice.below(10) {
        case 0...3: bytes[at] ^= 1 << UInt8(dice.below(8))
        case 4: bytes[at] = dice.byte()
        case 5: bytes[at] = dice.pick([0, 1, 0x7F, 0x80, 0xFF])
        case 6: bytes.removeSubrange(at..<min(bytes.count, at + 1 + dice.below(16)))
        case 7:
            let piece = bytes[at..<min(bytes.count, at + 1 + dice.below(16))]
            bytes.insert(contentsOf: piece, at: dice.below(bytes.count))
        default: write(dice.awkwardNumber(), at, &bytes, isBig: dice.once(in: 2), count: dice.pick([2, 4, 4]))
        }
    }

    func write(_ number: UInt32, _ at: Int, _ bytes: inout [UInt8], isBig: Bool, count: Int) {
        for index in 0..<count where at + index < bytes.count {
            let shift = UInt32(8 * (isBig ? count - 1 - index : index))
            bytes[at + index] = UInt8(truncatingIfNeeded: number >> shift)
        }
    }
}

/// Numbers of files, in any byte order.
extension Array where Element == UInt8 {
    func big(_ at: Int, _ count: Int) -> Int {
        guard at >= 0, count <= self.count - at else { return 0 }
        return self[at..<at + count].reduce(0) { $0 << 8 | Int($1) }
    }

    func little(_ at: Int, _ count: Int) -> Int {
        guard at >= 0, count <= self.count - at else { return 0 }
        return self[at..<at + count].reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    /// A number with more bytes than an integer begins with zeros.
    static func big(_ number: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * (count - 1 - $0))) }
    }

    static func little(_ number: Int, _ count: Int) -> [UInt8] { big(number, count).reversed() }
}
