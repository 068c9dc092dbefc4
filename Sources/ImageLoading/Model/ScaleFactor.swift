import CoderHost

/// Returns the scale factor that a key contains, as in `cat@2x.png`; 1 if there is none.
///
/// The last path component counts: it contains `@` (or `%40` in a URL), a number, `x` and a dot. Decimals such as
/// `@1.5x.` are allowed. Of several marks the last counts, and factors below 1 become 1. A key of fewer than eight
/// bytes is too short for a mark.
package func scaleFactor(ofKey key: String) -> Double { density(of: key) }

private func density(of key: String) -> Double {
    let text = key.utf8
    guard text.count >= 8, mayHaveMark(key.utf8Span.span), !key.hasPrefix("data:") else { return 1 }
    let end = text.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? text.endIndex
    var path = text[..<end]
    let authority = schemeEnd(path)
    // The host name is not part of the path.
    if let authority {
        path = path[(path[authority...].firstIndex(of: UInt8(ascii: "/")) ?? path.endIndex)...]
    }
    if let slash = path.lastIndex(of: UInt8(ascii: "/")) { path = path[path.index(after: slash)...] }
    return mark(in: Array(path), encoded: authority != nil) ?? 1
}

/// Whether the key contains "x."; a fast check that excludes most keys.
private func mayHaveMark(_ key: Span<UInt8>) -> Bool {
    for index in 1..<key.count where key[index] == UInt8(ascii: ".") && key[index - 1] == UInt8(ascii: "x") {
        return true
    }
    return false
}

/// Returns the index behind "://" in a URL; nil for other texts.
private func schemeEnd(_ text: Substring.UTF8View) -> String.Index? {
    guard let colon = text.firstIndex(of: UInt8(ascii: ":")), colon > text.startIndex,
        text[colon...].starts(with: "://".utf8)
    else { return nil }
    let scheme = text[..<colon]
    let isScheme = scheme.allSatisfy {
        (97...122).contains($0 | 0x20) || (48...57).contains($0) || "+-.".utf8.contains($0)
    }
    return isScheme ? text.index(colon, offsetBy: 3) : nil
}

/// Returns the number of the last mark.
private func mark(in name: [UInt8], encoded: Bool) -> Double? {
    // Every mark ends with "x."; the number precedes it.
    for index in stride(from: name.count - 2, to: 0, by: -1)
    where name[index] == UInt8(ascii: "x") && name[index + 1] == UInt8(ascii: ".") {
        var start = index
        while start > 0, index - start < longestNumber, isNumeric(name[start - 1]) { start -= 1 }
        if let number = number(name[start..<index], after: name[..<start], encoded) { return max(1, number) }
    }
    return nil
}

/// "12.125" has six characters, and "40" of "%40" may precede it.
private let longestNumber = 8

private func isNumeric(_ byte: UInt8) -> Bool { (48...57).contains(byte) || byte == UInt8(ascii: ".") }

private func number(_ digits: ArraySlice<UInt8>, after head: ArraySlice<UInt8>, _ encoded: Bool) -> Double? {
    // In "%402x." the digits are 402; the first two belong to the escaped at sign.
    if encoded, head.last == UInt8(ascii: "%"), digits.starts(with: "40".utf8) { return value(digits.dropFirst(2)) }
    return head.last == UInt8(ascii: "@") ? value(digits) : nil
}

/// Parses a number such as `2` or `1.5`.
private func value(_ digits: ArraySlice<UInt8>) -> Double? {
    let dot = UInt8(ascii: ".")
    guard let first = digits.first, first != dot, digits.last != dot, digits.count(where: { $0 == dot }) <= 1 else {
        return nil
    }
    return Double(String(decoding: digits, as: UTF8.self)).flatMap { $0 > 0 ? $0 : nil }
}

extension LoadOptions {
    /// Returns the requested scale factor, or the one in the key.
    package func scaleFactor(ofKey key: String) -> Double {
        if let scaleFactor { return scaleFactor.isFinite ? max(1, scaleFactor) : 1 }
        return density(of: key)
    }
}
