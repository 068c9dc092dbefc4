/// Counts colors: each separately while there are few, then in cells with exact sums.
///
/// A point has a mean color in `x`, `y`, `z` and its number of pixels in `w`.
struct ColorHistogram {
    /// The number of colors above which they are counted in cells.
    private static let exactLimit = 4096
    private static let slots = 16384
    /// 5 bits of red, 6 of green (the most visible channel), 5 of blue.
    private static let cells = 1 << 16

    private var keys = [UInt32](repeating: 0, count: slots)
    private var counts = [UInt32](repeating: 0, count: slots)
    private var used: [Int] = []
    /// Sums of the channels and the count, by cell; empty while colors are counted separately.
    private var sums: [SIMD4<UInt64>] = []

    /// Whether points are single colors, not means of several.
    var isExact: Bool { sums.isEmpty }

    mutating func removeAll() {
        if isExact {
            for slot in used { counts[slot] = 0 }
        } else {
            sums.removeAll()
            counts = [UInt32](repeating: 0, count: Self.slots)
        }
        used.removeAll(keepingCapacity: true)
    }

    /// Counts pixels of one color that is not transparent.
    @inline(__always)
    mutating func add(_ color: UInt32, count: UInt32 = 1) {
        if !sums.isEmpty { return addToCell(color, count) }
        var slot = Int((color &* 0x9E37_79B9) >> 18)
        while counts[slot] != 0, keys[slot] != color { slot = (slot + 1) % Self.slots }
        if counts[slot] == 0 {
            if used.count == Self.exactLimit {
                startCells()
                return addToCell(color, count)
            }
            keys[slot] = color
            used.append(slot)
        }
        counts[slot] &+= count
    }

    private mutating func startCells() {
        sums = [SIMD4<UInt64>](repeating: .zero, count: Self.cells)
        for slot in used { addToCell(keys[slot], counts[slot]) }
        used.removeAll(keepingCapacity: true)
    }

    @inline(__always)
    private mutating func addToCell(_ color: UInt32, _ count: UInt32) {
        let red = color >> 3 & 0x1F
        let green = color >> 5 & 0x7E0
        let blue = color >> 8 & 0xF800
        let cell = Int(red | green | blue)
        let wide = SIMD4(
            UInt64(color & 0xFF), UInt64(color >> 8 & 0xFF), UInt64(color >> 16 & 0xFF), 1)
        sums[cell] &+= wide &* SIMD4(repeating: UInt64(count))
    }

    func points() -> [SIMD4<Float>] {
        if isExact {
            return used.map { slot in
                let color = keys[slot]
                return SIMD4(
                    Float(color & 0xFF), Float(color >> 8 & 0xFF), Float(color >> 16 & 0xFF), Float(counts[slot]))
            }
        }
        return sums.compactMap { sum in
            if sum.w == 0 { return nil }
            let count = Float(sum.w)
            return SIMD4(Float(sum.x) / count, Float(sum.y) / count, Float(sum.z) / count, count)
        }
    }
}
