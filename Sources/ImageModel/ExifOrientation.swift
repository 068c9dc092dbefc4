/// Finds and changes the orientation tag in an Exif blob.
///
/// Only IFD0 is looked at; nothing is rewritten but the two bytes of the value.
///
///     II*\0 | offset of IFD0 | … | count n | n × (tag 2, type 2, count 4, value 4) | …
///
/// - Source: TIFF 6.0 section 2; CIPA DC-008, tag 0x0112.
public enum ExifOrientation {
    /// The stored orientation; nil when there is none or it is none of 1 … 8.
    public static func read(_ exif: [UInt8]) -> Orientation? {
        guard let place = locate(exif) else { return nil }
        return Orientation(rawValue: place.value)
    }

    /// The same blob with the orientation set to `orientation`; unchanged when it has no such tag.
    public static func replacing(_ exif: [UInt8], with orientation: Orientation) -> [UInt8] {
        guard let place = locate(exif) else { return exif }
        var copy = exif
        copy[place.offset] = place.bigEndian ? 0 : UInt8(orientation.rawValue)
        copy[place.offset + 1] = place.bigEndian ? UInt8(orientation.rawValue) : 0
        return copy
    }

    /// The smallest Exif blob that says nothing but the orientation.
    public static func blob(_ orientation: Orientation) -> [UInt8] {
        [
            0x49, 0x49, 0x2A, 0, 8, 0, 0, 0,  // little endian, IFD0 at 8
            1, 0,  // one entry
            0x12, 0x01, 3, 0, 1, 0, 0, 0, UInt8(orientation.rawValue), 0, 0, 0,
            0, 0, 0, 0,  // no further IFD
        ]
    }

    private static func locate(_ exif: [UInt8]) -> (offset: Int, value: Int, bigEndian: Bool)? {
        guard let tiff = TIFFStructure(exif), let field = tiff.field(0x0112, in: tiff.first), field.type == 3,
            field.count == 1
        else { return nil }
        return (field.place, tiff.short(at: field.place), tiff.isBigEndian)
    }
}
