/// BMP: the fields of its headers, and pieces of its palette and pixels.
public struct BitmapMutator: PartsMutator {
    public init() {}

    /// The header of the file and the length of the second header.
    private static let leastHead = 18
    private static let pieceBytes = 16
    /// Values at the edges of what a field means.
    private static let numbers = [
        0, 1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 40, 52, 54, 56, 64, 108, 124, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff,
    ]

    func parts(of bytes: [UInt8]) -> (head: [UInt8], parts: [Part]) {
        guard bytes.count > Self.leastHead else { return (bytes, []) }
        let count = min(bytes.count, 14 + Int(bytes[14]))
        let pieces = stride(from: count, to: bytes.count, by: Self.pieceBytes).map { start in
            Part([], Array(bytes[start..<min(bytes.count, start + Self.pieceBytes)]))
        }
        return (Array(bytes[..<count]), pieces)
    }

    func file(_ head: [UInt8], _ parts: [Part]) -> [UInt8] { head + parts.flatMap(\.data) }

    func changeHead(_ head: inout [UInt8], _ dice: inout Dice) {
        guard head.count > Self.leastHead, dice.once(in: 2) else { return }
        let width = dice.once(in: 3) ? 2 : 4
        let place = 10 + 2 * dice.below((head.count - 10) / 2)
        let number = dice.pick(Self.numbers)
        for byte in 0..<width where place + byte < head.count {
            head[place + byte] = UInt8(truncatingIfNeeded: number >> (8 * byte))
        }
    }
}
