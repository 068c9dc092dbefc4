import CoderHost
import CommandLineKit
import ImageModel

/// The table of `list --options`: the coder options of all coders, or with `--format` of one format.
enum OptionTable {
    private typealias Row = (coder: String, option: PluginManifest.Option)

    private static func rows(_ coders: [CoderDescriptor]) -> [Row] {
        coders.flatMap { coder in coder.options.map { (coder.id, $0) } }
    }

    static func lines(_ coders: [CoderDescriptor]) -> [String] {
        if rows(coders).isEmpty { return ["these coders have no options"] }
        var result: [String] = []
        for coder in coders where !coder.options.isEmpty {
            if !result.isEmpty { result.append("") }
            result.append("\(coder.id) (-O NAME=VALUE):")
            var table = TextTable("NAME", "TYPE", "RANGE", "DEFAULT", "FOR", "MEANING")
            for option in coder.options {
                table.add(
                    option.key, type(option), range(option), option.defaultText ?? "-", option.scope.rawValue,
                    option.summary)
            }
            result += table.lines
        }
        return result
    }

    /// - Parameter id: the format; nil for all.
    static func json(_ id: String?, _ coders: [CoderDescriptor]) -> JSONValue {
        .object([
            ("schema", .integer(1)), ("format", id.map(JSONValue.string) ?? .null),
            (
                "options",
                .array(
                    rows(coders).map { row in
                        .object([("coder", .string(row.coder))] + PluginRendering.members(row.option))
                    })
            ),
        ])
    }

    private static func type(_ option: PluginManifest.Option) -> String {
        switch option.kind {
        case .bool: "yes/no"
        case .i64: "integer"
        case .f64: "number"
        case .string: "text"
        case .bytes: "bytes"
        case .enum: "word"
        }
    }

    private static func range(_ option: PluginManifest.Option) -> String {
        if option.kind == .bool { return "true false" }
        if !option.values.isEmpty { return option.values.joined(separator: " ") }
        func text(_ number: Double) -> String {
            number == number.rounded() && abs(number) < 1e15 ? String(Int(number)) : "\(number)"
        }
        switch (option.minimum, option.maximum) {
        case (let low?, let high?): return "\(text(low)) to \(text(high))"
        case (let low?, nil): return "from \(text(low))"
        case (nil, let high?): return "up to \(text(high))"
        case (nil, nil): return "-"
        }
    }
}
