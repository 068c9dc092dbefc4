package import CoderHost
package import ImageModel

/// The destination of outputs: one file, a folder, names from a template, or standard output.
package struct OutputTarget {
    private enum Kind {
        case file(String)
        case folder(String)
        case template(OutputTemplate)
        /// A template whose file extension follows from the written format.
        case openTemplate(OutputTemplate)
        /// Beside the input, with a suffix on its name.
        case beside
        /// The input itself.
        case same
    }

    /// A marker for a name beside each input. It contains NUL, so no user can type it.
    package static let besideInput = "\0beside"

    /// A marker for the input itself. It contains NUL, so no user can type it.
    package static let inputItself = "\0same"

    /// A marker for default names in the current folder. It contains NUL, so no user can type it.
    package static let currentFolder = "\0here"

    private let kind: Kind
    private let mayReplace: Bool
    /// Whether to create missing folders of outputs; nil if only those of composed names.
    private let makesFolders: Bool?
    private let skipsExisting: Bool
    private let inputs: InputFiles

    /// Whether outputs may replace existing files.
    static func mayReplace(_ arguments: ParsedArguments, isNameTyped: Bool) -> Bool {
        !arguments.has("--no-overwrite")
            && (isNameTyped || arguments.has("--overwrite") || arguments.has("--skip-existing"))
    }

    /// Whether every input is replaced.
    package var isInputItself: Bool { if case .same = kind { true } else { false } }

    package var isStandardOutput: Bool { if case .file("-") = kind { true } else { false } }

    /// What outputs may replace. Only a name typed in full may be a pipe or a device; a composed name may not.
    package var replacement: FileSink.Replacement {
        guard mayReplace else { return .nothing }
        return switch kind {
        case .file: .anything
        case .folder(""): .files(followingLinks: false)
        case .folder, .template, .openTemplate, .beside, .same: .files(followingLinks: true)
        }
    }

    /// Whether names depend on the size of the output image.
    package var needsSize: Bool {
        switch kind {
        case .template, .openTemplate: mentions("w") || mentions("h")
        default: false
        }
    }

    /// An output name that may still lack the file extension of its format.
    package struct Name {
        package var path: String
        package var hasFormatPlaceholder: Bool

        package func named(_ suffix: String) -> String { path + "." + suffix }

        /// The file extension in lower case.
        package var suffix: String? {
            FileName(path).suffix?.lowercased()
        }
    }

    /// Parses the value of `--output`.
    ///
    /// - Parameters:
    ///   - fields: the placeholders that a template may contain.
    ///   - isRemote: whether inputs are URLs. The extension of a URL is a poor hint at its format.
    ///   - followsFormat: whether `.{ext}` at the end is the file extension of the written format.
    package init(
        _ text: String, _ arguments: ParsedArguments, fields: [String] = OutputTemplate.names, isRemote: Bool = false,
        followsFormat: Bool = false
    ) throws(UsageError) {
        mayReplace = Self.mayReplace(arguments, isNameTyped: text != Self.currentFolder)
        makesFolders = arguments.has("--no-mkdir") ? false : arguments.has("--mkdir") ? true : nil
        skipsExisting = arguments.has("--skip-existing")
        inputs = arguments.inputs
        if text == Self.besideInput {
            kind = .beside
            return
        }
        if text == Self.inputItself {
            kind = .same
            return
        }
        if text == Self.currentFolder {
            kind = .folder("")
            return
        }
        if text.isEmpty { throw UsageError("-o needs a name") }
        let status = FileStatus.of(text)
        // The inputs of a folder cannot go to one file, so a new name without file extension is a folder.
        let isNewFolder = arguments.inputs.isCollected && status == nil && FileName(text).suffix == nil && text != "-"
        if text.hasSuffix("/") || status?.isDirectory ?? false || isNewFolder && !text.contains("{") {
            guard status?.isDirectory ?? (makesFolders ?? true) else {
                throw UsageError(
                    "the folder \(printable(text)) does not exist", hint: FileSink.missingFolderRemedy(text),
                    exit: .cannotCreate)
            }
            if status == nil, text.contains("{") {
                throw UsageError("the template \(text) has no file name", hint: "for example \(text){stem}.png")
            }
            kind = .folder(text.hasSuffix("/") ? text : text + "/")
        } else if text.contains("{") {
            let template = try OutputTemplate(text, fields)
            kind =
                (isRemote || followsFormat ? template.withoutExtension : nil).map { .openTemplate($0) }
                ?? .template(template)
        } else {
            if arguments.operands.count > 1 && FileStatus.of(text)?.isRegular != false {
                throw UsageError(
                    "cannot write \(arguments.operands.count) inputs to one file, \(text)",
                    hint: "pass -o a folder, or a template such as '{stem}\(isRemote ? "" : ".png")'; "
                        + "frames assemble makes one file of several images")
            }
            kind = .file(text)
        }
    }

    /// Whether every item of a file gets its own name.
    var namesItems: Bool { mentions("item") }

    /// Whether names depend on a placeholder.
    func mentions(_ field: String) -> Bool {
        switch kind {
        case .template(let template), .openTemplate(let template): template.mentions(field)
        default: false
        }
    }

    /// Whether the written format decides the file extension.
    var followsFormat: Bool {
        switch kind {
        case .file, .template, .same: false
        case .folder, .openTemplate, .beside: true
        }
    }

    /// Returns the values of the placeholders for one input.
    func values(for input: String, number: Int, item: Int, size: PixelSize) -> [String: String] {
        let name = FileName(input == "-" ? "stdin" : input)
        return [
            "stem": name.stem, "dir": name.folder, "ext": name.suffix ?? "", "n": String(number),
            "w": String(size.width), "h": String(size.height), "item": String(item), "tree": inputs.tree(of: input),
        ]
    }

    /// Returns the output name for one input, without extension if the format decides it.
    ///
    /// - Parameter count: how many numbers there are, or 0 if unknown. All numbers get the same count of digits.
    package func path(
        for input: String, number: Int, of count: Int = 0, item: Int = 0, size: PixelSize,
        extensionOf: (ImageFormat) -> String
    ) -> Name {
        let name = FileName(input == "-" ? "stdin" : input)
        let stem = name.stem
        switch kind {
        case .file(let path): return Name(path: path, hasFormatPlaceholder: false)
        case .same: return Name(path: input, hasFormatPlaceholder: false)
        case .beside:
            if input == "-" { return Name(path: "-", hasFormatPlaceholder: false) }
            return Name(path: name.folder + stem + "-thumb", hasFormatPlaceholder: true)
        case .folder(let folder):
            return Name(path: folder + inputs.tree(of: input) + stem, hasFormatPlaceholder: true)
        case .template(let template), .openTemplate(let template):
            let values = values(for: input, number: number, item: item, size: size)
            let isOpen = if case .openTemplate = kind { true } else { false }
            return Name(
                path: template.filled(values, digits: String(max(0, count - 1)).count), hasFormatPlaceholder: isOpen)
        }
    }
}

// MARK: - Existing outputs and missing folders

extension OutputTarget {
    /// Whether to create the missing folders of outputs.
    private var createsFolders: Bool {
        if case .file = kind { return makesFolders ?? false }
        return makesFolders ?? true
    }

    /// Creates the missing folders of an output, unless `--no-mkdir` or a name typed in full forbids it.
    ///
    /// - Throws: `.cannotCreate`.
    package func makeFolders(of path: String) throws(CoderError) {
        if createsFolders, path != "-" { try makeMissingFolders(of: path) }
    }

    /// Returns the error for an output whose folder is missing and is not created; nil otherwise.
    package func missingFolder(of path: String) -> CoderError? {
        createsFolders ? nil : FileSink.missingFolder(of: path)
    }

    /// Whether `--skip-existing` keeps an output: it is a file with content that is not older than its input.
    package func keepsExisting(_ path: String, from input: String) -> Bool {
        guard skipsExisting, path != "-", let output = FileStatus.of(path), output.isRegular, output.size > 0 else {
            return false
        }
        guard let source = FileStatus.of(input) else { return true }
        return output.identity.modified >= source.identity.modified
    }
}

extension ParsedArguments {
    /// Returns the value of `--output`. Without one, the last operand is probably meant: a file of a known format that
    /// does not exist, or the second of two different files.
    package func output(
        default usual: String? = nil, _ host: CoderHost, command: String
    ) throws(UsageError) -> String {
        if let output = value("--output") ?? usual { return output }
        var hint: String?
        let isLikely = operands.count > 1 && FileStatus.of(operands.last ?? "") == nil
        if isLikely || operands.count == 2 && operands[0] != operands[1], let last = operands.last,
            let suffix = FileName(last).suffix?.lowercased(), host.manager.format(ofExtension: suffix) != nil
        {
            let inputs = operands.count == 2 ? printable(operands[0]) : "…"
            hint = "coderhost \(command) \(inputs) -o \(printable(last))"
        } else if let last = operands.last, FileStatus.of(last) != nil {
            hint = "coderhost \(command) \(operands.count == 1 ? printable(last) : "…") -o OUT, a file or a folder/"
        }
        throw UsageError("missing option -o OUT", hint: hint, command: command)
    }
}
