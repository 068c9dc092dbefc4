/// Formats of a short header and packed rows: changes fields of the header, and moves pieces of the rest.
public struct PiecesMutator: PartsMutator {
    private let headBytes: Int

    /// - Parameter headBytes: the length of the header.
    public init(headBytes: Int) { self.headBytes = headBytes }

    private static let pieceBytes = 16
    /// Values at the edges of what a field means.
    private static let numbers: [UInt8] = [0, 1, 2, 3, 4, 5, 7, 8, 16, 24, 32, 63, 64, 127, 128, 192, 254, 255]

    func parts(of bytes: [UInt8]) -> (head: [UInt8], parts: [Part]) {
        guard bytes.count > headBytes else { return (bytes, []) }
        let pieces = stride(from: headBytes, to: bytes.count, by: Self.pieceBytes).map { start in
            Part([], Array(bytes[start..<min(bytes.count, start + Self.pieceBytes)]))
        }
        return (Array(bytes[..<headBytes]), pieces)
    }

    func file(_ head: [UInt8], _ parts: [Part]) -> [UInt8] { head + parts.flatMap(\.data) }

    func changeHead(_ head: inout [UInt8], _ dice: inout Dice) {
        guard dice.once(in: 2) else { return }
        head[dice.below(head.count)] = dice.pick(Self.numbers)
    }
}
