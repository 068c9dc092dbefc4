import CoderPluginKit
import ImageModel

/// Blocks of 16 bytes in one of eight modes: BC7.
///
/// - Source: Khronos Data Format Specification, "BPTC".
enum BC7Block {
    private struct Mode {
        var subsets, partitionBits, rotationBits, selectionBits: Int
        var colorBits, alphaBits: Int
        /// Whether each end, or each pair of ends, has one more low bit.
        var hasBits, sharesBits: Bool
        var indexBits, secondBits: Int

        init(_ numbers: [Int]) {
            (subsets, partitionBits, rotationBits, selectionBits) = (numbers[0], numbers[1], numbers[2], numbers[3])
            (colorBits, alphaBits, hasBits, sharesBits) = (numbers[4], numbers[5], numbers[6] == 1, numbers[7] == 1)
            (indexBits, secondBits) = (numbers[8], numbers[9])
        }
    }

    private static let modes = [
        [3, 4, 0, 0, 4, 0, 1, 0, 3, 0], [2, 6, 0, 0, 6, 0, 0, 1, 3, 0], [3, 6, 0, 0, 5, 0, 0, 0, 2, 0],
        [2, 6, 0, 0, 7, 0, 1, 0, 2, 0], [1, 0, 2, 1, 5, 6, 0, 0, 2, 3], [1, 0, 2, 0, 7, 8, 0, 0, 2, 2],
        [1, 0, 0, 0, 7, 7, 1, 0, 4, 0], [2, 6, 0, 0, 5, 5, 1, 0, 2, 0],
    ].map(Mode.init)

    /// Returns the share of the second end, of 64, for indices of 2, 3 and 4 bits.
    static func weights(_ depth: Int) -> InlineArray<16, UInt8> {
        switch depth {
        case 2: [0, 21, 43, 64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        case 3: [0, 9, 18, 27, 37, 46, 55, 64, 0, 0, 0, 0, 0, 0, 0, 0]
        default: [0, 4, 9, 13, 17, 21, 26, 30, 34, 38, 43, 47, 51, 55, 60, 64]
        }
    }

    /// Decodes 16 pixels of red, green, blue and alpha; an invalid mode is transparent black.
    static func decode(
        _ bytes: RawSpan, at offset: Int, into target: inout MutableSpan<UInt8>, _ place: BlockPlace
    ) {
        let number = bytes.byte(at: offset).trailingZeroBitCount
        guard number < 8 else {
            for channel in 0..<4 { ColorBlocks.put(into: &target, place, channel: channel) { _ in 0 } }
            return
        }
        let mode = modes[number]
        var bits = BlockBits(bytes, at: offset)
        _ = bits.next(number + 1)
        let partition = BlockPartition(bits.next(mode.partitionBits), of: mode.subsets)
        let rotation = bits.next(mode.rotationBits)
        let selection = bits.next(mode.selectionBits)
        let ends = readEnds(mode, &bits)
        let first = readWeights(&bits, mode.indexBits, partition)
        let second = mode.secondBits > 0 ? readWeights(&bits, mode.secondBits, BlockPartition(0, of: 1)) : first
        let (colors, alphas) = selection == 0 ? (first, second) : (second, first)
        for pixel in 0..<16 {
            let subset = partition.subset(pixel)
            let (color, alpha) = (Int32(colors[pixel]), Int32(alphas[pixel]))
            let weight = SIMD4<Int32>(color, color, color, alpha)
            let (a, b) = (ends[2 * subset], ends[2 * subset + 1])
            var value = ((64 &- weight) &* a &+ weight &* b &+ 32) &>> 6
            if rotation > 0 { (value[3], value[rotation - 1]) = (value[rotation - 1], value[3]) }
            let shown = UInt32(truncatingIfNeeded: value.x | value.y &<< 8 | value.z &<< 16 | value.w &<< 24)
            target.storeBytes(of: shown, toByteOffset: place.offset(pixel))
        }
    }

    /// Reads the ends of each subset, two for each, in 8 bits.
    private static func readEnds(_ mode: Mode, _ bits: inout BlockBits) -> InlineArray<6, SIMD4<Int32>> {
        let count = 2 * mode.subsets
        var stored = InlineArray<24, Int32>(repeating: 0)
        let hasAlpha = mode.alphaBits > 0
        for channel in 0..<(hasAlpha ? 4 : 3) {
            let depth = channel < 3 ? mode.colorBits : mode.alphaBits
            for end in 0..<count { stored[4 &* end &+ channel] = Int32(bits.next(depth)) }
        }
        let more: Int32 = mode.hasBits || mode.sharesBits ? 1 : 0
        let (color, alpha) = (Int32(mode.colorBits) &+ more, Int32(mode.alphaBits) &+ more)
        let depth = SIMD4(color, color, color, alpha)
        var ends = InlineArray<6, SIMD4<Int32>>(repeating: SIMD4())
        var low: Int32 = 0
        for end in 0..<count {
            if mode.hasBits || mode.sharesBits && end % 2 == 0 { low = Int32(bits.next(1)) }
            let at = 4 &* end
            var value = SIMD4(stored[at], stored[at &+ 1], stored[at &+ 2], stored[at &+ 3])
            value = (value &<< more | low) &<< (8 &- depth)
            value |= value &>> depth
            if !hasAlpha { value.w = 255 }
            ends[end] = value
        }
        return ends
    }

    /// Reads an index for each pixel, and returns their weights.
    private static func readWeights(
        _ bits: inout BlockBits, _ depth: Int, _ partition: BlockPartition
    ) -> InlineArray<16, UInt8> {
        let table = weights(depth)
        var result = InlineArray<16, UInt8>(repeating: 0)
        for pixel in 0..<16 { result[pixel] = table[bits.next(depth &- partition.saving(pixel))] }
        return result
    }
}
