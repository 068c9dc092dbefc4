/// Returns a URL for logs and messages: without user and password, and shortened if it is long.
///
/// It also covers malformed URLs. If slashes are missing, or an unescaped password contains "/", "?" or "#", it removes
/// everything up to the last "@".
package func redacted(_ url: String) -> String {
    var bytes = Array(url.utf8)
    if let secret = secret(in: bytes) { bytes.removeSubrange(secret) }
    return bytes.count > 200
        ? String(decoding: bytes.prefix(160), as: UTF8.self) + "…" : String(decoding: bytes, as: UTF8.self)
}

private func secret(in url: [UInt8]) -> Range<Int>? {
    guard let colon = url.firstIndex(of: UInt8(ascii: ":")), url[colon...].contains(UInt8(ascii: "@")) else {
        return nil
    }
    let isWritten = url[colon...].starts(with: "://".utf8)
    let isWeb = ["http", "https"].contains(String(decoding: url[..<colon], as: UTF8.self).lowercased())
    // `asset:cat@2x.png` and `data:` URLs contain no password.
    if !isWritten, !isWeb, !url[colon...].contains(UInt8(ascii: "/")) || url.starts(with: "data:".utf8) { return nil }
    var start = colon + 1
    while start < url.count, "/\\".utf8.contains(url[start]) { start += 1 }
    let end = url[start...].firstIndex { "/?#".utf8.contains($0) } ?? url.endIndex
    let host = url[start..<end]
    let last = host.lastIndex(of: UInt8(ascii: "@"))
    let place = host[(last.map { $0 + 1 } ?? start)...]
    // A port consists of digits; other text belongs to a password.
    let isOdd =
        isWeb && !isWritten
        || !place.contains(UInt8(ascii: "]"))
            && place.drop { $0 != UInt8(ascii: ":") }.dropFirst().contains { !(48...57).contains($0) }
    let at = isOdd ? url[start...].lastIndex(of: UInt8(ascii: "@")) : last
    return at.map { start..<($0 + 1) }
}
