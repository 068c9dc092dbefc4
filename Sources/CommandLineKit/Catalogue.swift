package import CoderHost

/// The plugins of this package, installed or not.
package enum Catalogue {
    /// Read only when something is missing.
    package static let plugins: [HostConfiguration.KnownPlugin] = catalogueTexts.compactMap { text in
        guard let manifest = try? PluginManifest(json: Array(text.utf8)) else { return nil }
        // A room's product is named after its plugin: org.coderhost.x-plugin is libcoder-x.so.
        let name = manifest.id.split(separator: ".").last.map(String.init) ?? manifest.id
        return HostConfiguration.KnownPlugin(
            file: "libcoder-\(name.hasSuffix("-plugin") ? String(name.dropLast(7)) : name).so", manifest: manifest)
    }
}
