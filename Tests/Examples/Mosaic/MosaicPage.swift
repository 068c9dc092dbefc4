import CoderPluginKit

/// One page of a mosaic, an example format: square tiles, each of one color, and a text.
///
///     "MOSA" | width 4 | height 4 | side of a tile 4 | length of the text 4 | text | R G B of each tile, row by row
///
/// Numbers are big-endian. Pages follow each other. A file whose name ends in `.tiles` has no "MOSA".
struct MosaicPage {
    static let magic = Array("MOSA".utf8)

    var size: PixelSize
    /// The side of a tile, in pixels.
    var tile: Int
    /// The place of the text in the source.
    var text: Range<Int>
    /// The place of the colors in the source.
    var colors: Range<Int>

    /// The number of tiles in a row of tiles.
    var columns: Int { (size.width - 1) / tile + 1 }

    /// Reads the header of the page at `start`.
    ///
    /// - Throws: `.notMine`, `.corrupt`, `.needsInput`, `.truncated`.
    init(_ source: ByteSource, at start: Int = 0) throws(CoderError) {
        var reader = ByteReader(source, at: start)
        // context begins
        if source.nameEnding != "tiles" {
            guard try reader.consume(Self.magic) else { throw start == 0 ? .notMine() : .corrupt("no page", at: start) }
        }
        // context ends
        size = PixelSize(Int(try reader.u32BE()), Int(try reader.u32BE()))
        tile = Int(try reader.u32BE())
        let length = Int(try reader.u32BE())
        guard !size.isEmpty, tile > 0 else { throw .corrupt("a page without pixels", at: start) }
        let tiles = PixelSize((size.width - 1) / tile + 1, (size.height - 1) / tile + 1)
        // Limited to a quarter of the largest number, so that neither the tile bytes nor the sum below can overflow.
        guard let count = tiles.area, count <= Int.max / 8 else { throw .corrupt("too many tiles", at: start) }
        text = reader.offset..<reader.offset + length
        colors = text.upperBound..<text.upperBound + 3 * count
    }

    /// Returns the size if `step` pixels of the full size become one.
    func size(over step: Int) -> PixelSize { PixelSize((size.width - 1) / step + 1, (size.height - 1) / step + 1) }

    /// Returns the bytes before the colors.
    static func header(_ size: PixelSize, tile: Int, text: [UInt8]) throws(CoderError) -> [UInt8] {
        var bytes = magic
        for number in [size.width, size.height, tile, text.count] {
            guard let number = UInt32(exactly: number) else { throw .invalidArgument("a mosaic counts with 32 bits") }
            bytes += [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
        }
        return bytes + text
    }
}
