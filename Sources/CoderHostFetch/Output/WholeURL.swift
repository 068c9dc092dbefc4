import ImageLoading

/// The maximum length of a URL in JSON output, in bytes.
private let longestURL = 64 << 10

/// Returns a URL for JSON output: without user and password, and truncated only above 64 KiB.
func wholeURL(_ url: String) -> String {
    let (shown, bytes) = (redacted(url), Array(url.utf8))
    guard shown.hasSuffix("…"), bytes.count > shown.utf8.count else { return shown }
    var whole = bytes[...]
    let seen = Array(shown.utf8.dropLast("…".utf8.count))
    if !bytes.starts(with: seen) {
        // The redacted part follows the scheme and its slashes, and ends with "@".
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return shown }
        let start = bytes[(colon + 1)...].firstIndex { !"/\\".utf8.contains($0) } ?? bytes.endIndex
        let end = bytes.indices.last { at in
            bytes[at] == UInt8(ascii: "@") && bytes[(at + 1)...].starts(with: seen.dropFirst(start))
        }
        guard let end else { return shown }
        whole = bytes[..<start] + bytes[(end + 1)...]
    }
    return whole.count > longestURL
        ? String(decoding: whole.prefix(longestURL), as: UTF8.self) + "…" : String(decoding: whole, as: UTF8.self)
}
