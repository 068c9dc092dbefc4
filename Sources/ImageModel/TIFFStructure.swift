/// The directories of a TIFF structure that lie within its bytes.
///
///     II*\0 or MM\0* | offset of IFD0 | … | count n | n × (tag 2, type 2, count 4, value 4) | offset of the next IFD |
///     …
///
/// - Source: TIFF 6.0 section 2.
package struct TIFFStructure {
    private let bytes: [UInt8]
    package let isBigEndian: Bool

    /// A field of a directory.
    package struct Field {
        package let type: Int
        package let count: Int
        /// The position of the value, or of its offset.
        package let place: Int

        /// The bytes of one value of an integer type, which all fit into the field itself; nil for another type.
        package var integerWidth: Int? {
            switch type {
            case 1, 6: 1  // BYTE, SBYTE
            case 3, 8: 2  // SHORT, SSHORT
            case 4, 9, 13: 4  // LONG, SLONG, IFD
            default: nil
            }
        }
    }

    /// Returns nil if the bytes do not begin with a TIFF header.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count >= 10 else { return nil }
        switch (bytes[0], bytes[1]) {
        case (0x49, 0x49): isBigEndian = false
        case (0x4D, 0x4D): isBigEndian = true
        default: return nil
        }
        self.bytes = bytes
        if short(at: 2) != 42 { return nil }
    }

    /// Returns the two-byte number at `place`; 0 outside the structure.
    package func short(at place: Int) -> Int {
        guard place >= 0, place <= bytes.count - 2 else { return 0 }
        let (first, second) = (Int(bytes[place]), Int(bytes[place + 1]))
        return isBigEndian ? first << 8 | second : second << 8 | first
    }

    /// Returns the four-byte number at `place`; 0 outside the structure.
    package func long(at place: Int) -> Int {
        guard place >= 0, place <= bytes.count - 4 else { return 0 }
        return isBigEndian
            ? short(at: place) << 16 | short(at: place + 2) : short(at: place + 2) << 16 | short(at: place)
    }

    /// The offset of IFD0.
    package var first: Int { long(at: 4) }

    /// Returns the position of the offset of the next directory; nil if the directory does not end within the bytes.
    package func link(of directory: Int) -> Int? {
        guard directory >= 8, directory <= bytes.count - 6 else { return nil }
        let end = directory + 2 + short(at: directory) * 12
        return end <= bytes.count - 4 ? end : nil
    }

    /// Returns the first field with this tag that lies within the bytes.
    package func field(_ tag: Int, in directory: Int) -> Field? {
        guard directory >= 8, directory <= bytes.count - 2 else { return nil }
        for index in 0..<short(at: directory) {
            let place = directory + 2 + index * 12
            if place > bytes.count - 12 { return nil }
            if short(at: place) == tag {
                return Field(type: short(at: place + 2), count: long(at: place + 4), place: place + 8)
            }
        }
        return nil
    }

    /// Returns the value of a field that holds one integer; nil for another type, several values, or a negative one.
    package func integer(_ field: Field) -> Int? {
        guard field.count == 1, let width = field.integerWidth, field.place >= 0, field.place <= bytes.count - width
        else { return nil }
        let value =
            switch width {
            case 1: Int(bytes[field.place])
            case 2: short(at: field.place)
            default: long(at: field.place)
            }
        let isSigned = field.type == 6 || field.type == 8 || field.type == 9
        return isSigned && value >> (8 * width - 1) == 1 ? nil : value
    }

    /// Returns the value of a field that holds one integer.
    package func number(_ tag: Int, in directory: Int) -> Int? { field(tag, in: directory).flatMap(integer) }
}
