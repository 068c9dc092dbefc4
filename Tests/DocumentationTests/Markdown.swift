import TestSupport

/// A Markdown file of the project.
struct Markdown {
    /// A fenced block: its language and its lines.
    struct Block {
        var language: String
        var lines: [String]
        /// The heading above the block.
        var heading: String
    }

    let path: String
    let text: String
    var lines: [String] { text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) }

    /// Reads a file of the project; a missing file is empty.
    init(_ path: String) {
        self.path = path
        text = String(decoding: readFile("\(Repository.root)/\(path)") ?? [], as: UTF8.self)
    }

    static let readme = Markdown("README.md")
    static let catalogue = "Sources/CoderHost/CoderHost.docc"
    static func article(_ name: String) -> Markdown { Markdown("\(catalogue)/\(name).md") }

    var blocks: [Block] {
        var result: [Block] = []
        var open: Block?
        var heading = ""
        for line in lines {
            if line.hasPrefix("```") {
                if let block = open { result.append(block) }
                open = open == nil ? Block(language: String(line.dropFirst(3)), lines: [], heading: heading) : nil
            } else if open != nil {
                open?.lines.append(line)
            } else if line.hasPrefix("#") {
                heading = line
            }
        }
        return result
    }

    /// The cells of the first table whose header begins with this word.
    func table(_ first: String) -> [[String]] {
        var rows: [[String]] = []
        var isInside = false
        for line in lines {
            if line.hasPrefix("| \(first) |") { isInside = true } else if isInside, !line.hasPrefix("|") { break }
            guard isInside else { continue }
            rows.append(
                line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast().map { cell in
                    cell.filter { $0 != "`" }.split(separator: " ").joined(separator: " ")
                })
        }
        return Array(rows.dropFirst(2))
    }

    /// The text between `<!-- name -->` and `<!-- /name -->`.
    func marked(_ name: String) -> String? {
        guard let start = text.firstRange(of: "<!-- \(name) -->\n")?.upperBound,
            let end = text.firstRange(of: "<!-- /\(name) -->")?.lowerBound, start <= end
        else { return nil }
        return String(text[start..<end])
    }
}
