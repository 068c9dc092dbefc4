import CoderHost

/// The folder and file name of an entry in a cache: `3f/3fa9…c1.jpg`.
///
///     3f      folder: the first two digits. Of 100,000 entries about 400 are in one folder; listing and removing are
///             up to twice as fast as in a single folder, and writers do not wait for each other.
///     3fa9…c1 32 digits: the first half of the key's SHA-256
///     .jpg    the key's extension, so that other programs recognize the file
struct EntryName: Sendable, Hashable {
    /// All 32 bytes of the key's hash.
    let keyHash: [UInt8]
    let digits: String
    /// Empty, or a dot and the extension.
    let suffix: String

    init(key: String) {
        var hash = SHA256()
        hash.update(Array(key.utf8))
        keyHash = hash.finalize()
        digits = String(SHA256.hex(keyHash).prefix(32))
        suffix = Self.suffix(of: key)
    }

    var folder: String { String(digits.prefix(2)) }
    var file: String { digits + suffix }
    /// The names that the entry's file may have, the preferred one first.
    var files: [String] { suffix.isEmpty ? [digits] : [file, digits] }

    /// The names of all folders.
    static let folders: [String] = (0...255).map { SHA256.hex([UInt8($0)]) }

    /// Whether the name is a valid entry name in this folder.
    static func isEntry(_ name: String, in folder: String) -> Bool {
        let bytes = name.utf8
        guard bytes.count >= 32, name.hasPrefix(folder) else { return false }
        return bytes.prefix(32).allSatisfy(isDigit) && (bytes.count == 32 || bytes.dropFirst(32).first == dot)
    }

    /// Returns a random name for a file that is still being written.
    func temporary() -> String {
        Self.temporaryPrefix + String(UInt64.random(in: .min ... .max), radix: 16) + Self.temporarySuffix
    }

    static func isTemporary(_ name: String) -> Bool {
        guard name.hasPrefix(temporaryPrefix), name.hasSuffix(temporarySuffix) else { return false }
        let middle = name.utf8.dropFirst(temporaryPrefix.utf8.count).dropLast(temporarySuffix.utf8.count)
        return (1...16).contains(middle.count) && middle.allSatisfy(isDigit)
    }

    private static let temporaryPrefix = ".storing-"
    private static let temporarySuffix = ".tmp"
    private static let dot = UInt8(ascii: ".")

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }
}

// MARK: The extension

extension EntryName {
    /// Returns a dot and the extension of a key; empty if there is none, or if it cannot be part of a file name.
    static func suffix(of key: String) -> String {
        let bytes = Array(key.utf8)
        var kept = fileExtension(of: path(ofURL: bytes).map(undoingEscapes) ?? bytes)
        // Path separators, ":" and control characters, which a terminal should not receive.
        kept.removeAll { $0 < 0x20 || $0 == 0x7F || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "/") }
        let text = String(decoding: kept, as: UTF8.self)
        // A name has at most 255 bytes.
        return text.isEmpty || text.utf8.count > 255 - 33 ? "" : ".\(text)"
    }

    /// Returns the text after the last dot of the last path component.
    private static func fileExtension(of path: [UInt8]) -> [UInt8] {
        let slash = UInt8(ascii: "/")
        var end = path.endIndex
        while end > 0, path[end - 1] == slash { end -= 1 }
        let name = path[..<end].suffix { $0 != slash }
        guard let at = name.lastIndex(of: dot), at > name.startIndex else { return [] }
        return Array(name[(at + 1)...])
    }

    /// Returns the path of a URL without parameters, query and fragment; nil if the bytes are not a URL.
    private static func path(ofURL bytes: [UInt8]) -> [UInt8]? {
        guard bytes.allSatisfy(isOfURL) else { return nil }
        var rest = bytes.prefix { $0 != UInt8(ascii: "#") }.prefix { $0 != UInt8(ascii: "?") }
        if let colon = rest.firstIndex(of: UInt8(ascii: ":")), isScheme(rest[..<colon]) {
            rest = rest[(colon + 1)...]
        }
        if rest.starts(with: "//".utf8) { rest = rest.dropFirst(2).drop { $0 != UInt8(ascii: "/") } }
        return Array(rest.prefix { $0 != UInt8(ascii: ";") })
    }

    /// Whether a URL may contain the byte: RFC 3986, section 2, and all bytes outside of ASCII.
    private static func isOfURL(_ byte: UInt8) -> Bool {
        byte > 0x20 && byte != 0x7F && !"\"<>\\^`{|}".utf8.contains(byte)
    }

    private static func isScheme(_ bytes: ArraySlice<UInt8>) -> Bool {
        func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) }
        guard let first = bytes.first, isLetter(first) else { return false }
        return bytes.allSatisfy {
            isLetter($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || "+-.".utf8.contains($0)
        }
    }

    /// Decodes percent escapes, for example `%2E` to a dot.
    private static func undoingEscapes(_ bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var at = 0
        while at < bytes.count {
            if bytes[at] == UInt8(ascii: "%"), at + 2 < bytes.count,
                let high = Hex.value(bytes[at + 1]), let low = Hex.value(bytes[at + 2]),
                // A decoded `%2F` would look like a path separator.
                high << 4 | low != UInt8(ascii: "/")
            {
                result.append(high << 4 | low)
                at += 3
            } else {
                result.append(bytes[at])
                at += 1
            }
        }
        return result
    }
}

extension ArraySlice {
    /// Returns the longest suffix whose elements all meet a condition.
    fileprivate func suffix(_ passes: (Element) -> Bool) -> ArraySlice {
        guard let last = lastIndex(where: { !passes($0) }) else { return self }
        return self[(last + 1)...]
    }
}
