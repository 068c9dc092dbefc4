public import ImageModel

/// What is known of a coder before any of its code runs.
public struct CoderDescriptor: Sendable, Hashable {
    /// Where a coder comes from; later cases come first.
    public enum Tier: Int, Sendable, Hashable, Comparable {
        case foreign = 0
        case user = 1
        case signed = 2
        case system = 3
        case builtIn = 4
        /// Added while the host runs.
        case runTime = 5

        public static func < (a: Tier, b: Tier) -> Bool { a.rawValue < b.rawValue }

        init(_ tier: PluginRecord.Tier) {
            self =
                switch tier {
                case .foreign: .foreign
                case .user: .user
                case .signed: .signed
                case .system: .system
                }
        }

        public var word: String {
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

    public var id: String
    /// The plugin it belongs to; nil for coders of the host and of the application.
    public var plugin: String?
    public var version: String
    public var tier: Tier
    public var roles: CoderRoles
    public var formats: [PluginManifest.Format]
    public var options: [PluginManifest.Option]
    /// The plugin author's word; 100 unless there is a reason.
    public var priority: Int
    /// The administrator's or user's word.
    public var administeredPriority: Int?
    /// What its encoder can carry: names of blob kinds, and `orientation`.
    public var carries: Set<String>
    /// Formats whose streams it packs bit by bit, with the role `transcode`.
    public var transcodes: [ImageFormat]

    public init(
        id: String, plugin: String? = nil, version: String, tier: Tier, roles: CoderRoles,
        formats: [PluginManifest.Format], options: [PluginManifest.Option] = [], priority: Int = 100,
        administeredPriority: Int? = nil, carries: Set<String> = [],
        transcodes: [ImageFormat] = []
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
        self.carries = carries
        self.transcodes = transcodes
    }

    init(_ coder: PluginManifest.Coder, of record: PluginRecord) {
        self.init(
            id: coder.id, plugin: record.id, version: record.manifest?.version ?? "",
            tier: Tier(record.tier), roles: coder.roles, formats: coder.formats,
            options: coder.options, priority: coder.priority,
            administeredPriority: record.administration.priority, carries: coder.carries,
            transcodes: coder.transcodes)
    }

    /// Those of several options that this coder's decoder has a word for; all of them where it has no schema.
    func decodeOptions(of options: CoderOptions) -> CoderOptions {
        guard tier != .runTime || !self.options.isEmpty else { return options }
        return CoderOptions(
            options.values.filter { entry in
                self.options.contains { $0.key == entry.key && $0.scope.includesDecoding }
            })
    }

    public func serves(_ format: ImageFormat) -> Bool { formats.contains { $0.id == format } }
}
