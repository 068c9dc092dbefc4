import Foundation
import TestSupport

/// The README's table, generated from the output of `list --json`.
enum FormatsTable {
    private struct List: Decodable {
        struct Plugin: Decodable {
            var coders: [Coder]?
        }
        struct Coder: Decodable {
            var id: String
            var roles: [String]
            var metadata: [String]
            var formats: [Format]
        }
        struct Format: Decodable {
            var id: String
            var name: String
            var extensions: [String]
        }
        var plugins: [Plugin]
    }

    static func make() throws -> String {
        let answer = try run(
            ["\(Repository.products)/coderhost", "list", "--json"],
            environment: ["CODERHOST_PLUGIN_PATH": nil, "HOME": "/nowhere"])
        let list = try JSONDecoder().decode(List.self, from: Data(answer.output))
        var rows: [String: Row] = [:]
        for plugin in list.plugins {
            for coder in plugin.coders ?? [] {
                for format in coder.formats {
                    rows[format.id, default: Row(name: format.name)].add(format, coder)
                }
            }
        }
        return
            "| Format | Endings | Frames read | Frames written | Metadata written |\n|---|---|---|---|---|\n"
            + lines(rows).joined()
    }

    /// One line for all formats with the same abilities, sorted by the first name.
    private static func lines(_ rows: [String: Row]) -> [String] {
        let groups = Dictionary(grouping: rows.sorted { $0.value.name.lowercased() < $1.value.name.lowercased() }) {
            $0.value.abilities
        }
        let lines = groups.map { abilities, formats in
            "| " + formats.map { "\($0.value.name) (`\($0.key)`)" }.joined(separator: ", ") + " | "
                + Row.joined(formats.flatMap(\.value.endings)) + " | \(abilities) |\n"
        }
        return lines.sorted { $0.lowercased() < $1.lowercased() }
    }

    /// The combined abilities of all coders of a format.
    private struct Row {
        var name: String
        var endings: [String] = []
        var roles: Set<String> = []
        var metadata: Set<String> = []

        mutating func add(_ format: List.Format, _ coder: List.Coder) {
            // "Animated X" is a coder of X.
            if format.name.count < name.count { name = format.name }
            endings += format.extensions.filter { !endings.contains($0) }
            roles.formUnion(coder.roles)
            metadata.formUnion(coder.metadata)
        }

        var abilities: String {
            func frames(_ still: String, _ animation: String) -> String {
                roles.contains(animation) ? "all" : roles.contains(still) ? "first" : "–"
            }
            return "\(frames("decode", "animation")) | \(frames("encode", "encode-animation")) | "
                + Self.joined(metadata.subtracting(["orientation"]).sorted())
        }

        static func joined(_ words: some Sequence<String>) -> String {
            let text = words.joined(separator: " ")
            return text.isEmpty ? "–" : text
        }
    }
}
