/// A plugin that is published with this project, installed or not.
package struct KnownPlugin: Sendable, Hashable {
    /// The file name, for example `libcoder-x.so`.
    package var file: String
    /// The manifest of the plugin.
    package var manifest: PluginManifest

    /// Creates an entry.
    package init(file: String, manifest: PluginManifest) {
        self.file = file
        self.manifest = manifest
    }
}
