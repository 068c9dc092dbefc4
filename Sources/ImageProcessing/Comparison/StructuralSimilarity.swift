import Glibc
import ImageModel

/// The mean structural similarity of two images.
///
/// Each channel is compared through a Gaussian window of 11 × 11 pixels, sigma 1.5, at every position inside the image.
/// The result is the mean over windows and channels, at full size. If a side of the image is shorter than the window,
/// that side of the window is the largest odd number that fits.
///
/// - Source: Z. Wang, A. C. Bovik, H. R. Sheikh, E. P. Simoncelli, "Image quality assessment: from error visibility to
///   structural similarity", 2004, section III-C: K1 = 0.01, K2 = 0.03.
struct StructuralSimilarity {
    private let columns: [Float]
    private let rows: [Float]
    private let windows: PixelSize

    init(_ size: PixelSize) {
        columns = Self.window(size.width)
        rows = Self.window(size.height)
        windows = PixelSize(size.width - columns.count + 1, size.height - rows.count + 1)
    }

    private static func window(_ side: Int) -> [Float] {
        let count = side >= 11 ? 11 : side - (side + 1) % 2
        let middle = Double(count / 2)
        let values = (0..<count).map { exp(-(Double($0) - middle) * (Double($0) - middle) / (2 * 1.5 * 1.5)) }
        let sum = values.reduce(0, +)
        return values.map { Float($0 / sum) }
    }

    func mean(of pair: ComparedPair, channels: Int) -> Double {
        let slots = rows.count
        var (a, b) = ([Float](repeating: 0, count: pair.size.width), [Float](repeating: 0, count: pair.size.width))
        var scratch = [Float](repeating: 0, count: 2 * pair.size.width)
        // A ring of rows for each channel, as high as the window.
        var rings = [[Float]](
            repeating: [Float](repeating: 0, count: slots * 4 * windows.width), count: channels)
        var sum = 0.0
        pair.each { y, first, second in
            for channel in 0..<channels {
                ComparisonKernels.plane(first, channel, bits: pair.bits, into: &a)
                ComparisonKernels.plane(second, channel, bits: pair.bits, into: &b)
                ComparisonKernels.moments(
                    a, b, weights: columns, ring: &rings[channel], slot: y % slots, slots: slots, scratch: &scratch)
                if y >= slots - 1 {
                    sum += ComparisonKernels.similarity(rings[channel], first: (y + 1) % slots, weights: rows)
                }
            }
        }
        return sum / (Double(windows.width) * Double(windows.height) * Double(channels))
    }
}
