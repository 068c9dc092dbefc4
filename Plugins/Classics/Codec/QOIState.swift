import CoderPluginKit
import ImageModel

/// The memory of a QOI decoder or encoder: the previous pixel and 64 earlier ones.
///
/// A pixel is a number with red in its lowest byte, then green, blue and alpha.
struct QOIState {
    var previous: UInt32 = 0xff00_0000
    var seen = InlineArray<64, UInt32>(repeating: 0)

    /// Returns the place of a pixel among the 64.
    @inline(__always)
    static func place(_ pixel: UInt32) -> Int {
        let (red, green, blue) = (pixel & 0xff, pixel >> 8 & 0xff, pixel >> 16 & 0xff)
        let sum: UInt32 = red &* 3 &+ green &* 5 &+ blue &* 7
        return Int((sum &+ (pixel >> 24) &* 11) & 63)
    }

    /// Returns `pixel` with other colors, each modulo 256.
    @inline(__always)
    static func add(_ pixel: UInt32, _ red: UInt32, _ green: UInt32, _ blue: UInt32) -> UInt32 {
        var result = pixel & 0xff00_0000
        result |= (pixel &+ red) & 0xff
        result |= (pixel &+ green &<< 8) & 0xff00
        result |= (pixel &+ blue &<< 16) & 0xff_0000
        return result
    }

    /// Decodes the chunks of one row and returns the number of their bytes; nil if bytes are missing.
    ///
    /// - Parameter run: the pixels of a run that began before; afterwards those that follow the row.
    @inline(__always)
    mutating func decode(
        _ bytes: RawSpan, width: Int, run: inout Int, _ put: (_ x: Int, _ pixel: UInt32) -> Void
    ) -> Int? {
        let count = bytes.byteCount
        var (at, x, pixel) = (0, 0, previous)
        while x < width {
            if run > 0 {
                let end = min(width, x + run)
                run -= end - x
                while x < end {
                    put(x, pixel)
                    x += 1
                }
                continue
            }
            guard at < count else { return nil }
            let tag = UInt32(bytes.byte(at: at))
            at += 1
            switch tag >> 6 {
            case 0: pixel = seen[Int(tag)]
            case 1:
                pixel = Self.add(pixel, (tag >> 4 & 3) &- 2, (tag >> 2 & 3) &- 2, (tag & 3) &- 2)
                seen[Self.place(pixel)] = pixel
            case 2:
                guard at < count else { return nil }
                let more = UInt32(bytes.byte(at: at))
                at += 1
                let green = (tag & 63) &- 32
                pixel = Self.add(pixel, green &- 8 &+ (more >> 4), green, green &- 8 &+ (more & 15))
                seen[Self.place(pixel)] = pixel
            default:
                if tag < 0xfe {
                    run = Int(tag & 63) + 1
                    // The run may be the first chunk, of the pixel that no chunk has stored.
                    seen[Self.place(pixel)] = pixel
                    continue
                }
                let length = tag == 0xfe ? 3 : 4
                guard count - at >= length else { return nil }
                let (red, green) = (UInt32(bytes.byte(at: at)), UInt32(bytes.byte(at: at + 1)))
                let alpha = length == 4 ? UInt32(bytes.byte(at: at + 3)) << 24 : pixel & 0xff00_0000
                pixel = red | green << 8 | UInt32(bytes.byte(at: at + 2)) << 16 | alpha
                at += length
                seen[Self.place(pixel)] = pixel
            }
            put(x, pixel)
            x += 1
        }
        previous = pixel
        return at
    }
}
