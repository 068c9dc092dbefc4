package import ImageModel

/// Returns the cache key of a transformed image: inserts "-" and the transformer's key before the file extension.
///
/// Only the path of a URL changes; scheme, credentials, host, query and fragment stay. The key is appended to a name
/// without an extension, a dot file, or a name that ends in a dot. A URL without a path gets one.
package func transformedKey(_ key: String, _ transformerKey: String) -> String {
    let place = insertionPlace(key.utf8Span.span)
    let index = key.utf8.index(key.startIndex, offsetBy: place.offset)
    // One allocation: this is the cost of a lookup in a memory cache.
    var result = ""
    result.reserveCapacity(key.utf8.count + 2 + transformerKey.utf8.count)
    result += key[..<index]
    result += place.needsPath ? "/-" : "-"
    result += transformerKey
    result += key[index...]
    return result
}

/// Returns the cache key of an image decoded within a size; a transformer's key follows it.
package func thumbnailKey(_ key: String, _ size: PixelSize, preservesAspectRatio: Bool) -> String {
    // String interpolation would take as long as the rest of the function.
    var text = "Thumbnail("
    text += String(size.width)
    text += "x"
    text += String(size.height)
    text += preservesAspectRatio ? ",aspect)" : ",stretch)"
    return transformedKey(key, text)
}

/// Returns the insertion position for a transformer's key, and whether the URL still needs a path.
private func insertionPlace(_ key: Span<UInt8>) -> (offset: Int, needsPath: Bool) {
    var end = 0
    while end < key.count, key[end] != UInt8(ascii: "?"), key[end] != UInt8(ascii: "#") { end += 1 }
    let start = pathStart(key, end)
    if start == end, start > 0 { return (end, true) }
    // Find the last name of the path and the dot of its extension.
    var name = end
    while name > start, key[name - 1] != UInt8(ascii: "/") { name -= 1 }
    var dot = end - 1
    while dot > name, key[dot] != UInt8(ascii: ".") { dot -= 1 }
    guard dot > name, dot + 1 < end else { return (end, false) }
    for index in (dot + 1)..<end {
        switch key[index] {
        // A number in an earlier transformer's key also has a dot, but a bracket follows it.
        case UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: ","), UInt8(ascii: " "): return (end, false)
        default: break
        }
    }
    return (dot, false)
}

/// Returns the end of a URL's scheme and authority; the start if the key is not a URL.
///
/// - Source: RFC 3986, section 3.1.
private func pathStart(_ key: Span<UInt8>, _ end: Int) -> Int {
    var at = 0
    while at < end, isOfScheme(key[at]) { at += 1 }
    guard at > 0, isLetter(key[0]), at + 2 < end, key[at] == UInt8(ascii: ":"), key[at + 1] == UInt8(ascii: "/"),
        key[at + 2] == UInt8(ascii: "/")
    else { return 0 }
    at += 3
    while at < end, key[at] != UInt8(ascii: "/") { at += 1 }
    return at
}

private func isOfScheme(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."): true
    default: isLetter(byte) || (48...57).contains(byte)
    }
}

private func isLetter(_ byte: UInt8) -> Bool { (97...122).contains(byte | 0x20) }

/// Returns a number for a key: whole numbers without a dot, others with the fewest digits that identify them.
func keyText(_ number: Double) -> String {
    if let whole = Int(exactly: number), whole.magnitude < 1 << 53 { return "\(whole)" }
    return "\(number)"
}

/// Returns a color for a key: eight hexadecimal digits, red, green, blue, alpha.
func keyText(_ color: RGBAColor) -> String {
    var text = ""
    for value in [color.red, color.green, color.blue, color.alpha] {
        text += value < 16 ? "0" : ""
        text += String(value, radix: 16)
    }
    return text
}

/// - Throws: `.invalidArgument` for NaN, infinity and numbers outside of the range.
func check(_ number: Double, _ what: String, in range: ClosedRange<Double>) throws(CoderError) {
    guard range.contains(number) else {
        throw .invalidArgument(
            "\(what) of \(keyText(number)) is not between \(keyText(range.lowerBound)) and "
                + "\(keyText(range.upperBound))")
    }
}
