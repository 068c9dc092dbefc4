package import CoderHost
import HostSystem

/// All plugins of this package, installed or not.
package enum Catalogue {
    /// The ids of the plugins, for which no manifest is parsed.
    package static let ids = Set(catalogueIDs)

    /// The manifests of the plugins. The host reads them only to name a missing plugin.
    package static let plugins: [KnownPlugin] = catalogueTexts.compactMap { text in
        guard let manifest = try? PluginManifest(json: Array(text.utf8)) else { return nil }
        // The file name follows from the plugin id: org.coderhost.x-plugin is libcoder-x.so.
        let name = manifest.id.split(separator: ".").last.map(String.init) ?? manifest.id
        return KnownPlugin(
            file: "libcoder-\(name.hasSuffix("-plugin") ? String(name.dropLast(7)) : name).so", manifest: manifest)
    }

    /// The C libraries on which a plugin stands, for a message about a missing plugin.
    package static func libraries(of plugin: KnownPlugin) -> [String] {
        let manifests = catalogueTexts.lazy.compactMap { try? JSONParser.parse(Array($0.utf8)) }
        let manifest = manifests.first { $0["plugin"]?["id"]?.string == plugin.manifest.id }
        return manifest?["libraries"]?.array?.compactMap { $0["name"]?.string } ?? []
    }
}
