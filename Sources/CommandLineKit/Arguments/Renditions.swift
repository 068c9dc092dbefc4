import CoderHost
import ImageModel
import ImageProcessing

/// The outputs of each input: every width in every format.
package struct Renditions: Sendable {
    /// The formats of `--format`; empty if the output name or the input decides.
    let formats: [ImageFormat]
    /// The widths of `--sizes`; empty for one output of the size that other options request.
    let widths: [Int]
    /// Whether small images are enlarged to the widths.
    let enlarges: Bool
    /// The markup to print; nil for the usual report.
    package let markup: Srcset.Style?
    /// The alternative text in the markup.
    package let alternative: String
    /// The format of the outputs, if its encoder writes several images into one file.
    private(set) var itemFormat: ImageFormat?

    /// Whether there is more than one output for each input, or a report about all of them.
    var isSeries: Bool { formats.count > 1 || !widths.isEmpty || markup != nil }

    /// The largest number of outputs for each input.
    var count: Int { max(1, widths.count) * max(1, formats.count) }

    /// Parses `--format`, `--sizes`, `--srcset` and `--alt`.
    init(_ arguments: ParsedArguments, _ host: CoderHost, _ style: ConvertJob.Style) throws(UsageError) {
        let command = style.command
        var formats: [ImageFormat] = []
        for text in arguments.all("--format").flatMap({ $0.split(separator: ",", omittingEmptySubsequences: false) }) {
            let format = host.manager.format(named: text.lowercased())
            if !formats.contains(format) { formats.append(format) }
        }
        self.formats = formats
        if formats.count > 1, style.names != nil {
            throw UsageError(
                "\(command) writes one format", hint: "choose one, or use coderhost convert later", command: command)
        }
        widths = try RequestedSize.widths(arguments)
        enlarges = arguments.has("--enlarge")
        markup = try arguments.choice("--srcset", Srcset.Style.self)
        alternative = arguments.value("--alt") ?? ""
        if !widths.isEmpty,
            let other = [style.sizeOption, "--max", "--limit-bytes", "--fit"].first(where: arguments.has)
        {
            throw UsageError("--sizes and \(other) both set the output size", hint: "choose one", command: command)
        }
        if markup == nil, arguments.has("--alt") {
            throw UsageError("--alt needs --srcset", hint: "add --srcset html", command: command)
        }
        if markup != nil, arguments.has("--json") {
            throw UsageError(
                "--srcset and --json both print to standard output", hint: "use --srcset json", command: command)
        }
    }

    /// Returns the output for a series: in a folder, names with the width and the extension of the written format.
    func output(_ text: String) -> String {
        guard isSeries, text.hasSuffix("/") || FileStatus.of(text)?.isDirectory ?? false else { return text }
        let folder = text.hasSuffix("/") ? text : text + "/"
        return folder + (widths.isEmpty ? "{tree}{stem}.{ext}" : "{tree}{stem}-{w}.{ext}")
    }

    /// Determines whether an encoder of the only format writes several images into one file.
    ///
    /// - Parameter named: the format of the output's file extension.
    mutating func findItemFormat(_ named: ImageFormat?, _ encoder: String?, _ host: CoderHost) {
        guard formats.count < 2, let format = formats.first ?? named else { return }
        itemFormat = host.manager.itemsEncoders(for: format, forcing: encoder).isEmpty ? nil : format
    }

    /// Whether all widths go to one file.
    func combinesSizes(in target: OutputTarget) -> Bool {
        itemFormat != nil && widths.count > 1 && markup == nil && !target.mentions("w")
    }

    /// Refuses a series whose outputs would have one name.
    func examine(_ target: OutputTarget, command: String) throws(UsageError) {
        guard isSeries, !combinesSizes(in: target) else { return }
        if target.isStandardOutput {
            throw UsageError(
                "standard output holds one image", hint: "pass -o a folder, or '{stem}-{w}.{ext}'", command: command)
        }
        if formats.count > 1, !target.mentions("ext"), !target.followsFormat {
            throw UsageError(
                "--format with several formats writes several files: -o must contain {ext}",
                hint: "for example -o '{stem}.{ext}'", command: command)
        }
        if widths.count > 1, !target.mentions("w") {
            throw UsageError(
                "--sizes writes several files: -o must contain {w}", hint: "for example -o '{stem}-{w}.{ext}'",
                command: command)
        }
    }

    /// The options, for the specification of a command.
    package static let specification = [
        OptionSpecification(
            "--sizes", value: "WIDTHS", isList: true,
            help: "one file per width in px, such as 400,800; -o with {w}, or one file with pages (default: one file)"),
        OptionSpecification(
            "--srcset", value: "STYLE", choices: Srcset.Style.allCases.map(\.rawValue),
            help: "print the <picture> element (html) or its data (json) for all files (default: none)"),
        OptionSpecification("--alt", value: "TEXT", help: "alternative text of --srcset (default: empty)"),
    ]
}

/// One output of an input.
struct Rendition {
    /// The requested width; nil for the size of other options.
    var width: Int?
    /// The requested format; nil if the output name or the input decides.
    var format: ImageFormat?
    /// The part of the upright image; nil for that of the options.
    var part: PixelRect?
    /// The finished image, if it is decoded already, and whether a part of it is missing.
    var image: (DecodedImage, isIncomplete: Bool)?
    /// Whether pixels are turned upright in every format.
    var isUpright = false
    /// Whether the width limits both sides.
    var isBox = false

    /// The size that the width requests; nil for that of the options.
    func size(enlarging: Bool) -> DecodedSize? {
        width.map { .box(PixelSize($0, isBox ? $0 : 0), .inside, enlarging: enlarging) }
    }
}
