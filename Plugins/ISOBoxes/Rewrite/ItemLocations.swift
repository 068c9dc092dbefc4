internal import ImageModel

/// The positions of all items: the `iloc` box.
///
///     sizes of offset, length, base, index: 4 bits each | items | item …
///     item  number | [method] | data reference 2 | base | extents | (offset | length) …
///
/// - Source: ISO/IEC 14496-12:2022 section 8.11.3.
struct ItemLocations {
    struct Entry {
        let id: UInt32
        /// 0: relative to the start of the file, 1: to the `idat` box.
        var method = 0
        /// Without empty ones.
        var extents: [Range<Int>] = []
    }

    private let version: Int
    var entries: [Entry] = []

    private static let mostExtents = 1_000_000

    init() { version = 0 }

    /// - Parameters:
    ///   - inline: the number of bytes in the `idat` box.
    ///   - file: the number of bytes in the file.
    /// - Throws: `.refused` for a form that cannot be written again, `.corrupt`, `.truncated`, `.limitExceeded`.
    init(_ fields: BoxCursor, inline: Int, file: Int) throws(CoderError) {
        var fields = fields
        version = try fields.fullBox().version
        guard version < 3 else { throw .refused("an 'iloc' box of version \(version) cannot be rewritten") }
        let sizes = try fields.u16()
        let (offsetSize, lengthSize, baseSize) = (sizes >> 12, sizes >> 8 & 15, sizes >> 4 & 15)
        let indexSize = version == 0 ? 0 : sizes & 15
        for size in [offsetSize, lengthSize, baseSize, indexSize] where ![0, 4, 8].contains(size) {
            throw .corrupt("an item offset of \(size) bytes")
        }
        var count = 0
        var placed: Set<UInt32> = []
        for _ in 0..<(try fields.uint(version < 2 ? 2 : 4)) {
            let id = UInt32(try fields.uint(version < 2 ? 2 : 4))
            guard placed.insert(id).inserted else { throw .corrupt("item \(id) has two positions") }
            var entry = Entry(id: id, method: version == 0 ? 0 : try fields.u16() & 15)
            guard entry.method < 2 else { throw .refused("item \(id), made of other items, cannot be rewritten") }
            guard try fields.u16() == 0 else { throw .refused("item \(id), in another file, cannot be rewritten") }
            let base = try fields.uint(baseSize)
            let extents = try fields.u16()
            count += extents
            if count > Self.mostExtents { throw .limit("extents", allowed: Self.mostExtents, requested: count) }
            for _ in 0..<extents {
                try fields.skip(indexSize)
                let (offset, overflow) = base.addingReportingOverflow(try fields.uint(offsetSize))
                let length = try fields.uint(lengthSize)
                let available = entry.method == 1 ? inline : file
                guard !overflow, offset <= UInt64(available), length <= UInt64(available) - offset else {
                    if entry.method == 1 { throw .corrupt("item \(id) is outside its box") }
                    throw .truncated("item \(id) is behind the end of the file")
                }
                // Written for items without data, such as 'iden': no item begins with the file.
                if entry.method == 0, offset == 0, length == 0 { continue }
                // A length of 0 means "up to the end".
                let end = length == 0 ? available : Int(offset + length)
                if end > Int(offset) { entry.extents.append(Int(offset)..<end) }
            }
            entries.append(entry)
        }
    }

    /// Writes the box.
    ///
    /// - Parameter isWide: whether positions take 8 bytes instead of 4.
    func write(isWide: Bool, _ out: inout BoxWriter) throws(CoderError) {
        let version = self.version == 0 && entries.contains { $0.method > 0 } ? 1 : self.version
        guard version == 2 || entries.count <= Int(UInt16.max) else {
            throw .refused("the file holds too many items for one more")
        }
        out.fullBox("iloc", version: UInt8(version)) { out in
            out.u16(isWide ? 0x8800 : 0x4400)
            if version < 2 { out.u16(UInt16(entries.count)) } else { out.u32(UInt32(entries.count)) }
            for entry in entries {
                if version < 2 { out.u16(UInt16(truncatingIfNeeded: entry.id)) } else { out.u32(entry.id) }
                if version > 0 { out.u16(UInt16(entry.method)) }
                out.u16(0)
                out.u16(UInt16(entry.extents.count))
                for extent in entry.extents {
                    for number in [extent.lowerBound, extent.count] {
                        if isWide { out.u64(number) } else { out.u32(UInt32(truncatingIfNeeded: number)) }
                    }
                }
            }
        }
    }
}
