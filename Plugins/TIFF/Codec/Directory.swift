internal import CoderPluginKit
internal import ImageModel

/// The directories of a TIFF or BigTIFF as they are stored, for the chain of pages and for metadata.
///
///     II or MM | 42 | 4 bytes: first directory | … | count n (2 bytes) | n × 12 bytes | 4 bytes: next directory
///     II or MM | 43 | 8 | 0 | 8 bytes: first directory | … | count n (8 bytes) | n × 20 bytes | 8 bytes: next
///
/// - Source: TIFF 6.0 section 2; the BigTIFF design of libtiff.
struct DirectoryReader {
    let source: ByteSource
    let isBigEndian: Bool
    let isBig: Bool

    /// - Throws: `.notMine`, `.needsInput`, `.truncated`.
    init(_ source: ByteSource) throws(CoderError) {
        var reader = ByteReader(source)
        let start = try reader.bytes(4)
        switch start {
        case [0x49, 0x49, 42, 0]: (isBigEndian, isBig) = (false, false)
        case [0x4D, 0x4D, 0, 42]: (isBigEndian, isBig) = (true, false)
        case [0x49, 0x49, 43, 0]: (isBigEndian, isBig) = (false, true)
        case [0x4D, 0x4D, 0, 43]: (isBigEndian, isBig) = (true, true)
        default: throw .notMine()
        }
        self.source = source
    }

    /// The position of the first directory; nil outside the file.
    var first: Int? { number(at: isBig ? 8 : 4, width: isBig ? 8 : 4) }

    /// Returns a number of 1 to 8 bytes; nil outside the file, or if it does not fit.
    func number(at offset: Int, width: Int) -> Int? {
        guard offset >= 0, offset <= source.available - width else { return nil }
        var value: UInt64 = 0
        for index in 0..<width {
            value = value << 8 | UInt64(source[offset + (isBigEndian ? index : width - 1 - index)])
        }
        return Int(exactly: value)
    }

    /// Returns the directory at a position; nil if it is not in the file. Entries behind the end are left out.
    func directory(at offset: Int) -> Directory? {
        let (head, size) = isBig ? (8, 20) : (2, 12)
        guard offset >= 8, let count = number(at: offset, width: head), count > 0, count <= 65_535 else { return nil }
        var entries: [Directory.Entry] = []
        for index in 0..<count {
            let place = offset + head + index * size
            guard place <= source.available - size else { break }
            if let entry = entry(at: place) { entries.append(entry) }
        }
        let link = number(at: offset + head + count * size, width: isBig ? 8 : 4)
        return Directory(offset: offset, entries: entries, next: link == 0 ? nil : link)
    }

    private func entry(at place: Int) -> Directory.Entry? {
        guard let tag = number(at: place, width: 2), let type = number(at: place + 2, width: 2),
            let count = number(at: place + 4, width: isBig ? 8 : 4)
        else { return nil }
        let (bytes, overflow) = count.multipliedReportingOverflow(by: Directory.width(of: type))
        guard !overflow, bytes > 0 else { return nil }
        let inline = isBig ? 8 : 4
        let start = place + (isBig ? 12 : 8)
        let value = bytes <= inline ? start : number(at: start, width: inline) ?? -1
        guard value >= 0, bytes <= source.available, value <= source.available - bytes else { return nil }
        return Directory.Entry(tag: tag, type: type, count: count, value: value..<value + bytes)
    }

    /// Returns the integers of an entry, at most `limit` of them.
    func numbers(_ entry: Directory.Entry?, limit: Int = 1) -> [Int] {
        guard let entry, [1, 3, 4, 13, 16, 18].contains(entry.type) else { return [] }
        let width = Directory.width(of: entry.type)
        return (0..<min(entry.count, limit)).compactMap {
            number(at: entry.value.lowerBound + $0 * width, width: width)
        }
    }
}

/// One directory: its fields in the order of the file.
struct Directory {
    struct Entry {
        let tag: Int
        let type: Int
        let count: Int
        /// The position of the value in the file.
        let value: Range<Int>
    }

    let offset: Int
    let entries: [Entry]
    let next: Int?

    subscript(tag: Int) -> Entry? { entries.first { $0.tag == tag } }

    /// Returns the bytes of a field in the other byte order; texts and unknown types stay.
    static func swapped(_ bytes: [UInt8], type: Int) -> [UInt8] {
        // A rational is two numbers of 32 bits.
        let width = type == 5 || type == 10 ? 4 : width(of: type)
        guard width > 1 else { return bytes }
        return stride(from: 0, through: bytes.count - width, by: width).flatMap { bytes[$0..<$0 + width].reversed() }
    }

    /// The number of bytes of a value; 0 for an unknown type.
    static func width(of type: Int) -> Int {
        switch type {
        case 1, 2, 6, 7: 1
        case 3, 8: 2
        case 4, 9, 11, 13: 4
        case 5, 10, 12, 16, 17, 18: 8
        default: 0
        }
    }
}
