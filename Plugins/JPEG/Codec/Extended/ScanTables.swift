import CoderPluginKit

/// The tables that scans refer to.
///
/// - Source: ITU-T T.81 B.2.4.
struct ScanTables {
    /// The divisors of coefficients, in the order of rows.
    private(set) var divisors: [[Int32]?] = Array(repeating: nil, count: 4)
    /// The codes of differences.
    private(set) var dc: [HuffmanTable.Definition?] = Array(repeating: nil, count: 4)
    private(set) var ac: [HuffmanTable.Definition?] = Array(repeating: nil, count: 4)
    /// The MCUs between two restart markers; 0 for no markers.
    private(set) var restartInterval = 0

    /// The positions of coefficients in rows, in the order of the file.
    ///
    /// - Source: ITU-T T.81 figure A.6.
    static let zigzag: [UInt8] = [
        0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14,
        21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60,
        61, 54, 47, 55, 62, 63,
    ]

    /// Reads the tables of a segment.
    ///
    /// - Throws: `.corrupt`.
    mutating func read(_ segment: JPEGSegment, _ source: JPEGSource) throws(CoderError) {
        let body = try source.bytes(segment.body)
        switch segment.marker {
        case 0xC4: try readCodes(body)
        case 0xDB: try readDivisors(body)
        case 0xDD where body.count >= 2: restartInterval = Int(body[0]) << 8 | Int(body[1])
        default: throw .corrupt("a table is too short", at: segment.bytes.lowerBound)
        }
    }

    private mutating func readDivisors(_ body: [UInt8]) throws(CoderError) {
        var at = 0
        while at < body.count {
            let (isWide, number) = (body[at] >> 4 != 0, Int(body[at] & 15))
            at += 1
            guard number < 4, at + (isWide ? 128 : 64) <= body.count else { throw .corrupt("invalid divisors") }
            var table = [Int32](repeating: 0, count: 64)
            for place in Self.zigzag {
                table[Int(place)] = isWide ? Int32(body[at]) << 8 | Int32(body[at + 1]) : Int32(body[at])
                at += isWide ? 2 : 1
            }
            divisors[number] = table
        }
    }

    private mutating func readCodes(_ body: [UInt8]) throws(CoderError) {
        var at = 0
        while at < body.count {
            let (kind, number) = (body[at] >> 4, Int(body[at] & 15))
            guard kind < 2, number < 4, at + 17 <= body.count else { throw .corrupt("an invalid table of codes") }
            let counts = body[at + 1..<at + 17].map { Int($0) }
            let total = counts.reduce(0, +)
            at += 17
            guard total <= 256, at + total <= body.count else { throw .corrupt("an invalid table of codes") }
            let table = HuffmanTable.Definition(counts: counts, symbols: Array(body[at..<at + total]))
            if kind == 0 { dc[number] = table } else { ac[number] = table }
            at += total
        }
    }
}
