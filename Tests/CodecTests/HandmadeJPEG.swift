import TestSupport

/// A JPEG file made of known coefficients.
///
/// - Source: ITU-T T.81 annexes A, B and F.
struct HandmadeJPEG {
    struct Component {
        var across: Int
        var down: Int
        var table = 0
    }

    var width: Int
    var height: Int
    var components: [Component]
    var precision: UInt8 = 8
    var restartInterval = 0
    /// Whether each component has its own scan.
    var isSeparate = false
    /// Whether all components use the first table slot, into which each scan puts its own tables.
    var redefinesTables = false
    /// Bytes behind the start marker.
    var segments: [UInt8] = []
    /// Bytes behind the end marker.
    var trailer: [UInt8] = []
    /// In natural order.
    var tables: [[UInt16]]
    /// The blocks of each component row by row, with the numbers in natural order; cut MCUs have additional blocks.
    private(set) var blocks: [[[Int16]]] = []

    /// The position of each coefficient of the file in a block.
    static let zigzag = [
        0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14,
        21,
        28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61,
        54, 47, 55, 62, 63,
    ]

    /// An image of numbers that depend only on the seed.
    init(_ width: Int, _ height: Int, _ components: [Component], seed: UInt64 = 1) {
        (self.width, self.height, self.components) = (width, height, components)
        var random = SeededRandom(seed)
        tables = (0..<4).map { (table: Int) -> [UInt16] in
            (0..<64).map { (place: Int) -> UInt16 in UInt16(1 + (place * 3 + table * 7) % 90) }
        }
        for component in components {
            let (across, down) = padded(component)
            blocks.append((0..<across * down).map { _ in Self.block(&random) })
        }
    }

    private static func block(_ random: inout SeededRandom) -> [Int16] {
        var block = [Int16](repeating: 0, count: 64)
        block[0] = Int16.random(in: -1000...1000, using: &random)
        for _ in 0..<Int.random(in: 0...12, using: &random) {
            let size = Int.random(in: 0...9, using: &random)
            block[Int.random(in: 1..<64, using: &random)] = Int16.random(in: -(1 << size)...(1 << size), using: &random)
        }
        return block
    }

    var mostAcross: Int { components.map(\.across).max() ?? 1 }
    var mostDown: Int { components.map(\.down).max() ?? 1 }

    /// Returns the number of blocks of a component.
    func size(_ component: Component) -> (across: Int, down: Int) {
        (
            (width * component.across).dividedUp(by: 8 * mostAcross),
            (height * component.down).dividedUp(by: 8 * mostDown)
        )
    }

    /// Blocks including those that fill the last MCUs.
    private func padded(_ component: Component) -> (across: Int, down: Int) {
        (width.dividedUp(by: 8 * mostAcross) * component.across, height.dividedUp(by: 8 * mostDown) * component.down)
    }

    /// The blocks of a component that belong to the image, row by row.
    func rows(of index: Int) -> [[[Int16]]] {
        let (across, down) = size(components[index])
        let stride = padded(components[index]).across
        return (0..<down).map { y in Array(blocks[index][y * stride..<y * stride + across]) }
    }

    /// The quantization table of a component.
    func table(of index: Int) -> [UInt16] { tables[components[index].table] }
}

// MARK: The file

extension HandmadeJPEG {
    /// The file with one pair of tables for all components, in which all codes of a table are equally long.
    var file: [UInt8] {
        var bytes: [UInt8] = [0xFF, 0xD8] + segments
        func quantization(_ place: Int, _ table: [UInt16]) -> [UInt8] {
            JPEGSegments.make(0xDB, [UInt8(place)] + Self.zigzag.map { UInt8(table[$0]) })
        }
        for (index, table) in tables.enumerated() where components.contains(where: { $0.table == index }) {
            if !redefinesTables { bytes += quantization(index, table) }
        }
        var frame = [precision] + JPEGSegments.u16(height) + JPEGSegments.u16(width) + [UInt8(components.count)]
        for (index, component) in components.enumerated() {
            let factors = component.across << 4 | component.down
            frame += [UInt8(index + 1), UInt8(factors), redefinesTables ? 0 : UInt8(component.table)]
        }
        bytes += JPEGSegments.make(precision == 8 ? 0xC0 : 0xC1, frame)
        bytes += JPEGSegments.make(0xC4, [0x00] + lengths(4, 12) + Array(0..<12))
        bytes += JPEGSegments.make(0xC4, [0x10] + lengths(8, Self.symbols.count) + Self.symbols)
        if restartInterval > 0 { bytes += JPEGSegments.make(0xDD, JPEGSegments.u16(restartInterval)) }
        let scans = isSeparate ? components.indices.map { [$0] } : [Array(components.indices)]
        for scan in scans {
            if redefinesTables { bytes += quantization(0, table(of: scan[0])) }
            bytes += JPEGSegments.make(0xDA, [UInt8(scan.count)] + scan.flatMap { [UInt8($0 + 1), 0] } + [0, 63, 0])
            bytes += data(scan)
        }
        return bytes + [0xFF, 0xD9] + trailer
    }

    /// Every pair of run and length that an 8-bit image may need.
    private static let symbols: [UInt8] =
        [0x00, 0xF0] + (0...15).flatMap { run in (1...10).map { UInt8(run << 4 | $0) } }

    private func lengths(_ length: Int, _ count: Int) -> [UInt8] {
        (1...16).map { $0 == length ? UInt8(count) : 0 }
    }

    private func data(_ scan: [Int]) -> [UInt8] {
        var bits = BitWriter()
        var means = [Int](repeating: 0, count: components.count)
        var (mcu, restarts) = (0, 0)
        let isAlone = scan.count == 1
        let whole = (width.dividedUp(by: 8 * mostAcross), height.dividedUp(by: 8 * mostDown))
        let (across, down) = isAlone ? size(components[scan[0]]) : whole
        for y in 0..<down {
            for x in 0..<across {
                if restartInterval > 0, mcu > 0, mcu % restartInterval == 0 {
                    bits.restart(restarts)
                    restarts += 1
                    means = means.map { _ in 0 }
                }
                mcu += 1
                for index in scan {
                    let unit = isAlone ? (1, 1) : (components[index].across, components[index].down)
                    let stride = padded(components[index]).across
                    for v in 0..<unit.1 {
                        for u in 0..<unit.0 {
                            let block = blocks[index][(y * unit.1 + v) * stride + x * unit.0 + u]
                            write(block, &means[index], &bits)
                        }
                    }
                }
            }
        }
        return bits.finish()
    }

    private func write(_ block: [Int16], _ mean: inout Int, _ bits: inout BitWriter) {
        func put(_ value: Int, _ size: Int) { bits.put(value < 0 ? value - 1 + (1 << size) : value, size) }
        func size(_ value: Int) -> Int { Int.bitWidth - abs(value).leadingZeroBitCount }
        let difference = Int(block[0]) - mean
        mean = Int(block[0])
        bits.put(size(difference), 4)
        put(difference, size(difference))
        var run = 0
        for place in Self.zigzag.dropFirst() {
            let value = Int(block[place])
            if value == 0 {
                run += 1
                continue
            }
            for _ in 0..<run / 16 { bits.put(1, 8) }
            bits.put(2 + run % 16 * 10 + size(value) - 1, 8)
            put(value, size(value))
            run = 0
        }
        if run > 0 { bits.put(0, 8) }
    }
}

private struct BitWriter {
    private var bytes: [UInt8] = []
    private var pending = 0
    private var count = 0

    mutating func put(_ value: Int, _ size: Int) {
        for bit in (0..<size).reversed() {
            pending = pending << 1 | value >> bit & 1
            count += 1
            if count == 8 {
                bytes.append(UInt8(pending))
                if pending == 0xFF { bytes.append(0) }
                (pending, count) = (0, 0)
            }
        }
    }

    mutating func restart(_ number: Int) {
        while count > 0 { put(1, 1) }
        bytes += [0xFF, 0xD0 + UInt8(number % 8)]
    }

    mutating func finish() -> [UInt8] {
        while count > 0 { put(1, 1) }
        return bytes
    }
}

extension Int {
    func dividedUp(by divisor: Int) -> Int { (self + divisor - 1) / divisor }
}
