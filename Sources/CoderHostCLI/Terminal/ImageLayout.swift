import CoderHost
import CommandLineKit
import ImageModel

/// The size and position of a displayed image.
struct ImageLayout: Hashable {
    /// In the units of the protocol: pixels, half cells, cells.
    var size: PixelSize
    /// The column of the top left cell, from 0.
    var column: Int
    /// The row of the top left cell, from 0.
    var row: Int

    /// The assumed cell size if the terminal does not report it: twice as high as wide.
    static let usualCell = PixelSize(8, 16)
    /// The upper bound of a side in pixels, even if the terminal reports a larger window.
    private static let maxSide = 16_384

    /// Fits an image into the window above the status line, and centers it.
    ///
    /// - Parameters:
    ///   - cell: the size of a cell in pixels.
    ///   - zoom: the maximum number of units per image pixel.
    init(_ image: PixelSize, in window: TerminalSize, _ kind: ImageProtocol, cell: PixelSize, zoom: Double) {
        let columns = max(1, window.columns)
        let rows = max(1, window.rows - 1)
        let unit = kind.unitsPerCell(cell)
        // The ratio of width to height of a unit.
        let shape = Double(cell.width * unit.height) / Double(cell.height * unit.width)
        let maxWidth = min(Self.maxSide, columns * unit.width)
        var maxHeight = min(Self.maxSide, rows * unit.height)
        // Sixels have rows of six pixels; a row below the window would scroll the screen.
        if kind == .sixel { maxHeight = max(1, maxHeight / 6 * 6) }
        let wide = Double(image.width)
        let high = Double(image.height) * shape
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

extension ImageProtocol {
    /// Returns how many units of an image one cell shows.
    func unitsPerCell(_ cell: PixelSize) -> PixelSize {
        switch self {
        case .kitty, .iterm2, .sixel: cell
        case .blocks: PixelSize(1, 2)
        case .ascii: PixelSize(1, 1)
        }
    }
}
