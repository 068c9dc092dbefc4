import Glibc
import ImageModel

/// The visible colors of an image, counted in cells and grouped by similarity.
struct ColorClusters {
    private struct Cell {
        /// The sum of the stored values, and the number of pixels.
        var sum = SIMD4<Double>.zero
        var mean: SIMD3<Double> { SIMD3(sum.x, sum.y, sum.z) / sum.w }
    }

    /// Colors closer than this are one color: a difference that is just visible.
    private static let closest = 0.02
    private static let rounds = 8

    private let cells: [Cell]
    /// The most frequent color; nil if no pixel is visible.
    private(set) var dominant: RGBAColor?

    /// Counts the pixels of which at least half is visible.
    init(_ samples: SummarySamples) {
        var fine = [Cell](repeating: Cell(), count: 1 << 15)
        var coarse = [Cell](repeating: Cell(), count: 1 << 12)
        for place in 0..<samples.count where samples.bytes[place * 4 + 3] >= 128 {
            let (red, green, blue) = (
                Int(samples.bytes[place * 4]), Int(samples.bytes[place * 4 + 1]), Int(samples.bytes[place * 4 + 2])
            )
            let pixel = SIMD4(Double(red), Double(green), Double(blue), 1)
            fine[(red >> 3) << 10 | (green >> 3) << 5 | blue >> 3].sum += pixel
            coarse[(red >> 4) << 8 | (green >> 4) << 4 | blue >> 4].sum += pixel
        }
        cells = fine.filter { $0.sum.w > 0 }
        // Of equal cells, the darkest wins: the result must not depend on chance.
        var fullest = Cell()
        for cell in coarse where cell.sum.w > fullest.sum.w { fullest = cell }
        if fullest.sum.w > 0 { dominant = Self.color(fullest.mean) }
    }

    /// Returns up to `limit` groups of similar colors, the most frequent first.
    func palette(_ limit: Int) -> [ImageSummary.Swatch] {
        let points = cells.map { Self.perceived($0.mean) }
        var centers = seeds(points, limit)
        var groups = [Cell](repeating: Cell(), count: centers.count)
        for _ in 0..<Self.rounds {
            groups = [Cell](repeating: Cell(), count: centers.count)
            for (cell, point) in zip(cells, points) {
                guard
                    let nearest = centers.indices.min(by: {
                        Self.distance(centers[$0], point) < Self.distance(centers[$1], point)
                    })
                else { return [] }
                groups[nearest].sum += cell.sum
            }
            for (index, group) in groups.enumerated() where group.sum.w > 0 {
                centers[index] = Self.perceived(group.mean)
            }
        }
        let total = cells.reduce(0) { $0 + $1.sum.w }
        return groups.filter { $0.sum.w > 0 }
            .map { ImageSummary.Swatch(color: Self.color($0.mean), share: $0.sum.w / total) }
            .sorted { ($1.share, Self.order($0.color)) < ($0.share, Self.order($1.color)) }
    }

    /// Returns the most frequent color, then each time the one that is most frequent and least like the others.
    private func seeds(_ points: [SIMD3<Double>], _ limit: Int) -> [SIMD3<Double>] {
        var result: [SIMD3<Double>] = []
        var distances = [Double](repeating: .infinity, count: points.count)
        while result.count < limit {
            var best: (index: Int, value: Double)?
            for (index, cell) in cells.enumerated() {
                if result.isEmpty || distances[index] > Self.closest * Self.closest {
                    let value = cell.sum.w * (result.isEmpty ? 1 : distances[index])
                    if value > best?.value ?? 0 { best = (index, value) }
                }
            }
            guard let best else { break }
            result.append(points[best.index])
            for index in points.indices {
                distances[index] = min(distances[index], Self.distance(points[index], points[best.index]))
            }
        }
        return result
    }

    private static func distance(_ a: SIMD3<Double>, _ b: SIMD3<Double>) -> Double { ((a - b) * (a - b)).sum() }

    private static func order(_ color: RGBAColor) -> Int {
        Int(color.red) << 16 | Int(color.green) << 8 | Int(color.blue)
    }

    private static func color(_ mean: SIMD3<Double>) -> RGBAColor {
        RGBAColor(red: UInt8(mean.x.rounded()), green: UInt8(mean.y.rounded()), blue: UInt8(mean.z.rounded()))
    }

    /// Returns lightness and two opposed colors, in which distances are about as the eye sees them.
    ///
    /// - Source: Ottosson, "A perceptual color space for image processing" (OKLab).
    private static func perceived(_ stored: SIMD3<Double>) -> SIMD3<Double> {
        let (red, green, blue) = (
            SRGBCurve.linear(stored.x / 255), SRGBCurve.linear(stored.y / 255), SRGBCurve.linear(stored.z / 255)
        )
        let long = cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue)
        let middle = cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue)
        let short = cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue)
        return SIMD3(
            0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
            1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
            0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short)
    }
}
