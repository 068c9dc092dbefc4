import CoderPluginKit
import ImageModel

/// Blocks of 16 bytes that hold half-precision colors: BC6H.
///
/// - Source: Khronos Data Format Specification, "BPTC"; ARB_texture_compression_bptc.
enum BC6HBlock {
    /// Decodes 16 pixels of red, green and blue as bits of half-precision numbers; a reserved mode is black.
    static func decode(_ bytes: RawSpan, at offset: Int, isSigned: Bool, into block: inout [UInt16]) {
        var bits = BlockBits(bytes, at: offset)
        var code = bits.next(2)
        if code > 1 { code |= bits.next(3) << 2 }
        guard let mode = BC6HMode.all[code] else {
            for at in 0..<48 { block[at] = 0 }
            return
        }
        var ends = mode.readEnds(&bits)
        let partition = mode.subsets == 2 ? bits.next(5) : 0
        expand(&ends, mode, isSigned)
        let depth = mode.subsets == 2 ? 3 : 4
        let weights = BC7Block.weights[depth]
        for pixel in 0..<16 {
            let isAnchor = BlockPartitions.isAnchor(pixel, partition, of: mode.subsets)
            let weight = weights[bits.next(isAnchor ? depth - 1 : depth)]
            let subset = BlockPartitions.subset(pixel, partition, of: mode.subsets)
            for channel in 0..<3 {
                let (a, b) = (ends[6 * subset + channel], ends[6 * subset + 3 + channel])
                let value = (a * (64 - weight) + b * weight + 32) >> 6
                block[3 * pixel + channel] = half(value, isSigned)
            }
        }
    }

    /// Replaces stored ends, differences to the first one, by values of 16 or 17 bits.
    private static func expand(_ ends: inout [Int], _ mode: BC6HMode, _ isSigned: Bool) {
        for channel in 0..<3 {
            if isSigned { ends[channel] = signed(ends[channel], mode.depth) }
            let base = ends[channel]
            for end in 1..<2 * mode.subsets {
                var value = ends[3 * end + channel]
                if isSigned || mode.isDifference { value = signed(value, mode.differenceDepths[channel]) }
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
