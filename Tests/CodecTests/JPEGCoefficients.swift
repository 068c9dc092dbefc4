/// The coefficients of a JPEG file, read independently of the project's code: sequential and progressive, Huffman
/// codes.
///
/// Reads only valid files; returns nil for any other.
///
/// - Source: ITU-T T.81 annexes B, F.2 and G.2.
struct JPEGCoefficients {
    struct Component: Equatable {
        var id: UInt8
        var across: Int
        var down: Int
        /// In natural order.
        var table: [UInt16]
        /// Rows of blocks, the numbers of each in natural order.
        var rows: [[[Int16]]]
    }

    private(set) var width = 0
    private(set) var height = 0
    private(set) var isProgressive = false
    private(set) var restartInterval = 0
    private(set) var components: [Component] = []
    private(set) var scanCount = 0

    private let bytes: [UInt8]
    private var offset = 2
    private var tables = [[UInt16]](repeating: [], count: 4)
    private var codes: [UInt8: HuffmanCode] = [:]
    /// The blocks of each component, including those that fill the last MCUs.
    private var blocks: [[[Int16]]] = []
    private var tableOf: [Int] = []

    init?(_ bytes: [UInt8]) {
        self.bytes = bytes
        while true {
            while offset + 1 < bytes.count, bytes[offset] == 0xFF, bytes[offset + 1] == 0xFF { offset += 1 }
            guard offset + 3 < bytes.count, bytes[offset] == 0xFF else {
                guard offset + 1 < bytes.count, bytes[offset] == 0xFF, bytes[offset + 1] == 0xD9 else { return nil }
                break
            }
            let marker = bytes[offset + 1]
            if marker == 0xD9 { break }
            let length = Int(bytes[offset + 2]) << 8 | Int(bytes[offset + 3])
            let body = Array(bytes[offset + 4..<offset + 2 + length])
            offset += 2 + length
            switch marker {
            case 0xDB: readTables(body)
            case 0xC4: readCodes(body)
            case 0xDD: restartInterval = Int(body[0]) << 8 | Int(body[1])
            case 0xC0, 0xC1, 0xC2: readFrame(body, isProgressive: marker == 0xC2)
            case 0xDA: if !readScan(body) { return nil }
            default: break
            }
        }
        for index in components.indices {
            let (across, down) = size(index)
            let stride = padded(index).across
            components[index].rows = (0..<down).map { y in
                Array(blocks[index][y * stride..<y * stride + across])
            }
        }
    }

    private mutating func readTables(_ body: [UInt8]) {
        var at = 0
        while at < body.count {
            let (isWide, place) = (body[at] >> 4 == 1, Int(body[at] & 15))
            var table = [UInt16](repeating: 0, count: 64)
            for k in 0..<64 {
                let start = at + 1 + k * (isWide ? 2 : 1)
                table[HandmadeJPEG.zigzag[k]] =
                    isWide ? UInt16(body[start]) << 8 | UInt16(body[start + 1]) : UInt16(body[start])
            }
            tables[place] = table
            at += isWide ? 129 : 65
        }
    }

    private mutating func readCodes(_ body: [UInt8]) {
        var at = 0
        while at < body.count {
            let counts = body[at + 1..<at + 17].map { Int($0) }
            let total = counts.reduce(0, +)
            codes[body[at]] = HuffmanCode(counts, Array(body[at + 17..<at + 17 + total]))
            at += 17 + total
        }
    }

    private mutating func readFrame(_ body: [UInt8], isProgressive: Bool) {
        self.isProgressive = isProgressive
        height = Int(body[1]) << 8 | Int(body[2])
        width = Int(body[3]) << 8 | Int(body[4])
        for at in stride(from: 6, to: 6 + Int(body[5]) * 3, by: 3) {
            let (across, down) = (Int(body[at + 1] >> 4), Int(body[at + 1] & 15))
            components.append(Component(id: body[at], across: across, down: down, table: [], rows: []))
            tableOf.append(Int(body[at + 2]))
        }
        for index in components.indices {
            let (across, down) = padded(index)
            blocks.append(Array(repeating: Array(repeating: 0, count: 64), count: across * down))
        }
    }

    private var most: (across: Int, down: Int) {
        (components.map(\.across).max() ?? 1, components.map(\.down).max() ?? 1)
    }

    private func size(_ index: Int) -> (across: Int, down: Int) {
        (
            (width * components[index].across).dividedUp(by: 8 * most.across),
            (height * components[index].down).dividedUp(by: 8 * most.down)
        )
    }

    private func padded(_ index: Int) -> (across: Int, down: Int) {
        (
            width.dividedUp(by: 8 * most.across) * components[index].across,
            height.dividedUp(by: 8 * most.down) * components[index].down
        )
    }

    // MARK: Scans

    private struct Scan {
        var parts: [(component: Int, dc: UInt8, ac: UInt8)]
        var first: Int
        var last: Int
        var high: Int
        var low: Int
    }

    private mutating func readScan(_ body: [UInt8]) -> Bool {
        scanCount += 1
        let count = Int(body[0])
        let parts = (0..<count).compactMap { part -> (component: Int, dc: UInt8, ac: UInt8)? in
            let (id, codes) = (body[1 + part * 2], body[2 + part * 2])
            guard let index = components.firstIndex(where: { $0.id == id }) else { return nil }
            return (index, codes >> 4, codes & 15 | 0x10)
        }
        guard parts.count == count else { return false }
        let end = body[(1 + count * 2)...].map { Int($0) }
        let scan = Scan(parts: parts, first: end[0], last: end[1], high: end[2] >> 4, low: end[2] & 15)
        for part in parts where components[part.component].table.isEmpty {
            components[part.component].table = tables[tableOf[part.component]]
        }
        var bits = BitReader(bytes, offset)
        var (means, run, mcu) = ([Int](repeating: 0, count: components.count), 0, 0)
        let isAlone = count == 1
        let whole = (width.dividedUp(by: 8 * most.across), height.dividedUp(by: 8 * most.down))
        let (across, down) = isAlone ? size(parts[0].component) : whole
        for y in 0..<down {
            for x in 0..<across {
                if restartInterval > 0, mcu > 0, mcu % restartInterval == 0 {
                    guard bits.restart() else { return false }
                    (means, run) = (means.map { _ in 0 }, 0)
                }
                mcu += 1
                for part in parts {
                    let index = part.component
                    let unit = isAlone ? (1, 1) : (components[index].across, components[index].down)
                    for v in 0..<unit.1 {
                        for u in 0..<unit.0 {
                            let place = (y * unit.1 + v) * padded(index).across + x * unit.0 + u
                            let dc = codes[part.dc]
                            let ac = codes[part.ac]
                            let isRead = Self.read(
                                &blocks[index][place], isProgressive, scan, dc, ac, &means[index], &run, &bits)
                            guard isRead else {
                                return false
                            }
                        }
                    }
                }
            }
        }
        offset = bits.end
        return true
    }

    private static func read(
        _ block: inout [Int16], _ isProgressive: Bool, _ scan: Scan, _ dc: HuffmanCode?, _ ac: HuffmanCode?,
        _ mean: inout Int, _ run: inout Int, _ bits: inout BitReader
    ) -> Bool {
        if !isProgressive {
            guard let dc, let ac else { return false }
            mean += bits.number(dc.read(&bits))
            block[0] = Int16(mean)
            var k = 1
            while k < 64 {
                let symbol = ac.read(&bits)
                if symbol == 0 { break }
                k += symbol >> 4
                guard k < 64 else { return false }
                block[HandmadeJPEG.zigzag[k]] = Int16(bits.number(symbol & 15))
                k += 1
            }
            return true
        }
        switch (scan.first, scan.high) {
        case (0, 0):
            guard let dc else { return false }
            mean += bits.number(dc.read(&bits))
            block[0] = Int16(mean << scan.low)
        case (0, _):
            if bits.bit() == 1 { block[0] |= 1 << scan.low }
        case (_, 0):
            guard let ac else { return false }
            readFirst(&block, scan, ac, &run, &bits)
        default:
            guard let ac else { return false }
            refine(&block, scan, ac, &run, &bits)
        }
        return true
    }

    private static func readFirst(
        _ block: inout [Int16], _ scan: Scan, _ ac: HuffmanCode, _ run: inout Int, _ bits: inout BitReader
    ) {
        if run > 0 {
            run -= 1
            return
        }
        var k = scan.first
        while k <= scan.last {
            let symbol = ac.read(&bits)
            let (zeros, size) = (symbol >> 4, symbol & 15)
            if size == 0, zeros < 15 {
                run = (1 << zeros) + bits.bits(zeros) - 1
                return
            }
            k += zeros
            if size > 0, k < 64 { block[HandmadeJPEG.zigzag[k]] = Int16(bits.number(size) * (1 << scan.low)) }
            k += 1
        }
    }

    private static func refine(
        _ block: inout [Int16], _ scan: Scan, _ ac: HuffmanCode, _ run: inout Int, _ bits: inout BitReader
    ) {
        let one = Int16(1) << scan.low
        func correct(_ place: Int) {
            if bits.bit() == 1 { block[place] += block[place] > 0 ? one : -one }
        }
        var k = scan.first
        while run == 0, k <= scan.last {
            let symbol = ac.read(&bits)
            var (zeros, new) = (symbol >> 4, Int16(0))
            if symbol & 15 == 0 {
                if zeros < 15 {
                    run = (1 << zeros) + bits.bits(zeros)
                    break
                }
            } else {
                new = bits.bit() == 1 ? one : -one
            }
            while k <= scan.last {
                let place = HandmadeJPEG.zigzag[k]
                k += 1
                if block[place] != 0 {
                    correct(place)
                } else if zeros == 0 {
                    block[place] = new
                    break
                } else {
                    zeros -= 1
                }
            }
        }
        guard run > 0 else { return }
        while k <= scan.last {
            if block[HandmadeJPEG.zigzag[k]] != 0 { correct(HandmadeJPEG.zigzag[k]) }
            k += 1
        }
        run -= 1
    }
}

private struct HuffmanCode {
    private var first = [Int](repeating: 0, count: 17)
    private var counts: [Int]
    private var symbols: [UInt8]

    init(_ counts: [Int], _ symbols: [UInt8]) {
        (self.counts, self.symbols) = ([0] + counts, symbols)
        var code = 0
        for length in 1...16 {
            first[length] = code
            code = (code + self.counts[length]) << 1
        }
    }

    func read(_ bits: inout BitReader) -> Int {
        var (code, start) = (0, 0)
        for length in 1...16 {
            code = code << 1 | bits.bit()
            if code - first[length] < counts[length] { return Int(symbols[start + code - first[length]]) }
            start += counts[length]
        }
        return 0
    }
}

private struct BitReader {
    private let bytes: [UInt8]
    private var offset: Int
    private var left = 0

    init(_ bytes: [UInt8], _ offset: Int) { (self.bytes, self.offset) = (bytes, offset) }

    /// The position of the next marker.
    var end: Int { left > 0 ? next(offset) : offset }

    private func next(_ place: Int) -> Int { bytes[place] == 0xFF ? place + 2 : place + 1 }

    mutating func bit() -> Int {
        if left == 0 {
            guard offset + 1 < bytes.count, bytes[offset] != 0xFF || bytes[offset + 1] == 0 else { return 1 }
            left = 8
        }
        left -= 1
        let bit = Int(bytes[offset] >> left & 1)
        if left == 0 { offset = next(offset) }
        return bit
    }

    mutating func bits(_ count: Int) -> Int { (0..<count).reduce(0) { value, _ in value << 1 | bit() } }

    mutating func number(_ size: Int) -> Int {
        if size == 0 { return 0 }
        let value = bits(size)
        return value < 1 << (size - 1) ? value - (1 << size) + 1 : value
    }

    mutating func restart() -> Bool {
        offset = end
        left = 0
        guard offset + 1 < bytes.count, bytes[offset] == 0xFF, bytes[offset + 1] & 0xF8 == 0xD0 else { return false }
        offset += 2
        return true
    }
}
