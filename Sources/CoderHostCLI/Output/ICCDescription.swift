/// Reads the description of an ICC profile.
///
///     header 128 │ count 4 │ count × (tag 4, offset 4, size 4) │ …
///     desc: "desc" 4 │ 0 4 │ length 4 │ ASCII          (version 2)
///     mluc: "mluc" 4 │ 0 4 │ records 4 │ 12 4 │ language 4, length 4, offset 4 │ UTF-16BE   (version 4)
///
/// - Source: ICC.1:2022 sections 7.3, 10.15; ICC.1:2001 section 6.5.17.
enum ICCDescription {
    static func read(_ profile: [UInt8]) -> String? {
        func u32(_ at: Int) -> Int? {
            guard at >= 0, at <= profile.count - 4 else { return nil }
            return Int(profile[at]) << 24 | Int(profile[at + 1]) << 16 | Int(profile[at + 2]) << 8
                | Int(profile[at + 3])
        }
        guard let count = u32(128), count <= 256 else { return nil }
        for entry in 0..<count {
            let at = 132 + entry * 12
            guard let tag = u32(at), let offset = u32(at + 4), let kind = u32(offset) else { return nil }
            guard tag == 0x6465_7363 else { continue }  // "desc"
            if kind == 0x6465_7363 {
                guard let length = u32(offset + 8), length > 1, length <= 512, offset + 12 + length <= profile.count
                else {
                    return nil
                }
                return clean(String(decoding: profile[offset + 12..<offset + 11 + length], as: UTF8.self))
            }
            guard kind == 0x6D6C_7563, let length = u32(offset + 20), let start = u32(offset + 24), length <= 1024,
                offset + start + length <= profile.count
            else { return nil }
            let units = stride(from: offset + start, to: offset + start + length - 1, by: 2).map {
                UInt16(profile[$0]) << 8 | UInt16(profile[$0 + 1])
            }
            return clean(String(decoding: units, as: UTF16.self))
        }
        return nil
    }

    /// Removes control characters, so that the text is safe on a terminal.
    private static func clean(_ text: String) -> String {
        String(text.unicodeScalars.filter { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }.map(Character.init))
    }
}
