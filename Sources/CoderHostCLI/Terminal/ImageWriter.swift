import ImageModel

/// Encodes images for a terminal protocol.
protocol ImageWriter {
    /// Appends the bytes that replace the previous image by `raster`, with its top left corner in a cell.
    mutating func draw(_ raster: Raster, column: Int, row: Int, into out: inout [UInt8]) throws(CoderError)

    /// Appends the bytes that remove the image, if clearing the screen is not enough, and resets the state.
    mutating func erase(into out: inout [UInt8])
}

/// Writes uncompressed images in the graphics protocol of kitty.
///
/// Frames alternate between two identifiers: to avoid flicker, the new image is shown before the old one is deleted.
///
/// - Source: "Terminal graphics protocol" of kitty: transmission, chunks of 4096, deletion.
struct KittyWriter: ImageWriter {
    /// An arbitrary identifier that other programs are unlikely to use.
    private static let firstID = 0x636F64
    private static let chunk = 4096 / 4 * 3
    /// The assumed cell width if the terminal does not report it; the terminal then scales the image to columns.
    let guessedCell: Int?
    private var shown: Int?

    init(guessedCell: Int? = nil) { self.guessedCell = guessedCell }

    mutating func draw(_ raster: Raster, column: Int, row: Int, into out: inout [UInt8]) {
        let id = Self.firstID + (shown == Self.firstID ? 1 : 0)
        out.addMove(column: column, row: row)
        let bytes = raster.bytes
        out.reserveCapacity(out.count + bytes.count / 3 * 4 + bytes.count / Self.chunk * 16 + 256)
        var at = 0
        while at < bytes.count {
            let end = min(bytes.count, at + Self.chunk)
            let more = end < bytes.count ? 1 : 0
            if at == 0 {
                let width = guessedCell.map { ",c=\((raster.width + $0 - 1) / $0)" } ?? ""
                out.add(
                    "\u{1B}_Ga=T,f=24,s=\(raster.width),v=\(raster.height),i=\(id),p=1,C=1,q=2\(width),m=\(more);")
            } else {
                out.add("\u{1B}_Gm=\(more);")
            }
            out.addBase64(bytes[at..<end])
            out.add("\u{1B}\\")
            at = end
        }
        if let shown { Self.delete(shown, &out) }
        shown = id
    }

    mutating func erase(into out: inout [UInt8]) {
        if let shown { Self.delete(shown, &out) }
        shown = nil
    }

    private static func delete(_ id: Int, _ out: inout [UInt8]) { out.add("\u{1B}_Ga=d,d=I,i=\(id),q=2\u{1B}\\") }
}

/// Writes images as files, in the protocol of iTerm2 and WezTerm.
///
/// - Source: iTerm2 documentation, "Inline Images Protocol".
struct InlineImageWriter: ImageWriter {
    let cell: PixelSize
    /// Encodes a raster in a file format that the terminal reads.
    let encode: (Raster) throws(CoderError) -> [UInt8]

    func draw(_ raster: Raster, column: Int, row: Int, into out: inout [UInt8]) throws(CoderError) {
        let file = try encode(raster)
        // Sizes in cells, because the size of a terminal's pixel depends on its screen.
        let columns = (raster.width + cell.width - 1) / cell.width
        let rows = (raster.height + cell.height - 1) / cell.height
        out.addMove(column: column, row: row)
        out.add("\u{1B}]1337;File=inline=1;size=\(file.count);width=\(columns);height=\(rows)")
        out.add(";preserveAspectRatio=1;doNotMoveCursor=1:")
        out.addBase64(file[...])
        out.append(0x07)
    }

    func erase(into out: inout [UInt8]) {}
}
