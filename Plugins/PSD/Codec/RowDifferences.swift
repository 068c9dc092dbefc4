/// Rows that store each sample as the difference from its left neighbor.
///
/// - Source: Adobe Photoshop TIFF technical note 3, for floats.
enum RowDifferences {
    /// Restores the samples of a row.
    static func undo(_ row: inout [UInt8], depth: Int) {
        switch depth {
        case 16:
            var last: UInt16 = 0
            for at in stride(from: 0, to: row.count - 1, by: 2) {
                last &+= UInt16(row[at]) << 8 | UInt16(row[at + 1])
                row[at] = UInt8(last >> 8)
                row[at + 1] = UInt8(truncatingIfNeeded: last)
            }
        case 32:
            // The first bytes of all samples come first, then all second bytes, and so on.
            sum(&row)
            let (count, stored) = (row.count / 4, row)
            for x in 0..<count {
                for byte in 0..<4 { row[4 * x + byte] = stored[byte * count + x] }
            }
        default: sum(&row)
        }
    }

    private static func sum(_ row: inout [UInt8]) {
        var last: UInt8 = 0
        for at in row.indices {
            last &+= row[at]
            row[at] = last
        }
    }
}
