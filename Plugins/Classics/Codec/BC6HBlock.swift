import CoderPluginKit
import ImageModel

/// Blocks of 16 bytes that hold half-precision colors: BC6H.
///
/// - Source: Khronos Data Format Specification, "BPTC"; ARB_texture_compression_bptc.
enum BC6HBlock {
    /// Decodes 16 pixels of red, green and blue as bits of half-precision numbers; a reserved mode is black.
    static func decode(
        _ bytes: RawSpan, at offset: Int, isSigned: Bool, into target: inout MutableSpan<UInt8>, _ place: BlockPlace
    ) {
        var bits = BlockBits(bytes, at: offset)
        var code = bits.next(2)
        if code > 1 { code |= bits.next(3) << 2 }
        guard let mode = BC6HMode.all[code] else {
            for channel in 0..<6 { ColorBlocks.put(into: &target, place, channel: channel) { _ in 0 } }
            return
        }
        var ends = mode.readEnds(&bits)
        let partition = BlockPartition(mode.subsets == 2 ? bits.next(5) : 0, of: mode.subsets)
        expand(&ends, mode, isSigned)
        let depth = mode.subsets == 2 ? 3 : 4
        let weights = BC7Block.weights(depth)
        for pixel in 0..<16 {
            let weight = Int(weights[bits.next(depth &- partition.saving(pixel))])
            let first = 6 * partition.subset(pixel)
            for channel in 0..<3 {
                let (a, b) = (ends[first &+ channel], ends[first &+ 3 &+ channel])
                let value = (a &* (64 &- weight) &+ b &* weight &+ 32) &>> 6
                target.storeBytes(of: half(value, isSigned), toByteOffset: place.offset(pixel) &+ 2 &* channel)
            }
        }
    }

    /// Replaces stored ends, differences to the first one, by values of 16 or 17 bits.
    private static func expand(_ ends: inout InlineArray<12, Int>, _ mode: BC6HMode, _ isSigned: Bool) {
        for channel in 0..<3 {
            if isSigned { ends[channel] = signed(ends[channel], mode.depth) }
            let base = ends[channel]
            for end in 1..<2 * mode.subsets {
                var value = ends[3 * end + channel]
                if isSigned || mode.isDifference { value = signed(value, mode.differenceDepth(channel)) }
                if mode.isDifference {
                    value = (value + base) & (1 << mode.depth - 1)
                    if isSigned { value = signed(value, mode.depth) }
                }
                ends[3 * end + channel] = value
            }
            for end in 0..<2 * mode.subsets {
                ends[3 * end + channel] = wide(ends[3 * end + channel], mode.depth, isSigned)
            }
        }
    }

    private static func signed(_ value: Int, _ bits: Int) -> Int {
        value & (1 << (bits - 1)) != 0 ? value - 1 << bits : value
    }

    /// Scales an end to 16 bits.
    private static func wide(_ value: Int, _ bits: Int, _ isSigned: Bool) -> Int {
        if isSigned {
            if bits >= 16 || value == 0 { return value }
            let size = abs(value)
            let scaled = size >= 1 << (bits - 1) - 1 ? 0x7fff : (size << 15 + 0x4000) >> (bits - 1)
            return value < 0 ? -scaled : scaled
        }
        if bits >= 15 || value == 0 { return value }
        return value == 1 << bits - 1 ? 0xffff : (value << 16 + 0x8000) >> bits
    }

    /// Returns the bits of a half-precision number.
    private static func half(_ value: Int, _ isSigned: Bool) -> UInt16 {
        if !isSigned { return UInt16(truncatingIfNeeded: (value * 31) >> 6) }
        let size = UInt16(truncatingIfNeeded: (abs(value) * 31) >> 5)
        return value < 0 ? 0x8000 | size : size
    }
}
