public import ImageModel

/// Blurs much like a Gaussian.
///
/// Three boxes in each direction, on premultiplied values of 16 bits; outside the picture its edge goes on.
///
/// - Source: W3C, "Filter Effects Module Level 1", feGaussianBlur.
public struct Blur: ImageTransformer, Hashable {
    /// The standard deviation, 0 … 1000; with 0 nothing happens.
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

    /// The W3C's rule for a standard deviation of 2 and more, made odd.
    private var box: Int {
        let fullTurn = 2 * Double.pi
        return radius < 2 ? 3 : Int(radius * 3 * fullTurn.squareRoot() / 4 + 0.5) | 1
    }

    /// Below it, as many boxes of three pixels, with a variance of 2/3 each, as come closest.
    private var passes: Int { radius < 2 ? Int(max(1, min(3, (radius * radius * 1.5).rounded()))) : 3 }
}
