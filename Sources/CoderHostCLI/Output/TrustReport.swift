import CoderHost
import ImageModel

/// Who is trusted, as `doctor` tells it.
struct TrustReport {
    private let host: CoderHost
    private let store: TrustStore
    private let entries: [TrustStore.Entry]
    private let warnings: [String]

    init(_ host: CoderHost) {
        self.host = host
        store = TrustStore(folders: host.configuration.trustDirectories)
        entries = store.entries
        var warnings = store.warnings
        for warning in host.warnings where !warnings.contains(warning) { warnings.append(warning) }
        self.warnings = warnings
    }

    var lines: [String] {
        var result = ["Trust (--trust): \(host.configuration.trustPolicy.rawValue)"]
        if !entries.isEmpty { result.append("  vouched for: \(entries.map(\.path).joined(separator: ", "))") }
        for (key, path) in store.keys { result.append("  key \(key.id) (\(key.name)), \(note(key)): \(path)") }
        let failed = host.quarantine.entries
        if !failed.isEmpty {
            result.append("Quarantine: \(failed.count) known to have failed; coderhost quarantine list tells them")
        }
        return result + warnings.map { "Warning: \($0)" }
    }

    private func note(_ key: TrustedKey) -> String {
        if store.isRevoked(key.id) { return "revoked" }
        return key.lastDay.map { "until \($0)" } ?? "for ever"
    }

    var json: JSONValue {
        .object([
            ("policy", .string(host.configuration.trustPolicy.rawValue)),
            ("directories", .array(host.configuration.trustDirectories.map(JSONValue.string))),
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
