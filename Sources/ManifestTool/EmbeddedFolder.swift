/// The Swift file with the texts of a folder's files.
struct EmbeddedFolder {
    let text: String

    /// Bytes of one file.
    private static let limit = 1 << 20

    /// Reads the files; ends the build with the name of the one that is no text.
    init(_ folder: String, _ files: [String]) {
        var text = "// Generated from the files of a folder; do not edit.\n\n"
        text += "let templateFiles: [(path: StaticString, text: StaticString)] = [\n"
        for file in files {
            guard file.hasPrefix(folder + "/"), let bytes = readFile(file, limit: Self.limit),
                bytes.count <= Self.limit, let content = String(validating: bytes, as: UTF8.self),
                !content.contains("\r")
            else { fail("\(file): error: this is no text below \(folder)") }
            let fence = Self.fence(for: content)
            text += "    (\n        \"\(file.dropFirst(folder.utf8.count + 1))\",\n"
            // A line feed belongs to the end of the literal, not to the text.
            text += "\(fence)\"\"\"\n\(content)\n\"\"\"\(fence)\n    ),\n"
        }
        self.text = text + "]\n"
    }

    /// More number signs than stand together in the text, so that nothing in it ends the literal or escapes anything.
    private static func fence(for text: String) -> String {
        var (longest, run) = (0, 0)
        for byte in text.utf8 {
            run = byte == UInt8(ascii: "#") ? run + 1 : 0
            longest = max(longest, run)
        }
        return String(repeating: "#", count: longest + 1)
    }
}
