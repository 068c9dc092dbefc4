public import ImageModel
package import PluginCatalogue

/// The description of a coder, known before any of its code runs.
public struct CoderDescriptor: Sendable, Hashable {
    /// The origin of a coder; later cases have precedence.
    package enum Tier: Int, Sendable, Hashable, Comparable {
        case foreign = 0
        case user = 1
        case signed = 2
        case system = 3
        case builtIn = 4
        /// Registered by the application while the host runs.
        case runTime = 5

        /// Compares the raw values.
        package static func < (a: Tier, b: Tier) -> Bool { a.rawValue < b.rawValue }

        package init(_ tier: PluginRecord.Tier) {
            self =
                switch tier {
                case .foreign: .foreign
                case .user: .user
                case .signed: .signed
                case .system: .system
                }
        }

        /// The name in messages and in JSON.
        package var word: String {
            switch self {
            case .foreign: "foreign"
            case .user: "user"
            case .signed: "signed"
            case .system: "system"
            case .builtIn: "built-in"
            case .runTime: "run-time"
            }
        }
    }

    /// The declarations of a coder that concern outputs.
    package struct Output: Sendable, Hashable {
        /// The metadata that the encoder can write: names of blob kinds, and `orientation`.
        package var carries: Set<String>
        /// The formats whose streams the coder transcodes without loss, for the role `transcode`.
        package var transcodes: [ImageFormat]
        /// How well the first format suits as the default format for a kind of image; higher is better.
        package var defaultRanks: [PluginManifest.ImageKind: Int]
    }

    /// The id of the coder.
    public var id: String
    /// The id of its plugin; nil for coders of the host and of the application.
    package var plugin: String?
    /// The version of its plugin.
    package var version: String
    /// The origin of the coder.
    package var tier: Tier
    /// The operations that it supports.
    package var roles: CoderRoles
    /// The formats that it supports.
    package var formats: [PluginManifest.Format]
    /// The options that it accepts.
    package var options: [PluginManifest.Option]
    /// The priority chosen by the plugin's author; 100 by default.
    package var priority: Int
    /// The priority set by the administrator or the user.
    package var administeredPriority: Int?
    /// The declarations that concern outputs.
    package var output: Output

    /// Describes a coder of the application, for ``ImageCoder``.
    ///
    /// - Parameters:
    ///   - id: a name in reverse-DNS form, such as `org.example.noise`.
    ///   - extensions: the file name extensions, in lower case without a dot.
    ///   - magic: the bytes with which files of the format begin; without them, only hints and names select the coder.
    public init(
        id: String, format: ImageFormat, extensions: [String], magic: [[UInt8]] = [], roles: CoderRoles = .decode
    ) {
        self.init(
            id: id, version: "", tier: .runTime, roles: roles,
            formats: [
                PluginManifest.Format(
                    id: format, name: format.id, extensions: extensions,
                    signatures: magic.map {
                        Signature(rules: [.bytes(at: 0, $0, mask: [UInt8](repeating: 0xFF, count: $0.count))])
                    })
            ])
    }

    /// Creates a description.
    package init(
        id: String, plugin: String? = nil, version: String, tier: Tier, roles: CoderRoles,
        formats: [PluginManifest.Format], options: [PluginManifest.Option] = [], priority: Int = 100,
        administeredPriority: Int? = nil, carries: Set<String> = [],
        transcodes: [ImageFormat] = [], defaultRanks: [PluginManifest.ImageKind: Int] = [:]
    ) {
        self.id = id
        self.plugin = plugin
        self.version = version
        self.tier = tier
        self.roles = roles
        self.formats = formats
        self.options = options
        self.priority = priority
        self.administeredPriority = administeredPriority
        output = Output(carries: carries, transcodes: transcodes, defaultRanks: defaultRanks)
    }

    package init(_ coder: PluginManifest.Coder, of record: PluginRecord) {
        self.init(
            id: coder.id, plugin: record.id, version: record.manifest?.version ?? "",
            tier: Tier(record.tier), roles: coder.roles, formats: coder.formats,
            options: coder.options, priority: coder.priority,
            administeredPriority: record.administration.priority, carries: coder.carries,
            transcodes: coder.transcodes, defaultRanks: coder.defaultRanks)
    }

    /// Returns the options that this coder's decoder declares, or all options if it has no schema.
    package func decodeOptions(of options: CoderOptions) -> CoderOptions {
        guard tier != .runTime || !self.options.isEmpty else { return options }
        return CoderOptions(
            options.values.filter { entry in
                self.options.contains { $0.key == entry.key && $0.scope.includesDecoding }
            })
    }

    /// Returns whether the coder supports a format in any role.
    package func serves(_ format: ImageFormat) -> Bool { formats.contains { $0.id == format } }
}
