import CoderHost
import CommandLineKit
import ImageModel

/// Prints metadata as named tags, and changes it without re-encoding the image.
enum MetadataCommand: Command {
    static let specification = CommandSpecification(
        name: "metadata", summary: "print, set and remove Exif, GPS, XMP, IPTC and text", operands: "FILE…",
        operandCount: 1...1_000_000,
        examples: [
            ("coderhost metadata photo.jpg", "all tags, named as exiftool names them"),
            ("coderhost metadata -f DateTimeOriginal photo.jpg", "one value, for scripts"),
            ("coderhost metadata -n -f GPSLatitude -f GPSLongitude photo.jpg", "the position in degrees"),
            ("coderhost metadata -r photos --json", "one JSON object per image"),
            ("coderhost metadata photo.jpg --set copyright='(c) Ann' -o out.jpg", "set a text, keep the pixels"),
            ("coderhost metadata -r photos --strip gps --overwrite", "remove the position in place"),
        ],
        options: [
            OptionSpecification(
                "-f", "--field", value: "TAG", isList: true,
                help: "print only this tag, such as Model or GPS:GPSLatitude (may be repeated; default: all)"),
            OptionSpecification("-n", "--numeric", help: "print values as numbers, without units and words"),
            OptionSpecification(
                "--set", value: "NAME=TEXT", isList: true,
                help: "set \(fields) (may be repeated; default: keep)"),
            OptionSpecification(
                "--strip", value: "PARTS", isList: true, choices: MetadataParts.choices,
                help: "metadata to remove: \(MetadataParts.list), or all except icc (default: none)"),
            .output("with --set, --strip: file, folder/, - or template of {dir} {tree} {stem} {ext} {n}"),
        ] + OptionSpecification.inputs + [.skipExisting] + ConvertJob.outputSpecification)

    private static let fields = MetadataField.allCases.map(\.rawValue).joined(separator: ", ")

    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitCode {
        guard arguments.has("--set") || arguments.has("--strip") else {
            if let option = ["--output", "--overwrite", "--skip-existing"].first(where: arguments.has) {
                throw UsageError(
                    "\(option) needs --set or --strip", hint: "without them, metadata prints the tags",
                    command: specification.name)
            }
            return try MetadataReport(arguments).run()
        }
        if arguments.has("--field") || arguments.has("--numeric") {
            throw UsageError(
                "--field and --numeric print tags, --set and --strip write a file",
                hint: "run the command twice", command: specification.name)
        }
        guard arguments.value("--output") != nil || arguments.has("--overwrite") else {
            throw UsageError(
                "--set and --strip need an output",
                hint: "-o OUT, or --overwrite to change the file itself", command: specification.name)
        }
        var options = RewriteOptions()
        options.removed =
            try MetadataParts.named(
                by: "--strip", arguments, all: Set(RewriteOptions.Part.allCases).subtracting([.icc])) ?? []
        options.fields = try texts(arguments)
        return try RewriteJob(arguments, options, command: specification.name).run(arguments)
    }

    private static func texts(_ arguments: ParsedArguments) throws(UsageError) -> [MetadataField: String] {
        var result: [MetadataField: String] = [:]
        for pair in arguments.all("--set") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2, let field = MetadataField(rawValue: parts[0].lowercased()) else {
                let words = MetadataField.allCases.map(\.rawValue)
                throw UsageError(
                    "invalid --set value \"\(pair)\": expected NAME=TEXT",
                    hint: parts.count == 2
                        ? OptionCheck.nearest(parts[0].lowercased(), words).map { "did you mean \($0)?" }
                            ?? "names: \(words.joined(separator: ", "))"
                        : "for example --set copyright='(c) Ann'")
            }
            if result.updateValue(parts[1], forKey: field) != nil {
                throw UsageError("--set names \(field.rawValue) twice", hint: "remove one of the two")
            }
        }
        return result
    }
}

/// The tags of images as text or JSON.
struct MetadataReport {
    private let arguments: ParsedArguments
    private let host: CoderHost
    private let limits: DecodeLimits
    private let isNumeric: Bool
    private let wanted: [String]

    init(_ arguments: ParsedArguments) throws(UsageError) {
        self.arguments = arguments
        host = try arguments.host()
        limits = try arguments.limits()
        isNumeric = arguments.has("--numeric")
        wanted = arguments.all("--field").flatMap { $0.split(separator: ",").map(String.init) }
    }

    /// Whether there may be several files.
    private var isBatch: Bool { arguments.operands.count > 1 || arguments.inputs.isCollected }

    func run() -> ExitCode {
        FramesCommand.each(arguments.operands, arguments, host) { file, _ throws(CoderError) in
            let source = try ImageSource(path: file, limits: limits)
            let (tags, format, warnings) = try host.manager.withSession(source) { session throws(CoderError) in
                var omissions: [String] = []
                let tags = MetadataTag.read(from: try session.storedMetadata(), omissions: &omissions)
                return (tags, session.format, session.context.warnings + omissions)
            }
            // Among many files, an absent tag is a result; for one file, it is an error.
            let problem = isBatch ? nil : absence(in: tags)
            if arguments.has("--json") {
                Console.out(
                    JSONValue.object(
                        [
                            ("file", .string(file)), ("format", .string(format.id)), ("tags", json(tags)),
                            ("warnings", .array(warnings.map(JSONValue.string))),
                        ] + (problem.map { [("error", $0.json)] } ?? [])
                    ).text)
                return problem
            }
            for warning in warnings { Console.error(printable("coderhost: \(file): warning: \(warning)")) }
            if wanted.isEmpty {
                list(tags, of: file)
            } else if !isBatch || wanted.contains(where: { find($0, tags) != nil }) {
                printFields(tags)
            }
            if let problem { throw problem }
            return nil
        }
    }

    private func list(_ tags: [MetadataTag], of file: String) {
        if arguments.operands.count > 1 { Console.out("\(printable(file)):") }
        let width = min(40, tags.map { $0.group.count + $0.name.count + 1 }.max() ?? 0)
        for tag in tags {
            let label = "\(tag.group):\(tag.name)"
            let gap = String(repeating: " ", count: max(0, width - label.count) + 2)
            Console.out(label + gap + printable(shown(tag)))
        }
        if tags.isEmpty { Console.error(printable("coderhost: \(file): no metadata")) }
    }

    /// Prints one line for each wanted tag, so that lines keep their places: an absent tag is an empty line.
    private func printFields(_ tags: [MetadataTag]) {
        for name in wanted { Console.out(find(name, tags).map { printable(shown($0)) } ?? "") }
    }

    /// Returns the error for the first wanted tag that the image does not have; nil if it has all.
    private func absence(in tags: [MetadataTag]) -> CoderError? {
        guard let missing = wanted.first(where: { find($0, tags) == nil }) else { return nil }
        let near = OptionCheck.nearest(missing.lowercased(), tags.map { $0.name.lowercased() })
        let name = near.flatMap { near in tags.first { $0.name.lowercased() == near }?.name }
        return CoderError(
            .notFound, "there is no tag \(missing)",
            hint: name.map { "did you mean \($0)?" } ?? "coderhost metadata lists all tags of a file")
    }

    /// Returns the tag with a name; a combined tag, such as the signed position, precedes its parts.
    private func find(_ name: String, _ tags: [MetadataTag]) -> MetadataTag? {
        let matches = tags.filter { $0.matches(name) }
        return matches.first { $0.group == "Composite" } ?? matches.first
    }

    private func shown(_ tag: MetadataTag) -> String { isNumeric ? tag.value.plain : tag.text }

    private func json(_ tags: [MetadataTag]) -> JSONValue {
        let chosen = wanted.isEmpty ? tags : wanted.compactMap { find($0, tags) }
        var members: [(key: String, values: [JSONValue])] = []
        var places: [String: Int] = [:]
        for tag in chosen {
            let key = "\(tag.group):\(tag.name)"
            if let place = places[key] {
                members[place].values.append(json(tag))
            } else {
                places[key] = members.count
                members.append((key, [json(tag)]))
            }
        }
        // A repeated tag becomes a list.
        var result = members.map { ($0.key, $0.values.count == 1 ? $0.values[0] : .array($0.values.flatMap(elements))) }
        if isBatch { result += wanted.filter { find($0, tags) == nil }.map { ($0, JSONValue.null) } }
        return .object(result)
    }

    private func elements(_ value: JSONValue) -> [JSONValue] { value.array ?? [value] }

    private func json(_ tag: MetadataTag) -> JSONValue {
        switch tag.value {
        case .list(let texts): return .array(texts.map(JSONValue.string))
        case .integer(let number) where isNumeric || tag.text == tag.value.plain: return .integer(number)
        case .real(let number) where number.isFinite && (isNumeric || tag.text == tag.value.plain): return .real(number)
        default: return .string(shown(tag))
        }
    }
}
