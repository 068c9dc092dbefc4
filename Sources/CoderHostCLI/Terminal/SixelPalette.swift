/// A palette for one image, with the palette index of each pixel.
struct SixelPalette {
    /// The colors: red, green, blue.
    private(set) var colors: [SIMD4<Int32>] = []
    /// The index into `colors` for each pixel.
    private(set) var indices: [UInt8]

    /// Computes a palette.
    ///
    /// - Parameter count: the maximum number of colors, 2 to 256.
    init(_ raster: Raster, count: Int) {
        indices = [UInt8](repeating: 0, count: raster.width * raster.height)
        let most = min(max(2, count), 256)
        if !useOwnColors(raster, most) { reduce(raster, most) }
    }

    // MARK: Few colors

    /// Uses the exact colors; false if there are more than `most`.
    private mutating func useOwnColors(_ raster: Raster, _ most: Int) -> Bool {
        // A hash table with open addressing, at most a quarter full. 0 marks an empty place.
        var places = [UInt32](repeating: 0, count: 1024)
        var found: [UInt8] = []
        found.reserveCapacity(1024)
        found.append(contentsOf: repeatElement(0, count: 1024))
        var last: UInt32 = .max
        var lastIndex: UInt8 = 0
        var at = 0
        let bytes = raster.bytes
        for pixel in indices.indices {
            let color = UInt32(bytes[at]) << 16 | UInt32(bytes[at + 1]) << 8 | UInt32(bytes[at + 2])
            at += 3
            if color != last {
                var place = Int((color &* 2_654_435_761) >> 22)
                while places[place] != 0, places[place] != color + 1 { place = (place + 1) & 1023 }
                if places[place] == 0 {
                    if colors.count == most {
                        colors = []
                        return false
                    }
                    places[place] = color + 1
                    found[place] = UInt8(truncatingIfNeeded: colors.count)
                    colors.append(SIMD4(Int32(color >> 16), Int32(color >> 8 & 255), Int32(color & 255), 1))
                }
                last = color
                lastIndex = found[place]
            }
            indices[pixel] = lastIndex
        }
        return true
    }

    // MARK: Many colors

    /// Splits the color cube into one box per palette entry, then dithers.
    ///
    /// The boxes cover the whole cube. Dithering therefore moves a pixel to another box only where boxes are small, as
    /// in color gradients; flat areas stay flat.
    private mutating func reduce(_ raster: Raster, _ most: Int) {
        let boxes = ColorBoxes(raster, count: most)
        colors = boxes.boxes.map { $0.sum.mean }
        let table = boxes.table()
        let (width, bytes) = (raster.width, raster.bytes)
        var at = 0
        for y in 0..<raster.height {
            let pattern = (0..<8).map { (bayer[y & 7][$0] * 2 - 63) / 8 + Self.margin }
            for x in 0..<width {
                let shift = pattern[x & 7]
                let red = fifths[Int(bytes[at]) &+ shift]
                let green = fifths[Int(bytes[at + 1]) &+ shift]
                let blue = fifths[Int(bytes[at + 2]) &+ shift]
                indices[y &* width &+ x] = table[red &<< 10 | green &<< 5 | blue]
                at &+= 3
            }
        }
    }

    /// The maximum shift by dithering, up or down: one step of the table, the width of the narrowest box.
    private static let margin = 8
    /// The five high bits of a dithered value; index 0 is the value `-margin`.
    private let fifths: [Int] = (-margin...255 + margin).map { min(max(0, $0), 255) >> 3 }
}

/// The Bayer matrix: the values 0 to 63, arranged so that neighbors differ as much as possible.
///
/// - Source: B. Bayer, "An optimum method for two-level rendition of continuous-tone images", 1973.
private let bayer: [[Int]] = (0..<8).map { y in
    (0..<8).map { x in
        var value = 0
        for bit in 0..<3 {
            let (a, b) = ((x ^ y) >> bit & 1, y >> bit & 1)
            value |= (a << 1 | b) << (2 * (2 - bit))
        }
        return value
    }
}

/// Splits the color cube, 32 steps per side, into boxes with the largest gain.
///
/// - Source: X. Wu, "Efficient statistical computations for optimal color quantization", 1991: the sum over a box
///   follows from the cumulative sums at its eight corners.
private struct ColorBoxes {
    struct Box {
        /// The bounds in red, green and blue: `low` is inclusive, `high` exclusive.
        var low: SIMD4<Int>
        var high: SIMD4<Int>
        var sum: SIMD4<Int32>
        var cut: (axis: Int, at: Int, gain: Float) = (0, 0, 0)
    }

    private(set) var boxes: [Box] = []
    /// Cumulative sums of red, green, blue and the pixel count, for 33 corners per side.
    private var sums: [SIMD4<Int32>]
    private static let side = 33
    /// The maximum number of samples: keeps the sums within 32 bits, and is enough for a palette.
    private static let maxSamples = 1 << 20

    init(_ raster: Raster, count: Int) {
        sums = [SIMD4<Int32>](repeating: .zero, count: Self.side * Self.side * Self.side)
        gather(raster)
        boxes.append(box(SIMD4(0, 0, 0, 0), SIMD4(32, 32, 32, 0)))
        while boxes.count < count {
            var best = 0
            for index in boxes.indices where boxes[index].cut.gain > boxes[best].cut.gain { best = index }
            let whole = boxes[best]
            guard whole.cut.gain > 0 else { break }
            var middle = whole.high
            middle[whole.cut.axis] = whole.cut.at
            var second = whole.low
            second[whole.cut.axis] = whole.cut.at
            boxes[best] = box(whole.low, middle)
            boxes.append(box(second, whole.high))
        }
    }

    private mutating func gather(_ raster: Raster) {
        let bytes = raster.bytes
        let count = raster.width * raster.height
        let step = (count + Self.maxSamples - 1) / Self.maxSamples
        for pixel in stride(from: 0, to: count, by: max(1, step)) {
            let at = pixel * 3
            let (red, green, blue) = (bytes[at], bytes[at + 1], bytes[at + 2])
            let place = Self.corner(Int(red >> 3) + 1, Int(green >> 3) + 1, Int(blue >> 3) + 1)
            sums[place] &+= SIMD4(Int32(red), Int32(green), Int32(blue), 1)
        }
        for axis in [Self.side * Self.side, Self.side, 1] {
            for place in axis..<sums.count where place / axis % Self.side != 0 { sums[place] &+= sums[place - axis] }
        }
    }

    private static func corner(_ red: Int, _ green: Int, _ blue: Int) -> Int {
        (red &* side &+ green) &* side &+ blue
    }

    private func sum(_ low: SIMD4<Int>, _ high: SIMD4<Int>) -> SIMD4<Int32> {
        func at(_ red: Int, _ green: Int, _ blue: Int) -> SIMD4<Int32> { sums[Self.corner(red, green, blue)] }
        let upper =
            at(high.x, high.y, high.z) &- at(high.x, high.y, low.z) &- at(high.x, low.y, high.z)
            &+ at(high.x, low.y, low.z)
        let lower =
            at(low.x, high.y, high.z) &- at(low.x, high.y, low.z) &- at(low.x, low.y, high.z) &+ at(low.x, low.y, low.z)
        return upper &- lower
    }

    /// Returns a box with its best cut.
    private func box(_ low: SIMD4<Int>, _ high: SIMD4<Int>) -> Box {
        let whole = sum(low, high)
        var box = Box(low: low, high: high, sum: whole)
        guard whole.w > 1 else { return box }
        let base = whole.spread
        for axis in 0..<3 {
            var middle = high
            for at in (low[axis] + 1)..<max(low[axis] + 1, high[axis]) {
                middle[axis] = at
                let first = sum(low, middle)
                if first.w == 0 { continue }
                let second = whole &- first
                if second.w == 0 { break }
                let gain = first.spread + second.spread - base
                if gain > box.cut.gain { box.cut = (axis, at, gain) }
            }
        }
        return box
    }

    /// Returns the box index for each step of the cube.
    func table() -> [UInt8] {
        var table = [UInt8](repeating: 0, count: 32 * 32 * 32)
        for (index, box) in boxes.enumerated() {
            for red in box.low.x..<box.high.x {
                for green in box.low.y..<box.high.y {
                    for blue in box.low.z..<box.high.z {
                        table[red << 10 | green << 5 | blue] = UInt8(truncatingIfNeeded: index)
                    }
                }
            }
        }
        return table
    }
}

extension SIMD4<Int32> {
    /// The squared length of the color sum, divided by the pixel count; the gain of a cut is a difference of these.
    fileprivate var spread: Float {
        let (red, green, blue) = (Float(x), Float(y), Float(z))
        return (red * red + green * green + blue * blue) / Float(w)
    }

    fileprivate var mean: SIMD4<Int32> {
        guard w > 0 else { return .zero }
        return SIMD4((x + w / 2) / w, (y + w / 2) / w, (z + w / 2) / w, 1)
    }
}
