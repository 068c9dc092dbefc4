import CoderHost
import ImageModel

/// Where `convert` writes: one file, a folder, names from a template, or standard output.
struct OutputTarget {
    private enum Kind {
        case file(String)
        case folder(String)
        case template(String)
    }

    private let kind: Kind
    let mayReplace: Bool
    let mayReplaceInput: Bool

    var isStandardOutput: Bool { if case .file("-") = kind { true } else { false } }

    /// A name that may still lack the extension of its format.
    struct Name {
        var path: String
        var hasFormatPlaceholder: Bool

        func named(_ suffix: String) -> String { path + "." + suffix }

        /// The lower-case extension.
        var suffix: String? {
            FileName(path).suffix?.lowercased()
        }
    }

    private static let placeholders = ["stem", "dir", "ext", "n", "w", "h"]

    init(_ text: String, _ arguments: ParsedArguments) throws(UsageError) {
        mayReplace = !arguments.has("--no-overwrite")
        mayReplaceInput = arguments.has("--overwrite")
        if text.isEmpty { throw UsageError("-o needs a name") }
        if text.hasSuffix("/") || (FileStatus.of(text)?.isDirectory ?? false) {
            guard FileStatus.of(text)?.isDirectory == true else {
                throw UsageError("the folder \(text) does not exist", hint: "make it first: mkdir -p \(text)")
            }
            kind = .folder(text.hasSuffix("/") ? text : text + "/")
        } else if text.contains("{") {
            for part in text.split(separator: "{").dropFirst(text.hasPrefix("{") ? 0 : 1) {
                let name = String(part.prefix { $0 != "}" && $0 != ":" })
                guard part.contains("}"), Self.placeholders.contains(name) else {
                    throw UsageError(
                        "the template has no {\(name)}",
                        hint: OptionCheck.nearest(name, Self.placeholders).map { "did you mean {\($0)}?" }
                            ?? "there are " + Self.placeholders.map { "{\($0)}" }.joined(separator: " "))
                }
            }
            kind = .template(text)
        } else {
            if arguments.operands.count > 1 && FileStatus.of(text)?.isRegular != false {
                throw UsageError(
                    "\(arguments.operands.count) inputs do not fit into the one file \(text)",
                    hint: "name a folder, or a template such as '{stem}.png'")
            }
            kind = .file(text)
        }
    }

    /// Whether a template has a placeholder, with or without a width.
    static func mentions(_ name: String, in template: String) -> Bool {
        template.split(separator: "{").dropFirst(template.hasPrefix("{") ? 0 : 1).contains { part in
            part.prefix { $0 != "}" && $0 != ":" } == name
        }
    }

    /// The output's name for one input; where the format decides the extension it is left open.
    func path(
        for input: String, number: Int, size: PixelSize, extensionOf: (ImageFormat) -> String
    ) -> Name {
        let name = FileName(input == "-" ? "stdin" : input)
        let (stem, suffix) = (name.stem, name.suffix ?? "")
        switch kind {
        case .file(let path): return Name(path: path, hasFormatPlaceholder: false)
        case .folder(let folder): return Name(path: folder + stem, hasFormatPlaceholder: true)
        case .template(let template):
            let values = [
                "stem": stem, "dir": name.folder, "ext": suffix, "n": String(number), "w": String(size.width),
                "h": String(size.height),
            ]
            return Name(path: Self.fill(template, values), hasFormatPlaceholder: false)
        }
    }

    /// Replaces `{name}`, and `{n:04}` with leading zeros.
    private static func fill(_ template: String, _ values: [String: String]) -> String {
        var result = ""
        var rest = template[...]
        while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
            result += rest[..<open]
            let parts = rest[rest.index(after: open)..<close].split(separator: ":")
            let value = values[String(parts.first ?? "")] ?? ""
            let width = parts.count > 1 ? min(16, max(0, Int(parts[1]) ?? 0)) : 0
            result += String(repeating: "0", count: max(0, width - value.count)) + value
            rest = rest[rest.index(after: close)...]
        }
        return result + rest
    }
}
