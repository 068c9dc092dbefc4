import HostSystem
package import ImageModel

/// The description of a plugin that its file declares, read without running code.
public struct PluginManifest: Sendable, Hashable {
    /// A library that the plugin uses.
    package struct Library: Sendable, Hashable {
        /// The name of the library.
        package var name: String
        /// The version of the library.
        package var version: String
    }

    /// The versions of the plugin interface that a plugin declares.
    package struct InterfaceVersions: Sendable, Hashable {
        /// The major version.
        package var major: Int
        /// The minor version for which the plugin was built.
        package var minorBuilt: Int
        /// The lowest minor version with which the plugin works.
        package var minorNeeded: Int
    }

    /// The requirements of a plugin for running in a worker or in the host's process.
    package struct IsolationNeeds: Sendable, Hashable {
        /// The number of threads that the plugin may start per session.
        package var threads: Int
        /// Whether the plugin polls for cancellation often enough; false if one library call may take seconds.
        package var isInterruptible: Bool
        /// Whether the plugin returns an error when an allocation fails; false if a library of it aborts the process.
        package var survivesShortage: Bool
        /// Whether the plugin requires a worker; it runs in the host's process only if isolation is off.
        package var isRequired: Bool
        /// The system resources that the plugin reads while it is loaded; a worker can read nothing else, and nothing
        /// later.
        package var readable: [SystemResource]
    }

    /// A format that a coder supports.
    package struct Format: Sendable, Hashable {
        /// The format.
        package var id: ImageFormat
        /// The display name.
        package var name: String
        /// The MIME types, preferred one first.
        package var mimeTypes: [String]
        /// The file name extensions, in lower case without a dot.
        package var extensions: [String]
        /// The uniform type identifiers.
        package var typeIdentifiers: [String]
        /// The signatures for recognizing files of this format.
        package var signatures: [Signature]

        /// Creates a format.
        package init(
            id: ImageFormat, name: String, mimeTypes: [String] = [], extensions: [String] = [],
            typeIdentifiers: [String] = [], signatures: [Signature] = []
        ) {
            self.id = id
            self.name = name
            self.mimeTypes = mimeTypes
            self.extensions = extensions
            self.typeIdentifiers = typeIdentifiers
            self.signatures = signatures
        }
    }

    /// One option of a coder.
    package struct Option: Sendable, Hashable {
        /// The value type of an option.
        package enum Kind: String, Sendable, Hashable {
            case bool, i64, f64, string, bytes, `enum`
        }
        /// The operations to which an option applies.
        package enum Scope: String, Sendable, Hashable {
            case decode, encode, frame, both

            /// Whether the option applies to decoding.
            package var includesDecoding: Bool { self == .decode || self == .both }
            /// Whether the option applies to encoding.
            package var includesEncoding: Bool { self != .decode }
        }

        /// The key of the option.
        package var key: String
        /// The value type.
        package var kind: Kind
        /// The operations to which it applies.
        package var scope: Scope
        /// The smallest allowed number.
        package var minimum: Double?
        /// The largest allowed number.
        package var maximum: Double?
        /// The allowed values of an enumeration.
        package var values: [String]
        /// The default value as text.
        package var defaultText: String?
        /// A one-sentence description.
        package var summary: String

        /// Creates an option.
        package init(
            key: String, kind: Kind, scope: Scope = .encode, minimum: Double? = nil, maximum: Double? = nil,
            values: [String] = [], defaultText: String? = nil, summary: String = ""
        ) {
            self.key = key
            self.kind = kind
            self.scope = scope
            self.minimum = minimum
            self.maximum = maximum
            self.values = values
            self.defaultText = defaultText
            self.summary = summary
        }
    }

    /// A kind of image for which the host selects an output format if the caller names none.
    package enum ImageKind: String, Sendable, Hashable, CaseIterable {
        /// A still with alpha.
        case alpha
        /// A still without alpha.
        case opaque
        /// An animation.
        case animation
    }

    /// A coder of the plugin.
    package struct Coder: Sendable, Hashable {
        /// The id of the coder.
        package var id: String
        /// The operations that it supports.
        package var roles: CoderRoles
        /// The priority of the coder, 100 by default; coders with 0 are listed but never chosen.
        package var priority: Int
        /// The cost class: `cheap`, `normal` or `heavy`.
        package var cost: String
        /// The metadata that the encoder can write: names of blob kinds, and `orientation`.
        package var carries: Set<String>
        /// The formats that it supports.
        package var formats: [Format]
        /// The options that it accepts.
        package var options: [Option]
        /// The formats whose streams it transcodes without loss, for the role `transcode`.
        package var transcodes: [ImageFormat]
        /// How well its first format suits as the default format for a kind of image: 1 to 1000, higher is better.
        package var defaultRanks: [ImageKind: Int]
    }

    /// The id of the plugin.
    package var id: String
    /// The display name.
    public var name: String
    /// The version of the plugin.
    public var version: String
    /// The vendor of the plugin.
    package var vendor: String
    /// The license of the plugin.
    package var license: String
    /// The versions of the plugin interface.
    package var abi: InterfaceVersions
    /// The requirements of the plugin for running in a worker or in the host's process.
    package var isolation: IsolationNeeds
    /// Whether the plugin requires a worker; it runs in the host's process only if isolation is off.
    public var requiresIsolation: Bool { isolation.isRequired }
    /// The libraries that the plugin uses.
    package var libraries: [Library]
    /// The coders of the plugin.
    package var coders: [Coder]
}

extension PluginManifest {
    /// The isolation requirements of the plugin, one sentence each.
    package var isolationNotes: [String] {
        let demand =
            "it runs only in a worker, which takes about 7 ms to start, unless --isolation is off (isolation.required)"
        return (isolation.isRequired ? [demand] : [])
            + isolation.readable.map { "it reads \($0.summary) while it is loaded in a worker (isolation.read)" }
    }

    /// A manifest error, and the key with the error.
    package struct Failure: Error, Hashable {
        package var message: String
        package var remedy = "correct the manifest and rebuild"
    }

    /// Parses the JSON text of a manifest note.
    package init(json bytes: [UInt8]) throws(Failure) {
        let document: JSONValue
        do { document = try JSONParser.parse(bytes) } catch {
            throw Failure(message: "\(error.message) at byte \(error.offset)")
        }
        let root = ManifestField(document, path: "")
        let schema = try root["schema"].integer()
        guard schema == 1 else { throw Failure(message: "unknown schema \(schema); this host supports 1") }
        let plugin = try root["plugin"].object()
        id = try plugin["id"].identifier()
        name = try plugin["name"].string(default: id)
        version = try plugin["version"].string()
        vendor = try plugin["vendor"].string(default: "")
        license = try plugin["license"].string(default: "")
        let abi = try root["abi"].object()
        self.abi = InterfaceVersions(
            major: try abi["major"].integer(), minorBuilt: try abi["minor_built"].integer(),
            minorNeeded: try abi["minor_needed"].integer())
        let isolation = root["isolation"]
        self.isolation = IsolationNeeds(
            threads: try isolation["threads"].integer(default: 0),
            isInterruptible: try isolation["interruptible"].boolean(default: true),
            survivesShortage: try isolation["survives_shortage"].boolean(default: true),
            isRequired: try isolation["required"].boolean(default: false),
            readable: try isolation["read"].list(SystemResource.init))
        libraries = try root["libraries"].list { field throws(Failure) in
            Library(name: try field["name"].string(), version: try field["version"].string(default: ""))
        }
        coders = try root["coders"].list(Coder.init)
        guard !coders.isEmpty else { throw Failure(message: "coders is empty") }
        guard Set(coders.map(\.id)).count == coders.count else { throw Failure(message: "two coders have the same id") }
    }
}

extension PluginManifest.Coder {
    fileprivate init(_ field: ManifestField) throws(PluginManifest.Failure) {
        id = try field["id"].identifier()
        roles = []
        // This version never asks for a role that it does not know.
        for name in try field["roles"].strings() { if let role = CoderRoles(named: name) { roles.insert(role) } }
        priority = try field["priority"].integer(default: 100)
        cost = try field["cost"].string(default: "normal")
        carries = Set(try field["metadata"].strings())
        formats = try field["formats"].list(PluginManifest.Format.init)
        options = try field["options"].list(PluginManifest.Option.init)
        transcodes = try field["transcodes"].strings().map { ImageFormat($0) }
        defaultRanks = [:]
        let ranks = field["default_for"]
        if ranks.value != nil { _ = try ranks.object() }
        for kind in PluginManifest.ImageKind.allCases where ranks[kind.rawValue].value != nil {
            let rank = try ranks[kind.rawValue].integer()
            guard (1...1000).contains(rank) else { throw ranks[kind.rawValue].failure("is not between 1 and 1000") }
            defaultRanks[kind] = rank
        }
        guard !formats.isEmpty else { throw PluginManifest.Failure(message: "\(id) supports no format") }
    }
}

extension PluginManifest.Format {
    fileprivate init(_ field: ManifestField) throws(PluginManifest.Failure) {
        id = ImageFormat(try field["id"].identifier())
        name = try field["name"].string(default: id.id.uppercased())
        mimeTypes = try field["mime"].strings()
        extensions = try field["extensions"].strings().map { $0.lowercased() }
        typeIdentifiers = try field["uti"].strings()
        signatures = try field["signatures"].list(Signature.init)
    }
}

extension PluginManifest.Option {
    fileprivate init(_ field: ManifestField) throws(PluginManifest.Failure) {
        key = try field["key"].identifier()
        let type = try field["type"].string()
        guard let kind = Kind(rawValue: type) else {
            throw PluginManifest.Failure(message: "option \(key) has an unknown type: \(type)")
        }
        self.kind = kind
        scope = Scope(rawValue: try field["scope"].string(default: "encode")) ?? .encode
        minimum = field["min"].value?.real
        maximum = field["max"].value?.real
        values = try field["values"].strings()
        defaultText = field["default"].value.map { $0.string ?? $0.text }
        summary = try field["doc"].string(default: "")
    }
}
