/// Reads a summary of an ICC profile.
///
/// - Source: ICC.1:2022 sections 7.2 (header), 7.3 (tag table), 10.15 (multiLocalizedUnicodeType).
enum ICCReader {
    private static let classes = [
        "scnr": "Input Device Profile", "mntr": "Display Device Profile", "prtr": "Output Device Profile",
        "link": "DeviceLink Profile", "spac": "ColorSpace Conversion Profile", "abst": "Abstract Profile",
        "nmcl": "NamedColor Profile",
    ]
    private static let intents = [
        "Perceptual", "Media-Relative Colorimetric", "Saturation", "ICC-Absolute Colorimetric",
    ]

    static func read(_ bytes: [UInt8]) -> [MetadataTag] {
        guard bytes.count >= 132 else { return [] }
        func number(_ at: Int, _ size: Int) -> Int { bytes[at..<at + size].reduce(0) { $0 << 8 | Int($1) } }
        func signature(_ at: Int) -> String { Texts.latin(bytes[at..<at + 4]) }
        var tags: [MetadataTag] = []
        func add(_ name: String, _ value: MetadataTag.Value, text: String? = nil) {
            tags.append(MetadataTag("ICC-header", name, value, text: text))
        }
        add("ProfileVersion", .integer(number(8, 2)), text: "\(bytes[8]).\(bytes[9] >> 4).\(bytes[9] & 15)")
        let kind = signature(12)
        add("ProfileClass", .text(kind), text: classes[kind] ?? "Unknown (\(kind))")
        add("ColorSpaceData", .text(signature(16)))
        add("ProfileConnectionSpace", .text(signature(20)))
        func two(_ at: Int) -> String {
            let value = number(at, 2)
            return value < 10 ? "0\(value)" : "\(value)"
        }
        add(
            "ProfileDateTime",
            .text(
                "\(number(24, 2) == 0 ? "0000" : "\(number(24, 2))"):\(two(26)):\(two(28)) \(two(30)):\(two(32)):\(two(34))"
            ))
        let intent = number(64, 4)
        add("RenderingIntent", .integer(intent), text: intent < 4 ? intents[intent] : "Unknown (\(intent))")
        let count = min(number(128, 4), (bytes.count - 132) / 12, 256)
        for index in 0..<count {
            let entry = 132 + index * 12
            guard let name = ["desc": "ProfileDescription", "cprt": "ProfileCopyright"][signature(entry)] else {
                continue
            }
            let (start, size) = (number(entry + 4, 4), number(entry + 8, 4))
            guard size >= 12, start <= bytes.count, size <= bytes.count - start else { continue }
            if let text = text(bytes[start..<start + size]) {
                tags.append(MetadataTag("ICC_Profile", name, .text(text)))
            }
        }
        return tags
    }

    /// Returns the text of a `desc`, `text` or `mluc` element.
    private static func text(_ element: ArraySlice<UInt8>) -> String? {
        let bytes = Array(element)
        func number(_ at: Int) -> Int { bytes[at..<at + 4].reduce(0) { $0 << 8 | Int($1) } }
        switch Texts.latin(bytes[0..<4]) {
        case "text": return Texts.decoded(bytes[8...])
        case "desc":
            let count = number(8)
            return count <= bytes.count - 12 ? Texts.decoded(bytes[12..<12 + count]) : nil
        case "mluc":
            guard bytes.count >= 28, number(8) > 0 else { return nil }
            let (size, start) = (number(20), number(24))
            guard start <= bytes.count, size <= bytes.count - start else { return nil }
            return Texts.utf16(bytes[start..<start + size], isBigEndian: true)
        default: return nil
        }
    }
}
