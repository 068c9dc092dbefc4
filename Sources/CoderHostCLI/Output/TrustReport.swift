import CoderHost
import ImageModel

/// The trust section of `doctor`.
struct TrustReport {
    private let host: CoderHost
    private let store: TrustStore
    private let entries: [TrustStore.Entry]
    private let warnings: [String]

    init(_ host: CoderHost) {
        self.host = host
        store = TrustStore(folders: host.configuration.search.trustDirectories)
        entries = store.entries
        var warnings = store.warnings
        for warning in host.warnings where !warnings.contains(warning) { warnings.append(warning) }
        self.warnings = warnings
    }

    var lines: [String] {
        var result = ["Trust (--trust): \(host.configuration.search.trustPolicy.rawValue)"]
        if !entries.isEmpty { result.append("  trusted files: \(entries.map(\.path).joined(separator: ", "))") }
        for (key, path) in store.keys { result.append("  key \(key.id) (\(key.name)), \(note(key)): \(path)") }
        let failed = host.quarantine.entries
        if !failed.isEmpty {
            result.append(
                "Quarantine: \(failed.count) failed plugin\(failed.count == 1 ? "" : "s"); see coderhost quarantine list"
            )
        }
        return result + warnings.map { "Warning: \($0)" }
    }

    private func note(_ key: TrustedKey) -> String {
        if store.isRevoked(key.id) { return "revoked" }
        return key.lastDay.map { "until \($0)" } ?? "no expiry"
    }

    var json: JSONValue {
        .object([
            ("policy", .string(host.configuration.search.trustPolicy.rawValue)),
            ("directories", .array(host.configuration.search.trustDirectories.map(JSONValue.string))),
            (
                "files",
                .array(
                    entries.map {
                        .object([
                            ("plugin", .string($0.plugin)), ("file", .string($0.path)),
                            ("sha256", .string("\($0.hash)")),
                            ("since", .string($0.since)),
                        ])
                    })
            ),
            (
                "keys",
                .array(
                    store.keys.map { key, path in
                        .object([
                            ("key", .string(key.id)), ("name", .string(key.name)),
                            ("last_day", key.lastDay.map(JSONValue.string) ?? .null),
                            ("revoked", .bool(store.isRevoked(key.id))), ("entry", .string(path)),
                        ])
                    })
            ),
        ])
    }
}
