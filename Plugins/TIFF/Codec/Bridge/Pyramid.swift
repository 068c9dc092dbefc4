internal import CoderPluginKit
internal import ImageModel

/// Builds the levels of a pyramid while the rows of the image pass: each pixel is the mean of four of the level above.
///
/// The last column and row of an odd size count twice. Straight alpha weighs the colors.
final class Pyramid {
    let levels: [PixelBuffer]
    private let format: PixelFormat
    private let height: Int
    /// The rows that came from above each level, and the first row of a pair.
    private var seen: [Int]
    private var pending: [[Float]?]

    /// - Parameter side: the longest side of the smallest level.
    init(_ size: PixelSize, _ format: PixelFormat, until side: Int) throws(CoderError) {
        var levels: [PixelBuffer] = []
        for size in Self.sizes(of: size, until: side) { levels.append(try PixelBuffer(size: size, format: format)) }
        self.levels = levels
        self.format = format
        height = size.height
        seen = [Int](repeating: 0, count: levels.count)
        pending = [[Float]?](repeating: nil, count: levels.count)
    }

    /// Returns the sizes of the levels, the largest first.
    static func sizes(of size: PixelSize, until side: Int) -> [PixelSize] {
        var (size, sizes) = (size, [PixelSize]())
        while max(size.width, size.height) > max(side, 1) {
            size = PixelSize((size.width + 1) / 2, (size.height + 1) / 2)
            sizes.append(size)
        }
        return sizes
    }

    /// Takes the next row of the image.
    func add(_ row: RawSpan) {
        if levels.isEmpty { return }
        let count = row.byteCount / (format.bits / 8)
        let samples = unsafe [Float](unsafeUninitializedCapacity: count) { buffer, written in
            for index in 0..<count {
                let value: Float =
                    switch (format.numeric, format.bits) {
                    case (.float, 32): unsafe row.unsafeLoadUnaligned(fromByteOffset: 4 * index, as: Float.self)
                    case (.float, _): Float(unsafe row.unsafeLoadUnaligned(fromByteOffset: 2 * index, as: Float16.self))
                    case (_, 16): Float(unsafe row.unsafeLoadUnaligned(fromByteOffset: 2 * index, as: UInt16.self))
                    default: Float(row.byte(at: index))
                    }
                unsafe buffer[index] = value
            }
            written = count
        }
        add(samples, to: 0)
    }

    private func add(_ samples: [Float], to level: Int) {
        guard level < levels.count else { return }
        seen[level] += 1
        let isLast = seen[level] == (level == 0 ? height : levels[level - 1].size.height)
        guard let first = pending[level] ?? (isLast ? samples : nil) else {
            pending[level] = samples
            return
        }
        pending[level] = nil
        let row = mean(first, samples, width: levels[level].size.width)
        store(row, in: levels[level], at: (seen[level] - 1) / 2)
        add(row, to: level + 1)
    }

    private func mean(_ first: [Float], _ second: [Float], width: Int) -> [Float] {
        let channels = format.channels.count
        let alpha = format.alpha == .straight ? channels - 1 : nil
        var result = [Float](repeating: 0, count: width * channels)
        for x in 0..<width {
            let left = 2 * x * channels
            let right = left + channels < first.count ? left + channels : left
            let target = x * channels
            var (weights, sum): ((Float, Float, Float, Float), Float) = ((1, 1, 1, 1), 4)
            if let alpha {
                weights = (first[left + alpha], first[right + alpha], second[left + alpha], second[right + alpha])
                sum = weights.0 + weights.1 + weights.2 + weights.3
                result[target + alpha] = rounded(sum / 4)
            }
            for channel in 0..<channels where channel != alpha {
                let value =
                    weights.0 * first[left + channel] + weights.1 * first[right + channel]
                    + weights.2 * second[left + channel] + weights.3 * second[right + channel]
                result[target + channel] = sum > 0 ? rounded(value / sum) : 0
            }
        }
        return result
    }

    private func rounded(_ value: Float) -> Float { format.numeric == .float ? value : value.rounded() }

    private func store(_ samples: [Float], in level: PixelBuffer, at y: Int) {
        level.withMutableRow(y) { row in
            for (index, value) in samples.enumerated() {
                switch (format.numeric, format.bits) {
                case (.float, 32): row.storeBytes(of: value, toByteOffset: 4 * index, as: Float.self)
                case (.float, _): row.storeBytes(of: Float16(value), toByteOffset: 2 * index, as: Float16.self)
                case (_, 16): row.storeBytes(of: UInt16(value), toByteOffset: 2 * index, as: UInt16.self)
                default: row.storeBytes(of: UInt8(value), toByteOffset: index, as: UInt8.self)
                }
            }
        }
    }
}
