/// Finds colors that represent many others. Splits boxes of points where that lowers the squared error most, then moves
/// every color to the mean of its nearest points.
///
/// - Source: the split of Wu, "Color quantization by dynamic programming and principal analysis", 1992, on lists of
///   points; the moves of Lloyd, "Least squares quantization in PCM", 1982.
package enum Quantizer {
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
    package static func palette(
        _ points: [ColorPoint], limit: Int, rounds: Int, _ metric: ColorMetric
    ) -> (colors: [UInt32], error: Float) {
        var centers: [ColorPoint]
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

    private static func split(_ all: [ColorPoint], limit: Int) -> [ColorPoint] {
        var points = all
        var boxes = [measured(points, 0..<points.count)]
        while boxes.count < limit {
            var best = 0
            for index in boxes.indices where boxes[index].gain > boxes[best].gain { best = index }
            let box = boxes[best]
            if box.gain <= 0 { break }
            var middle = box.points.lowerBound
            for index in box.points where points[index].place[box.axis] < box.place {
                points.swapAt(index, middle)
                middle += 1
            }
            boxes[best] = measured(points, box.points.lowerBound..<middle)
            boxes.append(measured(points, middle..<box.points.upperBound))
        }
        return boxes.map { box in
            var sum = ColorPoint(place: .zero)
            for index in box.points { sum.add(points[index].place, points[index].weight) }
            var mean = sum.place / sum.weight
            // Rounding would make colors of equal alpha differ.
            let alpha = points[box.points.lowerBound].place.w
            if box.points.allSatisfy({ points[$0].place.w == alpha }) { mean.w = alpha }
            return ColorPoint(place: mean, weight: sum.weight)
        }
    }

    /// Returns a box with its best cut.
    private static func measured(_ points: [ColorPoint], _ range: Range<Int>) -> Box {
        var box = Box(points: range)
        if range.count < 2 { return box }
        var (low, high) = (points[range.lowerBound].place, points[range.lowerBound].place)
        for index in range {
            low.replace(with: points[index].place, where: points[index].place .< low)
            high.replace(with: points[index].place, where: points[index].place .> high)
        }
        // Sums around the center of the box: around black, rounding would hide the difference of squares.
        let middle = (low + high) / 2
        let scale = (high - low).replacing(with: 1, where: high .== low) / Float(buckets)
        let axes = high.w > low.w ? 4 : 3
        var whole = ColorPoint(place: .zero)
        var sums = [ColorPoint](repeating: whole, count: axes * buckets)
        for index in range {
            let place = (points[index].place - low) / scale
            let (offset, weight) = (points[index].place - middle, points[index].weight)
            whole.add(offset, weight)
            for axis in 0..<axes { sums[axis * buckets + min(Int(place[axis]), buckets - 1)].add(offset, weight) }
        }
        let before = gain(whole)
        for axis in 0..<axes where high[axis] > low[axis] {
            var below = ColorPoint(place: .zero)
            for place in 0..<buckets - 1 {
                let sum = sums[axis * buckets + place]
                if sum.weight == 0 { continue }
                below.place += sum.place
                below.weight += sum.weight
                let above = ColorPoint(place: whole.place - below.place, weight: whole.weight - below.weight)
                if above.weight < 0.5 { break }
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
            let lower = range.count { points[$0].place[box.axis] < box.place }
            if lower == 0 || lower == range.count { box.gain = 0 }
        }
        return box
    }

    /// Returns the square of a sum over its weight: the part of the sum of squares that a mean removes.
    @inline(__always)
    private static func gain(_ sum: ColorPoint) -> Float {
        let squares = sum.place * sum.place
        return (squares.x + squares.y + squares.z + squares.w) / sum.weight
    }
}

extension ColorPoint {
    /// Adds a place as often as its weight.
    @inline(__always)
    fileprivate mutating func add(_ place: SIMD4<Float>, _ weight: Float) {
        self.place += place * weight
        self.weight += weight
    }
}
