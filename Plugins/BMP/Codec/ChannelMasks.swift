import CoderPluginKit
import ImageModel

/// The bits of a pixel that hold red, green, blue and alpha.
struct ChannelMasks: Equatable {
    /// The contiguous bits of one channel.
    struct Channel: Equatable {
        var shift = 0
        /// The number of bits; 0 for a channel that the pixels do not have.
        var count = 0

        /// Returns the channel's value in `pixel`, scaled to `bits`.
        ///
        /// - Rounding: to the nearest value, as v · (2ᵇ − 1) ÷ (2ⁿ − 1).
        func value(_ pixel: UInt32, bits: Int) -> UInt32 {
            guard count > 0 else { return 0 }
            let most = UInt64(1) << count - 1
            let value = UInt64(pixel >> shift) & most
            return UInt32((value * (1 << bits - 1) * 2 + most) / (2 * most))
        }
    }

    var red = Channel()
    var green = Channel()
    var blue = Channel()
    var alpha = Channel()

    /// Five bits for each color, the usual meaning of 16 bits.
    static let five = ChannelMasks(
        red: Channel(shift: 10, count: 5), green: Channel(shift: 5, count: 5), blue: Channel(shift: 0, count: 5))

    init() {}

    init(red: Channel, green: Channel, blue: Channel) { (self.red, self.green, self.blue) = (red, green, blue) }

    /// Checks the masks of a header.
    init(_ words: [UInt32], depth: Int) throws(CoderError) {
        var channels: [Channel] = []
        var used: UInt32 = 0
        for word in words {
            let shift = word == 0 ? 0 : word.trailingZeroBitCount
            let ones = word >> shift
            guard ones & (ones &+ 1) == 0, word & used == 0, depth == 32 || word >> depth == 0 else {
                throw .corrupt("a mask of color bits has holes, overlaps another one or is larger than a pixel")
            }
            used |= word
            channels.append(Channel(shift: shift, count: ones.nonzeroBitCount))
        }
        (red, green, blue, alpha) = (channels[0], channels[1], channels[2], channels[3])
        guard used != 0 else { throw .corrupt("the masks of color bits are empty") }
    }

    /// The largest number of bits of a channel.
    var depth: Int { [red, green, blue, alpha].map(\.count).max() ?? 0 }

    /// Whether the pixels are stored as blue, green, red and alpha or an unused byte.
    var isBGRA: Bool {
        [blue, green, red].map(\.shift) == [0, 8, 16] && [blue, green, red].allSatisfy { $0.count == 8 }
            && (alpha.count == 0 || alpha == Channel(shift: 24, count: 8))
    }
}
