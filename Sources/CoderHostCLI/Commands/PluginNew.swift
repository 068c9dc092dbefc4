import CoderHost
import CommandLineKit
import ImageModel

/// Begins a plugin: a small project that builds, is listed and passes the checks before a line of it was changed.
enum PluginNew: PluginVerb {
    static let name = "new"
    static let summary = "begin a plugin that builds and works at once"
    static let operands = "NAME"
    static let examples: [(command: String, does: String)] = [
        ("coderhost plugin new tga", "a plugin in C for the format tga, in the folder coder-tga"),
        ("coderhost plugin new tga --lang rust --id org.me.tga -o ~/tga", "in Rust, elsewhere, under your name"),
    ]
    static let options = [
        OptionSpecification("--lang", value: "LANG", help: "\(Template.languages.formatted) (default: c)"),
        OptionSpecification("--id", value: "ID", help: "the coder's id (default: org.example.NAME)"),
        OptionSpecification("-o", "--output", value: "DIR", help: "the folder to make (default: coder-NAME)"),
    ]

    static func run(_ operands: [String], _ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        guard operands.count == 1 else {
            throw UsageError(
                operands.isEmpty ? "plugin new needs a NAME" : "\"\(operands[1])\" is one word too many",
                hint: "coderhost plugin new \(operands.first ?? "tga")", command: "plugin")
        }
        let name = try checked(name: operands[0])
        let language = arguments.value("--lang") ?? "c"
        guard Template.languages.contains(language) else {
            throw UsageError(
                "there is no template in \(printable(language))",
                hint: OptionCheck.nearest(language, Template.languages).map { "did you mean --lang \($0)?" }
                    ?? "--lang is \(Template.languages.formatted)", command: "plugin")
        }
        let id = try checked(id: arguments.value("--id") ?? "org.example.\(name)")
        let place = arguments.value("--output") ?? "coder-\(name)"
        let rival = Rival(of: name, id, try arguments.host())
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

    /// The name becomes a file name, the id of a format, a file name extension and a part of a MIME type.
    private static func checked(name: String) throws(UsageError) -> String {
        let bytes = name.utf8
        guard let first = bytes.first, let last = bytes.last, isLetter(first), last != UInt8(ascii: "-"),
            (2...32).contains(bytes.count), bytes.allSatisfy({ isLetter($0) || isDigit($0) || $0 == UInt8(ascii: "-") })
        else {
            throw UsageError(
                "\"\(printable(name))\" cannot be the name of a format",
                hint: "2 to 32 lower-case letters, digits and hyphens, a letter first, no hyphen last",
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
                "\"\(printable(id))\" is no id", hint: "a name you own, turned round: org.example.tga",
                command: "plugin")
        }
        return id
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }
    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func tell(_ folder: String, _ template: Template, _ rival: Rival?, _ arguments: ParsedArguments) {
        let file = "libcoder-\(template.name).so"
        // Quoted, so that the line can be copied whatever the folder is called.
        let word = "'" + folder.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
        let isPlain = folder.utf8.allSatisfy {
            isLetter($0 | 0x20) || isDigit($0) || "/._-".utf8.contains($0)
        }
        let steps = [
            ("cd \(isPlain && !folder.hasPrefix("-") ? folder : word)", "README.md says what is where"),
            ("make", "builds \(file)"),
            ("make test", "what has to hold for any coder"),
            ("coderhost plugin check \(file)", "everything that is asked of a plugin"),
            ("coderhost list --plugin-dir .", "ready, or the reason and what helps"),
            (
                "coderhost convert --plugin-dir . photo.\(template.name == "png" ? "jpg" : "png") -o photo.\(template.name)",
                "to your format, and back"
            ),
            ("make install", "into the folder of the installed coderhost"),
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

/// A coder that is there already for the format of a new one.
private struct Rival {
    let coder: String
    let lines: [String]

    /// Nil where the name is free.
    init?(of name: String, _ id: String, _ host: CoderHost) {
        let format = host.manager.order(for: ImageFormat(name)).isEmpty ? host.manager.format(ofExtension: name) : nil
        let known = format ?? ImageFormat(name)
        guard let first = host.manager.encoders(for: known).first ?? host.manager.order(for: known).first else {
            return nil
        }
        coder = first.descriptor.id
        // What the manifests of the templates say.
        let wins = !first.precedes(newcomer: id, version: "0.1.0", priority: 100)
        let (winner, loser) = wins ? (id, coder) : (coder, id)
        let priority = first.descriptor.priority
        lines = [
            "coderhost: warning: \(format == nil ? "the format \(name)" : "the ending .\(name) of \(known)") is served "
                + "already, by \(coder) (priority \(first.descriptor.administeredPriority ?? first.descriptor.priority))",
            "  once both are installed, pictures are read by whom their first bytes belong to: those of the new one begin "
                + "with toy-\(name) until you change that",
            "  .\(name) is written by \(winner), which comes before \(loser) in the same folder; a folder of root's comes "
                + "before one of yours",
            "  try: another name, coderhost plugin new my-\(name); or \"priority\" in the manifest of the new one, "
                + (wins ? "below \(priority) to come second" : "from \(max(100, priority) + 1) on to come first")
                + "; coderhost list --format \(known) --explain shows the order",
        ]
    }
}

/// The files of a new plugin.
private struct Template {
    let language: String
    let name: String
    let id: String

    /// Folders of `Templates/`, apart from the one with what all of them have.
    static let languages = ["c", "swift", "rust"]
    private static let common = "common"

    var files: [(path: String, text: String)] {
        let values = [
            "NAME": name, "ID": id, "MAGIC_HEX": "toy-\(name)\n".utf8.map(Self.hex).joined(),
        ]
        return templateFiles.compactMap { file in
            let parts = "\(file.path)".split(separator: "/")
            guard parts[0] == language || parts[0] == Self.common else { return nil }
            // A file that git takes for its own must not stand in this repository under that name.
            let path = parts.dropFirst().map { $0.hasPrefix("dot-") ? "." + $0.dropFirst(4) : String($0) }
            return (path.joined(separator: "/"), Self.filled("\(file.text)", values))
        }.sorted { $0.path < $1.path }
    }

    private static func hex(_ byte: UInt8) -> String { (byte < 16 ? "0" : "") + String(byte, radix: 16) }

    /// Replaces each `@KEY@` that is known.
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
    /// `a, b or c`.
    fileprivate var formatted: String { dropLast().joined(separator: ", ") + " or " + (last ?? "") }
}
