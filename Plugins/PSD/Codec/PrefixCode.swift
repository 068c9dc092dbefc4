/// A prefix code of symbols, given by the lengths of their codes.
///
/// - Source: RFC 1951, 3.2.2.
struct PrefixCode {
    private static let fastBits = 9
    private static let maxBits = 15

    /// Symbol and length for the next 9 bits; 0 for longer codes.
    private var fast = [UInt16](repeating: 0, count: 1 << Self.fastBits)
    /// The number of codes of each length.
    private var counts = [Int](repeating: 0, count: Self.maxBits + 1)
    /// The symbols in the order of their codes.
    private var symbols: [UInt16]

    /// Returns nil if there are more codes than the lengths permit.
    init?(_ lengths: [UInt8]) {
        for length in lengths { counts[Int(length)] += 1 }
        counts[0] = 0
        var (left, firsts, codes) = (1, [Int](repeating: 0, count: 17), [Int](repeating: 0, count: 17))
        for length in 1...Self.maxBits {
            left = 2 * left - counts[length]
            guard left >= 0 else { return nil }
            firsts[length + 1] = firsts[length] + counts[length]
            codes[length + 1] = (codes[length] + counts[length]) << 1
        }
        symbols = [UInt16](repeating: 0, count: lengths.count)
        for (symbol, stored) in lengths.enumerated() where stored > 0 {
            let length = Int(stored)
            symbols[firsts[length]] = UInt16(symbol)
            firsts[length] += 1
            if length <= Self.fastBits {
                // Codes are stored from their highest bit.
                var reversed = 0
                for bit in 0..<length where codes[length] >> bit & 1 == 1 { reversed |= 1 << (length - 1 - bit) }
                for place in stride(from: reversed, to: fast.count, by: 1 << length) {
                    fast[place] = UInt16(symbol) << 4 | UInt16(length)
                }
            }
            codes[length] += 1
        }
    }

    /// Reads a symbol; nil if no code begins with these bits.
    func read(_ input: inout BitInput) -> Int? {
        let entry = fast[Int(input.held & (1 << UInt64(Self.fastBits) - 1))]
        if entry != 0 {
            input.drop(Int(entry & 15))
            return Int(entry >> 4)
        }
        var (code, first, index) = (0, 0, 0)
        for length in 1...Self.maxBits {
            code |= Int(input.held >> UInt64(length - 1) & 1)
            if code - first < counts[length] {
                input.drop(length)
                return Int(symbols[index + code - first])
            }
            index += counts[length]
            first = (first + counts[length]) << 1
            code <<= 1
        }
        return nil
    }
}
