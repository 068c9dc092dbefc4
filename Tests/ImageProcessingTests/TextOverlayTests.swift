import ImageModel
import TestSupport
import Testing

@testable import ImageProcessing

/// Texts in the font of boxes: at a size of 16 pixels, a unit of the font is a pixel, and the baseline is 12 pixels below
/// the top. `Fixtures/recipes/fonts.py` defines the boxes.
@Suite(.timeLimit(.minutes(40))) struct `A text` {
    /// A glyph's box above the baseline of line `line`: left, bottom, right, top.
    struct Box: Sendable, CustomTestStringConvertible {
        var left, bottom, right, top: Int
        var line = 0
        var testDescription: String { "\(left),\(bottom),\(right),\(top) in line \(line)" }

        init(_ left: Int, _ bottom: Int, _ right: Int, _ top: Int, line: Int = 0) {
            (self.left, self.bottom, self.right, self.top, self.line) = (left, bottom, right, top, line)
        }

        func contains(_ x: Int, _ y: Int) -> Bool {
            let height = 12 + 16 * line - 1 - y
            return (left..<right).contains(x) && (bottom..<top).contains(height)
        }
    }

    static let size = PixelSize(32, 36)
    static let boxes = Repository.fixture("fonts/boxes.ttf")

    static func font(shapes: Bool = true) throws -> TextFont {
        try TextFont(boxes, folders: nil, shapes: shapes)
    }

    private static let letters: [(text: String, boxes: [Box])] = [
        ("A", [Box(1, 0, 7, 10)]),
        // Kerning moves B by -2.
        ("AB", [Box(1, 0, 7, 10), Box(6, 0, 10, 4)]),
        ("A B", [Box(1, 0, 7, 10), Box(12, 0, 16, 4)]),
        ("Bg", [Box(0, 0, 4, 4), Box(5, -4, 9, 4)]),
        ("B\nA", [Box(0, 0, 4, 4), Box(1, 0, 7, 10, line: 1)]),
        ("B\n\u{d}", [Box(0, 0, 4, 4)]),
        ("B\tB", [Box(0, 0, 4, 4), Box(21, 0, 25, 4)]),
        // From right to left: alef is at the right.
        ("\u{5d0}\u{5d1}", [Box(0, 0, 6, 9), Box(6, 0, 8, 3)]),
        ("B\u{5d0}\u{5d1}B", [Box(0, 0, 4, 4), Box(5, 0, 11, 9), Box(11, 0, 13, 3), Box(13, 0, 17, 4)]),
        // A character that the font lacks has the box of .notdef.
        ("x", [Box(1, 0, 5, 8)]),
    ]

    @Test(arguments: letters, [true, false])
    func `has the pixels of its glyphs, and no other pixel changes`(
        letters: (text: String, boxes: [Box]), shapes: Bool
    ) throws {
        try Self.expect(letters.boxes, letters.text, shapes: shapes)
    }

    @Test(arguments: [
        ("fi", true, [Box(0, 0, 6, 12)]), ("fi", false, [Box(0, 0, 2, 12), Box(5, 0, 6, 6)]),
        ("\u{628}", true, [Box(0, 0, 8, 2)]),
        // The letter begins, continues and ends a word from right to left.
        ("\u{628}\u{628}\u{628}", true, [Box(0, 0, 5, 8), Box(5, 0, 9, 6), Box(9, 0, 12, 4)]),
        ("\u{628}\u{628}\u{628}", false, [Box(0, 0, 24, 2)]),
    ])
    func `is shaped by HarfBuzz, otherwise each character has its own glyph`(
        text: String, shapes: Bool, boxes: [Box]
    ) throws {
        try Self.expect(boxes, text, shapes: shapes)
    }

    private static func expect(_ boxes: [Box], _ text: String, shapes: Bool) throws {
        let base = try TransformImage.noise(size, .rgb8)
        let style = TextStyle(size: .pixels(16), color: TransformImage.red)
        let overlay = try TextOverlay(text, font: font(shapes: shapes), style: style, gravity: .northwest)

        let (old, new) = (TransformImage.samples(base), TransformImage.samples(try overlay.transform(base)))

        for y in 0..<size.height {
            for x in 0..<size.width {
                let range = (y * size.width + x) * 3..<(y * size.width + x + 1) * 3
                let isInside = boxes.contains { $0.contains(x, y) }
                #expect(Array(new[range]) == (isInside ? [151, 36, 31] : Array(old[range])), "\(text) at \(x),\(y)")
            }
        }
    }

    @Test(arguments: [(Gravity.northwest, 0), (.north, 1), (.northeast, 3), (.southeast, 3)])
    func `aligns its lines at the side of the gravity`(gravity: Gravity, start: Int) throws {
        // The lines B (5 pixels) and A (8 pixels), in an image as high as two lines and 8 pixels wide.
        let base = try PixelBuffer(size: PixelSize(8, 32), format: .gray8)
        let style = TextStyle(size: .pixels(16))
        let result = try TextOverlay("B\nA", font: Self.font(), style: style, gravity: gravity).transform(base)

        let row = TransformImage.samples(result)[11 * 8..<12 * 8]
        #expect(Array(row) == (0..<8).map { (start..<start + 4).contains($0) ? 255 : 0 })
        let last = TransformImage.samples(result)[27 * 8..<28 * 8]
        #expect(Array(last) == [0, 255, 255, 255, 255, 255, 255, 0])
    }

    @Test(arguments: TransformImage.integerFormats)
    func `is drawn on every integer format`(format: PixelFormat) throws {
        let image = try TransformImage.noise(PixelSize(24, 24), format)
        let overlay = try TextOverlay("A", font: Self.font(), style: TextStyle(size: .pixels(16)))

        let result = try overlay.transform(image)

        #expect(result.size == image.size && result.format.bits == format.bits)
        #expect(overlay.outputSize(for: image.size) == image.size)
        let rgb = try PixelConverter.convert(result, to: .rgb8)
        // The box of A: 8 pixels from the right, 4 from the bottom.
        #expect(Array(TransformImage.samples(rgb)[(19 * 24 + 18) * 3..<(19 * 24 + 19) * 3]) == [255, 255, 255])
    }

    @Test func `keeps a gray image gray unless it has colors`() throws {
        let base = try PixelBuffer(size: PixelSize(24, 24), format: .gray8)
        let font = try Self.font()
        #expect(try TextOverlay("A", font: font).transform(base).format == .gray8)
        let colored = try TextOverlay("A", font: font, style: TextStyle(color: TransformImage.red))
        #expect(try colored.transform(base).format == .rgb8)
    }

    @Test(arguments: [8, 16])
    func `keeps its sRGB color in a wide color space`(bits: Int) throws {
        let format = PixelFormat(.rgb, bits: bits)
        let base = try PixelBuffer(size: PixelSize(24, 24), format: format)
        let style = TextStyle(size: .pixels(16), color: RGBAColor(red: 255, green: 0, blue: 0))
        let overlay = try TextOverlay(
            "A", font: Self.font(), style: style, gravity: .northwest, colors: .displayP3)

        let samples = TransformImage.samples(try overlay.transform(base))

        // sRGB red in Display P3 is (0.9175, 0.2003, 0.1386), by the matrices of CSS Color 4.
        let seen = samples[(5 * 24 + 3) * 3..<(5 * 24 + 4) * 3].map { Double($0) / Double((1 << bits) - 1) }
        for (value, wanted) in zip(seen, [0.9175, 0.2003, 0.1386]) { #expect(abs(value - wanted) < 0.003, "\(seen)") }
    }

    @Test func `has an outline around its glyphs`() throws {
        let base = try PixelBuffer.of(PixelSize(40, 40), .gray8, [UInt8](repeating: 255, count: 1600))
        let style = TextStyle(size: .pixels(32), outline: RGBAColor(red: 0, green: 0, blue: 0))
        let overlay = try TextOverlay("A", font: Self.font(), style: style, gravity: .center)

        let pixels = TransformImage.samples(try overlay.transform(base))

        // At twice the size the text of 16x32 pixels is at 12,4; the box of A is 14..<26, 8..<28, the outline 2 pixels wide.
        for y in 8..<28 {
            let row = Array(pixels[y * 40..<y * 40 + 40])
            #expect(row == (0..<40).map { (12..<14).contains($0) || (26..<28).contains($0) ? 0 : 255 }, "row \(y)")
        }
        let above = Array(pixels[6 * 40..<7 * 40])
        #expect(above[14..<26].allSatisfy { $0 == 0 } && above[..<12].allSatisfy { $0 == 255 })
        #expect(pixels[5 * 40..<6 * 40].allSatisfy { $0 == 255 })
    }

    @Test func `grows with the height of the image`() throws {
        let overlay = try TextOverlay(
            "A", font: Self.font(), style: TextStyle(size: .ofHeight(0.5)), gravity: .northwest)
        for height in [32, 64] {
            let base = try PixelBuffer(size: PixelSize(64, height), format: .gray8)
            let covered = TransformImage.samples(try overlay.transform(base)).filter { $0 == 255 }.count
            // The box of A has 6x10 units of a sixteenth.
            #expect(covered == 60 * (height / 32) * (height / 32))
        }
    }
}
