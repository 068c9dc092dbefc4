public import ImageModel

/// The cache key of a transformed picture: "-" and the transformer's key, before the file name's extension.
///
/// Only the path of a URL changes: scheme, credentials, host, query and fragment stay. A name without an extension, a dot
/// file or a name that ends in a dot gets it at its end; a URL without a path gets one.
public func transformedKey(_ key: String, _ transformerKey: String) -> String {
    let text = key.utf8
    let end = text.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") } ?? text.endIndex
    let path = text[pathStart(text[..<end])..<end]
    guard !path.isEmpty || path.startIndex == text.startIndex else {
        return String(key[..<end]) + "/-" + transformerKey + String(key[end...])
    }
    let place = extensionStart(path)
    // One piece of memory: this is what a look into a memory cache costs.
    var result = ""
    result.reserveCapacity(text.count + 1 + transformerKey.utf8.count)
    result += key[..<place]
    result += "-"
    result += transformerKey
    result += key[place...]
    return result
}

/// The cache key of a picture that was decoded within a size; a transformer's key comes after it.
public func thumbnailKey(_ key: String, _ size: PixelSize, preservesAspectRatio: Bool) -> String {
    transformedKey(key, "Thumbnail(\(size),\(preservesAspectRatio ? "aspect" : "stretch"))")
}

/// Behind the scheme and the authority of a URL, or the start of what is none.
private func pathStart(_ head: Substring.UTF8View) -> String.Index {
    guard let colon = head.firstIndex(of: UInt8(ascii: ":")), isScheme(head[..<colon]),
        head[colon...].starts(with: "://".utf8)
    else { return head.startIndex }
    let authority = head[head.index(colon, offsetBy: 3)...]
    return authority.firstIndex(of: UInt8(ascii: "/")) ?? head.endIndex
}

/// - Source: RFC 3986, section 3.1.
private func isScheme(_ text: Substring.UTF8View) -> Bool {
    guard let first = text.first, isLetter(first) else { return false }
    return text.allSatisfy { isLetter($0) || (48...57).contains($0) || "+-.".utf8.contains($0) }
}

private func isLetter(_ byte: UInt8) -> Bool { (97...122).contains(byte | 0x20) }

/// The dot of the extension of a path's last name, or the end.
private func extensionStart(_ path: Substring.UTF8View) -> String.Index {
    let slash = path.lastIndex(of: UInt8(ascii: "/"))
    let name = slash.map { path[path.index(after: $0)...] } ?? path
    guard let dot = name.lastIndex(of: UInt8(ascii: ".")), dot > name.startIndex else { return path.endIndex }
    let last = name[name.index(after: dot)...]
    // A number in the key of an earlier transformer has a dot, too, but a bracket follows.
    return last.isEmpty || last.contains { "(), ".utf8.contains($0) } ? path.endIndex : dot
}

/// A number in a key: whole ones without a dot, others with as many digits as tell them from their neighbors.
func keyText(_ number: Double) -> String {
    if let whole = Int(exactly: number), whole.magnitude < 1 << 53 { return "\(whole)" }
    return "\(number)"
}

/// A color in a key: eight hexadecimal digits, red, green, blue, alpha.
func keyText(_ color: RGBAColor) -> String {
    var text = ""
    for value in [color.red, color.green, color.blue, color.alpha] {
        text += value < 16 ? "0" : ""
        text += String(value, radix: 16)
    }
    return text
}

/// - Throws: `.invalidArgument` for NaN and infinity, and outside of the range.
func check(_ number: Double, _ what: String, in range: ClosedRange<Double>) throws(CoderError) {
    guard range.contains(number) else {
        throw .invalidArgument(
            "\(what) of \(keyText(number)) is not between \(keyText(range.lowerBound)) and "
                + "\(keyText(range.upperBound))")
    }
}
