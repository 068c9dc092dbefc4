import Foundation
import PackagePlugin

/// Tells the command line which plugins exist in this package, so that an error can name the one that is missing.
@main struct EmbedCatalogue: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        let rooms = context.package.directoryURL.appending(path: "Plugins")
        let manifests = try FileManager.default.contentsOfDirectory(at: rooms, includingPropertiesForKeys: nil)
            .map { $0.appending(path: "Plugin/manifest.json") }
            .filter { FileManager.default.fileExists(atPath: $0.path) }
            .sorted { $0.path < $1.path }
        let output = context.pluginWorkDirectoryURL.appending(path: "CatalogueTexts.swift")
        return [
            .buildCommand(
                displayName: "Embedding the catalogue of plugins",
                executable: try context.tool(named: "ManifestTool").url,
                arguments: ["--catalogue", output.path] + manifests.map(\.path),
                inputFiles: manifests, outputFiles: [output])
        ]
    }
}
