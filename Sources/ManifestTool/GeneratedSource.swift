/// Generates the Swift file of a plugin target with the manifest as an ELF note, and the entry point.
///
/// The file imports only the kit, so that the target needs no further dependency.
struct GeneratedSource {
    let text: String

    init(_ manifest: Manifest) {
        let words = Self.note(manifest.compact)
        // The compiler's constant evaluator fails for literals of more than about 4,500 elements.
        let parts = stride(from: 0, to: words.count, by: 2048).map { words[$0..<min($0 + 2048, words.count)] }
        let types = parts.map { "InlineArray<\($0.count), UInt32>" }.joined(separator: ", ")
        let values = parts.map { "[\n\(Self.lines(Array($0)))]" }.joined(separator: ", ")
        let keys = manifest.optionKeys.map { entry in
            "\"\(entry.coder)\": [\(entry.keys.map { "\"\($0)\"" }.joined(separator: ", "))]"
        }
        text = """
            // Generated from manifest.json by EmbedManifest; the next build overwrites changes.
            import CoderPluginKit

            @section(".note.coderhost") @used
            let coderManifestNote: (\(types)) = (\(values))

            private let exportedPlugin: ExportedPlugin = unsafe ExportedPlugin(
                plugin, minorNeeded: \(manifest.minorNeeded),
                optionKeys: [\(keys.isEmpty ? ":" : keys.joined(separator: ", "))],
                coder: { unsafe exportedPlugin.coder($0) })

            @c(cpi_entry_1)
            public func coderPluginEntry(
                _ host: UnsafeRawPointer?, _ error: UnsafeMutableRawPointer?
            ) -> UnsafeRawPointer? {
                unsafe exportedPlugin.enter(host, error)
            }

            """
    }

    /// Returns the note as little-endian words; each part is padded to a multiple of four bytes.
    ///
    ///     10 | bytes of the JSON | 0x43504931 | "CoderHost\0" + 2 | JSON + 0 … 3
    ///
    /// - Source: System V ABI, note section; `cpi/manifest.h`.
    static func note(_ json: [UInt8]) -> [UInt32] {
        let owner = Array("CoderHost\0".utf8)
        return [UInt32(owner.count), UInt32(json.count), 0x4350_4931] + words(owner) + words(json)
    }

    private static func words(_ bytes: [UInt8]) -> [UInt32] {
        stride(from: 0, to: bytes.count, by: 4).map { start in
            (0..<4).reduce(0) { word, index in
                start + index < bytes.count ? word | UInt32(bytes[start + index]) << (8 * index) : word
            }
        }
    }

    private static func lines(_ words: [UInt32]) -> String {
        var text = ""
        for start in stride(from: 0, to: words.count, by: 8) {
            let row = words[start..<min(start + 8, words.count)].map { "0x" + String($0, radix: 16) }
            text += "    " + row.joined(separator: ", ") + ",\n"
        }
        return text
    }
}
