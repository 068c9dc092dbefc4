import CoderHost
import CommandLineKit
import ImageModel

/// The screen of a player: an image and a status line.
struct ImageScreen {
    /// The display settings; constant while the program runs.
    struct Style {
        var kind: ImageProtocol
        var facts: TerminalFacts
        var backdrop = Backdrop()
        var zoom = 1.0
    }

    /// Before the first image: switches to the alternate screen, hides the cursor, disables wrapping.
    static let entering = Array("\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[2J".utf8)
    /// After the last image or a crash: ends open sequences, deletes kitty's images and undoes ``entering``.
    static let leaving = Array(
        "\u{1B}\\\u{1B}[?2026l\u{1B}_Ga=d,d=A,q=2\u{1B}\\\u{1B}[0m\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l".utf8)

    let style: Style
    private var writer: any ImageWriter
    private var window = TerminalSize(columns: 0, rows: 0)
    private var layout: ImageLayout?
    private var scaler: FrameScaler?

    /// Creates a screen.
    ///
    /// - Parameter encode: encodes a raster as PNG, for ``ImageProtocol/iterm2``.
    init(_ style: Style, _ encode: @escaping (Raster) throws(CoderError) -> [UInt8]) {
        self.style = style
        let cell = style.facts.cellSize
        switch style.kind {
        case .kitty: writer = KittyWriter(guessedCell: cell == nil ? ImageLayout.usualCell.width : nil)
        case .iterm2: writer = InlineImageWriter(cell: cell ?? ImageLayout.usualCell, encode: encode)
        case .sixel: writer = SixelWriter(registers: style.facts.colorRegisters ?? 256)
        case .blocks: writer = BlocksWriter(hasTrueColor: style.facts.hasTrueColor)
        case .ascii: writer = LettersWriter()
        }
    }

    /// Invalidates the screen, so that the next image is drawn completely.
    mutating func forget() {
        layout = nil
        window = TerminalSize(columns: 0, rows: 0)
    }

    /// Returns the bytes that draw an image and the status line.
    mutating func show(
        _ pixels: PixelBuffer, status: String, in size: TerminalSize
    ) throws(CoderError) -> [UInt8] {
        // Begins a synchronized update, if the terminal supports it.
        var out = Array("\u{1B}[?2026h".utf8)
        let cell = style.facts.cellSize ?? ImageLayout.usualCell
        let wanted = ImageLayout(pixels.size, in: size, style.kind, cell: cell, zoom: style.zoom)
        if wanted != layout || size != window || scaler?.source != pixels.size {
            writer.erase(into: &out)
            out.add("\u{1B}[0m\u{1B}[2J")
            scaler = FrameScaler(
                from: pixels.size, to: wanted.size, over: style.backdrop, square: style.kind == .ascii ? 2 : 8)
            layout = wanted
            window = size
        }
        let raster = try scaler!.scale(pixels)
        try writer.draw(raster, column: wanted.column, row: wanted.row, into: &out)
        addStatus(status, &out)
        out.add("\u{1B}[?2026l")
        return out
    }

    /// Returns the bytes that draw the status line only.
    func line(_ status: String) -> [UInt8] {
        var out: [UInt8] = []
        addStatus(status, &out)
        return out
    }

    private func addStatus(_ status: String, _ out: inout [UInt8]) {
        guard window.rows > 1 else { return }
        out.addMove(column: 0, row: window.rows - 1)
        out.add("\u{1B}[0;7m")
        var room = window.columns
        for scalar in status.unicodeScalars where room > 0 {
            if scalar.isASCII {
                out.append(UInt8(truncatingIfNeeded: scalar.value))
                room -= 1
            } else if style.facts.isUTF8 {
                out.add(String(scalar))
                room -= 1
            } else {
                out.append(UInt8(ascii: "?"))
                room -= 1
            }
        }
        out.add("\u{1B}[K\u{1B}[0m")
    }

    /// Returns the cell size, computed from the window size in pixels.
    static func cell(of size: TerminalSize) -> PixelSize? {
        guard size.columns > 0, size.rows > 0 else { return nil }
        let cell = PixelSize(size.pixelWidth / size.columns, size.pixelHeight / size.rows)
        return (2...512).contains(cell.width) && (2...512).contains(cell.height) ? cell : nil
    }
}
