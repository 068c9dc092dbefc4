import CoderHost
package import ImageModel

/// Prevents an output of a call from overwriting an input or another output of the same call.
package struct OutputGuard {
    /// The identity of a file, independent of names and links.
    private struct Place: Hashable {
        var device: UInt64
        var inode: UInt64

        /// Nil unless the path is a regular file: only regular files can lose data.
        init?(_ path: String) {
            guard path != "-", let status = FileStatus.of(path), status.isRegular else { return nil }
            device = status.identity.device
            inode = status.identity.inode
        }
    }

    private struct Input {
        var file: String
        var role: String?
    }

    private var inputs: [Place: Input] = [:]
    /// The files that this call has written, with their inputs.
    private var written: [Place: (input: String, path: String)] = [:]
    /// Names reserved for other files of this call, with their role.
    private var reserved: [String: String] = [:]
    /// Names of files being written now, with their inputs.
    private var claims: [String: String] = [:]
    /// The inputs whose outputs are complete.
    private var converted: Set<String> = []
    private let mayReplace: Bool
    private let mayReplaceInput: Bool
    private let remedy: String
    private let existsHint: String
    /// The hint if two outputs get the same name.
    private let uniqueNames: UniqueNames

    /// - Parameters:
    ///   - remedy: the hint if an output would overwrite an input.
    ///   - isNameTyped: whether the user named the outputs; default names replace files only with `--overwrite`.
    ///   - fields: the placeholders that a template may contain.
    ///   - numbersInputs: whether `{n}` counts inputs, not the frames of one input.
    package init(
        inputs: [String], _ arguments: ParsedArguments, remedy: String = "choose another name",
        isNameTyped: Bool = true, fields: [String] = OutputTemplate.names, numbersInputs: Bool = true
    ) {
        uniqueNames = UniqueNames(arguments, fields: fields, numbersInputs: numbersInputs)
        mayReplace = OutputTarget.mayReplace(arguments, isNameTyped: isNameTyped)
        existsHint =
            isNameTyped
            ? "choose another name, or omit --no-overwrite"
            : "use --overwrite to replace it, or -o to choose another name"
        mayReplaceInput = arguments.has("--overwrite")
        self.remedy = remedy
        for file in inputs { add(input: file) }
    }

    /// Adds an input.
    ///
    /// - Parameter role: the description of the input in messages; nil to use its name.
    package mutating func add(input: String, as role: String? = nil) {
        if let place = Place(input), inputs[place] == nil { inputs[place] = Input(file: input, role: role) }
    }

    /// Reserves a name for a file that the command writes last.
    package mutating func reserve(_ path: String, as role: String) {
        if path != "-" { reserved[Self.place(ofName: path)] = role }
    }

    /// Returns the absolute path of a name, whether or not the file exists.
    private static func place(ofName path: String) -> String {
        if let known = resolvedPath(path) { return known }
        let folder = FileName(path).folder
        let name = String(decoding: path.utf8.dropFirst(folder.utf8.count), as: UTF8.self)
        return (resolvedPath(folder.isEmpty ? "." : folder) ?? folder) + "/" + name
    }

    /// Refuses an output that is an input or another output of this call, or an existing file that must stay.
    ///
    /// - Parameters:
    ///   - input: the input being read.
    ///   - isReserved: whether the name was reserved for this file.
    /// - Throws: `.cannotCreate`.
    package func examine(_ path: String, from input: String, isReserved: Bool = false) throws(CoderError) {
        if !isReserved, !reserved.isEmpty, path != "-", let role = reserved[Self.place(ofName: path)] {
            throw CoderError(.cannotCreate, "\(path) is reserved for \(role)", hint: "choose another name")
        }
        if let place = Place(path) {
            // Only an input that is converted already may be replaced by another one.
            if let known = inputs[place],
                !mayReplaceInput || Place(input) != place && !converted.contains(known.file)
            {
                let problem =
                    known.role.map { "is \($0)" }
                    ?? (Place(input) == place ? "would overwrite the input" : "is another input, \(known.file)")
                throw CoderError(.cannotCreate, "\(path) \(problem)", hint: remedy)
            }
            // Another process may have replaced the written file, and its inode may now belong to a third file.
            if let earlier = written[place], Place(earlier.path) == place {
                throw CoderError(
                    .cannotCreate, "\(path) was already written from \(earlier.input)", hint: uniqueNames.hint(path))
            }
        }
        // Pipes, devices and dangling links exist as well.
        if !mayReplace, path != "-", FileStatus.of(path, followingLinks: false) != nil {
            throw CoderError(.cannotCreate, "\(path) exists", hint: existsHint)
        }
    }

    /// Records a completed output.
    package mutating func note(_ path: String, from input: String) {
        if let place = Place(path) { written[place] = (input, path) }
        claims[Self.place(ofName: path)] = nil
        converted.insert(input)
    }

    /// Records an existing output that stays as the output of an input.
    ///
    /// - Throws: `.cannotCreate` if another input has the same output.
    package mutating func keep(_ path: String, from input: String) throws(CoderError) {
        guard let place = Place(path) else { return }
        let earlier = written[place]?.input ?? claims[Self.place(ofName: path)]
        if let earlier, earlier != input {
            throw CoderError(.cannotCreate, "\(path) was already written from \(earlier)", hint: uniqueNames.hint(path))
        }
        written[place] = (input, path)
    }

    /// Claims an output name for one of several concurrent inputs.
    ///
    /// - Throws: as ``examine(_:from:isReserved:)``, and `.cannotCreate` if another input has claimed the name.
    package mutating func claim(_ path: String, from input: String) throws(CoderError) {
        try examine(path, from: input)
        if path == "-" { return }
        let name = Self.place(ofName: path)
        if FileStatus.of(path).map(\.isRegular) ?? true, let other = claims[name] {
            throw CoderError(
                .cannotCreate, "\(path) is being written from \(other)", hint: uniqueNames.hint(path))
        }
        claims[name] = input
    }

    /// Releases the claimed name of a failed output.
    package mutating func release(_ path: String) { claims[Self.place(ofName: path)] = nil }
}
