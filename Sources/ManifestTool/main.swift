// ManifestTool <manifest.json> <output.swift>                run by the build plugin EmbedManifest
// ManifestTool --catalogue <output.swift> <manifest.json>…   run by the build plugin EmbedCatalogue
// ManifestTool --templates <output.swift> <folder> <file>…   the same; file names are relative to the folder

/// Reads and validates a manifest; ends the build with line and column of an error.
func manifest(_ input: String) -> Manifest {
    guard let bytes = readFile(input, limit: Manifest.limit) else { fail("\(input): error: cannot read the file") }
    do throws(ManifestError) {
        return try Manifest(bytes)
    } catch {
        let place = error.place(in: bytes)
        fail("\(input):\(place.line):\(place.column): error: \(error.message)")
    }
}

let arguments = CommandLine.arguments
let mode = arguments.count >= 3 ? arguments[1] : ""
guard mode == "--catalogue" || mode == "--templates" && arguments.count >= 4 || arguments.count == 3 else {
    fail("usage: ManifestTool <manifest.json> <output.swift>")
}
let output = arguments[2]
let text =
    switch mode {
    case "--catalogue": Catalogue(arguments.dropFirst(3).map(manifest)).text
    case "--templates": EmbeddedFolder(arguments[3], arguments.dropFirst(4).map { $0 }).text
    default: GeneratedSource(manifest(arguments[1])).text
    }
if !writeFile(output, text) { fail("\(output): error: cannot write the file") }
