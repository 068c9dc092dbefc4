import CoderPluginKit

/// Runs of bytes, as Macintosh's PackBits writes them.
///
/// - Source: TIFF 6.0, section 9.
enum PackBits {
    /// Fills a row from runs; returns whether they fill it.
    ///
    /// Bytes behind the runs become 0. Runs that continue behind the row are cut off.
    static func unpack(_ packed: RawSpan, into row: inout [UInt8]) -> Bool {
        let (width, count) = (row.count, packed.byteCount)
        var (x, at) = (0, 0)
        var target = row.mutableSpan
        while x < width, at < count {
            let code = Int(packed.byte(at: at))
            at += 1
            if code < 128 {
                let length = min(code + 1, width - x, count - at)
                for offset in 0..<length { target[x + offset] = packed.byte(at: at + offset) }
                x += length
                at += code + 1
            } else if code > 128 {
                guard at < count else { break }
                let length = min(257 - code, width - x)
                let value = packed.byte(at: at)
                for offset in 0..<length { target[x + offset] = value }
                x += length
                at += 1
            }
        }
        if x == width { return true }
        for offset in x..<width { target[offset] = 0 }
        return false
    }
}
