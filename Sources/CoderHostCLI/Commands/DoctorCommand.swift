import CoderHost
import CommandLineKit
import ImageModel

/// Reports folders, plugins, limits, trust and isolation. Loads no plugin.
enum DoctorCommand: Command {
    static let specification = CommandSpecification(
        name: "doctor", summary: "report on the installation", operands: "[isolation]",
        operandCount: 0...1,
        examples: [
            ("coderhost doctor", "folders, plugins, problems and remedies"),
            ("coderhost doctor isolation", "available sandbox mechanisms on this system"),
            ("coderhost doctor --json", "the report as JSON; exit code 69 if there is a problem"),
        ],
        options: [])

    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        let host = try arguments.host()
        if let part = arguments.operands.first {
            guard part == "isolation" else {
                throw UsageError(
                    "unknown subcommand \"\(part)\"",
                    hint: OptionCheck.nearest(part, ["isolation"]).map { "did you mean doctor \($0)?" }
                        ?? "use coderhost doctor, or coderhost doctor isolation", command: "doctor")
            }
            let isolation = DoctorIsolation(host)
            if arguments.has("--json") {
                Console.out(isolation.json.text)
            } else {
                isolation.lines.forEach { Console.out($0) }
            }
            return isolation.isSufficient ? .success : .unavailable
        }
        let plugins = host.plugins
        // Disabled and shadowed plugins are choices of the user, not problems.
        let setAside = plugins.filter { $0.status.state == .disabled || $0.status.state == .shadowed }
        let problems = plugins.filter { !$0.status.isUsable && !setAside.contains($0) }
        // An installed plugin that is not used is listed with its reason.
        let missing = Catalogue.plugins.filter { known in
            !plugins.contains { $0.manifest?.id == known.manifest.id || $0.fileName == known.file }
        }
        let isolation = DoctorIsolation(host)
        let demanding = plugins.filter { $0.status.isUsable && $0.manifest?.isolationNotes.isEmpty == false }
        let refused = demanding.filter { $0.manifest?.isolation.isRequired == true && isolation.isAbsent }
        let isSound = problems.isEmpty && refused.isEmpty && plugins.contains(where: \.status.isUsable)
        if arguments.has("--json") {
            Console.out(document(host, plugins, problems, missing, demanding, isolation).text)
            return isSound ? .success : .unavailable
        }
        Console.out("coderhost \(coderHostVersion), plugin interface \(pluginInterfaceVersion), \(machineName)")
        Console.out("executable \(executablePath ?? "unknown")")
        Console.out("")
        Console.out("Plugin folders, first to last:")
        for directory in host.configuration.search.directories {
            let count = plugins.filter { $0.directory == directory }.count
            let state = FileStatus.of(directory.path)?.isDirectory == true ? "\(count) plugins" : "missing"
            Console.out("  \(directory.path)  (\(directory.origin.rawValue)): \(state)")
        }
        Console.out("")
        Console.out(
            "Plugins: \(plugins.filter(\.status.isUsable).count) usable, \(setAside.count) set aside, "
                + "\(problems.count) with a problem")
        for plugin in problems + setAside {
            Console.out("  \(plugin.path)")
            Console.out("    \(plugin.status.state.word): \(plugin.status.reason)")
            if !plugin.status.remedy.isEmpty { Console.out("    try: \(plugin.status.remedy)") }
        }
        for plugin in plugins where !plugin.warnings.isEmpty {
            Console.out("  \(plugin.path)")
            for warning in plugin.warnings { Console.out("    note: \(warning)") }
        }
        for plugin in demanding {
            Console.out("  \(plugin.path)")
            for note in plugin.manifest?.isolationNotes ?? [] { Console.out("    note: \(note)") }
            if refused.contains(plugin) {
                Console.out("    refused: this system has no sandbox")
                Console.out("    try: coderhost doctor isolation")
            }
        }
        if !missing.isEmpty {
            Console.out("  available, but not installed:")
            for plugin in missing { Console.out("    \(plugin.file)\(libraries(of: plugin))") }
        }
        Console.out("")
        let limits = host.configuration.limits
        Console.out(
            "Limits (--limits): "
                + ParsedArguments.limitNames.map { "\($0.name)=\(limits[keyPath: $0.path])" }
                .joined(separator: " "))
        for line in TrustReport(host).lines { Console.out(line) }
        Console.out(isolation.summary)
        return isSound ? .success : .unavailable
    }

    /// The libraries of a plugin; a build without them leaves the plugin out.
    private static func libraries(of plugin: KnownPlugin) -> String {
        let names = Catalogue.libraries(of: plugin)
        return names.isEmpty ? "" : "  (needs \(names.joined(separator: ", ")))"
    }

    private static func document(
        _ host: CoderHost, _ plugins: [PluginRecord], _ problems: [PluginRecord],
        _ missing: [KnownPlugin], _ demanding: [PluginRecord], _ isolation: DoctorIsolation
    ) -> JSONValue {
        let limits = host.configuration.limits
        return .object([
            ("schema", .integer(1)), ("host", .string(coderHostVersion)), ("abi", .string(pluginInterfaceVersion)),
            ("machine", .string(machineName)), ("executable", executablePath.map(JSONValue.string) ?? .null),
            (
                "directories",
                .array(
                    host.configuration.search.directories.map { directory in
                        .object([
                            ("path", .string(directory.path)), ("origin", .string(directory.origin.rawValue)),
                            ("exists", .bool(FileStatus.of(directory.path)?.isDirectory == true)),
                            ("plugins", .integer(plugins.filter { $0.directory == directory }.count)),
                        ])
                    })
            ),
            ("problems", .array(problems.map(PluginRendering.json))),
            ("not_installed", .array(missing.map { .string($0.file) })),
            (
                "libraries_of_not_installed",
                .array(
                    missing.map { plugin in
                        .object([
                            ("file", .string(plugin.file)),
                            ("libraries", .array(Catalogue.libraries(of: plugin).map(JSONValue.string))),
                        ])
                    })
            ),
            (
                "limits",
                .object(ParsedArguments.limitNames.map { ($0.name, .integer(limits[keyPath: $0.path])) })
            ),
            ("isolation", isolation.json),
            (
                "isolation_demands",
                .array(
                    demanding.map { plugin in
                        .object([
                            ("plugin", .string(plugin.id)), ("file", .string(plugin.path)),
                            ("isolation", plugin.manifest.map(PluginRendering.isolation) ?? .null),
                        ])
                    })
            ),
            ("trust", TrustReport(host).json),
            ("quarantine", .array(host.quarantine.entries.map(QuarantineCommand.json))),
            ("warnings", .array(host.warnings.map(JSONValue.string))),
        ])
    }
}
