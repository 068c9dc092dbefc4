import CoderHost

/// The name that a picture from a URL has in a folder.
///
/// The last part of the path, without what a folder or a terminal would take for something else. A suffix is left only
/// where it looks like one, so that the name in front of it is never cut:
///
///     https://example.org/a/b%20c.jpg?w=3   b c.jpg
///     https://example.org/show.php?id=9     show.php
///     https://example.org/v1.2-final        v1_2-final
///     https://example.org/                  picture
enum LocalName {
    /// What a file system takes, with room for a counter and an extension.
    private static let longest = 180

    static func of(_ url: String) -> String {
        var name = plain(decoded(lastPart(of: url)))
        while name.hasPrefix(".") { name.removeFirst() }
        if name.hasPrefix("-") { name = "_" + name.dropFirst() }
        if name.isEmpty { return "picture" }
        let parts = FileName(name)
        guard let suffix = parts.suffix, isSuffix(suffix) else {
            return shortened(String(name.map { $0 == "." ? "_" : $0 }))
        }
        return "\(shortened(parts.stem)).\(suffix)"
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

    /// With `%20` and the like as what they stand for; as it is where that is no text.
    private static func decoded(_ text: String) -> String {
        var result: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2,
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            {
                result.append(value)
                rest = rest.dropFirst(2)
            } else {
                result.append(byte)
            }
        }
        return String(validating: result, as: UTF8.self) ?? text
    }

    private static func plain(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            let isBad = scalar == "/" || scalar == "\\" || scalar == "{" || scalar == "}" || Console.isHarmful(scalar)
            result.unicodeScalars.append(isBad ? "_" : scalar)
        }
        return result
    }

    private static func isSuffix(_ text: String) -> Bool {
        (1...5).contains(text.utf8.count) && text.utf8.allSatisfy { isLetter($0) || (48...57).contains($0) }
            && text.utf8.contains(where: isLetter)
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (97...122).contains(byte | 0x20) }

    private static func shortened(_ text: String) -> String {
        var text = text
        while text.utf8.count > longest { text.removeLast() }
        return text
    }
}
