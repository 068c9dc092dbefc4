/// Expands the start of a Deflate stream, up to a limit.
///
/// Truncated input yields the bytes that are certain. Each step reads at least one bit or writes at least one byte, so
/// input and limit bound the work.
///
/// - Source: RFC 1951.
struct Inflater {
    /// Why expansion stopped before the end of the last block.
    private enum Stop: Error {
        /// The input ended, or the output reached the limit.
        case enough
        case damaged
    }

    private let input: [UInt8]
    private let limit: Int
    /// The index of the next input byte, and the unused bits of the previous one.
    private var at: Int
    private var bits: UInt32 = 0
    private var bitCount = 0
    private var output: [UInt8] = []

    /// Returns at most `limit` bytes of the stream at `start`; nil if the stream is damaged.
    static func expand(_ input: [UInt8], from start: Int, limit: Int) -> [UInt8]? {
        var inflater = Inflater(input: input, limit: limit, at: start)
        do throws(Stop) {
            try inflater.expandBlocks()
        } catch {
            if error == .damaged { return nil }
        }
        return inflater.output
    }

    private init(input: [UInt8], limit: Int, at: Int) {
        self.input = input
        self.limit = limit
        self.at = at
    }

    // MARK: Bits

    /// Reads up to 16 bits, lowest bit first.
    private mutating func take(_ count: Int) throws(Stop) -> Int {
        while bitCount < count {
            guard at < input.count else { throw .enough }
            bits |= UInt32(input[at]) << bitCount
            bitCount += 8
            at += 1
        }
        let value = bits & ((1 << count) - 1)
        bits >>= count
        bitCount -= count
        return Int(value)
    }

    private mutating func symbol(_ code: HuffmanCode) throws(Stop) -> Int {
        var word = 0
        for length in 1...HuffmanCode.longest {
            word = word << 1 | (try take(1))
            if let symbol = code.symbol(word, length) { return symbol }
        }
        throw .damaged
    }

    private mutating func append(_ byte: UInt8) throws(Stop) {
        guard output.count < limit else { throw .enough }
        output.append(byte)
    }

    // MARK: Blocks

    private mutating func expandBlocks() throws(Stop) {
        var isLast = false
        while !isLast {
            isLast = try take(1) == 1
            switch try take(2) {
            case 0: try copyStored()
            case 1: try expand(Self.fixedLiterals, Self.fixedDistances)
            case 2:
                let (literals, distances) = try readCodes()
                try expand(literals, distances)
            default: throw .damaged
            }
        }
    }

    /// length 2 │ its complement 2 │ bytes, from the next whole byte on
    private mutating func copyStored() throws(Stop) {
        (bits, bitCount) = (0, 0)
        let length = try take(16)
        guard try take(16) == length ^ 0xFFFF else { throw .damaged }
        for _ in 0..<length {
            guard at < input.count else { throw .enough }
            try append(input[at])
            at += 1
        }
    }

    private mutating func expand(_ literals: HuffmanCode, _ distances: HuffmanCode) throws(Stop) {
        while true {
            let symbol = try symbol(literals)
            if symbol < 256 {
                try append(UInt8(symbol))
                continue
            }
            if symbol == 256 { return }
            guard symbol < 286 else { throw .damaged }
            let length = Self.lengths[symbol - 257]
            let count = length.base + (try take(length.bits))
            let place = try self.symbol(distances)
            guard place < 30 else { throw .damaged }
            let distance = Self.distances[place].base + (try take(Self.distances[place].bits))
            guard distance <= output.count else { throw .damaged }
            for _ in 0..<count { try append(output[output.count - distance]) }
        }
    }

    /// literals − 257: 5 bits │ distances − 1: 5 │ code lengths − 4: 4 │ their lengths, 3 each │ both tables
    private mutating func readCodes() throws(Stop) -> (HuffmanCode, HuffmanCode) {
        let literals = try take(5) + 257
        let distances = try take(5) + 1
        let stored = try take(4) + 4
        guard literals <= 286, distances <= 30 else { throw .damaged }
        var codeLengths = [UInt8](repeating: 0, count: Self.order.count)
        for index in 0..<stored { codeLengths[Self.order[index]] = UInt8(try take(3)) }
        guard let code = HuffmanCode(codeLengths[...]) else { throw .damaged }
        var lengths: [UInt8] = []
        while lengths.count < literals + distances {
            let symbol = try self.symbol(code)
            if symbol < 16 {
                lengths.append(UInt8(symbol))
                continue
            }
            guard symbol > 16 || !lengths.isEmpty else { throw .damaged }
            let value = symbol == 16 ? lengths[lengths.count - 1] : 0
            let count =
                switch symbol {
                case 16: 3 + (try take(2))
                case 17: 3 + (try take(3))
                default: 11 + (try take(7))
                }
            guard lengths.count + count <= literals + distances else { throw .damaged }
            lengths += [UInt8](repeating: value, count: count)
        }
        guard let first = HuffmanCode(lengths[..<literals]), let second = HuffmanCode(lengths[literals...]) else {
            throw .damaged
        }
        return (first, second)
    }

    // MARK: Tables

    /// §3.2.7
    private static let order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]

    /// §3.2.5, symbols 257 to 285: four lengths for each number of extra bits from 1 on, and one length without any.
    private static let lengths: [(base: Int, bits: Int)] = ladder(from: 3, plain: 8, steps: 4, upTo: 28) + [(258, 0)]
    /// §3.2.5, symbols 0 to 29: two distances for each number of extra bits from 1 on.
    private static let distances: [(base: Int, bits: Int)] = ladder(from: 1, plain: 4, steps: 2, upTo: 30)

    private static func ladder(from start: Int, plain: Int, steps: Int, upTo count: Int) -> [(base: Int, bits: Int)] {
        var (base, result) = (start, [(base: Int, bits: Int)]())
        for index in 0..<count {
            let bits = index < plain ? 0 : (index - plain) / steps + 1
            result.append((base, bits))
            base += 1 << bits
        }
        return result
    }

    /// §3.2.6
    private static let fixedLiterals = HuffmanCode(
        ([UInt8](repeating: 8, count: 144) + [UInt8](repeating: 9, count: 112) + [UInt8](repeating: 7, count: 24)
            + [UInt8](repeating: 8, count: 8))[...])!
    private static let fixedDistances = HuffmanCode([UInt8](repeating: 5, count: 30)[...])!
}

/// A prefix code, defined by the code length of each symbol.
///
/// - Source: RFC 1951, §3.2.2.
struct HuffmanCode {
    package static let longest = 15

    /// For each length: the first code, the number of codes, and the index of the first symbol.
    private var ranges: [(first: Int, count: Int, start: Int)]
    /// The symbols in the order of their codes.
    private var symbols: [Int] = []

    /// Creates a code.
    ///
    /// - Returns: nil if the lengths require more codes than exist.
    package init?(_ lengths: ArraySlice<UInt8>) {
        ranges = [(0, 0, 0)]
        var word = 0
        for length in 1...Self.longest {
            word <<= 1
            let start = symbols.count
            for (symbol, own) in zip(0..., lengths) where Int(own) == length { symbols.append(symbol) }
            let count = symbols.count - start
            ranges.append((word, count, start))
            word += count
            guard word <= 1 << length else { return nil }
        }
    }

    /// Returns the symbol of a code with this length; nil if there is none.
    package func symbol(_ word: Int, _ length: Int) -> Int? {
        let range = ranges[length]
        guard word >= range.first, word - range.first < range.count else { return nil }
        return symbols[range.start + word - range.first]
    }
}
