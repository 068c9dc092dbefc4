import Glibc
public import ImageModel

/// How two pictures of one size differ.
///
/// They are compared as RGBA, premultiplied and rounded to nearest, with 8 bits a sample, or 16 where either of them has
/// more: what a colour is where nothing can be seen does not matter. Alpha counts as a fourth channel where a pixel of
/// either picture is not opaque. Colours are compared as they are stored; nothing is managed, and nothing turned.
public struct PictureComparison: Sendable, Hashable {
    /// Where samples differ.
    public struct Place: Sendable, Hashable {
        public var x: Int
        public var y: Int
        /// 0 red, 1 green, 2 blue, 3 alpha.
        public var channel: Int
    }

    public let size: PixelSize
    /// Of a sample, as compared: 8 or 16.
    public let bits: Int
    /// 3, or 4 where alpha counts.
    public let channelCount: Int
    /// Pixels of which any sample differs.
    public let differingPixels: Int
    /// The largest difference of two samples.
    ///
    /// - Units: steps of a sample, 0 to 255 or 65535; those of ``meanAbsoluteError`` as well.
    public let maximum: Int
    /// Where ``maximum`` is met first, row by row; nil where the pictures are the same.
    public let place: Place?
    public let meanAbsoluteError: Double
    public let meanSquaredError: Double
    /// Structural similarity, 1 for the same picture; nil where it was not measured.
    public let ssim: Double?

    public var isSame: Bool { differingPixels == 0 }

    /// The ratio of peak signal to noise, infinite for the same picture.
    ///
    /// - Units: decibels.
    public var psnr: Double {
        let peak = Double(bits == 8 ? 255 : 65_535)
        return isSame ? .infinity : 10 * log10(peak * peak / meanSquaredError)
    }

    /// Compares two pictures.
    ///
    /// - Parameter measuresSSIM: the one measure that takes time.
    /// - Throws: `.invalidArgument` where the sizes differ, `.unsupportedFeature` for float samples.
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

    /// The absolute difference as a picture to look at: black where there is none.
    ///
    /// A sample is the larger of the differences in colour and in alpha, times `gain`, white at most.
    /// - Shape: RGB, 8 or 16 bits as compared.
    /// - Throws: as ``init(_:_:measuresSSIM:)``, and `.outOfMemory`.
    public static func picture(_ a: PixelBuffer, _ b: PixelBuffer, gain: Int = 1) throws(CoderError) -> PixelBuffer {
        let pair = try ComparedPair(a, b)
        let result = try PixelBufferPool.shared.take(a.size, pair.bits == 8 ? .rgb8 : .rgb16, clean: false)
        pair.each { y, a, b in
            result.withMutableRow(y) { ComparisonKernels.picture(a, b, bits: pair.bits, gain: gain, into: &$0) }
        }
        return result
    }
}

/// Two pictures of one size, row by row in the form in which they are compared.
struct ComparedPair {
    struct Sums {
        var absolute = 0.0
        var squared = 0.0
        var differing = 0
        var maximum = 0
        var place: PictureComparison.Place?
        var hasAlpha = false
    }

    let size: PixelSize
    let bits: Int
    private let a: ComparableRows
    private let b: ComparableRows

    init(_ a: PixelBuffer, _ b: PixelBuffer) throws(CoderError) {
        guard a.size == b.size else {
            throw .invalidArgument("pictures of \(a.size) and \(b.size) pixels cannot be compared")
        }
        size = a.size
        bits = max(a.format.bits, b.format.bits) > 8 ? 16 : 8
        self.a = try ComparableRows(a, bits: bits)
        self.b = try ComparableRows(b, bits: bits)
    }

    /// Lends every row of both.
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
            sums.place = index.map { PictureComparison.Place(x: $0 / 4, y: y, channel: $0 % 4) }
        }
        return sums
    }
}
