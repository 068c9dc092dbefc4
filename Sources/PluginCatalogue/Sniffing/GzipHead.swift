/// Expands the start of a gzip file.
///
///     1F 8B │ 8 │ flags 1 │ time 4 │ extra flags 1 │ system 1 │ (length 2, extra) │ (name 0) │ (comment 0) │ (checksum 2)
///
/// - Source: RFC 1952, §2.3.
enum GzipHead {
    /// Returns at most `limit` bytes; none if the file is damaged or not gzip. Checksums are not verified.
    static func inflate(_ head: [UInt8], limit: Int) -> [UInt8] {
        guard let start = start(head) else { return [] }
        return Inflater.expand(head, from: start, limit: limit) ?? []
    }

    /// Returns the start of the Deflate stream; nil if it is beyond the head.
    private static func start(_ head: [UInt8]) -> Int? {
        // The upper three flags are reserved.
        guard head.count > 10, head[..<3] == [0x1F, 0x8B, 8], head[3] & 0xE0 == 0 else { return nil }
        let flags = head[3]
        var at = 10
        if flags & 0x04 != 0 {
            guard at + 2 <= head.count else { return nil }
            at += 2 + Int(head[at]) + Int(head[at + 1]) << 8
        }
        // The name, then the comment.
        for flag in [0x08, 0x10] as [UInt8] where flags & flag != 0 {
            guard at < head.count, let end = head[at...].firstIndex(of: 0) else { return nil }
            at = end + 1
        }
        if flags & 0x02 != 0 { at += 2 }
        return at < head.count ? at : nil
    }
}
