import CoderHost

/// The report for programs; the article on JSON defines its grammar.
enum JSONReport {
    static func document(_ results: [CheckResult], _ manifest: PluginManifest, _ request: Request) -> JSONValue {
        let shown = results.filter { !request.onlyFailed || $0.verdict.isBad }
        return .object([
            ("schema", .integer(1)),
            (
                "plugin",
                .object([
                    ("file", .string(request.plugin)), ("id", .string(manifest.id)),
                    ("version", .string(manifest.version)),
                    (
                        "isolation",
                        .object([
                            ("required", .bool(manifest.isolation.isRequired)),
                            ("read", .array(manifest.isolation.readable.map { .string($0.rawValue) })),
                        ])
                    ),
                ])
            ),
            ("abi", .string(pluginInterfaceVersion)), ("effort", .string(request.effort.rawValue)),
            ("in_process", .bool(request.isInProcess)), ("checks", .array(shown.map(line))),
            (
                "summary",
                .object(
                    Verdict.allCases.map { verdict in
                        (verdict.rawValue, .integer(results.filter { $0.verdict == verdict }.count))
                    })
            ),
        ])
    }

    private static func line(_ result: CheckResult) -> JSONValue {
        var members: [(String, JSONValue)] = [
            ("id", .string(result.check.id)), ("group", .string(result.check.group)),
            ("verdict", .string(result.verdict.rawValue)), ("seconds", .real(rounded(result.seconds))),
        ]
        if !result.what.isEmpty { members.append(("what", .string(result.what))) }
        if let rule = result.rule {
            members.append(("rule", .object([("file", .string(rule.file)), ("text", .string(rule.text))])))
        }
        if !result.remedy.isEmpty { members.append(("remedy", .string(result.remedy))) }
        if !result.call.isEmpty { members.append(("call", .string(result.call))) }
        if let signal = result.signal { members.append(("signal", .string(SignalName.of(Int32(signal))))) }
        return .object(members)
    }

    static func rounded(_ seconds: Double) -> Double { (seconds * 1000).rounded() / 1000 }
}
