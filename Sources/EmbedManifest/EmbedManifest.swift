import PackagePlugin

/// Embeds the manifest.json of a target as an ELF note, and exports the entry point.
@main struct EmbedManifest: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        let manifest = target.directoryURL.appending(path: "manifest.json")
        let output = context.pluginWorkDirectoryURL.appending(path: "ExportedManifest.swift")
        return [
            .buildCommand(
                displayName: "Embedding the manifest of \(target.name)",
                executable: try context.tool(named: "ManifestTool").url,
                arguments: [manifest.path, output.path],
                inputFiles: [manifest], outputFiles: [output])
        ]
    }
}
