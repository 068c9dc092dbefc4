import CoderHost

/// A name with places to fill: `{name}`, and `{n:04}` with leading zeros.
package struct OutputTemplate {
    private enum Piece {
        case text(String)
        case value(name: String, width: Int?)
    }

    private let pieces: [Piece]

    package static let names = ["stem", "dir", "ext", "n", "w", "h", "item"]

    /// - Parameter names: what it may have.
    /// - Throws: ``UsageError`` for what nothing could be put into.
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
                        "the width in {\(inside[..<close])} is no whole number", hint: "write {\(name):04}")
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
        // Braces in braces: whoever wrote them means what stands inside.
        let name = String(inside.drop { $0 == "{" }.prefix { $0 != "}" && $0 != ":" })
        let near = names.contains(name) ? name : OptionCheck.nearest(name, names)
        return UsageError(
            "the template has no {\(inside)}",
            hint: near.map { "did you mean {\($0)}?" } ?? "there are " + names.map { "{\($0)}" }.joined(separator: " "))
    }

    /// Without `.{ext}` at its end; nil where it ends otherwise.
    package var withoutExtension: OutputTemplate? {
        var rest = pieces
        if case .text("") = rest.last { rest.removeLast() }
        guard case .value("ext", _) = rest.last, case .text(let text) = rest.dropLast().last, text.hasSuffix(".")
        else { return nil }
        rest.removeLast(2)
        return OutputTemplate(pieces: rest + [.text(String(text.dropLast()))])
    }

    private init(pieces: [Piece]) { self.pieces = pieces }

    /// Whether there is a place for a value, with or without a width.
    package func mentions(_ name: String) -> Bool {
        pieces.contains { if case .value(name, _) = $0 { true } else { false } }
    }

    /// - Parameter digits: how long `{n}` is without a width of its own.
    package func filled(_ values: [String: String], digits: Int = 0) -> String {
        var result = ""
        for (index, piece) in pieces.enumerated() {
            switch piece {
            case .text(let text):
                // {dir} ends in a slash, or is the current folder: one more would lead to the root.
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
        if case .value("dir", _) = piece { true } else { false }
    }
}
