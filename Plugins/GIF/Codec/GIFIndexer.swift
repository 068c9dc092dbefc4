internal import CoderPluginKit
internal import ImageModel

/// A frame as indices and the colours they stand for.
struct IndexedFrame {
    /// By index: 0xRRGGBB or ``ColorTable/transparent``.
    var colors: [UInt32]
    var indices: [UInt8]
    /// Whether `colors` are those of the whole file.
    var isGlobal: Bool

    var transparentIndex: UInt8? {
        colors.firstIndex(of: ColorTable.transparent).map { UInt8(truncatingIfNeeded: $0) }
    }
}

/// Turns pixels into indices: exactly where 256 colours suffice, else with the nearest colours and dithering.
struct GIFIndexer {
    /// Alpha below this is transparent; GIF knows nothing between.
    private static let alphaThreshold: UInt8 = 128

    let host: HostServices
    let isDithered: Bool

    /// - Shape: the surface is `gray8`, `rgb8` or `rgba8`.
    func index(
        _ surface: borrowing Surface, globalColors: [UInt32]?
    ) throws(CoderError) -> IndexedFrame {
        if let globalColors, let indices = try exact(surface, ColorTable(globalColors), mayGrow: false)?.indices {
            return IndexedFrame(colors: globalColors, indices: indices, isGlobal: true)
        }
        if let (table, indices) = try exact(surface, ColorTable(), mayGrow: true) {
            return IndexedFrame(colors: table.colors, indices: indices, isGlobal: false)
        }
        return try approximate(surface)
    }

    private func exact(
        _ surface: borrowing Surface, _ start: ColorTable, mayGrow: Bool
    ) throws(CoderError) -> (table: ColorTable, indices: [UInt8])? {
        var table = start
        var indices: [UInt8] = []
        indices.reserveCapacity(surface.size.width * surface.size.height)
        for y in 0..<surface.size.height {
            if y % 64 == 0 { try host.checkCancellation() }
            let pixels = Self.pixels(ofRow: y, of: surface)
            var last: (color: UInt32, index: UInt8)?
            for color in pixels {
                if let last, last.color == color {
                    indices.append(last.index)
                    continue
                }
                guard let index = mayGrow ? table.index(adding: color) : table.index(of: color) else { return nil }
                indices.append(index)
                last = (color, index)
            }
        }
        return (table, indices)
    }

    private func approximate(_ surface: borrowing Surface) throws(CoderError) -> IndexedFrame {
        var cut = MedianCut()
        var isTransparent = false
        for y in 0..<surface.size.height {
            if y % 64 == 0 { try host.checkCancellation() }
            for color in Self.pixels(ofRow: y, of: surface) {
                if color == ColorTable.transparent { isTransparent = true } else { cut.add(color) }
            }
        }
        var colors = cut.palette(limit: isTransparent ? 255 : 256)
        var nearest = NearestColor(colors)
        let width = surface.size.width
        let skipped = UInt8(truncatingIfNeeded: colors.count)
        var indices = [UInt8](repeating: skipped, count: width * surface.size.height)
        // Sixteenths of the error of each channel, of this row and the next, with a margin of one pixel.
        var errors = [SIMD4<Int32>](repeating: .zero, count: width + 2)
        var below = errors
        for y in 0..<surface.size.height {
            if y % 64 == 0 { try host.checkCancellation() }
            let pixels = Self.pixels(ofRow: y, of: surface)
            // Every other row runs backwards, or the errors would all drift to one side.
            let isForward = y % 2 == 0
            let step = isForward ? 1 : -1
            for position in 0..<width {
                let x = isForward ? position : width - 1 - position
                if pixels[x] == ColorTable.transparent { continue }
                let exact = SIMD4<Int32>(
                    Int32(pixels[x] >> 16 & 0xFF), Int32(pixels[x] >> 8 & 0xFF), Int32(pixels[x] & 0xFF), 0)
                let wanted = isDithered ? exact &+ (errors[x + 1] &+ 8) &>> 4 : exact
                let inside = wanted.clamped(lowerBound: .zero, upperBound: SIMD4(repeating: 255))
                let index = nearest.index(of: inside)
                indices[y * width + x] = UInt8(truncatingIfNeeded: index)
                // Floyd and Steinberg: 7 ahead, 3, 5 and 1 below, of 16.
                let error = inside &- nearest.colors[index]
                errors[x + 1 + step] &+= error &* 7
                below[x + 1 - step] &+= error &* 3
                below[x + 1] &+= error &* 5
                below[x + 1 + step] &+= error
            }
            swap(&errors, &below)
            for x in 0..<width + 2 { below[x] = .zero }
        }
        if isTransparent { colors.append(ColorTable.transparent) }
        return IndexedFrame(colors: colors, indices: indices, isGlobal: false)
    }

    /// One row as 0xRRGGBB or ``ColorTable/transparent``.
    private static func pixels(ofRow y: Int, of surface: borrowing Surface) -> [UInt32] {
        let channels = surface.format.channels
        let hasAlpha = surface.format.hasTransparency
        let width = surface.size.width
        return surface.withRow(y) { row in
            var pixels: [UInt32] = []
            pixels.reserveCapacity(width)
            for x in 0..<width {
                if channels == .gray {
                    pixels.append(UInt32(row.byte(at: x)) * 0x01_0101)
                    continue
                }
                let offset = x * channels.count
                if hasAlpha, row.byte(at: offset + 3) < alphaThreshold {
                    pixels.append(ColorTable.transparent)
                    continue
                }
                pixels.append(
                    UInt32(row.byte(at: offset)) << 16 | UInt32(row.byte(at: offset + 1)) << 8
                        | UInt32(row.byte(at: offset + 2)))
            }
            return pixels
        }
    }
}

/// Looks up the nearest of some colours, and remembers the answer for all colours of a cell.
private struct NearestColor {
    let colors: [SIMD4<Int32>]
    private var known = [Int16](repeating: -1, count: 1 << 15)

    init(_ colors: [UInt32]) {
        self.colors = colors.map { SIMD4(Int32($0 >> 16 & 0xFF), Int32($0 >> 8 & 0xFF), Int32($0 & 0xFF), 0) }
    }

    mutating func index(of color: SIMD4<Int32>) -> Int {
        let cell = Int((color.x >> 3) << 10 | (color.y >> 3) << 5 | color.z >> 3)
        if known[cell] >= 0 { return Int(known[cell]) }
        let middle = (color &>> 3) &<< 3 | SIMD4(4, 4, 4, 0)
        var best = 0
        var least = Int32.max
        for (index, candidate) in colors.enumerated() {
            let difference = candidate &- middle
            let distance = (difference &* difference).wrappedSum()
            if distance < least {
                least = distance
                best = index
            }
        }
        known[cell] = Int16(best)
        return best
    }
}
