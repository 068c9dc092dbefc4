import Foundation
import TestSupport

/// The README's table, made from what `list --json` says.
enum FormatsTable {
    private struct List: Decodable {
        struct Plugin: Decodable {
            var libraries: [Library]?
            var coders: [Coder]?
        }
        struct Library: Decodable { var name: String }
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
        var rows: [String] = []
        for plugin in list.plugins {
            for coder in plugin.coders ?? [] {
                for format in coder.formats {
                    func yes(_ role: String) -> String { coder.roles.contains(role) ? "yes" : "–" }
                    let frames = coder.roles.contains("animation") ? "all" : "first"
                    let carried = coder.metadata.filter { $0 != "orientation" }
                    rows.append(
                        "| \(format.name) (`\(format.id)`) | \(format.extensions.joined(separator: " ")) | \(yes("decode")) | "
                            + "\(yes("encode")) | \(frames) | \(carried.isEmpty ? "–" : carried.joined(separator: " ")) | "
                            + "\(plugin.libraries?.first?.name ?? "–") |\n")
                }
            }
        }
        return
            "| Format | Endings | Read | Write | Frames read | Metadata written | Stands on |\n|---|---|---|---|---|---|---|\n"
            + rows.sorted { $0.lowercased() < $1.lowercased() }.joined()
    }
}
