internal import CoderPluginKit
internal import ImageModel

/// The pieces that items are put together from.
///
///     iloc  size of offset, length, base, index: 4 bits each │ items │ item …
///     item  number │ [method] │ 2 │ base │ pieces │ ([index] │ offset │ length) …
///
/// libavif 0.11 copies an item of several pieces into memory of its own, however often they name the same bytes.
///
/// - Source: ISO/IEC 14496-12:2022 section 8.11.3.
enum ItemPieces {
    /// Pieces do not overlap in any file that is meant to be looked at.
    private static let free = 16 << 20
    private static let factor = 4

    /// Throws where all copies together would be far larger than what there is to copy.
    static func check(_ source: ByteSource) throws(CoderError) {
        let available = source.available
        guard let meta = Container.range(of: "meta", in: source), meta.upperBound <= available else { return }
        var cursor = BoxCursor(source.bytes(meta))
        // Version and flags come first.
        guard cursor.skip(4), var list = cursor.first("iloc"), let version = list.uint(4).map({ $0 >> 24 }),
            let sizes = list.uint(2).map({ Int($0) }), let items = list.uint(version < 2 ? 2 : 4)
        else { return }
        let (offsetSize, lengthSize, baseSize) = (sizes >> 12, sizes >> 8 & 15, sizes >> 4 & 15)
        let indexSize = version == 0 ? 0 : sizes & 15
        let allowed = free + factor * available
        var copied = 0
        for _ in 0..<items {
            let head = (version < 2 ? 2 : 4) + (version == 0 ? 0 : 2) + 2 + baseSize
            // What cannot be read is refused by libavif.
            guard list.skip(head), let pieces = list.uint(2) else { return }
            for _ in 0..<pieces {
                guard list.skip(indexSize + offsetSize), let length = list.uint(lengthSize) else { return }
                // 0 stands for all there is.
                if pieces > 1 { copied += length == 0 ? available : Int(min(length, UInt64(available))) }
                if copied > allowed { throw .limit("bytes of all items", allowed: allowed, requested: copied) }
            }
        }
    }
}
