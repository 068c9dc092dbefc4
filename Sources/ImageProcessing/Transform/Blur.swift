import Glibc
public import ImageModel

/// Blurs with a Gaussian.
///
/// On premultiplied values of 16 bits; outside the picture its edge goes on. From a radius of 4 on three boxes in each
/// direction stand for the Gaussian, with its standard deviation.
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
        try blurPixels(buffer, into: result, with: BlurKernel(radius))
        return result
    }

    private static let range = 0.0...1000.0
}

/// What a blur weighs the neighbors of a pixel with, in each direction.
enum BlurKernel {
    /// From the middle on; the middle once and the others twice are 1 together.
    case weights([Float])
    /// Three boxes whose two outermost pixels, `reach` from the middle, weigh `outer` and the others `inner`.
    case boxes(reach: Int, inner: Float, outer: Float)

    /// The kernel with a standard deviation, above 0.
    init(_ deviation: Double) {
        self = deviation < 4 ? .weights(Self.gaussian(deviation)) : Self.boxes(deviation)
    }

    /// Samples of a Gaussian, of that one whose samples have the variance that is asked for.
    ///
    /// Samples of a narrow Gaussian have less than itself (at 0.5 by 14 %), and so have those of one that is cut off.
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

    /// Boxes with a third of the variance each, thanks to ends that weigh less.
    ///
    /// - Source: Gwosdek, Grewenig, Bruhn, Weickert, "Theoretical Foundations of Gaussian Convolution by Extended Box
    ///   Filtering", 2011.
    private static func boxes(_ deviation: Double) -> BlurKernel {
        let variance = deviation * deviation / 3
        // The widest whole box, 2r + 1 pixels with a variance of r(r + 1)/3, that is not too wide.
        let whole = (((1 + 12 * variance).squareRoot() - 1) / 2).rounded(.down)
        let (pixels, next) = (2 * whole + 1, (whole + 1) * (whole + 1))
        let end = max(0, pixels * (variance - whole * (whole + 1) / 3) / (2 * (next - variance)))
        let inner = 1 / (pixels + 2 * end)
        return .boxes(reach: Int(whole) + 1, inner: Float(inner), outer: Float(end * inner))
    }
}
