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

    /// The share of the second end, of 64, for indices of 2, 3 and 4 bits.
    static let weights: [[Int]] = [
        [], [], [0, 21, 43, 64], [0, 9, 18, 27, 37, 46, 55, 64],
        [0, 4, 9, 13, 17, 21, 26, 30, 34, 38, 43, 47, 51, 55, 60, 64],
    ]

    /// Decodes 16 pixels of red, green, blue and alpha; an invalid mode is transparent black.
    static func decode(_ bytes: RawSpan, at offset: Int, into block: inout [UInt8]) {
        let number = bytes.byte(at: offset).trailingZeroBitCount
        guard number < 8 else {
            for at in 0..<64 { block[at] = 0 }
            return
        }
        let mode = modes[number]
        var bits = BlockBits(bytes, at: offset)
        _ = bits.next(number + 1)
        let partition = bits.next(mode.partitionBits)
        let rotation = bits.next(mode.rotationBits)
        let selection = bits.next(mode.selectionBits)
        let ends = readEnds(mode, &bits)
        let first = readIndices(&bits, mode.indexBits, partition, mode.subsets)
        let second = mode.secondBits > 0 ? readIndices(&bits, mode.secondBits, 0, 1) : first
        let secondBits = mode.secondBits > 0 ? mode.secondBits : mode.indexBits
        let colors = selection == 0 ? (first, weights[mode.indexBits]) : (second, weights[secondBits])
        let alphas = selection == 0 ? (second, weights[secondBits]) : (first, weights[mode.indexBits])
        for pixel in 0..<16 {
            let subset = BlockPartitions.subset(pixel, partition, of: mode.subsets)
            for channel in 0..<4 {
                let (indices, table) = channel < 3 ? colors : alphas
                let weight = table[indices[pixel]]
                let (a, b) = (ends[8 * subset + channel], ends[8 * subset + 4 + channel])
                block[4 * pixel + channel] = UInt8(((64 - weight) * a + weight * b + 32) >> 6)
            }
            if rotation > 0 { block.swapAt(4 * pixel + 3, 4 * pixel + rotation - 1) }
        }
    }

    /// Reads the ends of each subset: four channels of the first end, then of the second, in 8 bits.
    private static func readEnds(_ mode: Mode, _ bits: inout BlockBits) -> [Int] {
        let count = 2 * mode.subsets
        var ends = [Int](repeating: 255, count: 4 * count)
        let channels = mode.alphaBits > 0 ? 4 : 3
        for channel in 0..<channels {
            for end in 0..<count { ends[4 * end + channel] = bits.next(channel < 3 ? mode.colorBits : mode.alphaBits) }
        }
        var low = [Int](repeating: 0, count: count)
        if mode.hasBits { for end in 0..<count { low[end] = bits.next(1) } }
        if mode.sharesBits {
            for subset in 0..<mode.subsets {
                low[2 * subset] = bits.next(1)
                low[2 * subset + 1] = low[2 * subset]
            }
        }
        let more = mode.hasBits || mode.sharesBits ? 1 : 0
        for end in 0..<count {
            for channel in 0..<channels {
                let depth = (channel < 3 ? mode.colorBits : mode.alphaBits) + more
                var value = ends[4 * end + channel]
                if more == 1 { value = value << 1 | low[end] }
                value <<= 8 - depth
                ends[4 * end + channel] = value | value >> depth
            }
        }
        return ends
    }

    /// Reads an index for each pixel.
    private static func readIndices(_ bits: inout BlockBits, _ depth: Int, _ partition: Int, _ subsets: Int) -> [Int] {
        var indices = [Int](repeating: 0, count: 16)
        for pixel in 0..<16 {
            indices[pixel] = bits.next(BlockPartitions.isAnchor(pixel, partition, of: subsets) ? depth - 1 : depth)
        }
        return indices
    }
}
