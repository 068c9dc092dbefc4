internal import CoderPluginKit
internal import ImageModel

/// The tile-parts of a complete source: whether all of them are there, and how often their sides can be halved.
///
///     | FF90 | length 2 | tile 2 | size of the tile-part 4 | its number 1 | their count 1 | markers … FF93 | data … |
///
/// - Source: ISO/IEC 15444-1 section A.4.2.
struct TileParts {
    /// Whether bytes of the image are missing at the end.
    private(set) var isCut = false
    /// The position behind the last tile-part.
    private(set) var end: Int
    /// The smallest number of levels in the headers of tile-parts; nil if they state none.
    private(set) var levels: Int?
    /// Whether any block has the coding of part 15.
    private(set) var isHighThroughput: Bool

    private let source: ByteSource
    private let stop: Int
    /// The number of tile-parts seen of each tile, and their stated count; 0 if it is not stated.
    private var seen: [(parts: Int, count: Int)]

    /// - Parameters:
    ///   - stop: the end of the codestream as far as it has arrived.
    ///   - isClosed: whether the codestream is known to end at `stop`.
    init(
        _ codestream: Codestream, _ source: ByteSource, stop: Int, isClosed: Bool, _ host: HostServices
    ) throws(CoderError) {
        self.source = source
        self.stop = stop
        end = codestream.firstTilePart
        isHighThroughput = codestream.codings.contains(where: \.isHighThroughput)
        let (across, down) = codestream.tileCounts
        seen = [(parts: Int, count: Int)](repeating: (0, 0), count: across * down)
        var count = 0
        while let isLast = try next(codestream) {
            count += 1
            if count % 1024 == 0 { try host.checkCancellation() }
            if isLast { break }
        }
        if hasEnd { return }
        // Some writers leave the end marker out.
        let isWhole = seen.allSatisfy { $0.parts > 0 && ($0.count > 0 ? $0.parts >= $0.count : isClosed) }
        // Other bytes in place of a tile-part are damage, which the library reports.
        isCut = end > stop || end > stop - 12 && !isWhole
    }

    /// Whether the marker of the end follows.
    private var hasEnd: Bool { end >= 0 && end <= stop - 2 && source[end] == 0xFF && source[end + 1] == 0xD9 }

    /// Steps over a tile-part; nil if there is none, true if nothing can follow.
    private mutating func next(_ codestream: Codestream) throws(CoderError) -> Bool? {
        guard end <= stop - 12 else { return nil }
        var reader = ByteReader(source, at: end)
        guard try reader.u16BE() == 0xFF90, try reader.u16BE() == 10 else { return nil }
        let tile = Int(try reader.u16BE())
        let size = Int(try reader.u32BE())
        _ = try reader.u8()
        let count = Int(try reader.u8())
        guard seen.indices.contains(tile), size == 0 || size >= 14 else { return nil }
        seen[tile].parts += 1
        if count > 0 { seen[tile].count = count }
        try readHeader(&reader, codestream, until: size == 0 ? stop : min(stop, end + size))
        // The last tile-part may leave its size open.
        let (start, isOpen) = (end, size == 0)
        end = isOpen ? stop : end + size
        if isOpen, stop >= start + 14, source[stop - 2] == 0xFF, source[stop - 1] == 0xD9 { end = stop - 2 }
        return isOpen || end > stop
    }

    /// Looks for other numbers of levels and other codings of the blocks.
    private mutating func readHeader(
        _ reader: inout ByteReader, _ codestream: Codestream, until end: Int
    ) throws(CoderError) {
        while reader.offset <= end - 4 {
            let marker = try reader.u16BE()
            if marker == 0xFF93 { return }
            let length = Int(try reader.u16BE())
            let next = reader.offset + length - 2
            guard length >= 2, next <= end else { return }
            // The number of levels follows style and progression, or the component and the style.
            let place = marker == 0xFF52 ? 5 : codestream.components.count < 257 ? 2 : 3
            if marker == 0xFF52 || marker == 0xFF53, length - 2 > place {
                let stated = Int(source[reader.offset + place])
                levels = min(levels ?? stated, stated)
                // The sides of a block are between.
                let style = place + 3
                if length - 2 > style, source[reader.offset + style] & 0x40 != 0 { isHighThroughput = true }
            }
            reader.offset = next
        }
    }
}
