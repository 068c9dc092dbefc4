internal import CoderPluginKit
internal import ImageModel

/// The top-level boxes of a complete file, and the bytes behind them that form no box.
struct FileLayout {
    struct Entry {
        let type: FourCC
        let range: Range<Int>
        let payload: Range<Int>
        /// Whether the box has no size of its own and ends with the file.
        let isOpen: Bool
    }

    private(set) var boxes: [Entry] = []
    /// The end of the last box.
    private(set) var end = 0

    private static let mostBoxes = 100_000

    /// - Throws: `.notMine`, `.corrupt`, `.truncated` if a box ends behind the file, `.limitExceeded`.
    init(of source: ByteSource, host: HostServices) throws(CoderError) {
        let count = source.available
        while count - end >= 8 {
            if boxes.count % 256 == 0 { try host.checkCancellation() }
            var reader = ByteReader(source, at: end)
            var size = Int(try reader.u32BE())
            let type = FourCC(try reader.u32BE())
            let isOpen = size == 0
            if size == 1, count - end >= 16 {
                size = Int(exactly: UInt64(try reader.u32BE()) << 32 | UInt64(try reader.u32BE())) ?? .max
            }
            if isOpen { size = count - end }
            // Bytes that form no box.
            guard size >= reader.offset - end else { break }
            guard size <= count - end else { throw .truncated("the file ends inside the box '\(type)'") }
            boxes.append(
                Entry(type: type, range: end..<end + size, payload: reader.offset..<end + size, isOpen: isOpen))
            if boxes.count > Self.mostBoxes {
                throw .limit("boxes", allowed: Self.mostBoxes, requested: boxes.count)
            }
            end += size
        }
        guard boxes.first?.type == "ftyp" else { throw .notMine() }
        var seen: Set<FourCC> = []
        for box in boxes {
            try BoxPositions.check(box.type, in: "file", &seen)
            if box.type == "moov", !seen.insert(box.type).inserted { throw .corrupt("a 'moov' box appears twice") }
        }
    }

    /// Returns the only box of a type; nil without one.
    func only(_ type: FourCC) -> Entry? { boxes.first { $0.type == type } }

    /// Returns the header of a box.
    static func header(_ type: FourCC, payload: Int) -> [UInt8] {
        var out = BoxWriter()
        let isLong = payload + 8 > Int(UInt32.max)
        out.u32(isLong ? 1 : UInt32(payload + 8))
        out.code(type)
        if isLong { out.u64(payload + 16) }
        return out.bytes
    }
}
