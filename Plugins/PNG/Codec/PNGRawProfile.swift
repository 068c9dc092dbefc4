internal import CoderPluginKit
internal import ImageModel

/// Metadata that ImageMagick and others write as text: the name, the length and hexadecimal digits.
///
/// - Source: ImageMagick, `coders/png.c`; ExifTool, "PNG TextualData tags".
enum PNGRawProfile {
    private static let exifHead = Array("Exif".utf8) + [0, 0]
    private static let xmpHead = Array("http://ns.adobe.com/xap/1.0/".utf8) + [0]

    /// Returns the Exif or XMP of a text; nil for other texts, and for a damaged one or one whose type does not match.
    ///
    /// Viewers do not apply the orientation of such Exif data: it becomes upright.
    static func blob(of keyword: String, _ text: [UInt8]) -> MetadataBlob? {
        guard keyword.lowercased().hasPrefix("raw profile type "), let kind = MetadataBlob.kind(ofText: keyword),
            kind == .exif || kind == .xmp, let bytes = unpack(text)
        else { return nil }
        if kind == .xmp {
            return MetadataBlob(.xmp, bytes.starts(with: xmpHead) ? Array(bytes[xmpHead.count...]) : bytes)
        }
        let exif = bytes.starts(with: exifHead) ? Array(bytes[exifHead.count...]) : bytes
        guard exif.starts(with: Array("II*".utf8) + [0]) || exif.starts(with: Array("MM".utf8) + [0, 0x2A]) else {
            return nil
        }
        return MetadataBlob(.exif, ExifOrientation.replacing(exif, with: .up))
    }

    /// Returns the bytes behind the name and the length; the length must match.
    private static func unpack(_ text: [UInt8]) -> [UInt8]? {
        var rest = text[...]
        func isSpace(_ byte: UInt8) -> Bool { [0x0A, 0x0D, 0x20].contains(byte) }
        func word() -> ArraySlice<UInt8> {
            rest = rest.drop(while: isSpace)
            let word = rest.prefix { !isSpace($0) }
            rest = rest[word.endIndex...]
            return word
        }
        _ = word()
        guard let count = Int(String(decoding: word().prefix(20), as: UTF8.self)), count > 0, count <= rest.count / 2
        else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        var high: UInt8?
        for digit in rest where !isSpace(digit) {
            let value: UInt8
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = digit - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): value = digit - UInt8(ascii: "A") + 10
            default: return nil
            }
            if let first = high { bytes.append(first << 4 | value) }
            high = high == nil ? value : nil
        }
        return bytes.count == count && high == nil ? bytes : nil
    }
}
