/// Chunks of a PNG, with correct lengths and checksums.
public struct PNGMutator: PartsMutator {
    public init() {}

    func parts(of bytes: [UInt8]) -> (head: [UInt8], parts: [Part]) {
        var parts: [Part] = []
        var at = 8
        while at + 12 <= bytes.count {
            let count = bytes.big(at, 4)
            guard count <= bytes.count - at - 12 else { break }
            parts.append((Array(bytes[at + 4..<at + 8]), Array(bytes[at + 8..<at + 8 + count])))
            at += 12 + count
        }
        return (Array(bytes.prefix(8)), parts)
    }

    func file(_ head: [UInt8], _ parts: [Part]) -> [UInt8] {
        head + parts.flatMap { PNGParts.chunk($0.kind, $0.data) }
    }

    func change(_ part: inout Part, _ dice: inout Dice) {
        switch String(decoding: part.kind, as: UTF8.self) {
        case "IHDR":
            // Valid pixel types at small sizes: the rows then have another length than the data.
            let (depth, color) = dice.pick([
                (1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (8, 2), (16, 2), (1, 3), (2, 3), (4, 3), (8, 3), (8, 4),
                (16, 4),
                (8, 6), (16, 6),
            ])
            if dice.once(in: 4) { return BytesMutator().change(&part.data, &dice) }
            let (width, height) = (1 + dice.below(70), 1 + dice.below(70))
            part.data = .big(width, 4) + .big(height, 4) + [UInt8(depth), UInt8(color), 0, 0, UInt8(dice.below(2))]
        case "IDAT", "fdAT":
            guard dice.once(in: 2) else { return BytesMutator().change(&part.data, &dice) }
            // Any rows, under any filters, in a valid stream.
            let number = part.kind == Array("fdAT".utf8) ? Array(part.data.prefix(4)) : []
            part.data = number + Deflated.stream(&dice)
        case "PLTE": part.data = dice.bytes(dice.once(in: 4) ? dice.below(800) : 3 * dice.below(257))
        case "fcTL" where part.data.count == 26:
            let at = dice.pick([0, 4, 8, 12, 16, 20, 22, 24, 25])
            part.data.replaceSubrange(at..<at + 1, with: [dice.once(in: 2) ? UInt8(dice.below(3)) : dice.byte()])
            let value = UInt32(dice.below(40))
            if at >= 4, at < 20 { BytesMutator().write(value, at, &part.data, isBig: true, count: 4) }
        default: BytesMutator().change(&part.data, &dice)
        }
    }
}

/// Deflate streams with mostly valid codes.
enum Deflated {
    static func stream(_ dice: inout Dice) -> [UInt8] {
        switch dice.below(3) {
        case 0: deflatedZeros(1 + dice.below(20_000))
        case 1: stored(dice.bytes(dice.below(6000)))
        default: coded(&dice)
        }
    }

    /// Small numbers at filter positions, so that most rows are valid.
    private static func stored(_ bytes: [UInt8]) -> [UInt8] {
        let calm = bytes.map { $0 & 1 == 0 ? $0 % 5 : $0 }
        var (a, b) = (1, 0)
        for byte in calm { (a, b) = ((a + Int(byte)) % 65521, (b + a + Int(byte)) % 65521) }
        return [0x78, 0x01, 1] + .little(calm.count, 2) + .little(~calm.count & 0xFFFF, 2) + calm + .big(b << 16 | a, 4)
    }

    /// A block with nearly valid code lengths, and any bits behind them.
    private static func coded(_ dice: inout Dice) -> [UInt8] {
        var bits = BitWriter()
        bits.put(0x9C78, 16)
        bits.put(1, 1)
        bits.put(2, 2)
        let (literals, distances, lengths) = (dice.below(30), dice.below(30), dice.below(16))
        bits.put(literals, 5)
        bits.put(distances, 5)
        bits.put(lengths, 4)
        // Complete: two codes of two bits for the first and of one; or random.
        let shape = dice.pick([[1, 2, 3, 3], [2, 2, 2, 2], [1, 1, 0, 0], [3, 3, 3, 3]])
        for index in 0..<lengths + 4 { bits.put(dice.once(in: 6) ? dice.below(8) : index < 4 ? shape[index] : 0, 3) }
        for _ in 0..<200 + dice.below(2000) { bits.put(dice.below(256), 8) }
        return bits.finish()
    }
}

extension PNGParts {
    static func chunk(_ kind: [UInt8], _ data: [UInt8]) -> [UInt8] {
        .big(data.count, 4) + kind + data + .big(Int(checksum(kind + data)), 4)
    }
}

/// Blocks of a GIF.
public struct GIFMutator: PartsMutator {
    public init() {}

    func parts(of bytes: [UInt8]) -> (head: [UInt8], parts: [Part]) {
        guard bytes.count > 13 else { return (bytes, []) }
        func table(_ flags: UInt8) -> Int { flags & 0x80 == 0 ? 0 : 3 << (Int(flags & 7) + 1) }
        var at = 13 + table(bytes[10])
        guard at < bytes.count else { return (bytes, []) }
        let head = Array(bytes[..<at])
        var parts: [Part] = []
        while at < bytes.count, bytes[at] == 0x21 || bytes[at] == 0x2C {
            let start = at
            if bytes[at] == 0x21 {
                at += 2
            } else {
                guard at + 11 < bytes.count else { break }
                at += 10 + table(bytes[at + 9]) + 1
            }
            while at < bytes.count, bytes[at] != 0 { at += 1 + Int(bytes[at]) }
            at += 1
            guard at <= bytes.count else { break }
            parts.append(([bytes[start]], Array(bytes[start..<at])))
        }
        return (head, parts)
    }

    func file(_ head: [UInt8], _ parts: [Part]) -> [UInt8] {
        head + parts.flatMap(\.data) + [0x3B]
    }

    func changeHead(_ head: inout [UInt8], _ dice: inout Dice) {
        if dice.once(in: 8) { head[6 + dice.below(5)] = dice.byte() }
    }

    func change(_ part: inout Part, _ dice: inout Dice) {
        guard part.kind == [0x2C], part.data.count > 11 else { return BytesMutator().change(&part.data, &dice) }
        switch dice.below(3) {
        case 0:
            BytesMutator().write(UInt32(dice.below(50)), dice.pick([1, 3, 5, 7]), &part.data, isBig: false, count: 2)
        case 1: part.data[9] ^= dice.pick([0x40, 0x80, 0x07, 0x20])
        default: part.data = Array(part.data.prefix(9)) + [0] + Self.codes(&dice)
        }
    }

    /// Codes as an encoder would write them, sometimes with a wrong one.
    static func codes(_ dice: inout Dice) -> [UInt8] {
        let size = 2 + dice.below(7)
        let clear = 1 << size
        var bits = BitWriter()
        var (width, next) = (size + 1, clear + 2)
        bits.put(clear, width)
        for index in 0..<dice.below(6000) {
            if dice.once(in: 800) || next > 4095 && dice.once(in: 50) {
                bits.put(clear, width)
                (width, next) = (size + 1, clear + 2)
                continue
            }
            // Decoders often fail at the first code behind a clear, and at the code that is just being defined.
            let highest = index == 0 ? clear : min(next, 4095)
            let code = dice.once(in: 12) ? highest : dice.once(in: 300) ? dice.below(4096) : dice.below(highest)
            bits.put(code & ((1 << width) - 1), width)
            if next < 4096 { next += 1 }
            if next == 1 << width, width < 12 { width += 1 }
        }
        bits.put(clear + 1, width)
        let all = bits.finish()
        var blocks = [UInt8(size)]
        var at = 0
        while at < all.count {
            let count = min(all.count - at, dice.once(in: 3) ? 1 + dice.below(255) : 255)
            blocks += [UInt8(count)] + all[at..<at + count]
            at += count
        }
        return blocks + [0]
    }
}

/// Segments of a JPEG, with correct lengths and plausible code tables.
public struct JPEGMutator: PartsMutator {
    public init() {}

    func parts(of bytes: [UInt8]) -> (head: [UInt8], parts: [Part]) {
        var parts: [Part] = []
        var at = 2
        while at + 4 <= bytes.count, bytes[at] == 0xFF {
            let marker = bytes[at + 1]
            let end = at + 2 + bytes.big(at + 2, 2)
            guard marker != 0xD9, end <= bytes.count, end >= at + 4 else { break }
            var data = Array(bytes[at + 4..<end])
            at = end
            if marker == 0xDA {
                // The compressed data belongs to its scan; the first two bytes are the length of the header.
                let count = data.count
                let start = at
                while at + 1 < bytes.count, bytes[at] != 0xFF || bytes[at + 1] == 0 || bytes[at + 1] & 0xF8 == 0xD0 {
                    at += 1
                }
                data = .big(count, 2) + data + bytes[start..<at]
            }
            parts.append(([marker], data))
        }
        return (Array(bytes.prefix(2)), parts)
    }

    func file(_ head: [UInt8], _ parts: [Part]) -> [UInt8] {
        head
            + parts.flatMap { part -> [UInt8] in
                let count = part.kind == [0xDA] ? min(part.data.big(0, 2), part.data.count - 2) : part.data.count
                let data = part.kind == [0xDA] ? Array(part.data.dropFirst(2)) : part.data
                return [0xFF] + part.kind + .big(max(0, count) + 2, 2) + data
            } + [0xFF, 0xD9]
    }

    func change(_ part: inout Part, _ dice: inout Dice) {
        switch part.kind[0] {
        case 0xC4: part.data = Self.table(&dice)
        case 0xC0...0xC3 where part.data.count >= 6 && dice.once(in: 2):
            BytesMutator().write(UInt32(1 + dice.below(80)), dice.pick([1, 3]), &part.data, isBig: true, count: 2)
        case 0xC0...0xCF where part.data.count >= 9:
            part.data[7 + 3 * dice.below(Int(min(4, part.data[5])))..<part.data.count].withFirst {
                $0 = dice.pick([0x11, 0x12, 0x21, 0x22, 0x14, 0x41, 0x44, 0x31, 0x13])
            }
            if dice.once(in: 8) { part.kind = [dice.pick([0xC0, 0xC1, 0xC2, 0xC3, 0xC9, 0xCA])] }
        case 0xDA where part.data.count > 4:
            // The header of the scan, or its data.
            let count = part.data.count
            let at = 2 + dice.below(dice.once(in: 2) ? min(12, count - 2) : count - 2)
            part.data[at] = dice.once(in: 2) ? UInt8(dice.below(64)) : dice.byte()
        default: BytesMutator().change(&part.data, &dice)
        }
    }

    /// Code lengths that form a valid code, or nearly.
    private static func table(_ dice: inout Dice) -> [UInt8] {
        var counts = [UInt8](repeating: 0, count: 16)
        var free = 2
        for length in 0..<16 {
            let most = min(free, 255)
            let taken = length < 15 ? dice.below(min(most, 6) + 1) : min(most, dice.below(160))
            counts[length] = UInt8(taken)
            free = (free - taken) * 2
            if free <= 0 { break }
        }
        if dice.once(in: 10) { counts[dice.below(16)] &+= 1 }
        let total = counts.reduce(0) { $0 + Int($1) }
        let isAC = dice.once(in: 2)
        let values = (0..<total).map { _ in isAC ? dice.byte() : UInt8(dice.below(dice.once(in: 20) ? 256 : 12)) }
        return [(isAC ? 0x10 : 0) | UInt8(dice.below(dice.once(in: 20) ? 16 : 2))] + counts + values
    }
}

extension ArraySlice<UInt8> {
    fileprivate mutating func withFirst(_ body: (inout UInt8) -> Void) {
        if !isEmpty { body(&self[startIndex]) }
    }
}

/// Chunks of a WebP, with correct lengths; chunks of a frame are parts of it.
public struct RIFFMutator: PartsMutator {
    public init() {}

    func parts(of bytes: [UInt8]) -> (head: [UInt8], parts: [Part]) {
        (Array(bytes.prefix(12)), Self.chunks(bytes, 12))
    }

    private static func chunks(_ bytes: [UInt8], _ start: Int) -> [Part] {
        var parts: [Part] = []
        var at = start
        while at + 8 <= bytes.count {
            let count = min(bytes.little(at + 4, 4), bytes.count - at - 8)
            parts.append((Array(bytes[at..<at + 4]), Array(bytes[at + 8..<at + 8 + count])))
            at += 8 + count + count % 2
        }
        return parts
    }

    func file(_ head: [UInt8], _ parts: [Part]) -> [UInt8] {
        let body = parts.flatMap { Self.chunk($0) }
        return Array(head.prefix(4)) + .little(body.count + 4, 4) + Array("WEBP".utf8) + body
    }

    private static func chunk(_ part: Part) -> [UInt8] {
        part.kind + .little(part.data.count, 4) + part.data + [UInt8](repeating: 0, count: part.data.count % 2)
    }

    func change(_ part: inout Part, _ dice: inout Dice) {
        switch String(decoding: part.kind, as: UTF8.self) {
        case "ANMF" where part.data.count > 24 && !dice.once(in: 3):
            var inner = Self.chunks(part.data, 16)
            if inner.isEmpty { return }
            change(&inner[dice.below(inner.count)], &dice)
            part.data = part.data.prefix(16) + inner.flatMap { Self.chunk($0) }
        case "ANMF" where part.data.count > 16:
            BytesMutator().write(UInt32(dice.below(40)), dice.pick([0, 3, 6, 9]), &part.data, isBig: false, count: 3)
            part.data[15] = UInt8(dice.below(4))
        case "VP8X" where part.data.count == 10:
            part.data[0] ^= dice.pick([2, 4, 8, 16, 32])
            if dice.once(in: 2) { part.data[dice.pick([4, 7])] = UInt8(dice.below(70)) }
        // The codes of Huffman tables follow the header: nearly valid ones get furthest.
        case "VP8L" where part.data.count > 8 && dice.once(in: 2):
            // Declares alpha if there is none, and none if there is alpha.
            if dice.once(in: 3) { part.data[4] ^= 0x10 }
            for _ in 0..<dice.below(3) {
                part.data[5 + dice.below(min(40, part.data.count - 5))] ^= 1 << UInt8(dice.below(8))
            }
        default: BytesMutator().change(&part.data, &dice)
        }
    }
}

/// Nested boxes of HEIF and AVIF, with correct lengths.
public struct BoxMutator: Mutator {
    public init() {}

    static let containers = ["meta", "iprp", "ipco", "iinf", "iref", "moov", "trak", "mdia", "minf", "stbl"].map {
        Array($0.utf8)
    }

    /// The bytes before the nested boxes: version and flags of meta and iref, and the count of iinf.
    static func headCount(_ kind: [UInt8]) -> Int {
        switch String(decoding: kind, as: UTF8.self) {
        case "meta", "iref": 4
        case "iinf": 6
        default: 0
        }
    }

    static func list(_ bytes: [UInt8]) -> [(kind: [UInt8], data: [UInt8])] {
        var result: [(kind: [UInt8], data: [UInt8])] = []
        var at = 0
        while at + 8 <= bytes.count {
            let count = bytes.big(at, 4)
            guard count >= 8, count <= bytes.count - at else { break }
            result.append((Array(bytes[at + 4..<at + 8]), Array(bytes[at + 8..<at + count])))
            at += count
        }
        return result
    }

    static func joined(_ boxes: [(kind: [UInt8], data: [UInt8])]) -> [UInt8] {
        boxes.flatMap { .big($0.data.count + 8, 4) + $0.kind + $0.data }
    }

    public func mutate(_ bytes: inout [UInt8], _ dice: inout Dice, other: [UInt8]) {
        let before = bytes.count
        for _ in 0...dice.below(2) { change(&bytes, &dice, Self.list(other), depth: 0) }
        // Data positions count from the start of the file: usually the data stays in place.
        if bytes.count != before, dice.once(in: 4) {
            bytes += [UInt8](repeating: 0, count: max(0, before - bytes.count))
        }
    }

    private func change(
        _ bytes: inout [UInt8], _ dice: inout Dice, _ others: [(kind: [UInt8], data: [UInt8])], depth: Int
    ) {
        var boxes = Self.list(bytes)
        if boxes.isEmpty || depth > 6 { return BytesMutator().change(&bytes, &dice) }
        // Prefers the tables with most effect to the data.
        let tables = boxes.indices.filter { Self.containers.contains(boxes[$0].kind) }
        let at = tables.isEmpty || dice.once(in: 6) ? dice.below(boxes.count) : dice.pick(tables)
        if Self.containers.contains(boxes[at].kind), !dice.once(in: 8) {
            let head = Self.headCount(boxes[at].kind)
            var inside = Array(boxes[at].data.dropFirst(head))
            let alike =
                others.first { $0.kind == boxes[at].kind }.map { Self.list(Array($0.data.dropFirst(head))) } ?? []
            change(&inside, &dice, alike, depth: depth + 1)
            boxes[at].data = boxes[at].data.prefix(head) + inside
        } else {
            switch dice.below(10) {
            case 0: boxes.remove(at: at)
            case 1: boxes.insert(boxes[at], at: dice.below(boxes.count + 1))
            case 2: boxes.swapAt(at, dice.below(boxes.count))
            case 3: if !others.isEmpty { boxes.insert(dice.pick(others), at: at) }
            case 4: boxes[at].data = Self.joined([(boxes[at].kind, boxes[at].data)])
            default: BytesMutator().change(&boxes[at].data, &dice)
            }
        }
        bytes = Self.joined(boxes)
    }
}
