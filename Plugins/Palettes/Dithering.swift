/// Colors as vectors of red, green, blue and alpha.
package enum ColorVector {
    @inlinable @inline(__always)
    package static func vector(_ color: UInt32) -> SIMD4<Int32> {
        SIMD4(Int32(color & 0xFF), Int32(color >> 8 & 0xFF), Int32(color >> 16 & 0xFF), Int32(color >> 24))
    }

    /// Returns the color of a vector; parts outside 0 … 255 are clipped.
    @inlinable @inline(__always)
    package static func color(_ vector: SIMD4<Int32>) -> UInt32 {
        let inside = SIMD4<UInt32>(
            truncatingIfNeeded: vector.clamped(lowerBound: .zero, upperBound: SIMD4(repeating: 255)))
        return inside.x | inside.y << 8 | inside.z << 16 | inside.w << 24
    }
}

/// An ordered screen, 8 × 8, that is fixed to the canvas.
///
/// - Source: Bayer, "An optimum method for two-level rendition of continuous-tone images", 1973.
package struct OrderedScreen {
    /// Thresholds, 0 … 63.
    @usableFromInline let thresholds: [Int32]
    @usableFromInline let strength: Int32

    /// - Parameter strength: the distance between neighboring colors.
    package init(strength: Int32) {
        self.strength = strength
        thresholds = (0..<64).map { place in
            let (x, y) = (Int32(place & 7), Int32(place >> 3))
            var value: Int32 = 0
            for bit in [Int32(0), 1, 2] {
                let (a, b) = (x >> bit & 1, y >> bit & 1)
                value |= ((a ^ b) << 1 | b) << (4 - 2 * bit)
            }
            return value
        }
    }

    /// Returns the color to look up for a pixel; alpha stays.
    @inlinable @inline(__always)
    package func wanted(_ color: UInt32, x: Int, y: Int) -> UInt32 {
        let offset = (2 * thresholds[(y & 7) << 3 | x & 7] - 63) * strength / 128
        return ColorVector.color(ColorVector.vector(color) &+ SIMD4(offset, offset, offset, 0))
    }
}

/// The errors of one row of pixels, passed on to neighbors.
///
/// - Source: Floyd and Steinberg, "An adaptive algorithm for spatial grayscale", 1976: 7 ahead, 3, 5 and 1 below, of
///   16.
package struct ErrorDiffusion {
    // In sixteenths, for this row and the next, with a margin of one pixel.
    @usableFromInline var errors: [SIMD4<Int32>]
    @usableFromInline var below: [SIMD4<Int32>]

    package init(width: Int) {
        errors = [SIMD4<Int32>](repeating: .zero, count: width + 2)
        below = errors
    }

    /// Returns the color of a pixel with the errors of its neighbors.
    @inlinable @inline(__always)
    package func wanted(_ color: UInt32, at position: Int) -> SIMD4<Int32> {
        let wanted = ColorVector.vector(color) &+ (errors[position + 1] &+ 8) &>> 4
        return wanted.clamped(lowerBound: .zero, upperBound: SIMD4(repeating: 255))
    }

    /// Passes an error on.
    ///
    /// - Parameter step: 1, or -1 in a row that runs backwards.
    @inlinable @inline(__always)
    package mutating func pass(_ error: SIMD4<Int32>, at position: Int, step: Int) {
        errors[position + 1 + step] &+= error &* 7
        below[position + 1 - step] &+= error &* 3
        below[position + 1] &+= error &* 5
        below[position + 1 + step] &+= error
    }

    package mutating func endRow() {
        swap(&errors, &below)
        for position in below.indices { below[position] = .zero }
    }
}
