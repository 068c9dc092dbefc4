import CoderHost

/// The template that gives every output of a call its own name, for the hint if two have the same.
struct UniqueNames {
    /// The folder of the outputs and the placeholder of folders below it; nil if no folders are recreated.
    private let tree: String?
    /// The placeholders that make the names of inputs unique; nil if `{n}` counts the frames of one input.
    private let unique: String?
    /// Whether each input has outputs in several formats.
    private let hasFormats: Bool

    init(_ arguments: ParsedArguments, fields: [String], numbersInputs: Bool) {
        let output = arguments.value("--output") ?? ""
        if arguments.inputs.isCollected, fields.contains("tree") {
            let folder =
                Self.isFolder(output)
                ? output + (output.hasSuffix("/") ? "" : "/") : FileName(String(output.prefix { $0 != "{" })).folder
            tree = folder + "{tree}"
        } else {
            tree = nil
        }
        let parts = [
            "{stem}-{n}", arguments.has("--sizes") ? "-{w}" : "", arguments.has("--item") ? "-{item}" : "",
        ]
        unique = numbersInputs ? parts.joined() : nil
        hasFormats = arguments.value("--format")?.contains(",") ?? false
    }

    /// Whether inputs of a folder go to a folder of this name.
    private static func isFolder(_ output: String) -> Bool {
        if output.isEmpty { return false }
        if output.hasSuffix("/") { return true }
        if let status = FileStatus.of(output) { return status.isDirectory }
        return !output.contains("{") && FileName(output).suffix == nil
    }

    /// Returns the hint: a template in the same folder, for the same format.
    func hint(_ path: String) -> String {
        let name = FileName(path)
        let suffix = hasFormats ? "{ext}" : name.suffix ?? "{ext}"
        guard let unique else {
            return "use a template with unique names, such as '{dir}{stem}-{n}.\(suffix)' or "
                + "'{stem}-{ext}-{n}.\(suffix)'"
        }
        return "use a template with unique names: -o '\(tree ?? name.folder)\(unique).\(suffix)'"
    }
}
