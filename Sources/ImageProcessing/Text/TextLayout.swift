import ImageModel

/// The glyphs of a text with their places, and the area that they need.
struct TextLayout {
    /// The largest number of characters in a text.
    static let maxCharacters = 10_000
    /// The largest number of lines.
    static let maxLines = 1_000
    /// The largest number of pixels of a drawn text.
    static let maxPixels = 64 << 20
    /// The largest width or height of a drawn text.
    private static let maxSide = 65_535

    let marks: [TextMark]
    let area: FontFace.Area

    /// Whether all lines begin or end at the same place, or are centered.
    enum Alignment { case left, center, right }

    /// Places the glyphs of a text.
    ///
    /// - Parameters:
    ///   - size: the size of the em square in 1/64 pixel.
    ///   - radius: the width of the outline in 1/64 pixel.
    /// - Throws: `.limitExceeded`; `.corrupt` for a damaged font.
    init(_ text: String, _ face: FontFace, size: Int, radius: Int, _ alignment: Alignment) throws(CoderError) {
        guard let metrics = face.setSize(size) else { throw Self.damaged }
        var lines: [(glyphs: [ShapedGlyph], width: Int)] = []
        for line in Self.lines(text, keepsInvisible: face.shapes) {
            var glyphs: [ShapedGlyph] = []
            let script = face.shapes ? FontFace.script : { _ in 0 }
            for run in TextDirection.runs(line, scriptOf: script) {
                guard let part = face.shape(run.characters, isRightToLeft: run.isRightToLeft) else {
                    throw Self.damaged
                }
                glyphs += part
            }
            lines.append((glyphs, glyphs.reduce(0) { $0 + $1.advance }))
        }
        let width = max(0, (lines.map(\.width).max() ?? 0) + 63) / 64
        try Self.check(width, metrics.lineHeight * lines.count)
        var area = FontFace.Area(
            left: 0, bottom: -(lines.count - 1) * metrics.lineHeight - metrics.descent, right: width,
            top: metrics.ascent)
        var marks: [TextMark] = []
        for (number, line) in lines.enumerated() {
            var pen = 0
            switch alignment {
            case .left: break
            // Whole pixels, so that equal lines get equal pixels.
            case .center: pen = (width * 64 - line.width) / 128 * 64
            case .right: pen = (width * 64 - line.width) / 64 * 64
            }
            for glyph in line.glyphs {
                let mark = TextMark(
                    glyph: glyph.index, x: pen + glyph.x, y: glyph.y - number * metrics.lineHeight * 64)
                pen += glyph.advance
                guard let own = face.area(of: mark, radius: radius) else { throw Self.damaged }
                if own.left == own.right || own.bottom == own.top { continue }
                marks.append(mark)
                area.left = min(area.left, own.left)
                area.right = max(area.right, own.right)
                area.bottom = min(area.bottom, own.bottom)
                area.top = max(area.top, own.top)
            }
        }
        // A text of spaces still is an image.
        area.right = max(area.right, area.left + 1)
        area.top = max(area.top, area.bottom + 1)
        try Self.check(area.right - area.left, area.top - area.bottom)
        (self.marks, self.area) = (marks, area)
    }

    /// The size of the area in pixels.
    var size: PixelSize { PixelSize(area.right - area.left, area.top - area.bottom) }

    private static let damaged = CoderError(
        .corrupt, "the font cannot draw a character of the text", hint: "choose another font")

    private static func check(_ width: Int, _ height: Int) throws(CoderError) {
        let (pixels, overflow) = width.multipliedReportingOverflow(by: height)
        if width <= maxSide, height <= maxSide, !overflow, pixels <= maxPixels { return }
        throw CoderError(
            .limitExceeded,
            "the text needs \(width)x\(height) pixels, above the limit of \(maxPixels) pixels or \(maxSide) a side",
            hint: "choose a smaller text size")
    }

    /// Returns the lines of a text; a tab counts as four spaces.
    private static func lines(_ text: String, keepsInvisible: Bool) -> [[Unicode.Scalar]] {
        var lines: [[Unicode.Scalar]] = [[]]
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 10: lines.append([])
            case 9: lines[lines.count - 1] += [Unicode.Scalar](repeating: " ", count: 4)
            case 13: continue
            default:
                if scalar.properties.isDefaultIgnorableCodePoint, !keepsInvisible { continue }
                lines[lines.count - 1].append(scalar)
            }
        }
        return lines
    }
}
