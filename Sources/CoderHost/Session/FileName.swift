/// The parts of a path, split at bytes: a mark that combines with a slash or a dot does not hide it.
package struct FileName {
    /// Up to the last slash, with it; empty where there is none.
    package let folder: String
    package let stem: String
    /// Behind the last dot; nil where there is none, or only one that begins the name.
    package let suffix: String?

    package init(_ path: String) {
        let bytes = Array(path.utf8)
        let start = bytes.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
        let file = bytes[start...]
        let dot = file.lastIndex(of: UInt8(ascii: ".")).flatMap { $0 == start ? nil : $0 }
        folder = String(decoding: bytes[..<start], as: UTF8.self)
        stem = String(decoding: file[..<(dot ?? bytes.count)], as: UTF8.self)
        suffix = dot.map { String(decoding: bytes[($0 + 1)...], as: UTF8.self) }
    }
}
