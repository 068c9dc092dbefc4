/// Generates a Swift file with the texts of all files in a folder.
struct EmbeddedFolder {
    let text: String

    /// The maximum size of a file in bytes.
    private static let limit = 1 << 20

    /// Reads the files; ends the build with the name of a file that is not text.
    init(_ folder: String, _ files: [String]) {
        var text = "// Generated from the files of a folder; do not edit.\n\n"
        text += "let templateFiles: [(path: StaticString, text: StaticString)] = [\n"
        for file in files {
            guard file.hasPrefix(folder + "/"), let bytes = readFile(file, limit: Self.limit),
                bytes.count <= Self.limit, let content = String(validating: bytes, as: UTF8.self),
                !content.contains("\r")
            else { fail("\(file): error: not a text file in \(folder)") }
            let fence = Self.fence(for: content)
            text += "    (\n        \"\(file.dropFirst(folder.utf8.count + 1))\",\n"
            // The last line feed is part of the literal's syntax, not of the text.
            text += "\(fence)\"\"\"\n\(content)\n\"\"\"\(fence)\n    ),\n"
        }
        self.text = text + "]\n"
    }

    /// Returns more number signs than occur in a row in the text, so that the text needs no escapes.
    private static func fence(for text: String) -> String {
        var (longest, run) = (0, 0)
        for byte in text.utf8 {
            run = byte == UInt8(ascii: "#") ? run + 1 : 0
            longest = max(longest, run)
        }
        return String(repeating: "#", count: longest + 1)
    }
}
