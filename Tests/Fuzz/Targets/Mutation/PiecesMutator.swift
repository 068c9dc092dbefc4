/// Formats of a short header and packed rows: changes fields of the header, and moves pieces of the rest.
public struct PiecesMutator: PartsMutator {
    private let headBytes: Int
    private let marker: [UInt8]

    /// - Parameters:
    ///   - headBytes: the length of the header.
    ///   - marker: the last line of the header begins so; empty if the header has the same length in every file.
    public init(headBytes: Int, endingWith marker: String = "") {
        self.headBytes = headBytes
        self.marker = Array(marker.utf8)
    }

    private func headCount(_ bytes: [UInt8]) -> Int {
        guard !marker.isEmpty else { return headBytes }
        for start in 0..<max(0, bytes.count - marker.count) where bytes[start...].starts(with: marker) {
            return (bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? headBytes) + 1
        }
        return headBytes
    }

    private static let pieceBytes = 16
    /// Values at the edges of what a field means.
    private static let numbers: [UInt8] = [0, 1, 2, 3, 4, 5, 7, 8, 16, 24, 32, 63, 64, 127, 128, 192, 254, 255]

    func parts(of bytes: [UInt8]) -> (head: [UInt8], parts: [Part]) {
        let headBytes = headCount(bytes)
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
