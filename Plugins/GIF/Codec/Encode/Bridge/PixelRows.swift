internal import CoderPluginKit
internal import ImageModel
internal import Palettes

/// Reads rows of a surface as colors of a ``ColorTable``.
enum PixelRows {
    /// Writes the colors of row `y` to its position in a canvas; alpha below 128 is transparent, since GIF has no
    /// partial alpha.
    static func load(_ y: Int, of surface: borrowing Surface, into canvas: inout [UInt32]) {
        let width = surface.size.width
        let channels = surface.format.channels
        let hasAlpha = surface.format.hasTransparency
        surface.withRow(y) { row in
            unsafe canvas.withUnsafeMutableBufferPointer { canvas in
                let target = unsafe canvas.baseAddress! + y * width
                unsafe row.withUnsafeBytes { bytes in
                    switch channels {
                    case .rgba:
                        for x in 0..<width {
                            let pixel = unsafe bytes.loadUnaligned(fromByteOffset: x * 4, as: UInt32.self).littleEndian
                            // All ones if the highest bit of alpha is set.
                            let shown = UInt32(bitPattern: Int32(bitPattern: pixel) >> 31)
                            unsafe target[x] = (pixel | 0xFF00_0000) & (hasAlpha ? shown : .max)
                        }
                    case .rgb:
                        for x in 0..<width {
                            let red = unsafe UInt32(bytes[x * 3])
                            let green = unsafe UInt32(bytes[x * 3 + 1])
                            let blue = unsafe UInt32(bytes[x * 3 + 2])
                            unsafe target[x] = red | green << 8 | blue << 16 | 0xFF00_0000
                        }
                    default:
                        for x in 0..<width { unsafe target[x] = UInt32(bytes[x]) &* 0x01_0101 | 0xFF00_0000 }
                    }
                }
            }
        }
    }

    /// Returns the first and the last position in a range at which two canvases differ.
    static func difference(_ a: [UInt32], _ b: [UInt32], in range: Range<Int>) -> ClosedRange<Int>? {
        precondition(range.upperBound <= a.count && range.upperBound <= b.count && range.lowerBound >= 0)
        return unsafe a.withUnsafeBufferPointer { a in
            unsafe b.withUnsafeBufferPointer { b in
                var first = range.lowerBound
                while first + 16 <= range.upperBound, unsafe isEqual(a, b, first) { first += 16 }
                while first < range.upperBound, unsafe a[first] == b[first] { first += 1 }
                if first == range.upperBound { return nil }
                var last = range.upperBound
                while last - 16 >= first, unsafe isEqual(a, b, last - 16) { last -= 16 }
                while unsafe a[last - 1] == b[last - 1] { last -= 1 }
                return first...last - 1
            }
        }
    }

    /// Returns how many pixels of a range differ.
    static func count(_ a: [UInt32], _ b: [UInt32], in range: Range<Int>) -> Int {
        precondition(range.upperBound <= a.count && range.upperBound <= b.count && range.lowerBound >= 0)
        return unsafe a.withUnsafeBufferPointer { a in
            unsafe b.withUnsafeBufferPointer { b in
                var count: UInt32 = 0
                for place in range { count &+= unsafe a[place] == b[place] ? 0 : 1 }
                return Int(count)
            }
        }
    }

    /// Returns how many pixels of a range are not transparent.
    static func opaque(_ a: [UInt32], in range: Range<Int>) -> Int {
        precondition(range.upperBound <= a.count && range.lowerBound >= 0)
        return unsafe a.withUnsafeBufferPointer { a in
            var count: UInt32 = 0
            for place in range { count &+= unsafe a[place] >> 31 }
            return Int(count)
        }
    }

    /// Returns the first and the last position in a range that `a` shows and `b` does not.
    static func holes(from a: [UInt32], to b: [UInt32], in range: Range<Int>) -> ClosedRange<Int>? {
        precondition(range.upperBound <= a.count && range.upperBound <= b.count && range.lowerBound >= 0)
        return unsafe a.withUnsafeBufferPointer { a in
            unsafe b.withUnsafeBufferPointer { b in
                var any: UInt32 = 0
                for place in range { any |= unsafe a[place] & ~b[place] }
                // Only the upper byte matters: it is 255 or 0.
                if any >> 31 == 0 { return nil }
                var (first, last) = (range.lowerBound, range.upperBound - 1)
                while unsafe (a[first] & ~b[first]) >> 31 == 0 { first += 1 }
                while unsafe (a[last] & ~b[last]) >> 31 == 0 { last -= 1 }
                return first...last
            }
        }
    }

    @inline(__always)
    private static func isEqual(
        _ a: UnsafeBufferPointer<UInt32>, _ b: UnsafeBufferPointer<UInt32>, _ place: Int
    ) -> Bool {
        let x = unsafe UnsafeRawPointer(a.baseAddress! + place)
        let y = unsafe UnsafeRawPointer(b.baseAddress! + place)
        var any: UInt64 = 0
        for offset in 0..<8 {
            let left = unsafe x.loadUnaligned(fromByteOffset: offset * 8, as: UInt64.self)
            any |= unsafe left ^ y.loadUnaligned(fromByteOffset: offset * 8, as: UInt64.self)
        }
        return any == 0
    }
}
