package import CoderHost
package import ImageModel

/// Where `convert` writes: one file, a folder, names from a template, or standard output.
package struct OutputTarget {
    private enum Kind {
        case file(String)
        case folder(String)
        case template(OutputTemplate)
        /// The ending is that of what is written.
        case openTemplate(OutputTemplate)
        /// Beside the input, with a word behind its name.
        case beside
    }

    /// Stands for a name beside each input; nobody can type it.
    package static let besideInput = "\0beside"

    /// Stands for names in the current folder that nobody chose; nobody can type it either.
    package static let currentFolder = "\0here"

    private let kind: Kind
    private let mayReplace: Bool

    /// Whether outputs may replace what is there.
    static func mayReplace(_ arguments: ParsedArguments, isNameTyped: Bool) -> Bool {
        !arguments.has("--no-overwrite") && (isNameTyped || arguments.has("--overwrite"))
    }

    package var isStandardOutput: Bool { if case .file("-") = kind { true } else { false } }

    /// What outputs may replace: a pipe or a device is what somebody typed, and no name that was put together.
    package var replacement: FileSink.Replacement {
        guard mayReplace else { return .nothing }
        return switch kind {
        case .file: .anything
        case .folder(""): .files(followingLinks: false)
        case .folder, .template, .openTemplate, .beside: .files(followingLinks: true)
        }
    }

    /// Whether names depend on how large the picture becomes.
    package var needsSize: Bool {
        switch kind {
        case .template(let template), .openTemplate(let template): template.mentions("w") || template.mentions("h")
        default: false
        }
    }

    /// A name that may still lack the extension of its format.
    package struct Name {
        package var path: String
        package var hasFormatPlaceholder: Bool

        package func named(_ suffix: String) -> String { path + "." + suffix }

        /// The lower-case extension.
        package var suffix: String? {
            FileName(path).suffix?.lowercased()
        }
    }

    /// - Parameters:
    ///   - fields: what a template may have.
    ///   - isRemote: whether inputs come from elsewhere: what their names end in says little of what they are.
    package init(
        _ text: String, _ arguments: ParsedArguments, fields: [String] = OutputTemplate.names, isRemote: Bool = false
    ) throws(UsageError) {
        mayReplace = Self.mayReplace(arguments, isNameTyped: text != Self.currentFolder)
        if text == Self.besideInput {
            kind = .beside
            return
        }
        if text == Self.currentFolder {
            kind = .folder("")
            return
        }
        if text.isEmpty { throw UsageError("-o needs a name") }
        if text.hasSuffix("/") || (FileStatus.of(text)?.isDirectory ?? false) {
            guard FileStatus.of(text)?.isDirectory == true else {
                throw UsageError(
                    "the folder \(printable(text)) does not exist", hint: FileSink.missingFolderRemedy(text),
                    exit: .cannotCreate)
            }
            kind = .folder(text.hasSuffix("/") ? text : text + "/")
        } else if text.contains("{") {
            let template = try OutputTemplate(text, fields)
            kind = (isRemote ? template.withoutExtension : nil).map { .openTemplate($0) } ?? .template(template)
        } else {
            if arguments.operands.count > 1 && FileStatus.of(text)?.isRegular != false {
                throw UsageError(
                    "\(arguments.operands.count) inputs do not fit into the one file \(text)",
                    hint: "name a folder, or a template such as '{stem}\(isRemote ? "" : ".png")'")
            }
            kind = .file(text)
        }
    }

    /// Whether every item of a file gets a name of its own.
    var tellsItems: Bool {
        switch kind {
        case .template(let template), .openTemplate(let template): template.mentions("item")
        default: false
        }
    }

    /// The output's name for one input; where the format decides the extension it is left open.
    ///
    /// - Parameter count: how many numbers there are, where that is known: all of them are written with as many digits.
    package func path(
        for input: String, number: Int, of count: Int = 0, item: Int = 0, size: PixelSize, extensionOf: (ImageFormat) -> String
    ) -> Name {
        let name = FileName(input == "-" ? "stdin" : input)
        let (stem, suffix) = (name.stem, name.suffix ?? "")
        switch kind {
        case .file(let path): return Name(path: path, hasFormatPlaceholder: false)
        case .beside:
            if input == "-" { return Name(path: "-", hasFormatPlaceholder: false) }
            return Name(path: name.folder + stem + "-thumb", hasFormatPlaceholder: true)
        case .folder(let folder): return Name(path: folder + stem, hasFormatPlaceholder: true)
        case .template(let template), .openTemplate(let template):
            let values = [
                "stem": stem, "dir": name.folder, "ext": suffix, "n": String(number), "w": String(size.width),
                "h": String(size.height), "item": String(item),
            ]
            let isOpen = if case .openTemplate = kind { true } else { false }
            return Name(
                path: template.filled(values, digits: String(max(0, count - 1)).count), hasFormatPlaceholder: isOpen)
        }
    }
}
