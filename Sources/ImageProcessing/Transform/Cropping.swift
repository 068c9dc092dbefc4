public import ImageModel

/// Cuts a rectangle out.
///
/// What lies outside of the picture is left away; a rectangle that does not touch it is refused.
public struct Cropping: ImageTransformer, Hashable {
    public var rect: PixelRect

    public init(_ rect: PixelRect) { self.rect = rect }

    /// For example `Cropping(200x100+50+10)`.
    public var key: String { "Cropping(\(rect))" }

    public func outputSize(for size: PixelSize) -> PixelSize { visible(size)?.size ?? .zero }

    public func transform(_ buffer: PixelBuffer) throws(CoderError) -> PixelBuffer {
        guard let visible = visible(buffer.size) else {
            throw .invalidArgument("the rectangle \(rect) is outside of a picture of \(buffer.size) pixels")
        }
        if visible == PixelRect(buffer.size) { return buffer }
        let result = try PixelBufferPool.shared.take(visible.size, buffer.format, clean: false)
        copyPixels(visible, of: buffer, into: result, x: 0, y: 0)
        return result
    }

    /// Without sums that could overflow: the rectangle comes from anywhere.
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
