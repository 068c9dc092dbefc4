import ImageModel

/// Puts a thumbnail into an Exif blob.
///
///     II*\0 | offset of IFD0 | … IFD0: count n | n × 12 | offset of IFD1 | … IFD1: … | FF D8 … FF D9
///
/// - Source: TIFF 6.0 section 2; CIPA DC-008-2019 sections 4.5.4 and 4.5.8.
extension ExifThumbnail {
    /// Returns the blob with this thumbnail, which replaces an older one; nil if it is no TIFF structure, or too large.
    ///
    /// Every other tag keeps its bytes and its position. Removes the old thumbnail's bytes, which may show removed
    /// parts of the image.
    static func embedding(_ thumbnail: [UInt8], in exif: [UInt8], atMost limit: Int) -> [UInt8]? {
        guard exif.count >= 14, let tiff = TIFFStructure(exif), let link = tiff.link(of: tiff.first) else { return nil }
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
        writer.entry(0x0103, 3, 6)
        // Both resolutions and their unit are required; 72 dots per inch means "unknown".
        writer.entry(0x011A, 5, values)
        writer.entry(0x011B, 5, values + 8)
        writer.entry(0x0128, 3, 2)
        writer.entry(0x0201, 4, data)
        writer.entry(0x0202, 4, thumbnail.count)
        writer.u32(0)
        for number in [72, 1, 72, 1] { writer.u32(number) }
        result += writer.bytes + thumbnail

        var pointer = TIFFWriter(isBigEndian: tiff.isBigEndian)
        pointer.u32(directory)
        result.replaceSubrange(link..<link + 4, with: pointer.bytes)
        return result
    }
}

private struct TIFFWriter {
    let isBigEndian: Bool
    private(set) var bytes: [UInt8] = []

    init(isBigEndian: Bool) { self.isBigEndian = isBigEndian }

    mutating func u16(_ value: Int) { append(value, 2) }
    mutating func u32(_ value: Int) { append(value, 4) }

    /// One number: a SHORT (type 3) is stored in the first half of the four bytes; of a RATIONAL (5), its offset.
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
