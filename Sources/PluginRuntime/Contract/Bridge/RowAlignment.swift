import CCoderPlugin
import ImageModel
import ImageProcessing

/// Provides surfaces with the row alignment that a plugin requires (`cpi_format_offer.row_align`).
///
/// Most plugins accept any alignment and write directly into the caller's buffer. The others write into a copy.
struct RowAlignment {
    private var buffer: PixelBuffer?
    /// The destination of the copy, which a frame keeps across several decode calls.
    private var place: CanvasPlace?

    /// The largest supported alignment.
    static let maxBytes = 64

    static func isLegal(_ rowAlign: UInt32) -> Bool {
        rowAlign <= maxBytes && rowAlign & (rowAlign &- 1) == 0
    }

    /// Returns the surface for the plugin: `place` itself if it is aligned.
    mutating func surface(
        for place: CanvasPlace, _ request: FrameRequest, rowAlign: Int, _ pool: PixelBufferPool
    ) throws(CoderError) -> CanvasPlace {
        if rowAlign <= 1 || place.isAligned(to: rowAlign) {
            buffer = nil
            return place
        }
        if let buffer, let known = self.place, known.buffer === place.buffer, known.rect == place.rect {
            return CanvasPlace(buffer, PixelRect(place.rect.size))
        }
        let fresh = try Self.buffer(place.rect.size, place.buffer.format, rowAlign, pool)
        place.copy(to: fresh)
        (buffer, self.place) = (fresh, place)
        return CanvasPlace(fresh, PixelRect(place.rect.size))
    }

    /// Copies the decoded pixels from the copy to the destination.
    mutating func settle(_ place: CanvasPlace, isComplete: Bool) {
        guard let buffer else { return }
        buffer.copy(to: place)
        if isComplete { self.buffer = nil }
    }

    /// Creates a buffer whose stride is a multiple of `rowAlign`.
    static func buffer(
        _ size: PixelSize, _ format: PixelFormat, _ rowAlign: Int, _ pool: PixelBufferPool
    ) throws(CoderError) -> PixelBuffer {
        let unit = rowAlign / Self.commonFactor(rowAlign, format.bytesPerPixel)
        let width = (size.width + unit - 1) / unit * unit
        let pooled = try pool.take(PixelSize(width, size.height), format, clean: true)
        if CanvasPlace(pooled).isAligned(to: rowAlign) { return pooled }
        // Small pool blocks have no alignment guarantee; a new buffer starts at a multiple of 64 bytes.
        return try PixelBuffer(size: PixelSize(width, size.height), format: format)
    }

    /// Returns the same pixels with aligned rows; copies only if necessary.
    static func aligned(_ pixels: PixelBuffer, _ rowAlign: Int, _ pool: PixelBufferPool) throws(CoderError)
        -> CanvasPlace
    {
        let place = CanvasPlace(pixels)
        if place.isAligned(to: rowAlign) { return place }
        let wide = try buffer(pixels.size, pixels.format, rowAlign, pool)
        place.copy(to: wide)
        return CanvasPlace(wide, PixelRect(pixels.size))
    }

    private static func commonFactor(_ a: Int, _ b: Int) -> Int { b == 0 ? a : commonFactor(b, a % b) }
}

extension CanvasPlace {
    fileprivate func isAligned(to rowAlign: Int) -> Bool {
        let start = unsafe buffer.withUnsafeMutableBytes { UInt(bitPattern: $0.baseAddress!) }
        let offset = rect.y * buffer.stride + rect.x * buffer.format.bytesPerPixel
        return (start + UInt(offset)).isMultiple(of: UInt(rowAlign)) && buffer.stride.isMultiple(of: rowAlign)
    }

    fileprivate func copy(to target: PixelBuffer) { buffer.copyRows(from: rect, to: target, PixelRect(rect.size)) }
}

extension PixelBuffer {
    fileprivate func copy(to place: CanvasPlace) {
        copyRows(from: PixelRect(place.rect.size), to: place.buffer, place.rect)
    }

    fileprivate func copyRows(from source: PixelRect, to target: PixelBuffer, _ rect: PixelRect) {
        let count = rect.width * format.bytesPerPixel
        for y in 0..<rect.height {
            unsafe withUnsafeMutableBytes { from in
                unsafe target.withUnsafeMutableBytes { to in
                    unsafe (to.baseAddress! + (rect.y + y) * target.stride + rect.x * format.bytesPerPixel).copyMemory(
                        from: from.baseAddress! + (source.y + y) * stride + source.x * format.bytesPerPixel,
                        byteCount: count)
                }
            }
        }
    }
}
