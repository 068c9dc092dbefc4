import CPixelLibraries

/// A glyph with its origin: x to the right, y upward from the first baseline.
///
/// - Units: 1/64 pixel
struct TextMark {
    var glyph: UInt32
    var x, y: Int
}

/// A glyph in a line.
///
/// - Units: 1/64 pixel
struct ShapedGlyph {
    var index: UInt32
    var advance, x, y: Int
}

/// An opened font at one size; only one thread at a time may use it.
@safe final class FontFace {
    /// The height of a line's parts: above the baseline, below it, and from one baseline to the next.
    ///
    /// - Units: pixels
    struct Metrics {
        var ascent, descent, lineHeight: Int
    }

    /// Whole pixels, y upward from the first baseline.
    struct Area {
        var left, bottom, right, top: Int
    }

    private let font: OpaquePointer

    /// Whether FreeType is installed.
    static var isAvailable: Bool { textshim_has_rasterizer() != 0 }

    /// Opens font data; returns nil if they are damaged or have no outlines.
    ///
    /// - Parameter shapes: whether to shape with HarfBuzz, if it is installed.
    init?(_ bytes: [UInt8], index: Int, shapes: Bool) {
        let font = unsafe bytes.withUnsafeBytes { bytes in
            unsafe textshim_font_open(bytes.baseAddress, UInt64(bytes.count), Int32(clamping: index), shapes ? 1 : 0)
        }
        guard let font = unsafe font else { return nil }
        unsafe self.font = font
    }

    deinit { unsafe textshim_font_close(font) }

    /// Whether HarfBuzz shapes the text.
    var shapes: Bool { unsafe textshim_font_shapes(font) != 0 }

    /// Sets the size of the em square in 1/64 pixel; returns nil if the font has no such size.
    func setSize(_ size: Int) -> Metrics? {
        var raw = textshim_metrics()
        guard unsafe textshim_font_set_size(font, Int32(clamping: size), &raw) == 0 else { return nil }
        // A damaged font can state anything; a line has at least one pixel.
        let (ascent, descent) = (max(0, Int(raw.ascender) + 63) / 64, max(0, 63 - Int(raw.descender)) / 64)
        return Metrics(ascent: ascent, descent: descent, lineHeight: max(1, (Int(raw.height) + 63) / 64))
    }

    /// Whether the font has a glyph for a character.
    func hasGlyph(_ character: UInt32) -> Bool { unsafe textshim_font_glyph(font, character) != 0 }

    /// Returns the four letters of a character's script as a number; 0 without HarfBuzz.
    static func script(_ character: UInt32) -> UInt32 { textshim_script(character) }

    /// Returns the glyphs of characters of one direction and script, from left to right; nil on failure.
    func shape(_ characters: [UInt32], isRightToLeft: Bool) -> [ShapedGlyph]? {
        var raw = [textshim_glyph](repeating: textshim_glyph(), count: characters.count * 8 + 16)
        let count = unsafe characters.withUnsafeBufferPointer { characters in
            unsafe raw.withUnsafeMutableBufferPointer { raw in
                unsafe textshim_font_shape(
                    font, characters.baseAddress, UInt32(characters.count), isRightToLeft ? 1 : 0, raw.baseAddress,
                    UInt32(raw.count))
            }
        }
        guard count >= 0 else { return nil }
        return raw.prefix(Int(count)).map {
            ShapedGlyph(index: $0.index, advance: Int($0.advance), x: Int($0.x), y: Int($0.y))
        }
    }

    /// Returns the area that a glyph touches with a stroke of `radius` in 1/64 pixel around it; nil on failure.
    func area(of mark: TextMark, radius: Int) -> Area? {
        var raw = textshim_mark(mark, radius: radius)
        var area = textshim_area()
        guard unsafe textshim_font_area(font, &raw, &area) == 0 else { return nil }
        return Area(left: Int(area.left), bottom: Int(area.bottom), right: Int(area.right), top: Int(area.top))
    }

    /// Returns the coverage of an area by glyphs, one byte a pixel, rows from the top; nil on failure.
    func coverage(_ marks: [TextMark], radius: Int, in area: Area) -> [UInt8]? {
        let (width, height) = (area.right - area.left, area.top - area.bottom)
        var coverage = [UInt8](repeating: 0, count: width * height)
        let isDrawn = unsafe coverage.withUnsafeMutableBufferPointer { bytes in
            for mark in marks {
                var raw = textshim_mark(mark, radius: radius)
                let status = unsafe textshim_font_draw(
                    font, &raw, Int32(clamping: area.left), Int32(clamping: area.top), bytes.baseAddress,
                    Int32(width), Int32(height))
                if status != 0 { return false }
            }
            return true
        }
        return isDrawn ? coverage : nil
    }
}

extension textshim_mark {
    fileprivate init(_ mark: TextMark, radius: Int) {
        self.init(
            index: mark.glyph, x: Int32(clamping: mark.x), y: Int32(clamping: mark.y), radius: Int32(clamping: radius))
    }
}

/// The fonts that fontconfig finds.
enum FontCatalogue {
    /// The answer for a name.
    enum Answer {
        case found(path: String, index: Int)
        /// Only another family is installed.
        case substitute(family: String)
        /// No font is installed, or fontconfig is not.
        case none
    }

    /// Finds a font by family or pattern; without a name a sans-serif font that has most of the characters.
    static func find(_ name: String?, _ characters: [UInt32]) -> Answer {
        var path = [CChar](repeating: 0, count: Int(TEXTSHIM_PATH))
        var family = [CChar](repeating: 0, count: Int(TEXTSHIM_FAMILY))
        var index: Int32 = 0
        let count = UInt32(characters.count)
        let status =
            if let name {
                unsafe textshim_find(name, characters, count, &path, &family, &index)
            } else {
                unsafe textshim_find(nil, characters, count, &path, &family, &index)
            }
        return switch status {
        case 0: .found(path: text(path), index: Int(index))
        case 1: .substitute(family: text(family))
        default: .none
        }
    }

    private static func text(_ characters: [CChar]) -> String {
        String(decoding: characters.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
