/// Combines boxes of two HEIF or AVIF files, and corrects sizes, counts and data positions.
public struct BoxSplicer: Mutator {
    private typealias Box = PartList.Part

    public init() {}

    public func mutate(_ bytes: inout [UInt8], _ dice: inout Dice, other: [UInt8]) {
        var boxes = BoxMutator.list(bytes)
        guard BoxMutator.joined(boxes).count == bytes.count, boxes.count > 1 else {
            return BytesMutator().mutate(&bytes, &dice, other: other)
        }
        let before = Self.dataStart(boxes)
        var others = BoxMutator.list(other)
        // Tables of both files count from the same start of the data.
        if let before, let start = Self.dataStart(others) { Self.move(&others, by: before - start) }
        for _ in 0...dice.below(2) { Self.splice(&boxes, others, &dice, depth: 0) }
        if let before, let after = Self.dataStart(boxes) { Self.move(&boxes, by: after - before) }
        bytes = BoxMutator.joined(boxes)
    }

    /// Usually enters a container that both files have, and combines the boxes there.
    private static func splice(_ boxes: inout [Box], _ others: [Box], _ dice: inout Dice, depth: Int) {
        let shared = boxes.indices.filter { index in
            BoxMutator.containers.contains(boxes[index].kind) && others.contains { $0.kind == boxes[index].kind }
        }
        guard depth < 8, !shared.isEmpty, !dice.once(in: 6) else { return PartList.splice(&boxes, others, &dice) }
        let at = dice.pick(shared)
        let kind = boxes[at].kind
        let count = BoxMutator.headCount(kind)
        func inside(_ data: [UInt8]) -> [Box] { BoxMutator.list(Array(data.dropFirst(count))) }
        var inner = inside(boxes[at].data)
        let alike = others.first { $0.kind == kind }.map { inside($0.data) } ?? []
        splice(&inner, alike, &dice, depth: depth + 1)
        var head = Array(boxes[at].data.prefix(count))
        if kind == Array("iinf".utf8), head.count == 6 {
            head.replaceSubrange(4..<6, with: [UInt8].big(inner.count, 2))
        }
        boxes[at].data = head + BoxMutator.joined(inner)
    }

    /// The start of the bytes in the first `mdat`.
    private static func dataStart(_ boxes: [Box]) -> Int? {
        guard let index = boxes.firstIndex(where: { $0.kind == Array("mdat".utf8) }) else { return nil }
        return boxes[..<index].reduce(8) { $0 + $1.data.count + 8 }
    }

    /// Adds to every file position in `iloc`, `stco` and `co64`.
    private static func move(_ boxes: inout [Box], by distance: Int) {
        if distance == 0 { return }
        for index in boxes.indices {
            switch String(decoding: boxes[index].kind, as: UTF8.self) {
            case "iloc": moveItems(&boxes[index].data, by: distance)
            case "stco": moveChunks(&boxes[index].data, by: distance, width: 4)
            case "co64": moveChunks(&boxes[index].data, by: distance, width: 8)
            case _ where BoxMutator.containers.contains(boxes[index].kind):
                let count = BoxMutator.headCount(boxes[index].kind)
                var inner = BoxMutator.list(Array(boxes[index].data.dropFirst(count)))
                move(&inner, by: distance)
                boxes[index].data = boxes[index].data.prefix(count) + BoxMutator.joined(inner)
            default: break
            }
        }
    }

    private static func add(_ distance: Int, at place: Int, width: Int, _ data: inout [UInt8]) {
        guard width > 0, place >= 0, place + width <= data.count else { return }
        data.replaceSubrange(place..<place + width, with: [UInt8].big(data.big(place, width) &+ distance, width))
    }

    private static func moveChunks(_ data: inout [UInt8], by distance: Int, width: Int) {
        for number in 0..<min(data.big(4, 4), data.count / width) {
            add(distance, at: 8 + number * width, width: width, &data)
        }
    }

    /// - Source: ISO/IEC 14496-12, 8.11.3.
    private static func moveItems(_ data: inout [UInt8], by distance: Int) {
        guard data.count >= 8, data[0] <= 2 else { return }
        let (version, sizes) = (data[0], data.big(4, 2))
        let (offset, length, base, index) = (
            sizes >> 12, sizes >> 8 & 15, sizes >> 4 & 15, version > 0 ? sizes & 15 : 0
        )
        let wide = version == 2 ? 4 : 2
        var at = 6 + wide
        for _ in 0..<data.big(6, wide) where at < data.count {
            at += wide
            // Construction method 0 counts from the start of the file.
            let isInFile = version == 0 || data.big(at, 2) & 15 == 0
            at += (version > 0 ? 2 : 0) + 2
            let hasBase = base > 0 && data.big(at, base) > 0
            if hasBase, isInFile { add(distance, at: at, width: base, &data) }
            let extents = data.big(at + base, 2)
            at += base + 2
            for _ in 0..<extents where at < data.count {
                if !hasBase, isInFile { add(distance, at: at + index, width: offset, &data) }
                at += index + offset + length
            }
        }
    }
}
