/// A key that compares byte by byte.
///
/// Rationale: Swift strings are equal if they are canonically equivalent. So two files whose names encode an accent
/// differently would share one image; on disk and on servers they are different files.
struct ExactKey: Hashable, Sendable {
    let text: String

    init(_ text: String) { self.text = text }

    static func == (a: ExactKey, b: ExactKey) -> Bool {
        // Equal ASCII strings have equal bytes; others are compared byte by byte.
        a.text == b.text
            && (a.text.utf8Span.isKnownASCII && b.text.utf8Span.isKnownASCII
                || a.text.utf8.elementsEqual(b.text.utf8))
    }

    // Equal bytes make equal strings with equal hashes.
    func hash(into hasher: inout Hasher) { hasher.combine(text) }
}
