import Foundation
import PackagePlugin

/// Embeds the manifests of all plugins of this package, so that an error message can name a missing plugin.
///
/// For a target with templates, it embeds the templates instead, so that `plugin new` needs no files at run time.
@main struct EmbedCatalogue: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        let folder = target.directoryURL.appending(path: "Templates")
        if FileManager.default.fileExists(atPath: folder.path) { return [try templates(context, folder)] }
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

    private func templates(_ context: PluginContext, _ folder: URL) throws -> Command {
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path).sorted()
        let files = names.map { folder.appending(path: $0) }.filter(isFile)
        let output = context.pluginWorkDirectoryURL.appending(path: "TemplateFiles.swift")
        return .buildCommand(
            displayName: "Embedding the templates of plugins",
            executable: try context.tool(named: "ManifestTool").url,
            arguments: ["--templates", output.path, folder.path] + files.map(\.path),
            inputFiles: files, outputFiles: [output])
    }

    private func isFile(_ place: URL) -> Bool {
        var isFolder: ObjCBool = false
        return FileManager.default.fileExists(atPath: place.path, isDirectory: &isFolder) && !isFolder.boolValue
    }
}
