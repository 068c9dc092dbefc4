import CoderPluginKit

/// The codes of one table.
///
/// - Source: ITU-T T.81 annex C, F.2.2.3.
struct HuffmanTable {
    /// The bits that ``short`` resolves at once.
    static let shortBits = 10

    /// `symbol << 8 | length` for each beginning of ``shortBits`` bits; 0 if the code is longer or undefined.
    let short: [UInt16]
    /// For each length, the first code that is longer, left-aligned to 16 bits.
    private let ends: [Int]
    /// For each length, the index of its first symbol minus its first code.
    private let offsets: [Int]
    private let symbols: [UInt8]

    /// - Parameter counts: the number of codes of 1 … 16 bits.
    /// - Throws: `.corrupt`.
    init(_ counts: [Int], _ symbols: [UInt8]) throws(CoderError) {
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
        self.ends = ends
        self.offsets = offsets
        self.symbols = symbols
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
