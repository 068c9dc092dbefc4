/// Counts colors: each separately while there are few, then in cells with exact sums.
///
/// Colors that are neither opaque nor transparent have cells of their own, of premultiplied colors.
package struct ColorHistogram {
    /// The number of colors above which they are counted in cells.
    @inlinable static var exactLimit: Int { 4096 }
    @inlinable static var slots: Int { 16384 }
    /// Whether cells have 6 bits of each channel. Otherwise they have 5 of red, 6 of green (the most visible channel), and
    /// 5 of blue.
    @usableFromInline let isFine: Bool

    @usableFromInline var keys = [UInt32](repeating: 0, count: slots)
    @usableFromInline var counts = [UInt32](repeating: 0, count: slots)
    @usableFromInline var used: [Int] = []
    /// Sums of the channels and the count, by cell; empty while colors are counted separately.
    @usableFromInline var sums: [SIMD4<UInt64>] = []
    /// By premultiplied red, green, blue, and alpha, 5 bits each: the sums of these, and the counts.
    private var translucent: [Int: (sum: SIMD4<UInt64>, count: UInt64)] = [:]

    /// - Parameter isFine: whether cells are small: 4 × 4 × 4 colors in 8 MiB, otherwise 8 × 4 × 8 in 2 MiB.
    package init(isFine: Bool = false) { self.isFine = isFine }

    /// The mean squared error of a color in a cell, if all of its colors are equally frequent.
    package var errorInCell: Float { isFine ? (15 + 15 + 15) / 12 : (63 + 15 + 63) / 12 }

    /// Whether points are single colors, not means of several.
    package var isExact: Bool { sums.isEmpty }

    package mutating func removeAll() {
        if isExact {
            for slot in used { counts[slot] = 0 }
        } else {
            sums.removeAll()
            translucent.removeAll()
            counts = [UInt32](repeating: 0, count: Self.slots)
        }
        used.removeAll(keepingCapacity: true)
    }

    /// Counts pixels of one color that is not transparent.
    @inlinable @inline(__always)
    package mutating func add(_ color: UInt32, count: UInt32 = 1) {
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

    @usableFromInline mutating func startCells() {
        sums = [SIMD4<UInt64>](repeating: .zero, count: 1 << (isFine ? 18 : 16))
        for slot in used { addToCell(keys[slot], counts[slot]) }
        used.removeAll(keepingCapacity: true)
    }

    @inlinable @inline(__always)
    mutating func addToCell(_ color: UInt32, _ count: UInt32) {
        if color < 0xFF00_0000 { return addTranslucent(color, count) }
        let red = isFine ? color >> 2 & 0x3F : color >> 3 & 0x1F
        let green = isFine ? color >> 4 & 0xFC0 : color >> 5 & 0x7E0
        let blue = isFine ? color >> 6 & 0x3_F000 : color >> 8 & 0xF800
        let cell = Int(red | green | blue)
        let wide = SIMD4(
            UInt64(color & 0xFF), UInt64(color >> 8 & 0xFF), UInt64(color >> 16 & 0xFF), 1)
        sums[cell] &+= wide &* SIMD4(repeating: UInt64(count))
    }

    @usableFromInline
    mutating func addTranslucent(_ color: UInt32, _ count: UInt32) {
        let alpha = UInt64(color >> 24)
        let wide = SIMD4(
            UInt64(color & 0xFF) * alpha, UInt64(color >> 8 & 0xFF) * alpha, UInt64(color >> 16 & 0xFF) * alpha, alpha)
        let cell = (wide / SIMD4(255, 255, 255, 1)) &>> 3
        let place = Int(cell.x | cell.y << 5 | cell.z << 10 | cell.w << 15)
        translucent[place, default: (.zero, 0)].sum &+= wide &* SIMD4(repeating: UInt64(count))
        translucent[place, default: (.zero, 0)].count += UInt64(count)
    }

    /// Returns the counted colors, or the mean color of each cell.
    package func points() -> [ColorPoint] {
        if isExact { return used.map { ColorPoint(keys[$0], weight: Float(counts[$0])) } }
        let opaque = sums.compactMap { sum -> ColorPoint? in
            if sum.w == 0 { return nil }
            let count = Float(sum.w)
            return ColorPoint(
                place: SIMD4(Float(sum.x) / count, Float(sum.y) / count, Float(sum.z) / count, 255), weight: count)
        }
        // In a fixed order: the order of a dictionary differs from run to run.
        return opaque
            + translucent.sorted { $0.key < $1.key }.map { _, cell in
                let alpha = Float(cell.sum.w)
                let color = SIMD4(
                    Float(cell.sum.x) / alpha, Float(cell.sum.y) / alpha, Float(cell.sum.z) / alpha,
                    alpha / Float(cell.count))
                return ColorPoint(place: color, weight: Float(cell.count))
            }
    }
}
