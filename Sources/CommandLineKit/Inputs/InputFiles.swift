package import CoderHost
package import ImageModel

/// The origin of the inputs that `-r`, `--glob` and `--files-from` add.
package struct InputFiles: Sendable {
    /// The folders between an input and the folder given on the command line, with a trailing slash.
    var trees: [String: String] = [:]
    /// The inputs found in folders without a pattern: some of them may be no images.
    var found: Set<String> = []
    /// The number of folders that cannot be read.
    package internal(set) var unreadFolders = 0
    /// Whether an option added the inputs.
    package internal(set) var isCollected = false

    /// Returns the folders to recreate for the output of an input.
    package func tree(of input: String) -> String { trees[input] ?? "" }

    /// Whether to skip the input after this error: a file in a folder that no coder recognizes, by content or by name.
    package func skips(_ file: String, after error: CoderError, _ host: CoderHost) -> Bool {
        guard found.contains(file), error.code == .unrecognizedFormat || error.code == .noCoder else { return false }
        guard let suffix = FileName(file).suffix?.lowercased() else { return true }
        return host.manager.format(ofExtension: suffix) == nil
    }
}

extension OptionSpecification {
    /// The options of every command that reads many files.
    package static let inputs = [
        OptionSpecification("-r", "--recursive", help: "process all images in folders and in their subfolders"),
        OptionSpecification(
            "--glob", value: "PATTERN", isList: true,
            help: "with -r: only files with this name, such as '*.{jpg,png}' or 'raw/**' (default: all images)"),
        OptionSpecification(
            "--files-from", value: "FILE", isList: true,
            help: "read input names from FILE or -, in lines or separated by NUL (default: none)"),
    ]
}

extension ParsedArguments {
    /// Whether inputs come from options, so that no operand is needed.
    var namesInputsByOption: Bool { has("--files-from") || has("--glob") }

    /// Replaces folders by their files, and adds the inputs of `--files-from`.
    ///
    /// - Throws: ``UsageError`` if a folder has no files, or if a list cannot be read.
    package mutating func collectInputs(_ command: CommandSpecification) throws(UsageError) {
        // `compare -r` pairs the files of two folders itself.
        guard command.options.contains(where: { $0.key == "--files-from" }) else { return }
        var patterns: [GlobPattern] = []
        for text in all("--glob") { patterns.append(try GlobPattern(text)) }
        let walks = has("--recursive") || !patterns.isEmpty
        guard walks || has("--files-from") else { return }
        var files = InputFiles()
        files.isCollected = true
        let verb = operands.first.flatMap { command.verbNames.contains($0) ? $0 : nil }
        var named = Array(operands.dropFirst(verb == nil ? 0 : 1))
        if named.isEmpty, !has("--files-from") { named = ["."] }
        for list in all("--files-from") {
            for name in try Self.names(in: list) {
                named.append(name)
                if let tree = Self.relativeFolder(of: name) { files.trees[name] = tree }
            }
        }
        var result: [String] = []
        if walks {
            let folders = named.filter { FileStatus.of($0)?.isDirectory == true }
            var walk = FolderWalk(patterns, excluding: outputFolder)
            for name in named {
                guard folders.contains(name) else {
                    result.append(name)
                    continue
                }
                let above = folders.count > 1 ? Self.lastPart(of: name) + "/" : ""
                for file in walk.files(below: name) {
                    result.append(file.path)
                    files.trees[file.path] = above + file.tree
                    if patterns.isEmpty { files.found.insert(file.path) }
                }
            }
            for folder in walk.unread {
                Console.error("coderhost: warning: the folder \(folder.path) cannot be read: \(folder.error)")
            }
            files.unreadFolders = walk.unread.count
            if result.isEmpty, let first = folders.first {
                throw UsageError(
                    "no \(patterns.isEmpty ? "files" : "files that match --glob") in \(first)",
                    hint: patterns.isEmpty ? "hidden files are left out" : "a pattern without / applies to file names",
                    exit: .noInput)
            }
        } else {
            result = named
        }
        replaceOperands((verb.map { [$0] } ?? []) + result, files)
    }

    /// The existing folder of the outputs: a walk must not find the outputs of an earlier run.
    private var outputFolder: [FileIdentity] {
        guard let output = value("--output") else { return [] }
        let folder = output.contains("{") ? FileName(String(output.prefix { $0 != "{" })).folder : output
        guard let status = FileStatus.of(folder), status.isDirectory else { return [] }
        return [status.identity]
    }

    private static func lastPart(of folder: String) -> String {
        let parts = (resolvedPath(folder) ?? folder).split(separator: "/")
        return parts.last.map(String.init) ?? ""
    }

    /// Returns the folder of a name in a list; nil if it is absolute or leads upward.
    private static func relativeFolder(of name: String) -> String? {
        let folder = FileName(name).folder
        if folder.isEmpty || folder.hasPrefix("/") { return nil }
        let parts = folder.split(separator: "/").filter { $0 != "." }
        return parts.contains("..") || parts.isEmpty ? nil : parts.joined(separator: "/") + "/"
    }

    /// Returns the names in a list: separated by NUL if the list contains one, else by line ends.
    private static func names(in list: String) throws(UsageError) -> [String] {
        let bytes: [UInt8]
        do throws(CoderError) {
            let source = try ImageSource(path: list, limits: .default)
            bytes = source.bytes(0..<source.count)
        } catch {
            throw UsageError(
                "cannot read --files-from \(list): \(error.message)", hint: error.hint ?? "check the path",
                exit: ExitCode(error.code))
        }
        return names(in: bytes)
    }

    /// Returns the names in the bytes of a list.
    package static func names(in bytes: [UInt8]) -> [String] {
        let end: UInt8 = bytes.contains(0) ? 0 : UInt8(ascii: "\n")
        return bytes.split(separator: end).compactMap { part in
            let isWindows = end != 0 && part.last == UInt8(ascii: "\r")
            let name = String(decoding: isWindows ? part.dropLast() : part, as: UTF8.self)
            // Only an operand names standard input.
            return name.isEmpty ? nil : name == "-" ? "./-" : name
        }
    }
}
