/// A file that looks like a plugin, and what is known of it without running it.
public struct PluginRecord: Sendable, Hashable {
    /// Who vouches for the place a plugin stands in.
    public enum Tier: Int, Sendable, Hashable, Comparable {
        /// The user's own folders.
        case user = 1
        /// A chain of folders that belongs to root.
        case system = 2

        public static func < (a: Tier, b: Tier) -> Bool { a.rawValue < b.rawValue }
        public var word: String { self == .system ? "system" : "user" }
    }

    public var path: String
    public var directory: HostConfiguration.PluginDirectory
    public var tier: Tier
    public var status: PluginStatus
    /// Nil where it could not be read.
    public var manifest: PluginManifest?
    /// Libraries the loader has to find.
    public var needed: [String]
    var identity: FileIdentity?
    var administration = Administration()
    var needsOrigin = false
    /// Whether it stands in the folder of the running program's own installation.
    var isInstalled = false

    public var fileName: String { path.split(separator: "/").last.map(String.init) ?? path }
    /// The manifest's id, or the file's name where there is none.
    public var id: String { manifest?.id ?? fileName }
}
