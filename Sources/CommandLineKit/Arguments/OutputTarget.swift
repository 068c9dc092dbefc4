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
    }

    /// A marker for a name beside each input. It contains NUL, so no user can type it.
    package static let besideInput = "\0beside"

    /// A marker for default names in the current folder. It contains NUL, so no user can type it.
    package static let currentFolder = "\0here"

    private let kind: Kind
    private let mayReplace: Bool

    /// Whether outputs may replace existing files.
    static func mayReplace(_ arguments: ParsedArguments, isNameTyped: Bool) -> Bool {
        !arguments.has("--no-overwrite") && (isNameTyped || arguments.has("--overwrite"))
    }

    package var isStandardOutput: Bool { if case .file("-") = kind { true } else { false } }

    /// What outputs may replace. Only a name typed in full may be a pipe or a device; a composed name may not.
    package var replacement: FileSink.Replacement {
        guard mayReplace else { return .nothing }
        return switch kind {
        case .file: .anything
        case .folder(""): .files(followingLinks: false)
        case .folder, .template, .openTemplate, .beside: .files(followingLinks: true)
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
            kind =
                (isRemote || followsFormat ? template.withoutExtension : nil).map { .openTemplate($0) }
                ?? .template(template)
        } else {
            if arguments.operands.count > 1 && FileStatus.of(text)?.isRegular != false {
                throw UsageError(
                    "cannot write \(arguments.operands.count) inputs to one file, \(text)",
                    hint: "pass -o a folder, or a template such as '{stem}\(isRemote ? "" : ".png")'")
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
        case .file, .template: false
        case .folder, .openTemplate, .beside: true
        }
    }

    /// Returns the output name for one input, without extension if the format decides it.
    ///
    /// - Parameter count: how many numbers there are, or 0 if unknown. All numbers get the same count of digits.
    package func path(
        for input: String, number: Int, of count: Int = 0, item: Int = 0, size: PixelSize,
        extensionOf: (ImageFormat) -> String
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

extension ParsedArguments {
    /// Returns the value of `--output`. Without one, a last operand that looks like an output is probably meant.
    package func output(
        default usual: String? = nil, _ host: CoderHost, command: String
    ) throws(UsageError) -> String {
        if let output = value("--output") ?? usual { return output }
        var hint: String?
        if operands.count > 1, let last = operands.last, FileStatus.of(last) == nil,
            let suffix = FileName(last).suffix?.lowercased(), host.manager.format(ofExtension: suffix) != nil
        {
            hint = "to write \(last): -o \(last)"
        }
        throw UsageError("missing option -o OUT", hint: hint, command: command)
    }
}
