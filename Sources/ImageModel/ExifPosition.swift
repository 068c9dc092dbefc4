/// Removes the place where a photo was taken from an Exif blob: the GPS directory to which IFD0 points.
///
/// - Source: CIPA DC-008 section 4.6.3, tag 0x8825.
package enum ExifPosition {
    private static let tag = 0x8825

    package static func isStored(in exif: [UInt8]) -> Bool { place(in: exif) != nil }

    /// Returns the blob without the position; unchanged if it has none.
    ///
    /// The directory and all data that only it points to are zeroed, and its field in IFD0 becomes an empty field with
    /// an unused tag. No byte moves, so offsets in maker notes stay valid. In a damaged blob with very many such
    /// fields, some fields remain.
    package static func removing(_ exif: [UInt8]) -> [UInt8] {
        var exif = exif
        for _ in 0..<16 where isStored(in: exif) { exif = removingFirst(exif) }
        return exif
    }

    private static func removingFirst(_ exif: [UInt8]) -> [UInt8] {
        guard let tiff = TIFFStructure(exif), let field = place(in: exif) else { return exif }
        var copy = exif
        let directory = tiff.long(at: field.place)
        if directory >= 8, directory <= exif.count - 2 {
            let count = min(tiff.short(at: directory), (exif.count - directory - 2) / 12)
            for index in 0..<count {
                let entry = directory + 2 + index * 12
                let bytes = size(type: tiff.short(at: entry + 2)).multipliedReportingOverflow(
                    by: tiff.long(at: entry + 4))
                let start = tiff.long(at: entry + 8)
                guard !bytes.overflow, bytes.partialValue > 4, start >= 8, start <= exif.count,
                    bytes.partialValue <= exif.count - start
                else { continue }
                erase(start..<start + bytes.partialValue, in: &copy, sparing: tiff, field)
            }
            erase(directory..<min(exif.count, directory + 2 + count * 12 + 4), in: &copy, sparing: tiff, field)
        }
        // A field without a value. Tag 0xFFFF sorts after all others, but readers skip it in any order.
        let entry = field.place - 8
        for offset in 0..<12 { copy[entry + offset] = 0 }
        copy[entry] = 0xFF
        copy[entry + 1] = 0xFF
        copy[entry + (tiff.isBigEndian ? 3 : 2)] = 1
        return copy
    }

    private static func place(in exif: [UInt8]) -> TIFFStructure.Field? {
        guard let tiff = TIFFStructure(exif) else { return nil }
        return tiff.field(tag, in: tiff.first)
    }

    /// Zeros bytes but spares IFD0, which a hostile file could otherwise have erased.
    private static func erase(
        _ range: Range<Int>, in bytes: inout [UInt8], sparing tiff: TIFFStructure, _ field: TIFFStructure.Field
    ) {
        let first = tiff.first..<min(bytes.count, tiff.first + 2 + tiff.short(at: tiff.first) * 12 + 4)
        if range.overlaps(first) || range.lowerBound < 8 { return }
        bytes.replaceSubrange(range, with: repeatElement(0, count: range.count))
    }

    /// Returns the number of bytes in one value.
    private static func size(type: Int) -> Int {
        switch type {
        case 1, 2, 6, 7: 1
        case 3, 8: 2
        case 4, 9, 11: 4
        case 5, 10, 12: 8
        default: 0
        }
    }
}
