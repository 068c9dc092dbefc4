import CoderHost
import ImageModel

/// Renders plugins as text and JSON.
enum PluginRendering {
    static func formats(_ plugin: PluginRecord) -> String {
        var result: [String] = []
        for coder in plugin.manifest?.coders ?? [] {
            for format in coder.formats where !result.contains(format.id.id) { result.append(format.id.id) }
        }
        return result.isEmpty ? "-" : result.joined(separator: " ")
    }

    /// Returns the document of `list --json`.
    static func document(_ plugins: [PluginRecord], _ host: CoderHost, hashing: Bool = false) -> JSONValue {
        .object([
            ("schema", .integer(1)), ("host", .string(coderHostVersion)), ("abi", .string(pluginInterfaceVersion)),
            (
                "directories",
                .array(
                    host.configuration.search.directories.map { directory in
                        .object([("path", .string(directory.path)), ("origin", .string(directory.origin.rawValue))])
                    })
            ),
            ("plugins", .array(plugins.map { json($0, hashing: hashing) })),
        ])
    }

    static func json(_ plugin: PluginRecord) -> JSONValue { json(plugin, hashing: false) }

    /// Returns a plugin as JSON.
    ///
    /// - Parameter hashing: whether to read and hash the file.
    static func json(_ plugin: PluginRecord, hashing: Bool) -> JSONValue {
        var members: [(key: String, value: JSONValue)] = [
            ("plugin", .string(plugin.id)), ("file", .string(plugin.path)),
            ("status", .string(plugin.status.state.word)), ("reason", .string(plugin.status.reason)),
            ("remedy", .string(plugin.status.remedy)), ("tier", .string(plugin.tier.word)),
            (
                "signature",
                .object([
                    ("state", .string(plugin.signature.word)),
                    ("key", plugin.signature.key.map(JSONValue.string) ?? .null),
                ])
            ),
        ]
        if hashing { members.append(("sha256", plugin.contentHash.map { .string("\($0)") } ?? .null)) }
        if !plugin.warnings.isEmpty { members.append(("warnings", .array(plugin.warnings.map(JSONValue.string)))) }
        if let manifest = plugin.manifest {
            members += [
                ("name", .string(manifest.name)), ("version", .string(manifest.version)),
                ("vendor", .string(manifest.vendor)), ("license", .string(manifest.license)),
                (
                    "abi",
                    .object([
                        ("major", .integer(manifest.abi.major)), ("minor_built", .integer(manifest.abi.minorBuilt)),
                        ("minor_needed", .integer(manifest.abi.minorNeeded)),
                    ])
                ),
                (
                    "libraries",
                    .array(
                        manifest.libraries.map {
                            .object([("name", .string($0.name)), ("version", .string($0.version))])
                        })
                ),
                ("needed", .array(plugin.needed.map(JSONValue.string))), ("isolation", isolation(manifest)),
                ("coders", .array(manifest.coders.map(json))),
            ]
        }
        return .object(members)
    }

    /// Returns the isolation requirements of a plugin.
    static func isolation(_ manifest: PluginManifest) -> JSONValue {
        .object([
            ("required", .bool(manifest.isolation.isRequired)),
            ("read", .array(manifest.isolation.readable.map { .string($0.rawValue) })),
        ])
    }

    /// Returns the properties of a coder option.
    static func members(_ option: PluginManifest.Option) -> [(key: String, value: JSONValue)] {
        [
            ("key", .string(option.key)), ("type", .string(option.kind.rawValue)),
            ("scope", .string(option.scope.rawValue)), ("min", option.minimum.map(JSONValue.real) ?? .null),
            ("max", option.maximum.map(JSONValue.real) ?? .null),
            ("values", .array(option.values.map(JSONValue.string))),
            ("default", option.defaultText.map(JSONValue.string) ?? .null), ("doc", .string(option.summary)),
        ]
    }

    private static func json(_ coder: PluginManifest.Coder) -> JSONValue {
        .object([
            ("id", .string(coder.id)), ("roles", .array(coder.roles.names.map(JSONValue.string))),
            ("priority", .integer(coder.priority)), ("cost", .string(coder.cost)),
            ("metadata", .array(coder.carries.sorted().map(JSONValue.string))),
            (
                "formats",
                .array(
                    coder.formats.map {
                        .object([
                            ("id", .string($0.id.id)), ("name", .string($0.name)),
                            ("mime", .array($0.mimeTypes.map(JSONValue.string))),
                            ("extensions", .array($0.extensions.map(JSONValue.string))),
                        ])
                    })
            ),
            (
                "options",
                .array(
                    coder.options.map { .object(members($0)) })
            ),
        ])
    }

    /// Returns the document of `list --format ID --json`.
    static func order(_ id: String, _ order: [RankedCoder], _ unused: [PluginRecord]) -> JSONValue {
        .object([
            ("schema", .integer(1)), ("format", .string(id)),
            (
                "coders",
                .array(
                    order.enumerated().map { index, coder in
                        .object([
                            ("rank", .integer(index + 1)), ("id", .string(coder.descriptor.id)),
                            ("plugin", coder.descriptor.plugin.map(JSONValue.string) ?? .null),
                            ("roles", .array(coder.descriptor.roles.names.map(JSONValue.string))),
                            ("why", .string(coder.explanation)),
                        ])
                    })
            ),
            ("not_used", .array(unused.map(json))),
        ])
    }
}
