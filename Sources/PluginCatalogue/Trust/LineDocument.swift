/// A small text file with a title line, followed by one key and value per line.
///
///     coderhost-signature 1
///     key 0f2d…
///     plugin org.example.qoi-plugin
///
/// Parsing is strict: the document must equal its own serialization.
struct LineDocument {
    private(set) var lines: [(word: String, value: String)]
    let title: String

    package init(_ title: String, _ lines: [(word: String, value: String)]) {
        self.title = title
        self.lines = lines
    }

    package subscript(word: String) -> String? { lines.first { $0.word == word }?.value }

    package var bytes: [UInt8] {
        Array(([title] + lines.map { "\($0.word) \($0.value)" }).map { $0 + "\n" }.joined().utf8)
    }

    /// Parses a document; nil unless it has this title and exactly these keys in this order.
    package init?(_ bytes: [UInt8], title: String, words: [String]) {
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        let rows = text.split(separator: "\n", omittingEmptySubsequences: false)
        // The last line must end with a newline too.
        guard rows.count == words.count + 2, rows[0] == title, rows[rows.count - 1].isEmpty else { return nil }
        var lines: [(word: String, value: String)] = []
        for (row, word) in zip(rows.dropFirst(), words) {
            guard row.hasPrefix("\(word) ") else { return nil }
            lines.append((word, String(row.dropFirst(word.count + 1))))
        }
        self.init(title, lines)
        // Swift compares strings by canonical equivalence, so the bytes are compared as well.
        guard self.bytes == bytes else { return nil }
    }
}
