/// An URL as it may be shown: without user and password, and shortened where it carries the picture itself.
package func redacted(_ url: String) -> String {
    var bytes = Array(url.utf8)
    if let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[colon...].starts(with: "://".utf8) {
        let start = colon + 3
        let end = bytes[start...].firstIndex { "/?#".utf8.contains($0) } ?? bytes.endIndex
        if let at = bytes[start..<end].lastIndex(of: UInt8(ascii: "@")) { bytes.removeSubrange(start...at) }
    }
    return bytes.count > 200
        ? String(decoding: bytes.prefix(160), as: UTF8.self) + "…" : String(decoding: bytes, as: UTF8.self)
}
