import CoderHost

/// Derives a safe file name from a URL.
///
/// The name is the last part of the path, without characters that are special in paths or terminals. A suffix stays
/// only if it looks like a file extension; other dots become underscores:
///
///     https://example.org/a/b%20c.jpg?w=3   b c.jpg
///     https://example.org/show.php?id=9     show.php
///     https://example.org/v1.2-final        v1_2-final
///     https://example.org/                  image
enum LocalName {
    /// The maximum length of a name in bytes, with room for a counter and a file extension.
    private static let longest = 180

    static func of(_ url: String) -> String {
        // Works on Unicode scalars, so that a combining mark does not hide a leading dot.
        let scalars = plain(decoded(lastPart(of: url))).unicodeScalars.drop { $0 == "." }
        if scalars.isEmpty { return "image" }
        let name = scalars.first == "-" ? "_" + String(scalars.dropFirst()) : String(scalars)
        let parts = FileName(name)
        guard let suffix = parts.suffix, isSuffix(suffix) else {
            return shortened(name.unicodeScalars.map { $0 == "." ? "_" : $0 })
        }
        return "\(shortened(parts.stem.unicodeScalars)).\(suffix)"
    }

    private static func lastPart(of url: String) -> String {
        if url.prefix(5).lowercased() == "data:" { return "" }
        var path = url.prefix { $0 != "?" && $0 != "#" }
        if let scheme = path.firstRange(of: "://") {
            guard let slash = path[scheme.upperBound...].firstIndex(of: "/") else { return "" }
            path = path[slash...]
        }
        return path.split(separator: "/", omittingEmptySubsequences: false).last.map(String.init) ?? ""
    }

    /// Decodes percent escapes; returns the text unchanged if the result is not UTF-8.
    private static func decoded(_ text: String) -> String {
        var result: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2).compactMap(hexValue)
            if byte == UInt8(ascii: "%"), digits.count == 2 {
                result.append(digits[0] << 4 | digits[1])
                rest = rest.dropFirst(2)
            } else {
                result.append(byte)
            }
        }
        return String(validating: result, as: UTF8.self) ?? text
    }

    private static func hexValue(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x41...0x46, 0x61...0x66: (digit | 0x20) - 0x61 + 10
        default: nil
        }
    }

    private static func plain(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            let isBad = scalar == "/" || scalar == "\\" || scalar == "{" || scalar == "}" || scalar.isTerminalControl
            result.unicodeScalars.append(isBad ? "_" : scalar)
        }
        return result
    }

    private static func isSuffix(_ text: String) -> Bool {
        (1...5).contains(text.utf8.count) && text.utf8.allSatisfy { isLetter($0) || (48...57).contains($0) }
            && text.utf8.contains(where: isLetter)
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (97...122).contains(byte | 0x20) }

    /// Returns the longest prefix that fits.
    private static func shortened(_ text: some Sequence<UnicodeScalar>) -> String {
        var result = ""
        var room = longest
        for scalar in text {
            room -= UTF8.width(scalar)
            if room < 0 { break }
            result.unicodeScalars.append(scalar)
        }
        return result
    }
}
