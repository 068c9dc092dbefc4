public import ImageModel

/// The changes from an old canvas to a new one, for animation encoders that write only the changes.
///
/// Pixels are equal if all their bytes are equal; the surface and the canvas must have the same size and layout.
public enum FrameDifference {
    /// The differences of the pixels in a rectangle.
    public struct Coverage: Sendable, Hashable {
        /// The number of changed pixels.
        public var changed: Int
        /// The number of unchanged pixels.
        public var unchanged: Int
        /// Whether every changed pixel is opaque, so that it can also be drawn over the old one.
        public var isChangedOpaque: Bool
    }

    /// Returns the smallest rectangle with all changed pixels; nil if no pixel changed.
    ///
    /// - Throws: `.cancelled`, `.deadlineExceeded`.
    public static func rect(
        of surface: borrowing Surface, from canvas: PixelBuffer, host: HostServices
    ) throws(CoderError) -> PixelRect? {
        check(surface, canvas)
        let height = surface.size.height
        let pixel = surface.format.bytesPerPixel
        let rowBytes = surface.bytesPerRow

        var top = 0
        while top < height, first(surface, canvas, y: top, 0..<rowBytes) == nil {
            if top % 64 == 0 { try host.checkCancellation() }
            top += 1
        }
        guard top < height else { return nil }
        var bottom = height - 1
        while bottom > top, first(surface, canvas, y: bottom, 0..<rowBytes) == nil {
            if bottom % 64 == 0 { try host.checkCancellation() }
            bottom -= 1
        }

        // Only the columns outside of the range found so far need a comparison.
        var left = surface.size.width
        var right = -1
        for y in top...bottom {
            if y % 64 == 0 { try host.checkCancellation() }
            if let place = first(surface, canvas, y: y, 0..<left * pixel) { left = place / pixel }
            if let place = last(surface, canvas, y: y, (right + 1) * pixel..<rowBytes) { right = place / pixel }
        }
        return PixelRect(x: left, y: top, width: right - left + 1, height: bottom - top + 1)
    }

    /// Counts the changed and unchanged pixels of `rect`.
    ///
    /// - Throws: `.cancelled`, `.deadlineExceeded`.
    public static func coverage(
        of surface: borrowing Surface, from canvas: PixelBuffer, in rect: PixelRect, host: HostServices
    ) throws(CoderError) -> Coverage {
        check(surface, canvas)
        precondition(PixelRect(surface.size).contains(rect))
        let format = surface.format
        var changed = 0
        var isOpaque = true
        for y in rect.y..<rect.y + rect.height {
            if y % 64 == 0 { try host.checkCancellation() }
            surface.withRow(y) { new in
                canvas.withRow(y) { old in
                    if format.bytesPerPixel == 4, format.bits == 8 {
                        // In a pixel read as one number, alpha is the highest byte on a little-endian machine.
                        var all = UInt32.max
                        for offset in stride(from: rect.x * 4, to: (rect.x + rect.width) * 4, by: 4) {
                            let color = new.quad(at: offset)
                            if color == old.quad(at: offset) { continue }
                            changed += 1
                            all &= UInt32(littleEndian: color)
                        }
                        if format.hasTransparency, all >> 24 != 0xFF { isOpaque = false }
                    } else {
                        for x in rect.x..<rect.x + rect.width where differs(new, old, x * format.bytesPerPixel, format)
                        {
                            changed += 1
                            if isOpaque { isOpaque = self.isOpaque(new, x * format.bytesPerPixel, format) }
                        }
                    }
                }
            }
        }
        return Coverage(
            changed: changed, unchanged: rect.width * rect.height - changed, isChangedOpaque: isOpaque)
    }

    // MARK: Rows

    private static func check(_ surface: borrowing Surface, _ canvas: PixelBuffer) {
        precondition(surface.size == canvas.size && surface.format.bytesPerPixel == canvas.format.bytesPerPixel)
    }

    private static func first(
        _ surface: borrowing Surface, _ canvas: PixelBuffer, y: Int, _ range: Range<Int>
    ) -> Int? {
        surface.withRow(y) { new in canvas.withRow(y) { old in firstDifference(new, old, range) } }
    }

    private static func last(
        _ surface: borrowing Surface, _ canvas: PixelBuffer, y: Int, _ range: Range<Int>
    ) -> Int? {
        surface.withRow(y) { new in canvas.withRow(y) { old in lastDifference(new, old, range) } }
    }

    /// Returns the offset of the first different byte.
    static func firstDifference(_ new: RawSpan, _ old: RawSpan, _ range: Range<Int>) -> Int? {
        var offset = range.lowerBound
        // Four words at a time, because most of a canvas is unchanged.
        while range.upperBound - offset >= 32, !differs(new, old, offset) { offset += 32 }
        while range.upperBound - offset >= 8, new.word(at: offset) == old.word(at: offset) { offset += 8 }
        while offset < range.upperBound {
            if new.byte(at: offset) != old.byte(at: offset) { return offset }
            offset += 1
        }
        return nil
    }

    /// Returns the offset of the last different byte.
    static func lastDifference(_ new: RawSpan, _ old: RawSpan, _ range: Range<Int>) -> Int? {
        var end = range.upperBound
        while end - range.lowerBound >= 32, !differs(new, old, end - 32) { end -= 32 }
        while end - range.lowerBound >= 8, new.word(at: end - 8) == old.word(at: end - 8) { end -= 8 }
        while end > range.lowerBound {
            end -= 1
            if new.byte(at: end) != old.byte(at: end) { return end }
        }
        return nil
    }

    /// Returns whether 32 bytes differ.
    @inline(__always)
    private static func differs(_ new: RawSpan, _ old: RawSpan, _ offset: Int) -> Bool {
        let first =
            (new.word(at: offset) ^ old.word(at: offset)) | (new.word(at: offset + 8) ^ old.word(at: offset + 8))
        let second =
            (new.word(at: offset + 16) ^ old.word(at: offset + 16))
            | (new.word(at: offset + 24) ^ old.word(at: offset + 24))
        return first | second != 0
    }

    private static func differs(_ new: RawSpan, _ old: RawSpan, _ offset: Int, _ format: PixelFormat) -> Bool {
        for place in offset..<offset + format.bytesPerPixel where new.byte(at: place) != old.byte(at: place) {
            return true
        }
        return false
    }

    /// Returns whether the alpha of a pixel, its last sample, is full.
    private static func isOpaque(_ row: RawSpan, _ offset: Int, _ format: PixelFormat) -> Bool {
        guard format.hasTransparency else { return true }
        if format.numeric == .float { return false }
        let end = offset + format.bytesPerPixel
        for place in end - format.bytesPerSample..<end where row.byte(at: place) != 0xFF { return false }
        return true
    }
}
