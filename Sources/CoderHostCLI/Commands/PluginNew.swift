import CoderHost
import CommandLineKit
import ImageModel

/// Creates a plugin project from a template. The project builds and passes all checks without changes.
enum PluginNew: PluginVerb {
    static let name = "new"
    static let summary = "create a plugin project that builds at once"
    static let operands = "NAME"
    static let examples: [(command: String, does: String)] = [
        ("coderhost plugin new tga", "create a C plugin for TGA in coder-tga"),
        ("coderhost plugin new tga --lang rust --id org.me.tga -o ~/tga", "create a Rust plugin with your own id"),
    ]
    static let options = [
        OptionSpecification("--lang", value: "LANG", help: "language: \(Template.languages.formatted) (default: c)"),
        OptionSpecification("--id", value: "ID", help: "id of the coder (default: org.example.NAME)"),
        OptionSpecification("-o", "--output", value: "DIR", help: "folder to create (default: coder-NAME)"),
    ]

    static func run(_ operands: [String], _ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        guard operands.count == 1 else {
            throw UsageError(
                operands.isEmpty ? "plugin new needs a NAME" : "unexpected argument \"\(operands[1])\"",
                hint: "coderhost plugin new \(operands.first ?? "tga")", command: "plugin")
        }
        let name = try checked(name: operands[0])
        let language = arguments.value("--lang") ?? "c"
        guard Template.languages.contains(language) else {
            throw UsageError(
                "invalid --lang value \"\(printable(language))\"",
                hint: OptionCheck.nearest(language, Template.languages).map { "did you mean --lang \($0)?" }
                    ?? "languages: \(Template.languages.formatted)", command: "plugin")
        }
        let id = try checked(id: arguments.value("--id") ?? "org.example.\(name)")
        let place = arguments.value("--output") ?? "coder-\(name)"
        let rival = CompetingCoder(of: name, id, try arguments.host())
        let template = Template(language: language, name: name, id: id)
        do throws(CoderError) {
            let folder = try NewFolder(place)
            for file in template.files { try folder.write(file.text, to: file.path) }
            try folder.commit()
            tell(folder.path, template, rival, arguments)
            return .success
        } catch {
            error.report(place, arguments)
            return ExitCode(error.code)
        }
    }

    /// Checks a name. It becomes a file name, a format id, a file extension and a part of a MIME type.
    private static func checked(name: String) throws(UsageError) -> String {
        let bytes = name.utf8
        guard let first = bytes.first, let last = bytes.last, isLetter(first), last != UInt8(ascii: "-"),
            (2...32).contains(bytes.count), bytes.allSatisfy({ isLetter($0) || isDigit($0) || $0 == UInt8(ascii: "-") })
        else {
            throw UsageError(
                "invalid format name \"\(printable(name))\"",
                hint: "use 2 to 32 lower-case letters, digits and hyphens; a letter first, no hyphen last",
                command: "plugin")
        }
        return name
    }

    private static func checked(id: String) throws(UsageError) -> String {
        let parts = id.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let isFit = parts.allSatisfy { part in
            !part.isEmpty
                && part.allSatisfy {
                    isLetter($0 | 0x20) || isDigit($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
                }
        }
        guard parts.count >= 2, isFit, id.utf8.count <= 100 else {
            throw UsageError(
                "invalid id \"\(printable(id))\"",
                hint: "use a reversed domain name, for example org.example.tga",
                command: "plugin")
        }
        return id
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }
    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func tell(
        _ folder: String, _ template: Template, _ rival: CompetingCoder?, _ arguments: ParsedArguments
    ) {
        let file = "libcoder-\(template.name).so"
        // Quoted, so that the user can copy the line for any folder name.
        let word = "'" + folder.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
        let isPlain = folder.utf8.allSatisfy {
            isLetter($0 | 0x20) || isDigit($0) || "/._-".utf8.contains($0)
        }
        let steps = [
            ("cd \(isPlain && !folder.hasPrefix("-") ? folder : word)", "README.md explains the files"),
            ("make", "build \(file)"),
            ("make test", "run the tests of the template"),
            ("coderhost plugin check \(file)", "run all checks of the contract"),
            ("coderhost list --plugin-dir .", "check that the host accepts it"),
            (
                "coderhost convert --plugin-dir . photo.\(template.name == "png" ? "jpg" : "png") "
                    + "-o photo.\(template.name)",
                "convert to your format"
            ),
            ("make install", "install for the installed coderhost"),
        ]
        if arguments.has("--json") {
            let members: [(key: String, value: JSONValue)] = [
                ("schema", .integer(1)), ("folder", .string(folder)), ("language", .string(template.language)),
                ("format", .string(template.name)), ("coder", .string(template.id)), ("plugin", .string(file)),
                ("files", .array(template.files.map { .string($0.path) })),
                ("next", .array(steps.map { .string($0.0) })),
                ("rival", rival.map { .string($0.coder) } ?? .null),
            ]
            Console.out(JSONValue.object(members).text)
            return
        }
        let language = template.language.prefix(1).uppercased() + template.language.dropFirst()
        Console.out("\(folder): a plugin in \(language), \(template.files.count) files. Next:")
        let width = steps.map { $0.0.count }.max() ?? 0
        for (command, does) in steps {
            Console.out("  \(command)\(String(repeating: " ", count: width - command.count + 2))\(does)")
        }
        for line in rival?.lines ?? [] { Console.error(line) }
    }
}

/// An installed coder for the format of the new plugin.
private struct CompetingCoder {
    let coder: String
    let lines: [String]

    /// Finds the coder; nil if no coder has the format.
    init?(of name: String, _ id: String, _ host: CoderHost) {
        let format = host.manager.order(for: ImageFormat(name)).isEmpty ? host.manager.format(ofExtension: name) : nil
        let known = format ?? ImageFormat(name)
        guard let first = host.manager.encoders(for: known).first ?? host.manager.order(for: known).first else {
            return nil
        }
        coder = first.descriptor.id
        // Version and priority match the manifests of the templates.
        let wins = !first.precedes(uninstalled: id, version: "0.1.0", priority: 100)
        let (winner, loser) = wins ? (id, coder) : (coder, id)
        let priority = first.descriptor.priority
        lines = [
            "coderhost: warning: \(format == nil ? "the format \(name)" : "the file extension .\(name) of \(known)") "
                + "already has a coder, \(coder) "
                + "(priority \(first.descriptor.administeredPriority ?? first.descriptor.priority))",
            "  with both installed, the first bytes of a file select the decoder; files of the new plugin begin with "
                + "toy-\(name) until you change its signature",
            "  \(winner) encodes .\(name): it precedes \(loser) in the same folder; system folders precede your own",
            "  try: another name, coderhost plugin new my-\(name); or \"priority\" in the new manifest, "
                + (wins ? "below \(priority) to come second" : "\(max(100, priority) + 1) or more to come first")
                + "; coderhost list --format \(known) --explain shows the order",
        ]
    }
}

/// The files of a new plugin.
private struct Template {
    let language: String
    let name: String
    let id: String

    /// The language folders of `Templates/`; `common` is for all languages.
    static let languages = ["c", "swift", "rust"]
    private static let common = "common"

    var files: [(path: String, text: String)] {
        let values = [
            "NAME": name, "ID": id, "MAGIC_HEX": "toy-\(name)\n".utf8.map(Self.hex).joined(),
        ]
        return templateFiles.compactMap { file in
            let parts = "\(file.path)".split(separator: "/")
            guard parts[0] == language || parts[0] == Self.common else { return nil }
            // Files such as .gitignore have a `dot-` prefix here, because git would interpret them.
            let path = parts.dropFirst().map { $0.hasPrefix("dot-") ? "." + $0.dropFirst(4) : String($0) }
            return (path.joined(separator: "/"), Self.filled("\(file.text)", values))
        }.sorted { $0.path < $1.path }
    }

    private static func hex(_ byte: UInt8) -> String { (byte < 16 ? "0" : "") + String(byte, radix: 16) }

    /// Replaces each known `@KEY@`.
    private static func filled(_ text: String, _ values: [String: String]) -> String {
        var result = ""
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if index > 0 { result += "\n" }
            var wasValue = true
            for part in line.split(separator: "@", omittingEmptySubsequences: false) {
                let value = wasValue ? nil : values[String(part)]
                if value == nil && !wasValue { result += "@" }
                result += value ?? String(part)
                wasValue = value != nil
            }
        }
        return result
    }
}

extension [String] {
    /// The elements as `a, b or c`.
    fileprivate var formatted: String { dropLast().joined(separator: ", ") + " or " + (last ?? "") }
}
