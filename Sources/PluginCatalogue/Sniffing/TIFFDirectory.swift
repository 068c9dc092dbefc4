/// The tags of a TIFF file's first directory, as far as the head contains them.
///
///     II or MM │ 42: 2 │ offset 4                      directory: count 2 │ (tag 2, 10 more) …
///     II or MM │ 43: 2 │ 8: 2 │ 0: 2 │ offset 8        directory: count 8 │ (tag 2, 18 more) …
///
/// - Source: TIFF 6.0, section 2; BigTIFF according to libtiff's "The BigTIFF file format".
struct TIFFDirectory {
    private let head: [UInt8]
    private let isLittle: Bool
    private let entries: (start: Int, size: Int, count: Int)

    /// Parses the head of a file.
    ///
    /// - Returns: nil if the head is not TIFF, or ends before the directory.
    package init?(_ head: [UInt8]) {
        guard head.count >= 8, head[0] == head[1], head[0] == UInt8(ascii: "I") || head[0] == UInt8(ascii: "M") else {
            return nil
        }
        self.head = head
        let isLittle = head[0] == UInt8(ascii: "I")
        self.isLittle = isLittle
        func number(_ at: Int, _ count: Int) -> Int? { Self.number(head, at, count, isLittle) }
        let isBig = number(2, 2) == 43
        guard isBig ? number(4, 2) == 8 && number(6, 2) == 0 : number(2, 2) == 42,
            let offset = isBig ? number(8, 8) : number(4, 4), offset >= 8, offset < head.count,
            let count = number(offset, isBig ? 8 : 2)
        else { return nil }
        let size = isBig ? 20 : 12
        let start = offset + (isBig ? 8 : 2)
        // Truncated entries are ignored.
        entries = (start, size, min(count, max(0, head.count - start) / size))
    }

    package func has(tag: Int) -> Bool {
        (0..<entries.count).contains { Self.number(head, entries.start + $0 * entries.size, 2, isLittle) == tag }
    }

    /// Reads an integer of up to eight bytes; nil if it is truncated or larger than any offset.
    private static func number(_ head: [UInt8], _ at: Int, _ count: Int, _ isLittle: Bool) -> Int? {
        guard at >= 0, at <= head.count - count else { return nil }
        var value: UInt64 = 0
        for index in 0..<count { value = value << 8 | UInt64(head[isLittle ? at + count - 1 - index : at + index]) }
        return Int(exactly: value)
    }
}
