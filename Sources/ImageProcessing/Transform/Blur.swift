public import ImageModel

/// Blurs like a Gaussian whose standard deviation is half the radius.
///
/// Three boxes in each direction, on premultiplied values of 16 bits; outside the picture its edge goes on. The boxes are
/// those of the W3C's rule for a standard deviation of half the radius, made odd.
///
/// - Source: W3C, "Filter Effects Module Level 1", feGaussianBlur.
public struct Blur: ImageTransformer, Hashable {
    /// 0 … 1000; with 0 nothing happens.
    ///
    /// - Units: pixels
    public var radius: Double

    public init(radius: Double) { self.radius = radius }

    /// For example `Blur(25)`.
    public var key: String { "Blur(\(keyText(radius)))" }

    public func outputSize(for size: PixelSize) -> PixelSize { Self.range.contains(radius) ? size : .zero }

    public func transform(_ buffer: PixelBuffer) throws(CoderError) -> PixelBuffer {
        try check(radius, "a blur radius", in: Self.range)
        try buffer.format.checkWorkable("the blur")
        if radius == 0 { return buffer }
        let result = try PixelBufferPool.shared.take(buffer.size, buffer.format, clean: false)
        try blurPixels(buffer, into: result, box: box, passes: passes)
        return result
    }

    private static let range = 0.0...1000.0

    /// A box of less than three pixels does nothing, so small radii go with fewer passes instead.
    private var box: Int {
        let fullTurn = 2 * Double.pi
        return Int((max(radius, 2) * 3 * fullTurn.squareRoot() / 4 + 0.5) / 2) | 1
    }

    private var passes: Int { radius < 0.5 ? 1 : radius < 1.5 ? 2 : 3 }
}
