import CoderHost

/// A file name template with placeholders: `{name}`, or `{n:04}` with leading zeros.
package struct OutputTemplate {
    private enum Piece {
        case text(String)
        case value(name: String, width: Int?)
    }

    private let pieces: [Piece]

    package static let names = ["stem", "dir", "ext", "n", "w", "h", "item", "tree"]

    /// Parses a template.
    ///
    /// - Parameter names: the placeholders that the template may contain.
    /// - Throws: ``UsageError`` for an unknown or malformed placeholder.
    package init(_ text: String, _ names: [String] = OutputTemplate.names) throws(UsageError) {
        var pieces: [Piece] = []
        var rest = text[...]
        while let open = rest.firstIndex(of: "{") {
            pieces.append(.text(String(rest[..<open])))
            let inside = rest[rest.index(after: open)...]
            guard let close = inside.firstIndex(of: "}") else { throw Self.unknown(String(inside), names) }
            let parts = inside[..<close].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            let name = parts.first.map(String.init) ?? ""
            guard names.contains(name) else { throw Self.unknown(String(inside[..<close]), names) }
            var width: Int?
            if parts.count > 1 {
                guard let number = Int(parts[1]) else {
                    throw UsageError(
                        "the width in {\(inside[..<close])} is not a whole number", hint: "write {\(name):04}")
                }
                width = min(16, max(0, number))
            }
            pieces.append(.value(name: name, width: width))
            rest = inside[inside.index(after: close)...]
        }
        pieces.append(.text(String(rest)))
        self.pieces = pieces
    }

    private static func unknown(_ inside: String, _ names: [String]) -> UsageError {
        // Of nested braces, such as {{n}}, the innermost name counts.
        let name = String(inside.drop { $0 == "{" }.prefix { $0 != "}" && $0 != ":" })
        let near = names.contains(name) ? name : OptionCheck.nearest(name, names)
        return UsageError(
            "unknown placeholder {\(inside)} in the template",
            hint: near.map { "did you mean {\($0)}?" }
                ?? "placeholders: " + names.map { "{\($0)}" }.joined(separator: " "))
    }

    /// The template without its trailing `.{ext}`; nil if it ends otherwise.
    package var withoutExtension: OutputTemplate? {
        var rest = pieces
        if case .text("") = rest.last { rest.removeLast() }
        guard case .value("ext", _) = rest.last, case .text(let text) = rest.dropLast().last, text.hasSuffix(".")
        else { return nil }
        rest.removeLast(2)
        return OutputTemplate(pieces: rest + [.text(String(text.dropLast()))])
    }

    private init(pieces: [Piece]) { self.pieces = pieces }

    /// Whether the template contains a placeholder, with or without a width.
    package func mentions(_ name: String) -> Bool {
        pieces.contains { if case .value(name, _) = $0 { true } else { false } }
    }

    /// Fills all placeholders.
    ///
    /// - Parameter digits: the width of `{n}` if the placeholder has none.
    package func filled(_ values: [String: String], digits: Int = 0) -> String {
        var result = ""
        for (index, piece) in pieces.enumerated() {
            switch piece {
            case .text(let text):
                // {dir} and {tree} end in a slash or are empty (the current folder): a second slash would point to the root.
                let isDoubled = text.hasPrefix("/") && index > 0 && isFolder(pieces[index - 1])
                result += isDoubled ? String(text.dropFirst()) : text
            case .value(let name, let width):
                let value = values[name] ?? ""
                result +=
                    String(repeating: "0", count: max(0, (width ?? (name == "n" ? digits : 0)) - value.count)) + value
            }
        }
        return result
    }

    private func isFolder(_ piece: Piece) -> Bool {
        if case .value(let name, _) = piece { name == "dir" || name == "tree" } else { false }
    }
}
