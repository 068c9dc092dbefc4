public import ImageModel

/// What a plugin says of itself without being run.
public struct PluginManifest: Sendable, Hashable {
    public struct Library: Sendable, Hashable {
        public var name: String
        public var version: String
    }

    /// One format that a coder serves.
    public struct Format: Sendable, Hashable {
        public var id: ImageFormat
        public var name: String
        public var mimeTypes: [String]
        /// Lower case, without a dot.
        public var extensions: [String]
        /// Uniform type identifiers.
        public var typeIdentifiers: [String]
        public var signatures: [Signature]

        public init(
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
    public struct Option: Sendable, Hashable {
        public enum Kind: String, Sendable, Hashable {
            case bool, i64, f64, string, bytes, `enum`
        }
        public enum Scope: String, Sendable, Hashable {
            case decode, encode, frame, both

            public var includesDecoding: Bool { self == .decode || self == .both }
            public var includesEncoding: Bool { self != .decode }
        }

        public var key: String
        public var kind: Kind
        public var scope: Scope
        public var minimum: Double?
        public var maximum: Double?
        /// The names of an enumeration.
        public var values: [String]
        public var defaultText: String?
        /// One sentence.
        public var summary: String

        public init(
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

    public struct Coder: Sendable, Hashable {
        public var id: String
        public var roles: CoderRoles
        /// 100 unless there is a reason; 0 is listed but never chosen.
        public var priority: Int
        /// `cheap`, `normal` or `heavy`.
        public var cost: String
        /// What its encoder can carry: names of blob kinds, and `orientation`.
        public var carries: Set<String>
        public var formats: [Format]
        public var options: [Option]
        /// Formats whose streams it packs bit by bit, with the role `transcode`.
        public var transcodes: [ImageFormat]
    }

    public var id: String
    public var name: String
    public var version: String
    public var vendor: String
    public var license: String
    public var abiMajor: Int
    public var abiMinorBuilt: Int
    public var abiMinorNeeded: Int
    /// Threads it may start for one session.
    public var threads: Int
    /// Whether the plugin asks often enough whether to go on; false where one call of a library may take seconds.
    public var isInterruptible: Bool
    /// Whether the plugin returns an error when an allocation fails. False: one of its libraries aborts the process.
    public var survivesShortage: Bool
    /// Whether the plugin insists on a worker: it runs in the host's process only where isolation is off.
    public var requiresIsolation: Bool
    /// What it reads beside its libraries while it is loaded; a worker lets it read nothing else, and nothing later.
    public var readable: [SystemResource]
    public var libraries: [Library]
    public var coders: [Coder]
}

extension PluginManifest {
    /// What the plugin asks of isolation, one sentence each; none for a plugin that asks for nothing.
    package var isolationNotes: [String] {
        (requiresIsolation ? ["it runs in a worker only, except with --isolation off (isolation.required)"] : [])
            + readable.map { "it reads \($0.summary) while it is loaded in a worker (isolation.read)" }
    }

    /// What is wrong with a manifest, and in which key.
    package struct Failure: Error, Hashable {
        package var message: String
        package var remedy = "correct the manifest and rebuild"
    }

    /// Reads the JSON text of a manifest note.
    package init(json bytes: [UInt8]) throws(Failure) {
        let document: JSONValue
        do { document = try JSONParser.parse(bytes) } catch {
            throw Failure(message: "\(error.message) at byte \(error.offset)")
        }
        let root = ManifestField(document, path: "")
        let schema = try root["schema"].integer()
        guard schema == 1 else { throw Failure(message: "schema \(schema) is not known; this host reads 1") }
        let plugin = try root["plugin"].object()
        id = try plugin["id"].identifier()
        name = try plugin["name"].string(default: id)
        version = try plugin["version"].string()
        vendor = try plugin["vendor"].string(default: "")
        license = try plugin["license"].string(default: "")
        let abi = try root["abi"].object()
        abiMajor = try abi["major"].integer()
        abiMinorBuilt = try abi["minor_built"].integer()
        abiMinorNeeded = try abi["minor_needed"].integer()
        threads = try root["isolation"]["threads"].integer(default: 0)
        isInterruptible = try root["isolation"]["interruptible"].boolean(default: true)
        survivesShortage = try root["isolation"]["survives_shortage"].boolean(default: true)
        requiresIsolation = try root["isolation"]["required"].boolean(default: false)
        readable = try root["isolation"]["read"].list(SystemResource.init)
        libraries = try root["libraries"].list { field throws(Failure) in
            Library(name: try field["name"].string(), version: try field["version"].string(default: ""))
        }
        coders = try root["coders"].list(Coder.init)
        guard !coders.isEmpty else { throw Failure(message: "coders is empty") }
        guard Set(coders.map(\.id)).count == coders.count else { throw Failure(message: "two coders have one id") }
    }
}

extension PluginManifest.Coder {
    fileprivate init(_ field: ManifestField) throws(PluginManifest.Failure) {
        id = try field["id"].identifier()
        roles = []
        // A role this version has no word for is one it will not ask for.
        for name in try field["roles"].strings() { if let role = CoderRoles(named: name) { roles.insert(role) } }
        priority = try field["priority"].integer(default: 100)
        cost = try field["cost"].string(default: "normal")
        carries = Set(try field["metadata"].strings())
        formats = try field["formats"].list(PluginManifest.Format.init)
        options = try field["options"].list(PluginManifest.Option.init)
        transcodes = try field["transcodes"].strings().map { ImageFormat($0) }
        guard !formats.isEmpty else { throw PluginManifest.Failure(message: "\(id) serves no format") }
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
            throw PluginManifest.Failure(message: "option \(key) has the unknown type \(type)")
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
