public import ImageModel

/// Where a host looks for plugins and what it allows.
public struct HostConfiguration: Sendable {
    /// A folder that may hold plugins, and why it is looked at.
    public struct PluginDirectory: Sendable, Hashable {
        public enum Origin: String, Sendable, Hashable {
            case argument, environment, user, relative, local, system
        }
        public var path: String
        public var origin: Origin

        public init(_ path: String, origin: Origin) {
            self.path = path
            self.origin = origin
        }
    }

    /// In order of precedence: of two plugins with one id, the one in the earlier folder is used.
    public var directories: [PluginDirectory]
    /// What a session may cost unless it says otherwise.
    public var limits: DecodeLimits
    /// Folders with one `<plugin-id>.conf` each for what an administrator or the user decided.
    public var administrationDirectories: [String]
    /// Whose plugins are used.
    public var trustPolicy: TrustPolicy
    /// Folders with what is vouched for (`<hash>.trust`) and by whom (`*.pub`, `revoked`).
    public var trustDirectories: [String]
    /// The folder for what the host remembers between runs: which plugins failed. Nil keeps that in memory.
    public var stateDirectory: String?
    /// Whether files that are dropped in, replaced or removed are noticed while the host runs.
    public var followsChanges: Bool
    /// Where plugins run.
    public var isolation = IsolationPolicy()
    /// Threads that one image may use where its options state no number: 1 keeps batches and servers fast, as many as there
    /// are processors make a single image fast. No output depends on it.
    public var threadsPerImage = 1
    /// What an undefined target format stands for.
    public var defaultAlphaFormat: ImageFormat = "png"
    public var defaultOpaqueFormat: ImageFormat = "jpeg"
    /// Plugins that exist somewhere, so that an error can name the one that is missing.
    public var catalogue: @Sendable () -> [KnownPlugin] = { [] }

    /// A plugin that need not be installed.
    public struct KnownPlugin: Sendable, Hashable {
        /// For example `libcoder-x.so`.
        public var file: String
        public var manifest: PluginManifest

        public init(file: String, manifest: PluginManifest) {
            self.file = file
            self.manifest = manifest
        }
    }

    public init(
        directories: [PluginDirectory]? = nil, limits: DecodeLimits = .default,
        administrationDirectories: [String]? = nil, followsChanges: Bool = true, trustPolicy: TrustPolicy? = nil,
        trustDirectories: [String]? = nil, stateDirectory: String? = HostConfiguration.standardState()
    ) {
        self.directories = directories ?? Self.standardDirectories()
        self.limits = limits
        self.administrationDirectories = administrationDirectories ?? Self.standardAdministration()
        self.followsChanges = followsChanges
        self.trustPolicy = trustPolicy ?? .standard
        self.trustDirectories = trustDirectories ?? Self.standardTrust()
        self.stateDirectory = stateDirectory
    }

    /// The search order: arguments, `CODERHOST_PLUGIN_PATH`, the user's data folder, beside the executable, the system.
    ///
    /// The working directory and the loader's paths are never searched. The environment is ignored in a process with
    /// raised privileges.
    public static func standardDirectories(arguments: [String] = []) -> [PluginDirectory] {
        var result = arguments.map { PluginDirectory($0, origin: .argument) }
        if let path = trustedEnvironment("CODERHOST_PLUGIN_PATH") {
            result += path.split(separator: ":").map { PluginDirectory(String($0), origin: .environment) }
        }
        if let data = trustedEnvironment("XDG_DATA_HOME"), data.hasPrefix("/") {
            result.append(PluginDirectory("\(data)/coderhost/plugins/1", origin: .user))
        } else if let home = trustedEnvironment("HOME"), home.hasPrefix("/") {
            result.append(PluginDirectory("\(home)/.local/share/coderhost/plugins/1", origin: .user))
        }
        result += installationDirectories().map { PluginDirectory($0, origin: .relative) }
        result.append(PluginDirectory("/usr/local/lib/coderhost/plugins/1", origin: .local))
        result.append(PluginDirectory("/usr/lib/coderhost/plugins/1", origin: .system))
        return result
    }

    /// The folders that belong to the running program.
    static func installationDirectories() -> [String] {
        guard let place = ProcessImage.place else { return [] }
        // A build tree has executables and plugins side by side; an installed bin folder holds no plugin.
        return ["\(place.prefix)/lib/coderhost/plugins/1", place.folder]
    }

    static func standardAdministration() -> [String] {
        (userSettings.map { ["\($0)/plugins.d"] } ?? []) + ["/etc/coderhost/plugins.d"]
    }

    static func standardTrust() -> [String] {
        (userSettings.map { ["\($0)/trust.d"] } ?? []) + ["/etc/coderhost/trust.d"]
    }

    /// `$XDG_STATE_HOME/coderhost`, or else `~/.local/state/coderhost`; nil where there is neither.
    public static func standardState() -> String? { userFolder("XDG_STATE_HOME", ".local/state") }

    /// `$XDG_CONFIG_HOME/coderhost`, or else `~/.config/coderhost`.
    private static var userSettings: String? { userFolder("XDG_CONFIG_HOME", ".config") }

    private static func userFolder(_ variable: String, _ usual: String) -> String? {
        if let folder = trustedEnvironment(variable), folder.hasPrefix("/") { return "\(folder)/coderhost" }
        if let home = trustedEnvironment("HOME"), home.hasPrefix("/") { return "\(home)/\(usual)/coderhost" }
        return nil
    }
}
