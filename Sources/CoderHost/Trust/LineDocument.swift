/// A small file of words and values, one a line, below a line that says what it is.
///
///     coderhost-signature 1
///     key 0f2d…
///     plugin org.example.qoi-plugin
///
/// It is read strictly: what would not be written so again is no such document.
struct LineDocument {
    private(set) var lines: [(word: String, value: String)]
    let title: String

    init(_ title: String, _ lines: [(word: String, value: String)]) {
        self.title = title
        self.lines = lines
    }

    subscript(word: String) -> String? { lines.first { $0.word == word }?.value }

    var bytes: [UInt8] {
        Array(([title] + lines.map { "\($0.word) \($0.value)" }).map { $0 + "\n" }.joined().utf8)
    }

    /// Nil unless it has this title and exactly these words in this order.
    init?(_ bytes: [UInt8], title: String, words: [String]) {
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        let rows = text.split(separator: "\n", omittingEmptySubsequences: false)
        // The last line ends, too.
        guard rows.count == words.count + 2, rows[0] == title, rows[rows.count - 1].isEmpty else { return nil }
        var lines: [(word: String, value: String)] = []
        for (row, word) in zip(rows.dropFirst(), words) {
            guard row.hasPrefix("\(word) ") else { return nil }
            lines.append((word, String(row.dropFirst(word.count + 1))))
        }
        self.init(title, lines)
        // Swift takes some texts for equal that differ in their bytes.
        guard self.bytes == bytes else { return nil }
    }
}
