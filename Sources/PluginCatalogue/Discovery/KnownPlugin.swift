/// A plugin that is published with this project, installed or not.
public struct KnownPlugin: Sendable, Hashable {
    /// The file name, for example `libcoder-x.so`.
    public var file: String
    /// The manifest of the plugin.
    public var manifest: PluginManifest

    /// Creates an entry.
    public init(file: String, manifest: PluginManifest) {
        self.file = file
        self.manifest = manifest
    }
}
