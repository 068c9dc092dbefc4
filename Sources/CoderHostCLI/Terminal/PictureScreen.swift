import CoderHost
import ImageModel

/// The window as a player uses it: a picture and a line below.
struct PictureScreen {
    /// How a window shows pictures; stays the same while the program runs.
    struct Style {
        var kind: PictureProtocol
        var facts: TerminalFacts
        var backdrop = Backdrop()
        var zoom = 1.0
    }

    /// Before the first picture: another page, no cursor, nothing that wraps.
    static let entering = Array("\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l\u{1B}[2J".utf8)
    /// After the last one, and after a crash: undoes ``entering``, ends what was half said, and deletes kitty's pictures.
    static let leaving = Array(
        "\u{1B}\\\u{1B}[?2026l\u{1B}_Ga=d,d=A,q=2\u{1B}\\\u{1B}[0m\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l".utf8)

    let style: Style
    private var writer: any PictureWriter
    private var window = TerminalSize(columns: 0, rows: 0)
    private var layout: PictureLayout?
    private var scaler: FrameScaler?

    /// - Parameter encode: makes PNG files, for ``PictureProtocol/iterm2``.
    init(_ style: Style, _ encode: @escaping (Raster) throws(CoderError) -> [UInt8]) {
        self.style = style
        let cell = style.facts.cellSize
        switch style.kind {
        case .kitty: writer = KittyWriter(guessedCell: cell == nil ? PictureLayout.usualCell.width : nil)
        case .iterm2: writer = InlineImageWriter(cell: cell ?? PictureLayout.usualCell, encode: encode)
        case .sixel: writer = SixelWriter(registers: style.facts.colorRegisters ?? 256)
        case .blocks: writer = BlocksWriter(hasTrueColor: style.facts.hasTrueColor)
        case .ascii: writer = LettersWriter()
        }
    }

    /// Forgets what is shown, so that the next picture is drawn in full.
    mutating func forget() {
        layout = nil
        window = TerminalSize(columns: 0, rows: 0)
    }

    /// The bytes that show a picture and a line.
    mutating func show(
        _ pixels: PixelBuffer, status: String, in size: TerminalSize
    ) throws(CoderError) -> [UInt8] {
        // What is between is shown at once, where the terminal knows how.
        var out = Array("\u{1B}[?2026h".utf8)
        let cell = style.facts.cellSize ?? PictureLayout.usualCell
        let wanted = PictureLayout(pixels.size, in: size, style.kind, cell: cell, zoom: style.zoom)
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

    /// The bytes that change the line alone.
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

    /// The size of a cell by the window's size in pixels.
    static func cell(of size: TerminalSize) -> PixelSize? {
        guard size.columns > 0, size.rows > 0 else { return nil }
        let cell = PixelSize(size.pixelWidth / size.columns, size.pixelHeight / size.rows)
        return (2...512).contains(cell.width) && (2...512).contains(cell.height) ? cell : nil
    }
}
