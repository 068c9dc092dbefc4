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
    /// The most steps that move the centers of the groups; a few usually suffice.
    private static let rounds = 24
    /// The cells along a side of the color cube.
    private static let side = 32

    private let cells: [Cell]
    /// The position of each cell in the color cube.
    private let places: [SIMD3<Int>]
    private let points: [SIMD3<Double>]

    /// Counts the pixels of which at least half is visible.
    init(_ samples: SummarySamples) {
        var fine = [Cell](repeating: Cell(), count: Self.side * Self.side * Self.side)
        for place in 0..<samples.count where samples.bytes[place * 4 + 3] >= 128 {
            let (red, green, blue) = (
                Int(samples.bytes[place * 4]), Int(samples.bytes[place * 4 + 1]), Int(samples.bytes[place * 4 + 2])
            )
            let pixel = SIMD4(Double(red), Double(green), Double(blue), 1)
            fine[(red >> 3) << 10 | (green >> 3) << 5 | blue >> 3].sum += pixel
        }
        let filled = fine.indices.filter { fine[$0].sum.w > 0 }
        cells = filled.map { fine[$0] }
        places = filled.map { SIMD3($0 >> 10, $0 >> 5 & 31, $0 & 31) }
        points = cells.map { Self.perceived($0.mean) }
    }

    // MARK: Groups

    /// Groups of similar colors, and the sum of squared distances to their means.
    private struct Grouping {
        var groups: [Cell]
        var error: Double
    }

    /// Returns up to `limit` groups of similar colors, the most frequent first.
    ///
    /// The best of several starts counts: from one start alone, slightly different images, such as two encodings of one
    /// image, can end in different groups.
    func palette(_ limit: Int) -> [ImageSummary.Swatch] {
        let tries = (0...2).map { radius in grouped(around: seeds(densities(radius), limit)) }
        guard let best = tries.min(by: { $0.error < $1.error }) else { return [] }
        let total = cells.reduce(0) { $0 + $1.sum.w }
        return best.groups.filter { $0.sum.w > 0 }
            .map { ImageSummary.Swatch(color: Self.color($0.mean), share: $0.sum.w / total) }
            .sorted { ($1.share, Self.order($0.color)) < ($0.share, Self.order($1.color)) }
    }

    /// Moves the centers of the groups until they stay.
    private func grouped(around seeds: [SIMD3<Double>]) -> Grouping {
        var centers = seeds
        var result = Grouping(groups: [], error: 0)
        for _ in 0..<Self.rounds {
            result = Grouping(groups: [Cell](repeating: Cell(), count: centers.count), error: 0)
            for (cell, point) in zip(cells, points) {
                var (nearest, least) = (0, Double.infinity)
                for index in centers.indices {
                    let distance = Self.distance(centers[index], point)
                    if distance < least { (nearest, least) = (index, distance) }
                }
                result.groups[nearest].sum += cell.sum
                result.error += least * cell.sum.w
            }
            var isMoved = false
            for (index, group) in result.groups.enumerated() where group.sum.w > 0 {
                let center = Self.perceived(group.mean)
                isMoved = isMoved || center != centers[index]
                centers[index] = center
            }
            if !isMoved { break }
        }
        return result
    }

    /// Returns the number of pixels around each cell, up to a distance in cells.
    private func densities(_ radius: Int) -> [Double] {
        if radius == 0 { return cells.map(\.sum.w) }
        var cube = [Double](repeating: 0, count: Self.side * Self.side * Self.side)
        for (cell, place) in zip(cells, places) { cube[place.x << 10 | place.y << 5 | place.z] = cell.sum.w }
        return places.map { place in
            func range(_ center: Int) -> ClosedRange<Int> {
                max(0, center - radius)...min(Self.side - 1, center + radius)
            }
            var sum = 0.0
            for x in range(place.x) {
                for y in range(place.y) {
                    for z in range(place.z) { sum += cube[x << 10 | y << 5 | z] }
                }
            }
            return sum
        }
    }

    /// Returns the most frequent color, then each time the one that is most frequent and least like the others.
    private func seeds(_ densities: [Double], _ limit: Int) -> [SIMD3<Double>] {
        var result: [SIMD3<Double>] = []
        var distances = [Double](repeating: .infinity, count: points.count)
        while result.count < limit {
            var best: (index: Int, value: Double)?
            for (index, density) in densities.enumerated() {
                if result.isEmpty || distances[index] > Self.closest * Self.closest {
                    let value = density * (result.isEmpty ? 1 : distances[index])
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
