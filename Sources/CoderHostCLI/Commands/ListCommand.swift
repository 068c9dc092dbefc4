import CoderHost
import CommandLineKit
import ImageModel

/// Lists the installed plugins and formats. Loads no plugin.
enum ListCommand: Command {
    static let specification = CommandSpecification(
        name: "list", summary: "list plugins and formats, and why a plugin is not used", operands: "",
        operandCount: 0...0,
        examples: [
            ("coderhost list", "all plugins with status"),
            ("coderhost list --formats", "all formats with their decoders and encoders"),
            ("coderhost list --format jpeg --options", "the options for -O, with type, range and default"),
            ("coderhost list --format heic --explain", "the order of the coders for a format, with reasons"),
            ("coderhost list --watch", "report added, changed and removed plugins"),
        ],
        options: [
            OptionSpecification("--formats", help: "list formats instead of plugins"),
            OptionSpecification(
                "--format", value: "ID", help: "list the coders of one format in order (default: all plugins)"),
            OptionSpecification(
                "--options", help: "list the options for -O, of all coders or with --format of one format"),
            OptionSpecification("--explain", help: "with --format: explain the order"),
            OptionSpecification("--hash", help: "print the SHA-256 of all plugin files"),
            OptionSpecification("--watch", help: "report changes until interrupted"),
        ])

    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        let host = try arguments.host(followsChanges: arguments.has("--watch"))
        let asJSON = arguments.has("--json")
        if let id = arguments.value("--format") {
            if arguments.has("--watch") || arguments.has("--formats") {
                throw UsageError("--format cannot be combined with --watch or --formats")
            }
            let style = FormatStyle(
                explains: arguments.has("--explain"), listsOptions: arguments.has("--options"), isJSON: asJSON)
            return try listFormat(id, host, style)
        }
        if arguments.has("--hash"), arguments.has("--formats") || arguments.has("--watch") {
            throw UsageError("--hash cannot be combined with --formats or --watch")
        }
        if arguments.has("--explain") {
            throw UsageError("--explain needs --format ID", hint: "for example list --format jpeg --explain")
        }
        if arguments.has("--options") {
            if let other = ["--formats", "--watch", "--hash"].first(where: arguments.has) {
                throw UsageError("--options cannot be combined with \(other)", hint: "choose one")
            }
            let coders = host.manager.coders.map(\.descriptor)
            let lines = asJSON ? [OptionTable.json(nil, coders).text] : OptionTable.lines(coders)
            lines.forEach { Console.out($0) }
            return .success
        }
        if arguments.has("--formats") {
            listFormats(host, asJSON: asJSON)
        } else if !arguments.has("--watch") || !asJSON {
            listPlugins(host, asJSON: asJSON, hashing: arguments.has("--hash"))
        }
        if arguments.has("--watch") { PluginWatch(host, asJSON: asJSON).run() }
        return .success
    }

    // MARK: Plugins

    private static func listPlugins(_ host: CoderHost, asJSON: Bool, hashing: Bool) {
        let plugins = host.plugins
        for warning in host.unreadablePlaces { Console.error("coderhost: warning: \(printable(warning))") }
        if asJSON {
            Console.out(PluginRendering.document(plugins, host, hashing: hashing).text)
            return
        }
        guard !plugins.isEmpty else {
            guard host.unreadablePlaces.isEmpty else {
                Console.out("no readable plugins; PAM and PNM work without plugins")
                return
            }
            Console.out("no plugins are installed; PAM and PNM work without plugins")
            Console.error(
                "coderhost: no libcoder-*.so in "
                    + "\(host.configuration.search.directories.map(\.path).joined(separator: ", "))")
            Console.error("  try: in a build tree run swift build (--product coderhost builds no plugins)")
            return
        }
        var table = TextTable("PLUGIN", "ID", "VERSION", "STATUS", "FORMATS", "FILE")
        for plugin in plugins {
            table.add(
                plugin.manifest?.name ?? "-", plugin.manifest?.id ?? "-", plugin.manifest?.version ?? "-",
                plugin.status.state.word,
                PluginRendering.formats(plugin), plugin.path)
        }
        for line in table.lines { Console.out(line) }
        if hashing {
            Console.out("")
            for plugin in plugins {
                Console.out("\(plugin.contentHash.map { "\($0)" } ?? "unreadable")  \(plugin.path)")
            }
        }
        for plugin in plugins where plugin.status.isUsable && !plugin.status.reason.isEmpty {
            Console.out("")
            Console.out("\(plugin.path) is \(plugin.status.state.word): \(plugin.status.reason)")
        }
        for plugin in plugins where plugin.status.isUsable {
            for note in plugin.manifest?.isolationNotes ?? [] {
                Console.out("")
                Console.out("\(plugin.path): \(note)")
            }
        }
        for plugin in plugins where !plugin.status.isUsable {
            Console.out("")
            Console.out("\(plugin.fileName) is not used (\(plugin.status.state.word)): \(plugin.status.reason)")
            if !plugin.status.remedy.isEmpty { Console.out("  try: \(plugin.status.remedy)") }
        }
    }

    // MARK: Formats

    private static func listFormats(_ host: CoderHost, asJSON: Bool) {
        var rows: [(format: PluginManifest.Format, roles: CoderRoles, coders: [String], namesStills: Bool)] = []
        for coder in host.manager.coders.reversed().map(\.descriptor) {
            for format in coder.formats {
                if let index = rows.firstIndex(where: { $0.format.id == format.id }) {
                    rows[index].roles.formUnion(coder.roles)
                    // The coder of stills names the format: another one may read only its animations.
                    if !rows[index].namesStills, !coder.roles.contains(.animation) {
                        rows[index].format.name = format.name
                        rows[index].namesStills = true
                    }
                    rows[index].coders.append(coder.id)
                } else {
                    rows.append((format, coder.roles, [coder.id], !coder.roles.contains(.animation)))
                }
            }
        }
        rows.sort { $0.format.id.id < $1.format.id.id }
        if asJSON {
            let formats = rows.map { row in
                JSONValue.object([
                    ("id", .string(row.format.id.id)), ("name", .string(row.format.name)),
                    ("mime", .array(row.format.mimeTypes.map(JSONValue.string))),
                    ("extensions", .array(row.format.extensions.map(JSONValue.string))),
                    ("roles", .array(row.roles.names.map(JSONValue.string))),
                    ("coders", .array(row.coders.map(JSONValue.string))),
                ])
            }
            Console.out(JSONValue.object([("schema", .integer(1)), ("formats", .array(formats))]).text)
            return
        }
        var table = TextTable("FORMAT", "READ", "WRITE", "ANIMATION", "EXTENSIONS", "CODERS")
        for row in rows {
            table.add(
                row.format.id.id, row.roles.contains(.decode) ? "yes" : "-", row.roles.writes ? "yes" : "-",
                row.roles.contains(.encodeAnimation)
                    ? (row.roles.contains(.animation) ? "both" : "write")
                    : row.roles.contains(.animation) ? "read" : "-",
                row.format.extensions.joined(separator: " "), row.coders.joined(separator: " "))
        }
        for line in table.lines { Console.out(line) }
    }

    /// How `--format` lists the coders.
    private struct FormatStyle {
        var explains: Bool
        var listsOptions: Bool
        var isJSON: Bool
    }

    private static func listFormat(
        _ id: String, _ host: CoderHost, _ style: FormatStyle
    ) throws(UsageError) -> ExitCode {
        var id = id
        var order = host.manager.order(for: ImageFormat(id))
        if order.isEmpty, let named = host.manager.format(ofExtension: id) {
            // Accepts a file extension as well: --format jpg.
            id = named.id
            order = host.manager.order(for: named)
        }
        let unused = host.plugins.filter { plugin in
            !plugin.status.isUsable
                && (plugin.manifest?.coders ?? []).contains { $0.formats.contains { $0.id.id == id } }
        }
        if style.isJSON {
            Console.out(
                (style.listsOptions
                    ? OptionTable.json(id, order.map(\.descriptor)) : PluginRendering.order(id, order, unused)).text)
            return order.isEmpty ? .unavailable : .success
        }
        guard !order.isEmpty || !unused.isEmpty else {
            let known = Array(Set(host.manager.coders.flatMap { $0.descriptor.formats.map(\.id.id) })).sorted()
            Console.error("coderhost: no installed plugin supports the format \(id)")
            Console.error(
                "  try: "
                    + (OptionCheck.nearest(id, known).map { "did you mean \($0)?" }
                        ?? "supported formats: \(known.joined(separator: ", "))"))
            return .unavailable
        }
        if style.listsOptions, !order.isEmpty {
            for line in OptionTable.lines(order.map(\.descriptor)) { Console.out(line) }
            return .success
        }
        for (index, coder) in order.enumerated() {
            Console.out("\(index + 1). \(coder.descriptor.id)  \(coder.descriptor.roles.names.joined(separator: " "))")
            if style.explains { Console.out("   \(coder.explanation)") }
        }
        for plugin in unused {
            Console.out("-  \(plugin.id)  not used (\(plugin.status.state.word)): \(plugin.status.reason)")
            if style.explains && !plugin.status.remedy.isEmpty { Console.out("   try: \(plugin.status.remedy)") }
        }
        if style.explains {
            Console.out("")
            Console.out(
                "Order: added at run time, administered priority, matching bytes, tier, priority, score, version, id.")
        }
        return order.isEmpty ? .unavailable : .success
    }
}
