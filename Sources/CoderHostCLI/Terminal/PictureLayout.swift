import CoderHost
import ImageModel

/// How large a picture is shown, and where.
struct PictureLayout: Hashable {
    /// In the units of the protocol: pixels, half cells, cells.
    var size: PixelSize
    /// The corner's cell, from 0.
    var column: Int
    var row: Int

    /// What terminals have where they do not say: cells twice as high as wide.
    static let usualCell = PixelSize(8, 16)
    /// No terminal has more pixels a side, whatever it says of itself.
    private static let maxSide = 16_384

    /// Fits a picture between the first line and the last, which is the status line's, and centres it.
    ///
    /// - Parameters:
    ///   - cell: The size of a cell in pixels.
    ///   - zoom: Units for one pixel of the picture, at most.
    init(_ picture: PixelSize, in window: TerminalSize, _ kind: PictureProtocol, cell: PixelSize, zoom: Double) {
        let columns = max(1, window.columns)
        let rows = max(1, window.rows - 1)
        let unit = kind.unitsPerCell(cell)
        // How much wider than high a unit is.
        let shape = Double(cell.width * unit.height) / Double(cell.height * unit.width)
        let maxWidth = min(Self.maxSide, columns * unit.width)
        var maxHeight = min(Self.maxSide, rows * unit.height)
        // Sixels come in rows of six, and one that reaches below the window moves everything up.
        if kind == .sixel { maxHeight = max(1, maxHeight / 6 * 6) }
        let wide = Double(picture.width)
        let high = Double(picture.height) * shape
        let scale = min(zoom * min(1, 1 / shape), Double(maxWidth) / wide, Double(maxHeight) / high)
        size = PixelSize(
            min(maxWidth, max(1, Int((wide * scale).rounded()))),
            min(maxHeight, max(1, Int((high * scale).rounded()))))
        column = (columns - (size.width + unit.width - 1) / unit.width) / 2
        row = (rows - (size.height + unit.height - 1) / unit.height) / 2
        column = max(0, column)
        row = max(0, row)
    }
}

extension PictureProtocol {
    /// How many units of a picture one cell shows.
    func unitsPerCell(_ cell: PixelSize) -> PixelSize {
        switch self {
        case .kitty, .iterm2, .sixel: cell
        case .blocks: PixelSize(1, 2)
        case .ascii: PixelSize(1, 1)
        }
    }
}
