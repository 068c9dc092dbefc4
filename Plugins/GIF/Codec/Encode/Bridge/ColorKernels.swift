/// Computes distances from many points to 256 colors, eight colors at a time.
@safe final class ColorLanes {
    static let far: Float = 1e9
    let count: Int
    /// Three times 256 values, one channel after another.
    private let values: UnsafeMutablePointer<Float>

    init(_ centers: [SIMD4<Float>]) {
        precondition(centers.count <= 256)
        count = (centers.count + 7) / 8
        unsafe values = .allocate(capacity: 768)
        unsafe values.initialize(repeating: Self.far, count: 768)
        for (index, center) in centers.enumerated() {
            for channel in 0..<3 { unsafe values[channel * 256 + index] = center[channel] }
        }
    }

    deinit { unsafe values.deallocate() }

    /// The colors of one group of eight, by channel.
    @inline(__always)
    func lanes(_ group: Int, _ channel: Int) -> SIMD8<Float> {
        unsafe UnsafeRawPointer(values + channel * 256 + group * 8).loadUnaligned(as: SIMD8<Float>.self)
    }

    /// Returns the nearest color and its squared distance.
    @inline(__always)
    func nearest(_ point: SIMD4<Float>) -> (index: Int, distance: Float) {
        var best = SIMD8<Float>(repeating: .infinity)
        var groups = SIMD8<Int32>.zero
        for group in 0..<count {
            let red = lanes(group, 0) - point.x
            let green = lanes(group, 1) - point.y
            let blue = lanes(group, 2) - point.z
            let distance = red * red + green * green + blue * blue
            let isNearer = distance .< best
            best.replace(with: distance, where: isNearer)
            groups.replace(with: SIMD8(repeating: Int32(truncatingIfNeeded: group)), where: isNearer)
        }
        let least = best.min()
        for lane in 0..<8 where best[lane] == least { return (Int(groups[lane]) * 8 + lane, least) }
        return (0, least)
    }
}

enum ColorKernels {
    /// Moves each color to the mean of its nearest points; a color without points goes to the largest error.
    static func moved(_ centers: [SIMD4<Float>], _ points: [SIMD4<Float>]) -> [SIMD4<Float>] {
        let lanes = ColorLanes(centers)
        var sums = [SIMD4<Float>](repeating: .zero, count: centers.count)
        var worst: (point: SIMD4<Float>, error: Float) = (points[0], 0)
        for point in points {
            let (index, distance) = lanes.nearest(point)
            // Relative to the old position: otherwise rounding of large sums would lose small steps.
            var sum = (point - centers[index]) * point.w
            sum.w = point.w
            sums[index] += sum
            if distance * point.w > worst.error { worst = (point, distance * point.w) }
        }
        var isFree = true
        return centers.indices.map { index in
            let sum = sums[index]
            if sum.w > 0 {
                var center = centers[index] + sum / sum.w
                center.w = sum.w
                return center
            }
            defer { isFree = false }
            return isFree ? worst.point : centers[index]
        }
    }

    /// Returns the squared error if every point takes its nearest color.
    ///
    /// - Parameter points: in the space of the metric.
    static func error(of colors: [UInt32], _ points: [SIMD4<Float>], _ metric: ColorMetric) -> Float {
        let lanes = ColorLanes(colors.map(metric.point))
        // Single precision stops counting at 2²⁴.
        var total = 0.0
        for point in points { total += Double(lanes.nearest(point).distance * point.w) }
        return Float(total)
    }

    static func point(_ color: UInt32) -> SIMD4<Float> {
        color == ColorTable.transparent
            ? SIMD4(repeating: ColorLanes.far)
            : SIMD4(Float(color & 0xFF), Float(color >> 8 & 0xFF), Float(color >> 16 & 0xFF), 0)
    }
}
