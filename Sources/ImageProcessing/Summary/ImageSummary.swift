public import ImageModel

/// The colors of an image, and a preview of a few bytes.
///
///     let summary = try manager.summary(of: source)
///     print(summary.blurHash, summary.dominantColor)
///
/// Transparent pixels count according to their alpha: the color below them has no effect.
public struct ImageSummary: Sendable, Hashable {
    /// A color of the palette.
    public struct Swatch: Sendable, Hashable {
        /// The mean of similar colors.
        public var color: RGBAColor
        /// The part of the visible pixels that has these colors, from 0 to 1.
        public var share: Double
    }

    /// The preview as a BlurHash: 4 × 3 components, or 3 × 4 if the image is higher than wide.
    public var blurHash: String
    /// The first color of the palette; clear if no pixel is visible.
    ///
    /// A group of similar colors hardly changes with the noise of a lossy encoding; a single color does.
    public var dominantColor: RGBAColor
    /// The mean of all pixels in linear light; its alpha is the mean alpha.
    public var averageColor: RGBAColor
    /// The most important colors, the most frequent first; fewer than requested if the image has fewer.
    public var palette: [Swatch]
    /// Whether a pixel is not opaque.
    public var hasTransparentPixels: Bool

    /// Summarizes sRGB pixels; a thumbnail of about 128 pixels is enough.
    ///
    /// - Parameter colors: the maximum number of palette colors.
    /// - Throws: `.invalidArgument` for an empty image, `.unsupportedFeature` for float samples, `.outOfMemory`.
    public init(_ pixels: PixelBuffer, colors: Int = 5) throws(CoderError) {
        guard !pixels.size.isEmpty else { throw .invalidArgument("an empty image has no colors") }
        let samples = try SummarySamples(pixels)
        let average = samples.average()
        averageColor = average.color
        let isHigh = pixels.size.height > pixels.size.width
        blurHash = BlurHash(columns: isHigh ? 3 : 4, rows: isHigh ? 4 : 3).text(of: samples, over: average.light)
        let visible = ColorClusters(samples)
        let groups = visible.palette(max(1, colors))
        dominantColor = groups.first?.color ?? .clear
        palette = Array(groups.prefix(max(0, colors)))
        hasTransparentPixels = samples.hasTransparency
    }

    /// Returns whether a pixel of an image is not opaque.
    package static func hasTransparentPixels(_ pixels: PixelBuffer) throws(CoderError) -> Bool {
        if !pixels.format.hasTransparency { return false }
        return try SummarySamples(pixels).hasTransparency
    }
}

/// The pixels of a small image as RGBA8, with straight alpha.
struct SummarySamples {
    let width: Int
    let height: Int
    /// Red, green, blue and alpha of every pixel, row by row.
    let bytes: [UInt8]

    /// The light of every stored value.
    static let light: [Double] = (0...255).map { SRGBCurve.linear(Double($0) / 255) }

    init(_ pixels: PixelBuffer) throws(CoderError) {
        let pixels = try PixelConverter.convert(pixels, to: .rgba8)
        (width, height) = (pixels.size.width, pixels.size.height)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(width * height * 4)
        var row = [UInt8](repeating: 0, count: pixels.bytesPerRow)
        for y in 0..<height {
            pixels.copyRow(y, into: &row)
            bytes += row
        }
        self.bytes = bytes
    }

    var count: Int { width * height }
    var hasTransparency: Bool { (0..<count).contains { bytes[$0 * 4 + 3] != 255 } }

    /// Returns the light of a pixel, drawn over a background.
    func light(at place: Int, over background: SIMD3<Double>) -> SIMD3<Double> {
        let own = SIMD3(
            Self.light[Int(bytes[place * 4])], Self.light[Int(bytes[place * 4 + 1])],
            Self.light[Int(bytes[place * 4 + 2])])
        let alpha = Double(bytes[place * 4 + 3]) / 255
        return alpha == 1 ? own : own * alpha + background * (1 - alpha)
    }

    /// Returns the mean light of the visible parts of pixels, and the color with it.
    func average() -> (light: SIMD3<Double>, color: RGBAColor) {
        var sum = SIMD3<Double>.zero
        var alpha = 0.0
        for place in 0..<count {
            sum += light(at: place, over: .zero)
            alpha += Double(bytes[place * 4 + 3]) / 255
        }
        if alpha == 0 { return (.zero, .clear) }
        let mean = sum / alpha
        let stored = Self.stored(mean)
        let opacity = UInt8((alpha / Double(count) * 255).rounded())
        return (mean, RGBAColor(red: stored.x, green: stored.y, blue: stored.z, alpha: opacity))
    }

    /// Returns the stored values of light.
    static func stored(_ light: SIMD3<Double>) -> SIMD3<UInt8> {
        func byte(_ value: Double) -> UInt8 { UInt8(min(max(SRGBCurve.stored(value), 0), 1) * 255 + 0.5) }
        return SIMD3(byte(light.x), byte(light.y), byte(light.z))
    }
}
