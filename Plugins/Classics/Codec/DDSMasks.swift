import CoderPluginKit
import ImageModel

/// The bits of a pixel that hold its channels.
struct DDSMasks: Equatable {
    /// The lowest bit and the number of bits of red (or gray), green, blue and alpha.
    private let channels: [Channel]
    let byteCount: Int
    let format: PixelFormat

    private struct Channel: Equatable {
        var shift = 0
        var count = 0
    }

    init(_ masks: [Int], bits: Int, isGray: Bool, hasAlpha: Bool, onlyAlpha: Bool) throws(CoderError) {
        guard [8, 16, 24, 32].contains(bits) else { throw .corrupt("pixels of \(bits) bits", at: 88) }
        byteCount = bits / 8
        var channels: [Channel] = []
        for (index, mask) in masks.enumerated() {
            let isUsed = index == 3 ? hasAlpha : !onlyAlpha && (!isGray || index == 0)
            guard isUsed, mask != 0 else {
                channels.append(Channel())
                continue
            }
            // Some writers state a mask of gray that lies outside of the pixel.
            let mask = isGray && mask >> bits != 0 ? 1 << bits - 1 : mask
            let shift = mask.trailingZeroBitCount
            let ones = mask >> shift
            guard ones & (ones + 1) == 0, mask >> bits == 0 else {
                throw .corrupt("a mask of color bits has holes or is larger than a pixel", at: 92)
            }
            channels.append(Channel(shift: shift, count: ones.nonzeroBitCount))
        }
        self.channels = channels
        let isWide = channels.contains { $0.count > 8 }
        let showsAlpha = channels[3].count > 0
        let kind: PixelFormat.Channels
        if isGray || onlyAlpha { kind = showsAlpha ? .grayAlpha : .gray } else { kind = showsAlpha ? .rgba : .rgb }
        format = PixelFormat(kind, bits: isWide ? 16 : 8)
    }

    /// Returns the channels of `format` in a pixel, scaled and rounded.
    func values(_ pixel: Int) -> [Int] {
        let most = 1 << format.bits - 1
        let order = format.channels == .rgba ? [0, 1, 2, 3] : format.channels == .rgb ? [0, 1, 2] : [0, 3]
        return order.prefix(format.channels.count).map { index in
            let channel = channels[index]
            guard channel.count > 0 else { return 0 }
            let full = 1 << channel.count - 1
            return ((pixel >> channel.shift & full) * most * 2 + full) / (2 * full)
        }
    }
}
