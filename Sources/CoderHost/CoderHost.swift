// Every value that the host takes and gives is a word of this module; whoever imports the host has them.
@_exported public import ImageModel

/// The host: plugin folders on one side, pictures on the other.
///
///     let host = CoderHost()
///     let image = try host.manager.decode(try ImageSource(path: "cat.heic"))
///     let png = try host.manager.encode(image, to: "png")
///
/// Making a host reads nothing; the first use reads the folders; plugin code runs when the first session needs it.
///
/// - Concurrency: any thread.
public final class CoderHost: Sendable {
    public let configuration: HostConfiguration
    /// Finds coders, decodes, encodes.
    public let manager: CodersManager
    private let registry: CoderRegistry

    public init(configuration: HostConfiguration = HostConfiguration()) {
        self.configuration = configuration
        registry = CoderRegistry(configuration: configuration)
        manager = CodersManager(registry: registry, configuration: configuration)
    }

    /// Every plugin file in the folders, with its status; loads none.
    public var plugins: [PluginRecord] { registry.snapshot.plugins }

    /// A plugin file as it is judged now, wherever it stands; nil when it is gone. Another of the same id is not looked
    /// for.
    package func judge(file path: String) -> PluginRecord? {
        PluginScanner(configuration: configuration).examine(file: path)
    }

    /// Plugins that failed too often, and are left alone for a while.
    public var quarantine: Quarantine { registry.quarantine }

    /// What would hold a sandboxed plugin back on this system; runs no plugin.
    ///
    /// - Throws: `.isolationUnavailable` when there is no sandbox at all.
    public func probeIsolation() throws(CoderError) -> Confinement { try registry.isolation.probe() }

    /// Folders and files that are there and could not be read, each with what helps.
    public var unreadPlaces: [String] { registry.snapshot.unread.map { "\($0.message); try: \($0.remedy)" } }

    /// What is odd about the trust store and the ledger of failures.
    public var warnings: [String] { registry.snapshot.warnings + quarantine.warnings }

    /// Blocks until a plugin folder changes or time is up; true when something may have changed.
    ///
    /// - Concurrency: one thread.
    public func waitForChange(milliseconds: Int) -> Bool { registry.waitForChange(milliseconds: milliseconds) }
}
