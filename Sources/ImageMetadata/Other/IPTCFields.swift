import ImageModel

/// Writes texts into an IPTC record.
///
/// - Source: IPTC-NAA IIM 4.2 chapters 5 and 6; the Guidelines of the Metadata Working Group 2.0, section 3.3: a text in
///   Exif, IPTC and XMP is the same.
package enum IPTCFields {
    /// A changed record.
    package struct Result {
        package var bytes: [UInt8]
        /// The fields that the record cannot hold, and lacks now.
        package var left: [MetadataField] = []
    }

    /// The escape sequence of UTF-8 in dataset 1:90.
    private static let utf8: [UInt8] = [0x1B, 0x25, 0x47]

    /// Returns the record with these texts; nil if it is damaged. An empty text removes the field.
    ///
    /// A text is written as UTF-8. In a record of another encoding, it is written as Latin-1, as the others are read.
    package static func storing(_ fields: [MetadataField: String], in record: [UInt8]) -> Result? {
        var sets = IPTCReader.datasets(record[...])
        guard let last = sets.last, record[last.data.upperBound...].allSatisfy({ $0 == 0 }) else { return nil }
        let named = sets.first { $0.record == 1 && $0.number == 90 }.map { Array(record[$0.data]) }
        let isASCII = sets.allSatisfy { $0.record != 2 || record[$0.data].allSatisfy { $0 < 0x80 } }
        let needsUTF8 = fields.values.contains { $0.utf8.contains { $0 >= 0x80 } }
        // Plain ASCII texts are UTF-8 already, so the record can state it.
        let isUTF8 = named == utf8 || named == nil && isASCII && needsUTF8
        var result = Result(bytes: [])
        var new: [(record: Int, number: Int, bytes: [UInt8])] = isUTF8 && named == nil ? [(1, 90, utf8)] : []
        for (field, text) in fields.sorted(by: { $0.key.dataset < $1.key.dataset }) {
            sets.removeAll { $0.record == 2 && $0.number == field.dataset }
            if text.isEmpty { continue }
            guard let bytes = encoded(text, isUTF8: isUTF8), bytes.count <= field.maxIPTCBytes else {
                result.left.append(field)
                continue
            }
            new.append((2, field.dataset, bytes))
        }
        // Datasets of a record ascend by number; record 2 follows record 1.
        for set in sets {
            while let next = new.first, (set.record, set.number) > (next.record, next.number) {
                result.bytes += dataset(next.record, next.number, next.bytes)
                new.removeFirst()
            }
            result.bytes += dataset(set.record, set.number, Array(record[set.data]))
        }
        for (record, number, bytes) in new { result.bytes += dataset(record, number, bytes) }
        return result
    }

    private static func encoded(_ text: String, isUTF8: Bool) -> [UInt8]? {
        if isUTF8 { return Array(text.utf8) }
        var bytes: [UInt8] = []
        for scalar in text.unicodeScalars {
            guard let byte = UInt8(exactly: scalar.value) else { return nil }
            bytes.append(byte)
        }
        return bytes
    }

    private static func dataset(_ record: Int, _ number: Int, _ data: [UInt8]) -> [UInt8] {
        let count = data.count
        let length: [UInt8] =
            count < 0x8000
            ? [UInt8(count >> 8), UInt8(count & 0xFF)]
            : [0x80, 4] + (0..<4).map { UInt8(truncatingIfNeeded: count >> (24 - 8 * $0)) }
        return [0x1C, UInt8(record), UInt8(number)] + length + data
    }
}
