import ImageModel

/// Writes texts into an Exif blob.
package enum ExifFields {
    /// The smallest Exif blob, without a tag.
    package static let empty: [UInt8] = [0x49, 0x49, 0x2A, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0]

    /// Returns the blob with these texts in IFD0; nil if the blob is damaged. An empty text removes the tag.
    ///
    /// The texts and a new IFD0 are appended, and the header points to it. The old texts and the old IFD0 are zeroed, and
    /// cut off where they end the blob. No other byte moves, so offsets in maker notes stay valid.
    package static func storing(_ fields: [MetadataField: String], in exif: [UInt8]) -> [UInt8]? {
        guard let tiff = TIFFStructure(exif), let link = tiff.link(of: tiff.first), exif.count < Int32.max else {
            return nil
        }
        func bytes(_ value: Int, _ count: Int) -> [UInt8] {
            let little = (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
            return tiff.isBigEndian ? little.reversed() : little
        }
        var copy = exif
        var dead = [tiff.first..<link + 4]
        var entries: [(tag: Int, bytes: [UInt8])] = []
        let new = fields.compactMap { field, text in field.exifTag.map { (tag: $0, text: text) } }
        for place in stride(from: tiff.first + 2, to: link, by: 12) {
            let tag = tiff.short(at: place)
            // An entry that the removal of the position left behind is not kept.
            if tag != 0xFFFF, !new.contains(where: { $0.tag == tag }) {
                entries.append((tag, Array(exif[place..<place + 12])))
            } else if let text = textRange(place, tiff, exif.count) {
                dead.append(text)
            }
        }
        erase(dead, in: &copy, sparing: entries.compactMap { valueRange($0.bytes, tiff) })
        for (tag, text) in new.sorted(by: { $0.tag < $1.tag }) where !text.isEmpty {
            let value = text.utf8.filter { $0 != 0 } + [0]
            var field = bytes(tag, 2) + bytes(2, 2) + bytes(value.count, 4)
            if value.count <= 4 {
                field += value + [UInt8](repeating: 0, count: 4 - value.count)
            } else {
                if copy.count % 2 == 1 { copy.append(0) }
                field += bytes(copy.count, 4)
                copy += value
            }
            // Entries ascend by tag (TIFF 6.0, section 2).
            entries.insert((tag, field), at: entries.firstIndex { $0.tag > tag } ?? entries.count)
        }
        guard entries.count <= UInt16.max, copy.count < Int32.max - 1_000_000 else { return nil }
        if copy.count % 2 == 1 { copy.append(0) }
        copy.replaceSubrange(4..<8, with: bytes(copy.count, 4))
        copy += bytes(entries.count, 2)
        for entry in entries { copy += entry.bytes }
        return copy + exif[link..<link + 4]
    }

    /// Returns the bytes of a text outside its entry; nil for other values.
    private static func textRange(_ entry: Int, _ tiff: TIFFStructure, _ end: Int) -> Range<Int>? {
        let (count, start) = (tiff.long(at: entry + 4), tiff.long(at: entry + 8))
        guard tiff.short(at: entry + 2) == 2, count > 4, start >= 8, start <= end, count <= end - start else {
            return nil
        }
        return start..<start + count
    }

    /// Returns the bytes of a value outside its entry; nil for a value within the entry.
    private static func valueRange(_ entry: [UInt8], _ tiff: TIFFStructure) -> Range<Int>? {
        func number(_ place: Int, _ count: Int) -> Int {
            let bytes = entry[place..<place + count]
            return (tiff.isBigEndian ? Array(bytes) : bytes.reversed()).reduce(0) { $0 << 8 | Int($1) }
        }
        // TIFF 6.0, section 2: the bytes of the types 1 to 12.
        let type = number(2, 2)
        guard (1...12).contains(type) else { return nil }
        let size = [1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8][type - 1] * number(4, 4)
        return size > 4 ? number(8, 4)..<number(8, 4) + size : nil
    }

    /// Zeros bytes that nothing else uses, and cuts them off at the end, also behind one byte of padding.
    private static func erase(_ dead: [Range<Int>], in bytes: inout [UInt8], sparing used: [Range<Int>]) {
        let free = dead.filter { range in !used.contains { $0.overlaps(range) } && range.lowerBound >= 8 }
        for range in free { bytes.replaceSubrange(range, with: repeatElement(0, count: range.count)) }
        for range in free.sorted(by: { $0.upperBound > $1.upperBound }) {
            let isLast = range.upperBound == bytes.count || range.upperBound == bytes.count - 1 && bytes.last == 0
            if isLast { bytes.removeSubrange(range.lowerBound...) }
        }
    }
}
