import ImageLoading

/// The most bytes of an URL that a program is given.
private let longestURL = 64 << 10

/// An URL as programs get it: without user and password, and cut only above 64 KiB.
func wholeURL(_ url: String) -> String {
    let shown = redacted(url)
    // What people see is cut earlier.
    guard shown.hasSuffix("…"), !url.hasSuffix("…") else { return shown }
    let whole: String
    if url.prefix(5).lowercased() == "data:" {
        whole = url
    } else {
        // User and password stand in front of the path; whatever looks like more of them stays unseen.
        let head = url.firstRange(of: "://").map { scheme in
            url[..<(url[scheme.upperBound...].utf8.firstIndex { "/?#".utf8.contains($0) } ?? url.endIndex)]
        }
        guard let head, !redacted(String(head)).hasSuffix("…") else { return shown }
        let rest = url[head.endIndex...]
        guard !rest.utf8.prefix(while: { !"?#".utf8.contains($0) }).contains(UInt8(ascii: "@")) else { return shown }
        whole = redacted(String(head)) + rest
    }
    return whole.utf8.count > longestURL
        ? String(decoding: whole.utf8.prefix(longestURL), as: UTF8.self) + "…" : whole
}
