import ImageModel

/// The thumbnail of an Exif blob: finding it, and putting one in.
///
///     II*\0 | offset of IFD0 | … IFD0: count n | n × 12 | offset of IFD1 | … IFD1: … | FF D8 … FF D9
///
/// IFD1 describes the thumbnail: 0x0201 says where its JPEG data begins, 0x0202 how long it is. Nothing of it is
/// believed: each number is looked at before it is used, and no directory leads to another one but IFD0 to IFD1.
///
/// - Source: TIFF 6.0 section 2; CIPA DC-008-2019 sections 4.5.4 and 4.5.8.
struct ExifThumbnail {
    /// The JPEG data within the blob.
    let bytes: Range<Int>

    private static let compression = 0x0103
    private static let start = 0x0201
    private static let length = 0x0202

    /// Nil where the blob has none, or where what it says of it cannot be.
    init?(_ exif: [UInt8]) {
        guard let tiff = TIFF(exif), let link = tiff.link, let entries = tiff.entries(of: tiff.u32(link)),
            let start = entries.first(where: { $0.tag == Self.start }),
            let length = entries.first(where: { $0.tag == Self.length }),
            start.value >= 8, length.value >= 4, start.value <= exif.count - length.value
        else { return nil }
        // 6 is JPEG; some writers leave it out.
        if let kind = entries.first(where: { $0.tag == Self.compression }), kind.value != 6 { return nil }
        bytes = start.value..<start.value + length.value
        guard exif[bytes.lowerBound] == 0xFF, exif[bytes.lowerBound + 1] == 0xD8 else { return nil }
    }

    /// The blob with this thumbnail instead of the one it may have; nil where it is no TIFF structure, or too large.
    ///
    /// Every other tag keeps its bytes and its place. The old thumbnail's bytes go: it may show what was cut away.
    static func embedding(_ thumbnail: [UInt8], in exif: [UInt8], atMost limit: Int) -> [UInt8]? {
        guard let tiff = TIFF(exif), let link = tiff.link else { return nil }
        var result = exif
        if let old = ExifThumbnail(exif) {
            if old.bytes.upperBound == exif.count, old.bytes.lowerBound >= link + 4 {
                result.removeSubrange(old.bytes)
            } else if old.bytes.lowerBound >= link + 4 {
                for place in old.bytes { result[place] = 0 }
            }
        }
        // Offsets are even (TIFF 6.0 section 2).
        if result.count % 2 == 1 { result.append(0) }
        let directory = result.count
        let (entries, rationals) = (6, 16)
        let values = directory + 2 + entries * 12 + 4
        let data = values + rationals
        guard data + thumbnail.count <= limit else { return nil }

        var writer = TIFFWriter(isBigEndian: tiff.isBigEndian)
        writer.u16(entries)
        writer.entry(compression, 3, 6)
        // Both resolutions and their unit must be there; 72 dots per inch stands for "unknown".
        writer.entry(0x011A, 5, values)
        writer.entry(0x011B, 5, values + 8)
        writer.entry(0x0128, 3, 2)
        writer.entry(start, 4, data)
        writer.entry(length, 4, thumbnail.count)
        writer.u32(0)
        for number in [72, 1, 72, 1] { writer.u32(number) }
        result += writer.bytes + thumbnail

        var pointer = TIFFWriter(isBigEndian: tiff.isBigEndian)
        pointer.u32(directory)
        result.replaceSubrange(link..<link + 4, with: pointer.bytes)
        return result
    }
}

/// A TIFF structure as far as it is sound.
private struct TIFF {
    let bytes: [UInt8]
    let isBigEndian: Bool

    init?(_ bytes: [UInt8]) {
        guard bytes.count >= 14 else { return nil }
        switch (bytes[0], bytes[1]) {
        case (0x49, 0x49): isBigEndian = false
        case (0x4D, 0x4D): isBigEndian = true
        default: return nil
        }
        self.bytes = bytes
        if u16(2) != 42 { return nil }
    }

    func u16(_ at: Int) -> Int {
        let (first, second) = (Int(bytes[at]), Int(bytes[at + 1]))
        return isBigEndian ? first << 8 | second : second << 8 | first
    }

    func u32(_ at: Int) -> Int {
        isBigEndian ? u16(at) << 16 | u16(at + 2) : u16(at + 2) << 16 | u16(at)
    }

    /// Where IFD0 says where IFD1 is; nil where IFD0 is not within the bytes.
    var link: Int? {
        let directory = u32(4)
        guard let end = end(of: directory) else { return nil }
        return end
    }

    /// Single numbers of a directory.
    func entries(of directory: Int) -> [(tag: Int, value: Int)]? {
        // Back to IFD0 would be a circle; it has no thumbnail of its own.
        guard directory != u32(4), let end = end(of: directory) else { return nil }
        return stride(from: directory + 2, to: end, by: 12).compactMap { at in
            switch (u16(at + 2), u32(at + 4)) {
            case (3, 1): (u16(at), u16(at + 8))
            case (4, 1): (u16(at), u32(at + 8))
            default: nil
            }
        }
    }

    /// Where a directory's entries end, which leaves four bytes for the link.
    private func end(of directory: Int) -> Int? {
        guard directory >= 8, directory <= bytes.count - 6 else { return nil }
        let end = directory + 2 + u16(directory) * 12
        return end <= bytes.count - 4 ? end : nil
    }
}

private struct TIFFWriter {
    let isBigEndian: Bool
    private(set) var bytes: [UInt8] = []

    init(isBigEndian: Bool) { self.isBigEndian = isBigEndian }

    mutating func u16(_ value: Int) { append(value, 2) }
    mutating func u32(_ value: Int) { append(value, 4) }

    /// One number: a SHORT (type 3) stands in the first half of the four bytes; of a RATIONAL (5) only the place does.
    mutating func entry(_ tag: Int, _ type: Int, _ value: Int) {
        u16(tag)
        u16(type)
        u32(1)
        if type == 3 {
            u16(value)
            u16(0)
        } else {
            u32(value)
        }
    }

    private mutating func append(_ value: Int, _ count: Int) {
        for index in 0..<count {
            let shift = 8 * (isBigEndian ? count - 1 - index : index)
            bytes.append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }
}
