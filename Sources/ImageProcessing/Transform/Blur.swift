import Glibc
public import ImageModel

/// Blurs an image with a Gaussian.
///
/// Works on premultiplied 16-bit values and repeats edge pixels outside the image. From a radius of 4 on, three box
/// blurs in each direction with the same standard deviation replace the Gaussian.
public struct Blur: RowTransformer, Hashable {
    /// The standard deviation, 0 … 1000; 0 leaves the image unchanged.
    ///
    /// - Units: pixels
    package var radius: Double

    /// Creates a blur.
    public init(radius: Double) { self.radius = radius }

    /// For example `Blur(25)`.
    public var key: String { "Blur(\(keyText(radius)))" }

    /// Returns the size of the result for an image of `size`; zero if ``transform(_:)`` throws.
    public func outputSize(for size: PixelSize) -> PixelSize { Self.range.contains(radius) ? size : .zero }

    /// Returns the transformed image.
    public func transform(_ buffer: PixelBuffer) throws(CoderError) -> PixelBuffer {
        let rows = try blurred(BufferRows(buffer))
        return radius == 0 ? buffer : try rows.collected()
    }

    /// Returns the transformed rows.
    package func rows(of source: any RowSource) throws(CoderError) -> (any RowSource)? { try blurred(source) }

    private func blurred(_ source: any RowSource) throws(CoderError) -> any RowSource {
        try check(radius, "a blur radius", in: Self.range)
        try source.format.checkWorkable("the blur")
        return radius == 0 ? source : try BlurredRows(source, BlurKernel(radius))
    }

    private static let range = 0.0...1000.0
}

/// The weights of neighboring pixels in a blur, for each direction.
enum BlurKernel {
    /// Weights from the middle outwards; the middle plus twice the others add up to 1.
    case weights([Float])
    /// Three boxes whose two outermost pixels, `reach` from the middle, weigh `outer` and the others `inner`.
    case boxes(reach: Int, inner: Float, outer: Float)

    /// Returns the kernel with a standard deviation above 0.
    init(_ deviation: Double) {
        self = deviation < 4 ? .weights(Self.gaussian(deviation)) : Self.boxes(deviation)
    }

    /// Returns samples of the Gaussian whose samples have the requested variance.
    ///
    /// The samples of a narrow Gaussian have a smaller variance than the Gaussian (at 0.5 by 14 %), as do those of a
    /// truncated one.
    private static func gaussian(_ deviation: Double) -> [Float] {
        let reach = Int((3 * deviation).rounded(.up)) + 1
        var (low, high) = (0.0, deviation + 1)
        for _ in 0..<50 {
            let middle = (low + high) / 2
            let samples = samples(middle, reach)
            var variance = 0.0
            for (k, weight) in samples.enumerated() { variance += 2 * Double(k * k) * weight }
            if variance < deviation * deviation { low = middle } else { high = middle }
        }
        return samples(high, reach).map(Float.init)
    }

    private static func samples(_ deviation: Double, _ reach: Int) -> [Double] {
        let values = (0...reach).map { $0 == 0 ? 1 : exp(-Double($0 * $0) / (2 * deviation * deviation)) }
        let sum = 2 * values.reduce(0, +) - 1
        return values.map { $0 / sum }
    }

    /// Returns boxes with a third of the variance each; their end pixels have a smaller weight.
    ///
    /// - Source: Gwosdek, Grewenig, Bruhn, Weickert, "Theoretical Foundations of Gaussian Convolution by Extended Box
    ///   Filtering", 2011.
    private static func boxes(_ deviation: Double) -> BlurKernel {
        let variance = deviation * deviation / 3
        // The widest whole box that is not too wide: 2r + 1 pixels have a variance of r(r + 1)/3.
        let whole = (((1 + 12 * variance).squareRoot() - 1) / 2).rounded(.down)
        let (pixels, next) = (2 * whole + 1, (whole + 1) * (whole + 1))
        let end = max(0, pixels * (variance - whole * (whole + 1) / 3) / (2 * (next - variance)))
        let inner = 1 / (pixels + 2 * end)
        return .boxes(reach: Int(whole) + 1, inner: Float(inner), outer: Float(end * inner))
    }
}
