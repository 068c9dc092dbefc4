extension FrameIndexer {
    /// Thresholds of an ordered screen, 8 × 8, 0 … 63.
    ///
    /// - Source: Bayer, "An optimum method for two-level rendition of continuous-tone images", 1973.
    private static let screen: [Int32] = (0..<64).map { place in
        let (x, y) = (Int32(place & 7), Int32(place >> 3))
        var value: Int32 = 0
        for bit in [Int32(0), 1, 2] {
            let (a, b) = (x >> bit & 1, y >> bit & 1)
            value |= ((a ^ b) << 1 | b) << (4 - 2 * bit)
        }
        return value
    }

    /// Adds a screen that is fixed to the canvas, so that static parts do not change.
    static func ordered(
        _ canvas: inout FrameCanvas, in rect: ChangedRect, _ nearest: NearestColors, skip: UInt8, strength: Int32
    ) {
        for y in rect.rows {
            for x in rect.left...rect.right {
                let place = canvas.place(x, y)
                let color = canvas.source[place]
                if color == canvas.prior[place] {
                    canvas.indices[place] = skip
                    continue
                }
                let offset = (2 * screen[(y & 7) << 3 | x & 7] - 63) * strength / 128
                let wanted = vector(color) &+ SIMD4(offset, offset, offset, 0)
                canvas.indices[place] = nearest.index(nearestTo: self.color(wanted))
            }
        }
    }

    /// Passes the error on to neighbors that also change; unchanged pixels neither receive nor pass on errors.
    ///
    /// - Source: Floyd and Steinberg, "An adaptive algorithm for spatial grayscale", 1976: 7 ahead, 3, 5 and 1 below,
    ///   of 16.
    static func diffusion(
        _ canvas: inout FrameCanvas, in rect: ChangedRect, _ nearest: NearestColors, skip: UInt8
    ) {
        // Errors of each channel in sixteenths, for this row and the next, with a margin of one pixel.
        var errors = [SIMD4<Int32>](repeating: .zero, count: rect.width + 2)
        var below = errors
        for y in rect.rows {
            // Every second row of the canvas runs backwards; otherwise all errors would drift to one side.
            let isForward = y % 2 == 0
            let step = isForward ? 1 : -1
            for position in 0..<rect.width {
                let x = isForward ? position : rect.width - 1 - position
                let place = canvas.place(rect.left + x, y)
                let source = canvas.source[place]
                if source == canvas.prior[place] {
                    canvas.indices[place] = skip
                    continue
                }
                let wanted = vector(source) &+ (errors[x + 1] &+ 8) &>> 4
                let inside = wanted.clamped(lowerBound: .zero, upperBound: SIMD4(repeating: 255))
                let index = nearest.index(nearestTo: color(inside))
                canvas.indices[place] = index
                let error = inside &- vector(nearest.colors[Int(index)])
                errors[x + 1 + step] &+= error &* 7
                below[x + 1 - step] &+= error &* 3
                below[x + 1] &+= error &* 5
                below[x + 1 + step] &+= error
            }
            swap(&errors, &below)
            for x in below.indices { below[x] = .zero }
        }
    }

    @inline(__always)
    private static func vector(_ color: UInt32) -> SIMD4<Int32> {
        SIMD4(Int32(color & 0xFF), Int32(color >> 8 & 0xFF), Int32(color >> 16 & 0xFF), 0)
    }

    @inline(__always)
    private static func color(_ vector: SIMD4<Int32>) -> UInt32 {
        let inside = SIMD4<UInt32>(
            truncatingIfNeeded: vector.clamped(lowerBound: .zero, upperBound: SIMD4(repeating: 255)))
        return inside.x | inside.y << 8 | inside.z << 16 | 0xFF00_0000
    }
}
