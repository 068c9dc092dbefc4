/// A key that equals another only byte for byte.
///
/// Rationale: strings of one canonical form are equal, so two files whose names differ in the encoding of an accent
/// would be one picture; on disk and on servers they are two.
struct ExactKey: Hashable, Sendable {
    let text: String

    init(_ text: String) { self.text = text }

    static func == (a: ExactKey, b: ExactKey) -> Bool {
        // Of ASCII there is one form only; all others are looked at once more.
        a.text == b.text
            && (a.text.utf8Span.isKnownASCII && b.text.utf8Span.isKnownASCII
                || a.text.utf8.elementsEqual(b.text.utf8))
    }

    // Equal bytes make equal strings, whose hashes are equal.
    func hash(into hasher: inout Hasher) { hasher.combine(text) }
}
