/// Finds the nearest of up to 256 colors exactly. Each cell of the color cube lists its possible nearest colors.
///
/// Distances are those between keys of a ``ColorMetric``.
@safe package final class NearestColors {
    /// Cells of 8 × 8 × 8 colors.
    private static let cells = 1 << 15

    package let colors: [UInt32]
    @usableFromInline let metric: ColorMetric
    /// The squared error by which ``candidates(for:_:)`` may exceed the nearest color.
    package let margin: Int32
    private let lanes: ColorLanes
    @usableFromInline let packed: UnsafeMutablePointer<UInt32>
    /// The start of a cell's list; -1 if it was not made yet. A list has the number of possible nearest colors less 1,
    /// the number of colors within the margin less 1, and then their indices.
    @usableFromInline let starts: UnsafeMutablePointer<Int32>
    @usableFromInline var lists: UnsafeMutablePointer<UInt8>
    private var used = 0
    private var capacity = 1 << 16

    package init(_ colors: [UInt32], margin: Int32, _ metric: ColorMetric) {
        self.colors = colors
        self.metric = metric
        self.margin = margin
        let keys = colors.map(metric.key)
        lanes = ColorLanes(keys.map { ColorPoint($0) })
        unsafe packed = .allocate(capacity: 256)
        unsafe packed.initialize(repeating: 0, count: 256)
        for (index, key) in keys.enumerated() { unsafe packed[index] = key }
        unsafe starts = .allocate(capacity: Self.cells)
        unsafe starts.initialize(repeating: -1, count: Self.cells)
        unsafe lists = .allocate(capacity: capacity)
    }

    deinit {
        unsafe packed.deallocate()
        unsafe starts.deallocate()
        unsafe lists.deallocate()
    }

    @inlinable @inline(__always)
    package static func distance(_ a: UInt32, _ b: UInt32) -> Int32 {
        let red = Int32(truncatingIfNeeded: a & 0xFF) &- Int32(truncatingIfNeeded: b & 0xFF)
        let green = Int32(truncatingIfNeeded: a >> 8 & 0xFF) &- Int32(truncatingIfNeeded: b >> 8 & 0xFF)
        let blue = Int32(truncatingIfNeeded: a >> 16 & 0xFF) &- Int32(truncatingIfNeeded: b >> 16 & 0xFF)
        return red &* red &+ green &* green &+ blue &* blue
    }

    /// Returns the index of the color nearest to an RGB color.
    @inlinable @inline(__always)
    package func index(nearestTo color: UInt32) -> UInt8 { nearest(metric.key(color)).index }

    /// Returns the index of the color nearest to a key, and its squared distance.
    @inlinable @inline(__always)
    package func nearest(_ color: UInt32) -> (index: UInt8, distance: Int32) {
        let list = unsafe list(of: color)
        var best = unsafe list[2]
        var least = unsafe Self.distance(color, packed[Int(best)])
        for place in 0..<Int(unsafe list[0]) {
            let index = unsafe list[3 + place]
            let distance = unsafe Self.distance(color, packed[Int(index)])
            if distance < least {
                least = distance
                best = index
            }
        }
        return (best, least)
    }

    /// Calls `body` with every color within `limit` of this one, limited to the margin above the nearest.
    @inlinable @inline(__always)
    package func candidates(for color: UInt32, limit: Int32, _ body: (UInt8, Int32) -> Void) {
        let list = unsafe list(of: color)
        for place in 0...Int(unsafe list[1]) {
            let index = unsafe list[2 + place]
            let distance = unsafe Self.distance(color, packed[Int(index)])
            if distance <= limit { body(index, distance) }
        }
    }

    @inlinable @inline(__always)
    func list(of color: UInt32) -> UnsafePointer<UInt8> {
        let red = color >> 3 & 0x1F
        let green = color >> 6 & 0x3E0
        let blue = color >> 9 & 0x7C00
        let cell = Int(red | green | blue)
        if unsafe starts[cell] < 0 { makeList(cell) }
        return unsafe UnsafePointer(lists + Int(starts[cell]))
    }

    @usableFromInline @inline(never)
    func makeList(_ cell: Int) {
        let low = SIMD4<Float>(Float((cell & 31) * 8), Float((cell >> 5 & 31) * 8), Float((cell >> 10) * 8), 0)
        let high = low + 7
        unsafe withUnsafeTemporaryAllocation(of: Float.self, capacity: 256) { nearest in
            var bound = SIMD8<Float>(repeating: .infinity)
            for group in 0..<lanes.count {
                var near = SIMD8<Float>.zero
                var far = SIMD8<Float>.zero
                for channel in 0..<3 {
                    let below = low[channel] - lanes.lanes(group, channel)
                    let above = lanes.lanes(group, channel) - high[channel]
                    let beyond = below.replacing(with: above, where: above .> below)
                    let outside = beyond.replacing(with: 0, where: beyond .< 0)
                    // The negated distances to the two sides: the farther side has the smaller value.
                    let reach = below.replacing(with: above, where: above .< below)
                    near += outside * outside
                    far += reach * reach
                }
                bound.replace(with: far, where: far .< bound)
                for lane in 0..<8 { unsafe nearest[group * 8 + lane] = near[lane] }
            }
            let limit = bound.min()
            grow()
            let start = used
            unsafe starts[cell] = Int32(start)
            var count = start + 2
            for index in colors.indices where unsafe nearest[index] <= limit {
                unsafe lists[count] = UInt8(truncatingIfNeeded: index)
                count += 1
            }
            unsafe lists[start] = UInt8(truncatingIfNeeded: count - start - 3)
            for index in colors.indices
            where unsafe nearest[index] > limit && nearest[index] <= limit + Float(margin) {
                unsafe lists[count] = UInt8(truncatingIfNeeded: index)
                count += 1
            }
            unsafe lists[start + 1] = UInt8(truncatingIfNeeded: count - start - 3)
            used = count
        }
    }

    /// Reserves memory for one more list.
    private func grow() {
        if capacity - used >= 258 { return }
        let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity * 2)
        unsafe larger.update(from: lists, count: used)
        unsafe lists.deallocate()
        unsafe lists = larger
        capacity *= 2
    }
}
