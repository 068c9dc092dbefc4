public import ImageModel
public import PluginCatalogue
import PluginRuntime

/// The configuration of a host: plugin folders, limits and isolation.
public struct HostConfiguration: Sendable {
    /// The plugin folders and the trust policy.
    package var search: PluginSearch
    /// The default limits of a session.
    public var limits: DecodeLimits
    /// The folder for persistent state, such as plugin failures; nil keeps state in memory.
    package var stateDirectory: String?
    /// Whether the host detects plugin files that are added, replaced or removed while it runs.
    package var followsChanges: Bool
    /// Where plugins run.
    public var isolation = IsolationPolicy()
    /// The threads per image if the options state no number. Use 1 for high throughput in batches and servers, and the
    /// number of processors for low latency of a single image. The output never depends on it.
    public var threadsPerImage = 1
    /// The default target format for stills with alpha; nil selects an installed encoder's format.
    package var defaultAlphaFormat: ImageFormat?
    /// The default target format for stills without alpha; nil selects an installed encoder's format.
    package var defaultOpaqueFormat: ImageFormat?
    /// The published plugins, which errors name if they are not installed.
    package var catalogue: @Sendable () -> [KnownPlugin] = { [] }
    /// The plugin ids of ``catalogue``, if they are known without parsing its manifests.
    package var catalogueIDs: (@Sendable () -> Set<String>)?

    /// Creates a configuration; omitted arguments select the defaults of this system.
    public init(
        directories: [PluginDirectory]? = nil, limits: DecodeLimits = .default, trustPolicy: TrustPolicy? = nil
    ) {
        self.init(directories: directories, limits: limits, administrationDirectories: nil, trustPolicy: trustPolicy)
    }

    /// Creates a configuration; omitted folders select the defaults of this system.
    package init(
        directories: [PluginDirectory]? = nil, limits: DecodeLimits = .default,
        administrationDirectories: [String]? = nil, followsChanges: Bool = true, trustPolicy: TrustPolicy? = nil,
        trustDirectories: [String]? = nil, stateDirectory: String? = HostConfiguration.standardState()
    ) {
        search = PluginSearch(
            directories: directories, administrationDirectories: administrationDirectories, trustPolicy: trustPolicy,
            trustDirectories: trustDirectories)
        self.limits = limits
        self.followsChanges = followsChanges
        self.stateDirectory = stateDirectory
    }

    /// Returns `$XDG_STATE_HOME/coderhost`, or else `~/.local/state/coderhost`; nil without both.
    package static func standardState() -> String? { PluginSearch.userFolder("XDG_STATE_HOME", ".local/state") }
}
