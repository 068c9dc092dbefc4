/// Finds and changes the orientation tag in an Exif blob.
///
/// Only IFD0 is read; all other offsets stay unchanged.
///
///     II*\0 | offset of IFD0 | … | count n | n × (tag 2, type 2, count 4, value 4) | …
///
/// - Source: TIFF 6.0 section 2; CIPA DC-008, tag 0x0112.
package enum ExifOrientation {
    private static let tag = 0x0112

    /// Returns the stored orientation; nil if the tag is missing or its value is not 1 … 8.
    package static func read(_ exif: [UInt8]) -> Orientation? {
        guard let place = locate(exif) else { return nil }
        return Orientation(rawValue: place.value)
    }

    /// Returns the blob with the orientation set to `orientation`, or unchanged if it has no such tag.
    package static func replacing(_ exif: [UInt8], with orientation: Orientation) -> [UInt8] {
        guard let place = locate(exif) else { return exif }
        var copy = exif
        for index in 0..<place.width { copy[place.offset + index] = 0 }
        copy[place.offset + (place.bigEndian ? place.width - 1 : 0)] = UInt8(orientation.rawValue)
        return copy
    }

    /// Returns the blob with the orientation set to `orientation`; adds the tag if it is missing.
    ///
    /// A new IFD0 with one more entry is appended, and the header points to it. No other byte moves, so offsets in
    /// maker notes stay valid. A blob is returned unchanged if it is not a TIFF structure or if its IFD0 is truncated.
    package static func storing(_ orientation: Orientation, in exif: [UInt8]) -> [UInt8] {
        if locate(exif) != nil { return replacing(exif, with: orientation) }
        guard let tiff = TIFFStructure(exif), let link = tiff.link(of: tiff.first), exif.count < Int32.max,
            tiff.short(at: tiff.first) < UInt16.max
        else { return exif }
        func bytes(_ value: Int, _ count: Int) -> [UInt8] {
            let little = (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
            return tiff.isBigEndian ? little.reversed() : little
        }
        let entries = stride(from: tiff.first + 2, to: link, by: 12).filter { tiff.short(at: $0) != tag }
        // Entries ascend by tag (TIFF 6.0, section 2).
        let before = entries.prefix { tiff.short(at: $0) < tag }
        var copy = exif
        // A directory begins on a word boundary.
        if copy.count % 2 == 1 { copy.append(0) }
        copy.replaceSubrange(4..<8, with: bytes(copy.count, 4))
        copy += bytes(entries.count + 1, 2)
        for entry in before { copy += exif[entry..<entry + 12] }
        copy += bytes(tag, 2) + bytes(3, 2) + bytes(1, 4) + bytes(orientation.rawValue, 2) + [0, 0]
        for entry in entries.dropFirst(before.count) { copy += exif[entry..<entry + 12] }
        return copy + exif[link..<link + 4]
    }

    /// Returns the smallest Exif blob with an orientation and no other tag.
    package static func blob(_ orientation: Orientation) -> [UInt8] {
        [
            0x49, 0x49, 0x2A, 0, 8, 0, 0, 0,  // little endian, IFD0 at 8
            1, 0,  // one entry
            0x12, 0x01, 3, 0, 1, 0, 0, 0, UInt8(orientation.rawValue), 0, 0, 0,
            0, 0, 0, 0,  // no further IFD
        ]
    }

    /// The standard requires a SHORT; some writers store another integer type.
    private static func locate(_ exif: [UInt8]) -> (offset: Int, width: Int, value: Int, bigEndian: Bool)? {
        guard let tiff = TIFFStructure(exif), let field = tiff.field(tag, in: tiff.first),
            let width = field.integerWidth, let value = tiff.integer(field)
        else { return nil }
        return (field.place, width, value, tiff.isBigEndian)
    }
}
