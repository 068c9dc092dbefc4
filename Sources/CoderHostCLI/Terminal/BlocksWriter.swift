import ImageModel

/// Draws two pixels per cell: the foreground color is the upper pixel, the background color the lower one.
///
/// Sends only the cells that changed since the last image.
struct BlocksWriter: ImageWriter {
    /// Whether to use 24-bit colors; otherwise the 256 colors of xterm.
    let hasTrueColor: Bool
    /// The colors of each cell: upper, lower.
    private var shown: [SIMD2<Int32>] = []
    private var place: (column: Int, row: Int, width: Int, height: Int) = (0, 0, 0, 0)
    /// A half cell below the image.
    private static let nothing: Int32 = -1

    init(hasTrueColor: Bool) { self.hasTrueColor = hasTrueColor }

    mutating func erase(into out: inout [UInt8]) { shown = [] }

    mutating func draw(_ raster: Raster, column: Int, row: Int, into out: inout [UInt8]) {
        let rows = (raster.height + 1) / 2
        let isSame = !shown.isEmpty && place == (column, row, raster.width, rows)
        if !isSame {
            place = (column, row, raster.width, rows)
            shown = [SIMD2<Int32>](repeating: SIMD2(-2, -2), count: raster.width * rows)
        }
        var pen = SIMD2<Int32>(-2, -2)
        for y in 0..<rows {
            // The column of the cursor in this row.
            var cursor = -1
            for x in 0..<raster.width {
                let cell = SIMD2(
                    color(raster, x, y * 2), y * 2 + 1 < raster.height ? color(raster, x, y * 2 + 1) : Self.nothing)
                if shown[y * raster.width + x] == cell { continue }
                shown[y * raster.width + x] = cell
                if cursor != x { out.addMove(column: column + x, row: row + y) }
                cursor = x + 1
                if cell.x == cell.y {
                    // A space has no foreground color.
                    setColors(&pen, SIMD2(pen.x, cell.y), &out)
                    out.append(0x20)
                } else {
                    setColors(&pen, cell, &out)
                    // U+2580, upper half block.
                    out.append(0xE2)
                    out.append(0x96)
                    out.append(0x80)
                }
            }
        }
        if pen != SIMD2(-2, -2) { out.add("\u{1B}[0m") }
    }

    private func color(_ raster: Raster, _ x: Int, _ y: Int) -> Int32 {
        let at = (y * raster.width + x) * 3
        let (red, green, blue) = (Int32(raster.bytes[at]), Int32(raster.bytes[at + 1]), Int32(raster.bytes[at + 2]))
        return hasTrueColor ? red << 16 | green << 8 | blue : Self.indexed(red, green, blue)
    }

    /// Returns the nearest of xterm's 256 colors: a cube from 16 on, grays from 232 on.
    ///
    /// - Source: xterm's 256colres.pl: levels 0, 95, 135 … 255 and 8, 18 … 238.
    private static func indexed(_ red: Int32, _ green: Int32, _ blue: Int32) -> Int32 {
        func step(_ value: Int32) -> Int32 { value < 48 ? 0 : value < 115 ? 1 : (value - 35) / 40 }
        func level(_ step: Int32) -> Int32 { step == 0 ? 0 : 55 + step * 40 }
        let cube = (step(red), step(green), step(blue))
        let gray = min(23, max(0, ((red + green + blue) / 3 - 3) / 10))
        func distance(_ r: Int32, _ g: Int32, _ b: Int32) -> Int32 {
            (r - red) * (r - red) + (g - green) * (g - green) + (b - blue) * (b - blue)
        }
        let shade = 8 + gray * 10
        let isGray =
            distance(shade, shade, shade) < distance(level(cube.0), level(cube.1), level(cube.2))
        return isGray ? 232 + gray : 16 + cube.0 * 36 + cube.1 * 6 + cube.2
    }

    /// Selects the colors, unless they are already selected.
    private func setColors(_ pen: inout SIMD2<Int32>, _ wanted: SIMD2<Int32>, _ out: inout [UInt8]) {
        guard pen != wanted else { return }
        out.append(0x1B)
        out.append(UInt8(ascii: "["))
        if pen.x != wanted.x { addColor(38, wanted.x, &out) }
        if pen.y != wanted.y {
            if pen.x != wanted.x { out.append(UInt8(ascii: ";")) }
            if wanted.y == Self.nothing { out.add(49) } else { addColor(48, wanted.y, &out) }
        }
        out.append(UInt8(ascii: "m"))
        pen = wanted
    }

    private func addColor(_ what: Int, _ color: Int32, _ out: inout [UInt8]) {
        out.add(what)
        out.append(UInt8(ascii: ";"))
        guard hasTrueColor else {
            out.add("5;")
            out.add(Int(color))
            return
        }
        out.add("2;")
        out.add(Int(color >> 16))
        out.append(UInt8(ascii: ";"))
        out.add(Int(color >> 8 & 255))
        out.append(UInt8(ascii: ";"))
        out.add(Int(color & 255))
    }
}

/// Draws one ASCII character per pixel, for terminals without other capabilities.
struct LettersWriter: ImageWriter {
    static let ramp = Array(" .:-=+*#%@".utf8)

    func draw(_ raster: Raster, column: Int, row: Int, into out: inout [UInt8]) {
        for y in 0..<raster.height {
            out.addMove(column: column, row: row + y)
            for x in 0..<raster.width {
                let at = (y * raster.width + x) * 3
                // BT.709 luma, as the host converts to gray.
                let luma =
                    (Int(raster.bytes[at]) * 2126 + Int(raster.bytes[at + 1]) * 7152 + Int(raster.bytes[at + 2]) * 722)
                    / 10_000
                out.append(Self.ramp[luma * (Self.ramp.count - 1) / 255])
            }
        }
    }

    func erase(into out: inout [UInt8]) {}
}
