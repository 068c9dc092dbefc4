/// Generates a Swift file with the texts and ids of several manifests.
struct Catalogue {
    let text: String

    init(_ manifests: [Manifest]) {
        var text = "// Generated from the manifests of this package's plugins; do not edit.\n\n"
        text += "let catalogueTexts: [String] = [\n"
        for manifest in manifests {
            text += "    ##\"\(String(decoding: manifest.compact, as: UTF8.self))\"##,\n"
        }
        text += "]\n\nlet catalogueIDs: [String] = [\n"
        for manifest in manifests { text += "    ##\"\(manifest.id)\"##,\n" }
        self.text = text + "]\n"
    }
}
