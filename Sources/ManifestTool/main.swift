// ManifestTool <manifest.json> <output.swift>: run by the build plugin EmbedManifest.

guard CommandLine.arguments.count == 3 else { fail("usage: ManifestTool <manifest.json> <output.swift>") }
let input = CommandLine.arguments[1]
let output = CommandLine.arguments[2]

guard let bytes = readFile(input, limit: Manifest.limit) else { fail("\(input): error: the file cannot be read") }
do throws(ManifestError) {
    let source = GeneratedSource(try Manifest(bytes))
    if !writeFile(output, source.text) { fail("\(output): error: the file cannot be written") }
} catch {
    let place = error.place(in: bytes)
    fail("\(input):\(place.line):\(place.column): error: \(error.message)")
}
