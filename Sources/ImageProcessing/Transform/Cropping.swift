public import ImageModel

/// Crops an image to a rectangle.
///
/// The result is limited to the image; a rectangle completely outside of it is an error.
public struct Cropping: ImageTransformer, Hashable {
    /// The rectangle to keep.
    package var rect: PixelRect

    /// Creates a crop.
    public init(_ rect: PixelRect) { self.rect = rect }

    /// The key, for example `Cropping(200x100+50+10)`.
    public var key: String { "Cropping(\(rect))" }

    /// Returns the size of the result for an image of `size`; zero if ``transform(_:)`` throws.
    public func outputSize(for size: PixelSize) -> PixelSize { visible(size)?.size ?? .zero }

    /// Returns the transformed image.
    public func transform(_ buffer: PixelBuffer) throws(CoderError) -> PixelBuffer {
        guard let visible = visible(buffer.size) else {
            throw .invalidArgument("the rectangle \(rect) is outside of an image of \(buffer.size) pixels")
        }
        if visible == PixelRect(buffer.size) { return buffer }
        let result = try PixelBufferPool.shared.take(visible.size, buffer.format, clean: false)
        copyPixels(visible, of: buffer, into: result, x: 0, y: 0)
        return result
    }

    /// Intersects without sums that could overflow, because callers may pass any rectangle.
    private func visible(_ size: PixelSize) -> PixelRect? {
        guard let columns = clamped(rect.x, rect.width, size.width),
            let rows = clamped(rect.y, rect.height, size.height)
        else { return nil }
        return PixelRect(x: columns.lowerBound, y: rows.lowerBound, width: columns.count, height: rows.count)
    }

    private func clamped(_ start: Int, _ length: Int, _ side: Int) -> Range<Int>? {
        guard length > 0, start < side else { return nil }
        let (sum, overflow) = start.addingReportingOverflow(length)
        let end = overflow ? side : min(sum, side)
        return end > max(0, start) ? max(0, start)..<end : nil
    }
}
