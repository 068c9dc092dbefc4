/// Computes distances from many points to 256 colors, eight colors at a time.
@safe package final class ColorLanes {
    @usableFromInline static let far: Float = 1e9
    @usableFromInline let count: Int
    /// Whether alpha differs between colors.
    @usableFromInline let hasAlpha: Bool
    /// Four times 256 values, one channel after another.
    @usableFromInline let values: UnsafeMutablePointer<Float>

    package init(_ centers: [ColorPoint]) {
        precondition(centers.count <= 256)
        count = (centers.count + 7) / 8
        hasAlpha = centers.contains { $0.place.w != 255 && $0.place.w != Self.far }
        unsafe values = .allocate(capacity: 1024)
        unsafe values.initialize(repeating: Self.far, count: 1024)
        for (index, center) in centers.enumerated() {
            for channel in 0..<4 { unsafe values[channel * 256 + index] = center.place[channel] }
        }
    }

    deinit { unsafe values.deallocate() }

    /// The colors of one group of eight, by channel.
    @inlinable @inline(__always)
    func lanes(_ group: Int, _ channel: Int) -> SIMD8<Float> {
        unsafe UnsafeRawPointer(values + channel * 256 + group * 8).loadUnaligned(as: SIMD8<Float>.self)
    }

    /// Returns the nearest color and its squared distance.
    @inlinable @inline(__always)
    package func nearest(_ point: SIMD4<Float>) -> (index: Int, distance: Float) {
        var best = SIMD8<Float>(repeating: .infinity)
        var groups = SIMD8<Int32>.zero
        for group in 0..<count {
            let red = lanes(group, 0) - point.x
            let green = lanes(group, 1) - point.y
            let blue = lanes(group, 2) - point.z
            var distance = red * red + green * green + blue * blue
            if hasAlpha {
                let alpha = lanes(group, 3) - point.w
                distance += alpha * alpha
            }
            let isNearer = distance .< best
            best.replace(with: distance, where: isNearer)
            groups.replace(with: SIMD8(repeating: Int32(truncatingIfNeeded: group)), where: isNearer)
        }
        let least = best.min()
        for lane in 0..<8 where best[lane] == least { return (Int(groups[lane]) * 8 + lane, least) }
        return (0, least)
    }
}

package enum ColorKernels {
    /// Moves each color to the mean of its nearest points; a color without points goes to the largest error.
    static func moved(_ centers: [ColorPoint], _ points: [ColorPoint]) -> [ColorPoint] {
        let lanes = ColorLanes(centers)
        var sums = [ColorPoint](repeating: ColorPoint(place: .zero), count: centers.count)
        var worst: (point: ColorPoint, error: Float) = (points[0], 0)
        for point in points {
            let (index, distance) = lanes.nearest(point.place)
            // Relative to the old position: otherwise rounding of large sums would lose small steps.
            sums[index].place += (point.place - centers[index].place) * point.weight
            sums[index].weight += point.weight
            if distance * point.weight > worst.error { worst = (point, distance * point.weight) }
        }
        var isFree = true
        return centers.indices.map { index in
            let sum = sums[index]
            if sum.weight > 0 {
                return ColorPoint(place: centers[index].place + sum.place / sum.weight, weight: sum.weight)
            }
            defer { isFree = false }
            return isFree ? worst.point : centers[index]
        }
    }

    /// Returns the squared error if every point takes its nearest color.
    ///
    /// - Parameter points: in the space of the metric.
    package static func error(of colors: [UInt32], _ points: [ColorPoint], _ metric: ColorMetric) -> Float {
        let lanes = ColorLanes(colors.map(metric.point))
        // Single precision stops counting at 2²⁴.
        var total = 0.0
        for point in points { total += Double(lanes.nearest(point.place).distance * point.weight) }
        return Float(total)
    }
}
