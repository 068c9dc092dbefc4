import CoderPluginKit
import ImageModel

/// Walks through the runs of a bitmap of 4, 8 or 24 bits, from the bottom row up.
///
/// - Source: Windows SDK, "Bitmap Compression".
struct BMPRuns {
    /// Pixels of one row.
    enum Piece {
        /// One or two alternating values: palette indices, or the position of one color in the source.
        case run(even: Int, odd: Int)
        /// Stored values: the position of the first in the source.
        case stored(Int)
    }

    let storage: BMPHeader.Storage
    let size: PixelSize
    let source: ByteSource
    let start: Int

    /// How the walk ended.
    struct Result {
        /// The number of pixels with a value.
        var pixels = 0
        /// Whether the data ends before its end mark and before the last row is full.
        var isCut = false
    }

    /// Calls `body` for every piece, clipped to the image.
    ///
    /// - Parameter body: gets row (from the top), first column, number of pixels, values.
    /// - Throws: `.needsInput` while the source grows.
    func walk(
        _ host: HostServices, _ body: (Int, Int, Int, Piece) throws(CoderError) -> Void
    ) throws(CoderError) -> Result {
        var reader = ByteReader(source, at: start)
        var result = Result()
        var (x, row, steps) = (0, 0, 0)
        do throws(CoderError) {
            while row < size.height {
                steps += 1
                if steps % 4096 == 0 { try host.checkCancellation() }
                let count = Int(try reader.u8())
                if count > 0 {
                    let piece = try run(&reader)
                    try emit(&result, row, x, count, piece, body)
                    x += count
                    continue
                }
                switch Int(try reader.u8()) {
                case 0: (x, row) = (0, row + 1)
                case 1: return result
                case 2:
                    x += Int(try reader.u8())
                    row += Int(try reader.u8())
                case let count:
                    let bytes = storedBytes(count)
                    try reader.require(bytes)
                    try emit(&result, row, x, count, .stored(reader.offset), body)
                    x += count
                    // Stored values end at an even byte; the last ones of a file may lack it.
                    reader.offset += bytes
                    if bytes % 2 == 1 { reader.offset += 1 }
                }
            }
        } catch {
            guard error.code == .truncated else { throw error }
            result.isCut = !(row == size.height - 1 && x >= size.width)
        }
        return result
    }

    private func run(_ reader: inout ByteReader) throws(CoderError) -> Piece {
        switch storage {
        case .runs24:
            let place = reader.offset
            try reader.skip(3)
            return .run(even: place, odd: place)
        case .runs4:
            let pair = Int(try reader.u8())
            return .run(even: pair >> 4, odd: pair & 15)
        default:
            let value = Int(try reader.u8())
            return .run(even: value, odd: value)
        }
    }

    private func storedBytes(_ count: Int) -> Int {
        switch storage {
        case .runs24: 3 * count
        case .runs4: (count + 1) / 2
        default: count
        }
    }

    private func emit(
        _ result: inout Result, _ row: Int, _ x: Int, _ count: Int, _ piece: Piece,
        _ body: (Int, Int, Int, Piece) throws(CoderError) -> Void
    ) throws(CoderError) {
        let count = min(count, size.width - x)
        guard count > 0 else { return }
        result.pixels += count
        try body(size.height - 1 - row, x, count, piece)
    }
}
