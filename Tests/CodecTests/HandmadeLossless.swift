/// A lossless JPEG file from known samples, written independently of the project's code.
///
/// - Source: ITU-T T.81 annex H; every code has 5 bits.
struct HandmadeLossless {
    struct Component {
        var across = 1
        var down = 1
        /// The rows of samples, without the bits that the file leaves out.
        var rows: [[Int]]
    }

    var width: Int
    var height: Int
    var precision: Int
    var components: [Component]
    var predictor = 1
    /// The low bits that the file leaves out.
    var point = 0
    /// The rows of MCUs between two restart markers.
    var restartRows = 0
    var isInterleaved = true
    /// Segments before the frame header.
    var head: [UInt8] = []

    private static let codes = JPEGSegments.make(
        0xC4, [0, 0, 0, 0, 0, 17] + [UInt8](repeating: 0, count: 11) + (0...16).map { UInt8($0) })

    var file: [UInt8] {
        let parts = components.indices.flatMap { number -> [UInt8] in
            [UInt8(number + 1), UInt8(components[number].across << 4 | components[number].down), 0]
        }
        let frame =
            [UInt8(precision)] + JPEGSegments.u16(height) + JPEGSegments.u16(width) + [UInt8(components.count)] + parts
        let groups = isInterleaved ? [Array(components.indices)] : components.indices.map { [$0] }
        return [0xFF, 0xD8] + head + JPEGSegments.make(0xC3, frame) + Self.codes + groups.flatMap(scan) + [0xFF, 0xD9]
    }

    private func scan(_ group: [Int]) -> [UInt8] {
        let isAlone = group.count == 1
        let (most, tallest) = (components.map(\.across).max() ?? 1, components.map(\.down).max() ?? 1)
        let first = components[group[0]]
        let columns = isAlone ? first.rows[0].count : (width + most - 1) / most
        let rows = isAlone ? first.rows.count : (height + tallest - 1) / tallest
        var bytes: [UInt8] = []
        if restartRows > 0 { bytes += JPEGSegments.make(0xDD, JPEGSegments.u16(restartRows * columns)) }
        let parts = group.flatMap { number -> [UInt8] in [UInt8(number + 1), 0] }
        bytes += JPEGSegments.make(0xDA, [UInt8(group.count)] + parts + [UInt8(predictor), 0, UInt8(point)])
        var bits = ScanBits()
        for row in 0..<rows {
            if restartRows > 0, row > 0, row % restartRows == 0 { bits.restart(row / restartRows - 1) }
            let start = restartRows > 0 ? row / restartRows * restartRows : 0
            for column in 0..<columns {
                for number in group {
                    let part = components[number]
                    let (across, down) = isAlone ? (1, 1) : (part.across, part.down)
                    for y in row * down..<(row + 1) * down {
                        for x in column * across..<(column + 1) * across {
                            bits.put(difference(part.rows, x, y, from: start * down))
                        }
                    }
                }
            }
        }
        return bytes + bits.finish()
    }

    /// The difference to the prediction; 0 for samples that only fill an MCU.
    private func difference(_ rows: [[Int]], _ x: Int, _ y: Int, from first: Int) -> Int {
        guard y < rows.count, x < rows[y].count else { return 0 }
        let sample = rows[y][x]
        if y == first { return sample - (x == 0 ? 1 << (precision - point - 1) : rows[y][x - 1]) }
        if x == 0 { return sample - rows[y - 1][0] }
        let (a, b, c) = (rows[y][x - 1], rows[y - 1][x], rows[y - 1][x - 1])
        let predictions = [a, b, c, a + b - c, a + (b - c) >> 1, b + (a - c) >> 1, (a + b) >> 1]
        return sample - predictions[predictor - 1]
    }
}

/// The bits of a scan, from the highest of a byte on, with a 0 behind each FF.
private struct ScanBits {
    private var bytes: [UInt8] = []
    private var held = 0
    private var count = 0

    /// Writes a difference modulo 2¹⁶: the number of its bits, then the bits.
    mutating func put(_ difference: Int) {
        let low = difference & 0xFFFF
        if low == 0x8000 { return put(16, 5) }
        let value = low > 0x8000 ? low - 0x10000 : low
        let length = Int.bitWidth - abs(value).leadingZeroBitCount
        put(length, 5)
        if length > 0 { put(value < 0 ? value + 1 << length - 1 : value, length) }
    }

    private mutating func put(_ value: Int, _ length: Int) {
        for bit in stride(from: length - 1, through: 0, by: -1) {
            held = held << 1 | value >> bit & 1
            count += 1
            if count == 8 {
                bytes.append(UInt8(held))
                if held == 0xFF { bytes.append(0) }
                (held, count) = (0, 0)
            }
        }
    }

    mutating func restart(_ number: Int) {
        pad()
        bytes += [0xFF, 0xD0 + UInt8(number % 8)]
    }

    private mutating func pad() { while count > 0 { put(1, 1) } }

    mutating func finish() -> [UInt8] {
        pad()
        return bytes
    }
}
