// A program that imports CoderHost also sees the public types of the targets below it.
@_exported public import HostSystem
@_exported public import ImageMetadata
@_exported public import ImageModel
@_exported public import PluginCatalogue
@_exported public import PluginRuntime

/// The host: finds plugins and decodes and encodes images.
///
///     let host = CoderHost()
///     let image = try host.manager.decode(try ImageSource(path: "cat.heic"))
///     let png = try host.manager.encode(image, to: "png")
///
/// Creating a host reads no files. The first use scans the plugin folders, and the first session runs plugin code.
///
/// - Concurrency: any thread.
public final class CoderHost: Sendable {
    /// The configuration of the host.
    package let configuration: HostConfiguration
    /// Finds coders, and decodes and encodes images.
    public let manager: CodersManager
    private let registry: CoderRegistry

    /// Creates a host.
    public init(configuration: HostConfiguration = HostConfiguration()) {
        self.configuration = configuration
        registry = CoderRegistry(configuration: configuration)
        manager = CodersManager(registry: registry, configuration: configuration)
    }

    /// Every plugin file in the folders with its status; loads none.
    public var plugins: [PluginRecord] { registry.snapshot.plugins }

    /// Examines a plugin file at any location now; nil if it does not exist. Other files with the same id are ignored.
    package func judge(file path: String) -> PluginRecord? {
        PluginScanner(configuration.search).examine(file: path)
    }

    /// The plugins that failed too often and are disabled for a while.
    package var quarantine: Quarantine { registry.quarantine }

    /// Returns the sandbox mechanisms for plugins on this system; runs no plugin.
    ///
    /// - Throws: `.isolationUnavailable` if there is no sandbox.
    package func probeIsolation() throws(CoderError) -> Confinement { try registry.isolation.probe() }

    /// Existing folders and files that could not be read, with a remedy for each.
    package var unreadablePlaces: [String] { registry.snapshot.unread.map { "\($0.message); try: \($0.remedy)" } }

    /// Problems with the trust store and the quarantine ledger.
    public var warnings: [String] { registry.snapshot.warnings + quarantine.warnings }

    /// Blocks until a plugin folder changes or the timeout; returns true if something may have changed.
    ///
    /// - Concurrency: one thread.
    package func waitForChange(milliseconds: Int) -> Bool { registry.waitForChange(milliseconds: milliseconds) }
}
