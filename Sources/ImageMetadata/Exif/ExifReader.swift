import ImageModel

/// Reads the tags of an Exif blob.
///
/// - Source: TIFF 6.0 section 2; CIPA DC-008 (Exif 3.0) section 4.6.
struct ExifReader {
    private let bytes: [UInt8]
    private let tiff: TIFFStructure
    private var visited: Set<Int> = []
    private var tags: [MetadataTag] = []

    /// The largest number of values that a tag shows.
    private static let maxValues = 1024

    /// Returns nil if the bytes are no TIFF structure. A prefix `Exif\0\0` is skipped.
    init?(_ blob: [UInt8]) {
        let head = Array("Exif".utf8) + [0, 0]
        let bytes = blob.starts(with: head) ? Array(blob.dropFirst(head.count)) : blob
        guard let tiff = TIFFStructure(bytes) else { return nil }
        self.bytes = bytes
        self.tiff = tiff
    }

    /// Returns all known tags.
    mutating func read() -> [MetadataTag] {
        read(tiff.first, .main, "IFD0")
        if let link = tiff.link(of: tiff.first) {
            let second = tiff.long(at: link)
            if second != 0 { read(second, .main, "IFD1") }
        }
        return tags
    }

    private mutating func read(_ directory: Int, _ table: ExifTable, _ group: String) {
        // A directory is read once: hostile offsets may form loops.
        guard directory >= 8, directory <= bytes.count - 2, visited.insert(directory).inserted, visited.count <= 16
        else { return }
        let count = min(tiff.short(at: directory), (bytes.count - directory - 2) / 12)
        for index in 0..<count where tags.count < MetadataTag.maxCount {
            let entry = directory + 2 + index * 12
            let tag = tiff.short(at: entry)
            if table == .main || table == .exif {
                switch tag {
                case 0x8769: read(tiff.long(at: entry + 8), .exif, "ExifIFD")
                case 0x8825: read(tiff.long(at: entry + 8), .gps, "GPS")
                case 0xA005: read(tiff.long(at: entry + 8), .interoperability, "InteropIFD")
                default: break
                }
            }
            guard let known = table.tag(tag), let data = data(entry) else { continue }
            if let value = known.value(data) {
                tags.append(MetadataTag(group, known.name, value, text: known.text(value, data)))
            }
        }
    }

    /// Returns the values of an entry; nil if they do not lie within the blob.
    private func data(_ entry: Int) -> ExifData? {
        let type = tiff.short(at: entry + 2)
        let count = tiff.long(at: entry + 4)
        let sizes = [0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4]
        guard type > 0, type < sizes.count, count > 0 else { return nil }
        let (size, overflow) = sizes[type].multipliedReportingOverflow(by: count)
        if overflow { return nil }
        let start = size <= 4 ? entry + 8 : tiff.long(at: entry + 8)
        guard start >= 0, size <= bytes.count, start <= bytes.count - size else { return nil }
        return ExifData(
            type: type, count: count, bytes: bytes[start..<start + size], isBigEndian: tiff.isBigEndian,
            maxValues: Self.maxValues)
    }
}

/// The values of a directory entry.
struct ExifData {
    let type: Int
    let count: Int
    let bytes: ArraySlice<UInt8>
    let isBigEndian: Bool
    let maxValues: Int

    /// Whether the values are bytes without a meaning of their own, or a text.
    var isBytes: Bool { type == 7 || type == 2 }

    /// The unsigned number of `size` bytes at `offset`.
    private func unsigned(_ offset: Int, _ size: Int) -> UInt64 {
        var result: UInt64 = 0
        for index in 0..<size {
            let place = bytes.startIndex + offset + (isBigEndian ? index : size - 1 - index)
            result = result << 8 | UInt64(bytes[place])
        }
        return result
    }

    /// The numbers; rational numbers with a denominator of 0 are infinite or not a number.
    var numbers: [Double] {
        let step =
            type == 5 || type == 10 || type == 12
            ? 8 : type == 3 || type == 8 ? 2 : [1, 2, 6, 7].contains(type) ? 1 : 4
        return (0..<min(count, maxValues, bytes.count / step)).map { index in
            let at = index * step
            switch type {
            case 6: return Double(Int8(truncatingIfNeeded: unsigned(at, 1)))
            case 8: return Double(Int16(truncatingIfNeeded: unsigned(at, 2)))
            case 9: return Double(Int32(truncatingIfNeeded: unsigned(at, 4)))
            case 5: return Double(unsigned(at, 4)) / Double(unsigned(at + 4, 4))
            case 10:
                return Double(Int32(truncatingIfNeeded: unsigned(at, 4)))
                    / Double(Int32(truncatingIfNeeded: unsigned(at + 4, 4)))
            case 11: return Double(Float(bitPattern: UInt32(truncatingIfNeeded: unsigned(at, 4))))
            case 12: return Double(bitPattern: unsigned(at, 8))
            default: return Double(unsigned(at, step))
            }
        }
    }
}
