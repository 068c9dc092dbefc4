/// The parts of a path, split at bytes, so a combining mark after a slash or dot does not hide it.
package struct FileName {
    /// The path up to and including the last slash; empty if there is none.
    package let folder: String
    package let stem: String
    /// The text after the last dot; nil without a dot, or if the only dot begins the name.
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

/// Quotes a path for a shell if needed.
package func shellQuoted(_ path: String) -> String {
    let plain = path.utf8.allSatisfy { byte in
        "/._-+,:@%".utf8.contains(byte) || (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7A
            || byte >= 0x30 && byte <= 0x39
    }
    return plain
        ? path : "'" + path.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
}
