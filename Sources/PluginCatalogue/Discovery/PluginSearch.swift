import HostSystem

/// A folder that may hold plugins, and the source of its path.
public struct PluginDirectory: Sendable, Hashable {
    /// The source of a folder's path.
    package enum Origin: String, Sendable, Hashable {
        case argument, environment, user, relative, local, system
    }
    /// The path of the folder.
    public var path: String
    /// The source of the path.
    package var origin: Origin

    /// Creates an entry for a folder that the caller names.
    public init(_ path: String) { self.init(path, origin: .argument) }

    /// Creates an entry.
    package init(_ path: String, origin: Origin) {
        self.path = path
        self.origin = origin
    }
}

/// Where the host searches for plugins, and which plugins it trusts.
public struct PluginSearch: Sendable {
    /// The plugin folders in order of precedence: if two plugins have the same id, the host uses the first one.
    package var directories: [PluginDirectory]
    /// Folders with one `<plugin-id>.conf` for each plugin that an administrator or the user configured.
    package var administrationDirectories: [String]
    /// Which plugins the host trusts.
    package var trustPolicy: TrustPolicy
    /// Folders with trusted hashes (`<hash>.trust`), trusted keys (`*.pub`) and revoked keys (`revoked`).
    package var trustDirectories: [String]

    /// Creates a search; nil selects the default of this system.
    package init(
        directories: [PluginDirectory]? = nil, administrationDirectories: [String]? = nil,
        trustPolicy: TrustPolicy? = nil, trustDirectories: [String]? = nil
    ) {
        self.directories = directories ?? Self.standardDirectories()
        self.administrationDirectories = administrationDirectories ?? Self.standardAdministration()
        self.trustPolicy = trustPolicy ?? .standard
        self.trustDirectories = trustDirectories ?? Self.standardTrust()
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

    /// The plugin folders of the running program's installation.
    static func installationDirectories() -> [String] {
        guard let place = ProcessImage.place else { return [] }
        // A build tree has executables and plugins in one folder; an installed bin folder holds no plugins.
        return ["\(place.prefix)/lib/coderhost/plugins/1", place.folder]
    }

    static func standardAdministration() -> [String] {
        (userSettings.map { ["\($0)/plugins.d"] } ?? []) + ["/etc/coderhost/plugins.d"]
    }

    /// Returns the folders for settings of one user, or of all users; nil if this user has no folder.
    ///
    /// Settings are written to the first folder. Without this distinction, a process without `HOME` would change the
    /// settings of all users.
    package func administrationFolders(forAllUsers: Bool) -> [String]? {
        if forAllUsers { return administrationDirectories.last.map { [$0] } }
        return Self.userSettings == nil ? nil : administrationDirectories
    }

    static func standardTrust() -> [String] {
        (userSettings.map { ["\($0)/trust.d"] } ?? []) + ["/etc/coderhost/trust.d"]
    }

    /// `$XDG_CONFIG_HOME/coderhost`, or else `~/.config/coderhost`.
    private static var userSettings: String? { userFolder("XDG_CONFIG_HOME", ".config") }

    package static func userFolder(_ variable: String, _ usual: String) -> String? {
        if let folder = trustedEnvironment(variable), folder.hasPrefix("/") { return "\(folder)/coderhost" }
        if let home = trustedEnvironment("HOME"), home.hasPrefix("/") { return "\(home)/\(usual)/coderhost" }
        return nil
    }
}
