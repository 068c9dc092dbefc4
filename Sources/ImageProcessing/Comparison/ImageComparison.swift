import Glibc
public import ImageModel

/// The differences of two images of the same size.
///
/// The images are compared as premultiplied RGBA, rounded to nearest, with 8 bits per sample, or 16 if either has more.
/// The color of fully transparent pixels is therefore ignored. Alpha counts as a fourth channel if a pixel of either
/// image is not opaque. Stored values are compared; color profiles and orientation are not applied.
public struct ImageComparison: Sendable, Hashable {
    /// The position of a differing sample.
    package struct Place: Sendable, Hashable {
        /// The column.
        package var x: Int
        /// The row.
        package var y: Int
        /// The channel: 0 red, 1 green, 2 blue, 3 alpha.
        package var channel: Int
    }

    /// The size of the images.
    package let size: PixelSize
    /// The number of bits in a compared sample: 8 or 16.
    package let bits: Int
    /// The number of compared channels: 3, or 4 if alpha counts.
    package let channelCount: Int
    /// The number of pixels with at least one different sample.
    package let differingPixels: Int
    /// The largest difference of two samples.
    ///
    /// - Units: sample steps, 0 to 255 or 65535.
    public let maximum: Int
    /// The first position of ``maximum``, row by row; nil if the images are equal.
    package let place: Place?
    /// The mean of the absolute differences.
    package let meanAbsoluteError: Double
    /// The mean of the squared differences.
    package let meanSquaredError: Double
    /// The structural similarity, 1 for equal images; nil if not measured.
    public let ssim: Double?

    /// Whether the images are equal.
    public var isSame: Bool { differingPixels == 0 }

    /// The peak signal-to-noise ratio, infinite for equal images.
    ///
    /// - Units: decibels.
    public var psnr: Double {
        let peak = Double(bits == 8 ? 255 : 65_535)
        return isSame ? .infinity : 10 * log10(peak * peak / meanSquaredError)
    }

    /// Compares two images.
    ///
    /// - Parameter measuresSSIM: whether to measure ``ssim``, the only slow measure.
    /// - Throws: `.invalidArgument` if the sizes differ, `.unsupportedFeature` for float samples.
    public init(_ a: PixelBuffer, _ b: PixelBuffer, measuresSSIM: Bool = true) throws(CoderError) {
        let pair = try ComparedPair(a, b)
        let sums = pair.difference()
        size = a.size
        bits = pair.bits
        channelCount = sums.hasAlpha ? 4 : 3
        differingPixels = sums.differing
        maximum = sums.maximum
        place = sums.place
        let count = Double(a.size.width) * Double(a.size.height) * Double(channelCount)
        meanAbsoluteError = sums.absolute / count
        meanSquaredError = sums.squared / count
        if measuresSSIM {
            ssim = sums.differing == 0 ? 1 : StructuralSimilarity(a.size).mean(of: pair, channels: channelCount)
        } else {
            ssim = nil
        }
    }

    /// Returns the absolute difference as an image: black where the images are equal.
    ///
    /// A sample is the larger of the color and alpha differences, times `gain`, at most white.
    /// - Shape: RGB, 8 or 16 bits as compared.
    /// - Throws: as ``init(_:_:measuresSSIM:)``, and `.outOfMemory`.
    package static func image(_ a: PixelBuffer, _ b: PixelBuffer, gain: Int = 1) throws(CoderError) -> PixelBuffer {
        let pair = try ComparedPair(a, b)
        let result = try PixelBufferPool.shared.take(a.size, pair.bits == 8 ? .rgb8 : .rgb16, clean: false)
        pair.each { y, a, b in
            result.withMutableRow(y) { ComparisonKernels.image(a, b, bits: pair.bits, gain: gain, into: &$0) }
        }
        return result
    }
}

/// Two images of the same size, read row by row in the form used for comparison.
struct ComparedPair {
    struct Sums {
        var absolute = 0.0
        var squared = 0.0
        var differing = 0
        var maximum = 0
        var place: ImageComparison.Place?
        var hasAlpha = false
    }

    let size: PixelSize
    let bits: Int
    private let a: ComparableRows
    private let b: ComparableRows

    init(_ a: PixelBuffer, _ b: PixelBuffer) throws(CoderError) {
        guard a.size == b.size else {
            throw .invalidArgument("images of \(a.size) and \(b.size) pixels cannot be compared")
        }
        size = a.size
        bits = max(a.format.bits, b.format.bits) > 8 ? 16 : 8
        self.a = try ComparableRows(a, bits: bits)
        self.b = try ComparableRows(b, bits: bits)
    }

    /// Calls `body` with every pair of rows.
    func each(_ body: (_ y: Int, _ a: [UInt8], _ b: [UInt8]) -> Void) {
        var (first, second) = (a.makeRow(), b.makeRow())
        for y in 0..<size.height {
            a.read(y, into: &first)
            b.read(y, into: &second)
            body(y, first, second)
        }
    }

    func difference() -> Sums {
        var sums = Sums()
        each { y, first, second in
            let row = ComparisonKernels.difference(first, second, bits: bits)
            sums.absolute += Double(row.absolute.reduce(0, +))
            sums.squared += Double(row.squared.reduce(0, +))
            sums.differing += row.differing
            sums.hasAlpha = sums.hasAlpha || row.hasAlpha
            guard row.maximum > sums.maximum else { return }
            sums.maximum = row.maximum
            let index = (0..<size.width * 4).first { index in
                abs(a.sample(first, index) - b.sample(second, index)) == sums.maximum
            }
            sums.place = index.map { ImageComparison.Place(x: $0 / 4, y: y, channel: $0 % 4) }
        }
        return sums
    }
}
