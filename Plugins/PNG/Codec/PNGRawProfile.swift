internal import CoderPluginKit
internal import ImageModel

/// Metadata that ImageMagick and others write as text: the name, the length and hexadecimal digits.
///
/// - Source: ImageMagick, `coders/png.c`; ExifTool, "PNG TextualData tags".
enum PNGRawProfile {
    static let prefix = "Raw profile type "
    private static let exifHead = Array("Exif".utf8) + [0, 0]
    private static let xmpHead = Array("http://ns.adobe.com/xap/1.0/".utf8) + [0]

    /// The Exif or XMP of a text; nil for other texts, and for one that is damaged.
    ///
    /// Viewers do not turn an image as such Exif says: its orientation becomes upright.
    static func blob(of keyword: String, _ text: [UInt8]) -> MetadataBlob? {
        guard keyword.hasPrefix(prefix) else { return nil }
        let type = keyword.dropFirst(prefix.count).lowercased()
        guard ["exif", "app1", "xmp"].contains(type), let bytes = unpack(text) else { return nil }
        if type == "xmp" { return MetadataBlob(.xmp, bytes) }
        if bytes.starts(with: xmpHead) { return MetadataBlob(.xmp, Array(bytes[xmpHead.count...])) }
        let exif = bytes.starts(with: exifHead) ? Array(bytes[exifHead.count...]) : bytes
        guard exif.starts(with: Array("II*".utf8) + [0]) || exif.starts(with: Array("MM".utf8) + [0, 0x2A]) else {
            return nil
        }
        return MetadataBlob(.exif, ExifOrientation.replacing(exif, with: .up))
    }

    /// The bytes behind the name and the length, which have to agree.
    private static func unpack(_ text: [UInt8]) -> [UInt8]? {
        let words = text.split(omittingEmptySubsequences: true) { $0 == 0x0A || $0 == 0x0D || $0 == 0x20 }
        guard words.count > 2, let count = Int(String(decoding: words[1], as: UTF8.self)) else { return nil }
        guard count >= 0, count <= text.count / 2 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        var high: UInt8?
        for digit in words[2...].joined() {
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
