import CoderPluginKit

/// The codes of one table.
///
/// - Source: ITU-T T.81 annex C, F.2.2.3.
final class HuffmanTable {
    /// The bits that ``short`` resolves at once.
    static let shortBits = 11

    /// `symbol << 8 | length` for each beginning of ``shortBits`` bits; 0 if the code is longer or undefined.
    let short: [UInt16]
    /// `value << 8 | run << 4 | length` for each beginning with a code and all bits of its number; otherwise 0.
    let whole: [Int16]
    /// For each length, the first code that is longer, left-aligned to 16 bits.
    private let ends: [Int]
    /// For each length, the index of its first symbol minus its first code.
    private let offsets: [Int]
    private let symbols: [UInt8]

    /// A table as the file defines it.
    struct Definition {
        /// The number of codes of 1 … 16 bits.
        let counts: [Int]
        let symbols: [UInt8]
    }

    /// - Throws: `.corrupt`.
    init(_ definition: Definition) throws(CoderError) {
        let (counts, symbols) = (definition.counts, definition.symbols)
        var short = [UInt16](repeating: 0, count: 1 << Self.shortBits)
        var ends = [Int](repeating: 0, count: 17)
        var offsets = ends
        var (code, index) = (0, 0)
        for length in 1...16 {
            offsets[length] = index - code
            for _ in 0..<counts[length - 1] {
                guard code < 1 << length else { throw .corrupt("a table has too many codes") }
                if length <= Self.shortBits {
                    let first = code << (Self.shortBits - length)
                    let entry = UInt16(symbols[index]) << 8 | UInt16(length)
                    for place in first..<first + 1 << (Self.shortBits - length) { short[place] = entry }
                }
                code += 1
                index += 1
            }
            ends[length] = code << (16 - length)
            code <<= 1
        }
        self.short = short
        whole = short.indices.map { Self.whole($0, short[$0]) }
        self.ends = ends
        self.offsets = offsets
        self.symbols = symbols
    }

    /// The entry of ``whole`` for a beginning, with its entry of ``short``.
    private static func whole(_ bits: Int, _ entry: UInt16) -> Int16 {
        let (run, size) = (Int(entry >> 12), Int(entry >> 8) & 15)
        let length = Int(entry & 0xFF) + size
        guard entry != 0, size > 0, length <= min(shortBits, 15) else { return 0 }
        let number = bits >> (shortBits - length) & (1 << size - 1)
        let value = number < 1 << (size - 1) ? number - (1 << size) + 1 : number
        guard let high = Int8(exactly: value) else { return 0 }
        return Int16(high) << 8 | Int16(run << 4 | length)
    }

    /// Returns symbol and length of the code at the beginning of 16 bits; nil for none.
    func long(_ bits: Int) -> (symbol: UInt8, length: Int)? {
        for length in Self.shortBits + 1...16 where bits < ends[length] {
            let index = offsets[length] + bits >> (16 - length)
            return symbols.indices.contains(index) ? (symbols[index], length) : nil
        }
        return nil
    }
}
