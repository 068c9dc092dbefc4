import CoderPluginKit
import ImageModel

/// The place of a block of 4 × 4 pixels.
struct BlockPlace {
    /// The first byte.
    var offset: Int
    let rowBytes: Int
    let pixelBytes: Int

    /// Returns the first byte of one of the 16 pixels.
    @inline(__always)
    func offset(_ pixel: Int) -> Int { offset &+ pixel &>> 2 &* rowBytes &+ (pixel & 3) &* pixelBytes }
}

/// The blocks of S3 and their relatives: BC1 to BC5.
///
/// - Source: Microsoft, "Texture Block Compression in Direct3D 11". Interpolated values are rounded down, as most
///   decoders have it.
enum ColorBlocks {
    /// Decodes eight bytes to 16 pixels of red, green, blue and alpha.
    ///
    /// - Parameter hasThree: whether the order of the two colors can select three colors and transparency.
    static func colors(
        _ bytes: RawSpan, at offset: Int, hasThree: Bool, into target: inout MutableSpan<UInt8>, _ place: BlockPlace
    ) {
        let word = bytes.word(at: offset)
        let (first, second) = (UInt32(word & 0xffff), UInt32(word >> 16 & 0xffff))
        let (a, b) = (expand(first), expand(second))
        var table = SIMD4<UInt32>(pixel(a), pixel(b), 0, 0)
        if !hasThree || first > second {
            table[2] = pixel((a &+ a &+ b) / 3)
            table[3] = pixel((a &+ b &+ b) / 3)
        } else {
            table[2] = pixel((a &+ b) &>> 1)
        }
        var indices = Int(word >> 32)
        var to = place.offset
        for _ in 0..<4 {
            for x in 0..<4 {
                target.storeBytes(of: table[indices & 3], toByteOffset: to &+ 4 &* x)
                indices >>= 2
            }
            to &+= place.rowBytes
        }
    }

    /// Returns the bytes of an opaque pixel.
    private static func pixel(_ color: SIMD4<UInt32>) -> UInt32 {
        color.x | color.y << 8 | color.z << 16 | 0xff00_0000
    }

    /// Returns the channels of a color of 5, 6 and 5 bits, with their high bits repeated below.
    private static func expand(_ color: UInt32) -> SIMD4<UInt32> {
        SIMD4(
            (color >> 11) << 3 | color >> 13, (color >> 5 & 63) << 2 | color >> 9 & 3,
            (color & 31) << 3 | color >> 2 & 7, 0)
    }

    /// Decodes the alpha of BC2: four bits for each pixel.
    static func plainAlpha(
        _ bytes: RawSpan, at offset: Int, into target: inout MutableSpan<UInt8>, _ place: BlockPlace
    ) {
        let bits = bytes.word(at: offset)
        put(into: &target, place, channel: 3) { pixel in UInt8(truncatingIfNeeded: bits >> UInt64(4 * pixel)) & 15 * 17
        }
    }

    /// Decodes eight bytes to the 16 values of a channel.
    ///
    /// Signed values from -1 to 1 become 0 to 255.
    static func values(
        _ bytes: RawSpan, at offset: Int, isSigned: Bool, into target: inout MutableSpan<UInt8>, _ place: BlockPlace,
        channel: Int
    ) {
        let word = bytes.word(at: offset)
        func value(_ byte: UInt64) -> Int {
            isSigned ? max(-127, Int(Int8(truncatingIfNeeded: byte))) : Int(byte & 255)
        }
        func shown(_ value: Int) -> UInt64 { UInt64(isSigned ? ((value + 127) * 255 + 127) / 254 : value) }
        let (a, b) = (value(word), value(word >> 8))
        var table = shown(a) | shown(b) << 8
        if a > b {
            for part in 1...6 { table |= shown(((7 - part) * a + part * b) / 7) << UInt64(8 * part + 8) }
        } else {
            for part in 1...4 { table |= shown(((5 - part) * a + part * b) / 5) << UInt64(8 * part + 8) }
            // The lowest value is 0 in either way.
            table |= 255 << 56
        }
        let bits = word >> 16
        put(into: &target, place, channel: channel) { [table] pixel in
            UInt8(truncatingIfNeeded: table >> (bits >> UInt64(3 * pixel) & 7 * 8))
        }
    }

    /// Stores a channel of all pixels.
    @inline(__always)
    static func put(
        into target: inout MutableSpan<UInt8>, _ place: BlockPlace, channel: Int, _ value: (Int) -> UInt8
    ) {
        var to = place.offset + channel
        for y in 0..<4 {
            for x in 0..<4 {
                target[to &+ place.pixelBytes &* x] = value(4 * y + x)
            }
            to &+= place.rowBytes
        }
    }
}
