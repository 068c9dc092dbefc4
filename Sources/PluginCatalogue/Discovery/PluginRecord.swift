package import HostSystem

/// A candidate plugin file and the facts known without running it.
public struct PluginRecord: Sendable, Hashable {
    /// The trust level of a plugin.
    package enum Tier: Int, Sendable, Hashable, Comparable {
        /// Untrusted; used only if the policy allows it.
        case foreign = 0
        /// Trusted by the user: only the user and root can write to its folder, or the user trusts the file's hash.
        case user = 1
        /// Signed by a trusted key.
        case signed = 2
        /// Installed by root: all its folders belong to root.
        case system = 3

        /// Compares by trust.
        package static func < (a: Tier, b: Tier) -> Bool { a.rawValue < b.rawValue }

        /// The name in messages and in JSON.
        package var word: String {
            switch self {
            case .foreign: "foreign"
            case .user: "user"
            case .signed: "signed"
            case .system: "system"
            }
        }
    }

    /// The reason why the host may use a plugin.
    package enum Grounds: Sendable, Hashable {
        /// None; the plugin is not used.
        case none
        /// Only root and the user can write to its location.
        case place
        /// The content is trusted, wherever the file is.
        case content(ContentHash)
        /// The policy has no requirement.
        case policy
    }

    /// The findings about the file.
    package struct Examination: Sendable, Hashable {
        /// The file that was checked; nil if it could not be opened.
        package var identity: FileIdentity?
        /// The bytes of the manifest that was checked.
        package var manifestText: [UInt8] = []
        /// Why the host may use the plugin.
        package var grounds = Grounds.none
        /// Whether a library is found only from the place of the file, so that a copy cannot be loaded.
        package var needsOrigin = false
        /// Whether the plugin is in the installation folder of the running program.
        package var isInstalled = false
        /// The shortage that prevented the check of a file that may be a plugin.
        package var shortage: SystemError?

        package init() {}
    }

    /// The path of the file.
    public var path: String
    /// The plugin folder with the file.
    package var directory: PluginDirectory
    /// The trust level.
    package var tier: Tier
    /// Whether the host uses the plugin.
    public var status: PluginStatus
    /// The manifest; nil if it could not be read.
    public var manifest: PluginManifest?
    /// The libraries that the loader must find.
    package var needed: [String]
    /// The state of the signature file beside it, `libcoder-x.so.sig`.
    package var signature = SignatureState.none
    /// Findings that do not prevent the use of the plugin.
    public var warnings: [String] = []
    package var administration = Administration()
    package var examination = Examination()

    /// The last component of the path.
    package var fileName: String { path.split(separator: "/").last.map(String.init) ?? path }
    /// The hash of the file, which is read completely; nil if the file changed.
    package var contentHash: ContentHash? { KnownHashes.hash(of: self) }
    /// The id in the manifest, or the file name without a manifest.
    public var id: String { manifest?.id ?? fileName }
}
