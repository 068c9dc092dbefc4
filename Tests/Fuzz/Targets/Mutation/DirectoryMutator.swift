/// Exchanges pieces of TIFF files: the header, and pieces of its directories and strips, which begin at even positions.
public struct DirectoryMutator: PartsMutator {
    public init() {}

    /// The order of bytes, the number of the format and the position of the first directory.
    private static let headBytes = 8
    /// The size of a field in a directory.
    private static let pieceBytes = 12
    /// Values at the edges of what a field means: types, compressions, positions.
    private static let numbers = [
        0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 42, 43, 254, 256, 258, 273, 277, 278, 279, 322, 330, 32_773, 34_676, 50_000,
        0x7fff_ffff, 0x8000_0000, 0xffff_ffff,
    ]

    func parts(of bytes: [UInt8]) -> (head: [UInt8], parts: [Part]) {
        guard bytes.count > Self.headBytes else { return (bytes, []) }
        let pieces = stride(from: Self.headBytes, to: bytes.count, by: Self.pieceBytes).map { start in
            Part([], Array(bytes[start..<min(bytes.count, start + Self.pieceBytes)]))
        }
        return (Array(bytes[..<Self.headBytes]), pieces)
    }

    func file(_ head: [UInt8], _ parts: [Part]) -> [UInt8] { head + parts.flatMap(\.data) }

    func changeHead(_ head: inout [UInt8], _ dice: inout Dice) {
        guard head.count == Self.headBytes, dice.once(in: 4) else { return }
        let number = dice.pick(Self.numbers)
        let isBigEndian = head[0] == 0x4D
        let place = dice.once(in: 4) ? 2 : 4
        for byte in 0..<(place == 2 ? 2 : 4) {
            let shift = 8 * (isBigEndian ? (place == 2 ? 1 : 3) - byte : byte)
            head[place + byte] = UInt8(truncatingIfNeeded: number >> shift)
        }
    }
}
