/// A file that looks like a plugin, and what is known of it without running it.
public struct PluginRecord: Sendable, Hashable {
    /// Who vouches for the place a plugin stands in.
    public enum Tier: Int, Sendable, Hashable, Comparable {
        /// Nobody: the policy allows it all the same.
        case foreign = 0
        /// The user: it stands where only the user and root can write, or the user vouched for the file.
        case user = 1
        /// A trusted key.
        case signed = 2
        /// Root: every folder above it belongs to root.
        case system = 3

        public static func < (a: Tier, b: Tier) -> Bool { a.rawValue < b.rawValue }

        public var word: String {
            switch self {
            case .foreign: "foreign"
            case .user: "user"
            case .signed: "signed"
            case .system: "system"
            }
        }
    }

    /// What the decision to use a plugin rests on.
    enum Grounds: Hashable {
        /// Nothing; it is not used.
        case none
        /// Nobody else can write where it stands.
        case place
        /// Somebody vouches for these bytes, wherever they stand.
        case content(ContentHash)
        /// The policy asks for nothing.
        case policy
    }

    public var path: String
    public var directory: HostConfiguration.PluginDirectory
    public var tier: Tier
    public var status: PluginStatus
    /// Nil where it could not be read.
    public var manifest: PluginManifest?
    /// Libraries the loader has to find.
    public var needed: [String]
    /// What stands in the file beside it, `libcoder-x.so.sig`.
    public var signature = SignatureState.none
    /// What is odd, but no reason not to use it.
    public var warnings: [String] = []
    var grounds = Grounds.none
    /// The manifest's bytes as they were judged.
    var manifestText: [UInt8] = []
    var identity: FileIdentity?
    var administration = Administration()
    var needsOrigin = false
    /// Why the process could not look at it, although it may be a plugin.
    var shortage: SystemError?
    /// Whether it stands in the folder of the running program's own installation.
    var isInstalled = false

    public var fileName: String { path.split(separator: "/").last.map(String.init) ?? path }
    /// The hash of the file, whatever stands there now; reads all of it.
    public var contentHash: ContentHash? { KnownHashes.hash(of: self) }
    /// The manifest's id, or the file's name where there is none.
    public var id: String { manifest?.id ?? fileName }
}
