/// Finds colors that represent many others. Splits boxes of points where that lowers the squared error most, then moves
/// every color to the mean of its nearest points.
///
/// - Source: the split of Wu, "Color quantization by dynamic programming and principal analysis", 1992, on lists of
///   points; the moves of Lloyd, "Least squares quantization in PCM", 1982.
enum Quantizer {
    private static let buckets = 64

    private struct Box {
        var points: Range<Int>
        /// The best cut: along this axis, points below the position go to the lower half.
        var axis = 0
        var place: Float = 0
        var gain: Float = 0
    }

    /// Returns at most `limit` colors for these points, and the remaining squared error.
    ///
    /// - Parameter points: in the space of the metric.
    static func palette(
        _ points: [SIMD4<Float>], limit: Int, rounds: Int, _ metric: ColorMetric
    ) -> (colors: [UInt32], error: Float) {
        var centers: [SIMD4<Float>]
        if points.count <= limit {
            centers = points
        } else {
            centers = split(points, limit: limit)
            for _ in 0..<rounds { centers = ColorKernels.moved(centers, points) }
        }
        var seen = Set<UInt32>()
        let colors = centers.map(metric.color).filter { seen.insert($0).inserted }
        return (colors, ColorKernels.error(of: colors, points, metric))
    }

    static func color(_ point: SIMD4<Float>) -> UInt32 {
        func byte(_ value: Float) -> UInt32 { UInt32(max(0, min(255, value)).rounded()) }
        return byte(point.x) | byte(point.y) << 8 | byte(point.z) << 16 | 0xFF00_0000
    }

    private static func split(_ all: [SIMD4<Float>], limit: Int) -> [SIMD4<Float>] {
        var points = all
        var boxes = [measured(points, 0..<points.count)]
        while boxes.count < limit {
            var best = 0
            for index in boxes.indices where boxes[index].gain > boxes[best].gain { best = index }
            let box = boxes[best]
            if box.gain <= 0 { break }
            var middle = box.points.lowerBound
            for index in box.points where points[index][box.axis] < box.place {
                points.swapAt(index, middle)
                middle += 1
            }
            boxes[best] = measured(points, box.points.lowerBound..<middle)
            boxes.append(measured(points, middle..<box.points.upperBound))
        }
        return boxes.map { box in
            var sum = SIMD4<Float>.zero
            for index in box.points { sum += weighted(points[index]) }
            var mean = sum / sum.w
            mean.w = sum.w
            return mean
        }
    }

    /// Returns a point times its weight; the weight stays.
    private static func weighted(_ point: SIMD4<Float>) -> SIMD4<Float> {
        var result = point * point.w
        result.w = point.w
        return result
    }

    /// Returns a box with its best cut.
    private static func measured(_ points: [SIMD4<Float>], _ range: Range<Int>) -> Box {
        var box = Box(points: range)
        if range.count < 2 { return box }
        var (low, high) = (points[range.lowerBound], points[range.lowerBound])
        for index in range {
            low.replace(with: points[index], where: points[index] .< low)
            high.replace(with: points[index], where: points[index] .> high)
        }
        // Sums around the center of the box: around black, rounding would hide the difference of squares.
        var middle = (low + high) / 2
        middle.w = 0
        let scale = (high - low).replacing(with: 1, where: high .== low) / Float(buckets)
        var whole = SIMD4<Float>.zero
        var sums = [SIMD4<Float>](repeating: .zero, count: 3 * buckets)
        for index in range {
            let place = (points[index] - low) / scale
            let sum = weighted(points[index] - middle)
            whole += sum
            sums[min(Int(place.x), buckets - 1)] += sum
            sums[buckets + min(Int(place.y), buckets - 1)] += sum
            sums[2 * buckets + min(Int(place.z), buckets - 1)] += sum
        }
        let before = gain(whole)
        for axis in 0..<3 where high[axis] > low[axis] {
            var below = SIMD4<Float>.zero
            for place in 0..<buckets - 1 {
                if sums[axis * buckets + place].w == 0 { continue }
                below += sums[axis * buckets + place]
                let above = whole - below
                if above.w < 0.5 { break }
                let gained = gain(below) + gain(above) - before
                if gained > box.gain {
                    box.gain = gained
                    box.axis = axis
                    box.place = low[axis] + Float(place + 1) * scale[axis]
                }
            }
        }
        // Rounding may put all points on one side of the cut.
        if box.gain > 0 {
            let lower = range.count { points[$0][box.axis] < box.place }
            if lower == 0 || lower == range.count { box.gain = 0 }
        }
        return box
    }

    /// Returns the square of a sum over its weight: the part of the sum of squares that a mean removes.
    @inline(__always)
    private static func gain(_ sum: SIMD4<Float>) -> Float {
        (sum.x * sum.x + sum.y * sum.y + sum.z * sum.z) / sum.w
    }
}
