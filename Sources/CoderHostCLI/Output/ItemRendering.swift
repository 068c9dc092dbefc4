import CoderHost
import CommandLineKit
import ImageModel

/// Renders the items of a file as text and JSON.
enum ItemRendering {
    static func json(_ listed: ListedItem) -> JSONValue {
        guard let item = listed.facts else {
            let reason = if case .failure(let error) = listed.item { error.message } else { "" }
            return .object([("index", .integer(listed.index)), ("error", .string(reason))])
        }
        func optional(_ number: Int?) -> JSONValue { number.map { .integer($0) } ?? .null }
        func optional(_ text: String?) -> JSONValue { text.map(JSONValue.string) ?? .null }
        return .object([
            ("index", .integer(listed.index)), ("role", .string(item.role.name)),
            ("width", .integer(item.info.size.width)), ("height", .integer(item.info.size.height)),
            ("bit_depth", .integer(item.info.bitDepth)), ("has_alpha", .bool(item.info.hasAlpha)),
            ("frame_count", optional(item.info.frameCount)), ("of", optional(item.owner)),
            ("group", optional(item.group)), ("name", optional(item.name)), ("kind", optional(item.kind)),
        ])
    }

    /// Returns the JSON value of ``json(_:)`` as one line of text.
    static func text(_ item: JSONValue) -> String {
        let index = item["index"]?.integer ?? 0
        if let error = item["error"]?.string { return printable("  item \(index): \(error)") }
        var line = "  item \(index): \(item["role"]?.string ?? "")"
        line += " \(item["width"]?.integer ?? 0)x\(item["height"]?.integer ?? 0)"
        if let owner = item["of"]?.integer { line += " of item \(owner)" }
        if let kind = item["kind"]?.string { line += ", \(kind)" }
        if let name = item["name"]?.string, !name.isEmpty { line += ", \"\(name)\"" }
        return printable(line)
    }
}
