import CoderHost
package import ImageModel

/// Keeps the outputs of one call apart from its inputs, and from each other.
package struct OutputGuard {
    /// A file, by whatever name or link it is reached.
    private struct Place: Hashable {
        var device: UInt64
        var inode: UInt64

        /// Nil for what is no regular file: nothing is lost there.
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
    /// What this call has written, and from which input.
    private var written: [Place: (input: String, path: String)] = [:]
    /// Where something else of this call will be written to.
    private var reserved: [String: String] = [:]
    /// What is being written at this moment, and from which input.
    private var claims: [String: String] = [:]
    private let mayReplace: Bool
    private let mayReplaceInput: Bool
    private let remedy: String
    private let wayOut: String
    /// What helps where two outputs get one name.
    private let tellingApart: String

    /// - Parameters:
    ///   - remedy: what helps somebody who would write over an input.
    ///   - isNameTyped: whether the names of outputs are those that a person asked for; others replace nothing unless
    ///     that is asked for.
    ///   - fields: what a template may have.
    package init(
        inputs: [String], _ arguments: ParsedArguments, remedy: String = "choose another name",
        isNameTyped: Bool = true, fields: [String] = OutputTemplate.names
    ) {
        tellingApart =
            "use a template that tells them apart, such as "
            + (fields.contains("dir") ? "'{dir}{stem}-{n}.png' or '{stem}-{ext}-{n}.png'" : "'{stem}-{n}.{ext}'")
        mayReplace = OutputTarget.mayReplace(arguments, isNameTyped: isNameTyped)
        wayOut =
            isNameTyped
            ? "choose another name, or leave out --no-overwrite" : "--overwrite replaces it, -o names another"
        mayReplaceInput = arguments.has("--overwrite")
        self.remedy = remedy
        for file in inputs { add(input: file) }
    }

    /// - Parameter role: what the input is in a message; nil names it.
    package mutating func add(input: String, as role: String? = nil) {
        if let place = Place(input), inputs[place] == nil { inputs[place] = Input(file: input, role: role) }
    }

    /// Keeps a name for a file that is written last.
    package mutating func reserve(_ path: String, as role: String) {
        if path != "-" { reserved[Self.place(ofName: path)] = role }
    }

    /// Where a name leads, whether or not a file of that name is there.
    private static func place(ofName path: String) -> String {
        if let known = resolvedPath(path) { return known }
        let folder = FileName(path).folder
        let name = String(decoding: path.utf8.dropFirst(folder.utf8.count), as: UTF8.self)
        return (resolvedPath(folder.isEmpty ? "." : folder) ?? folder) + "/" + name
    }

    /// Refuses an output that is an input of this call, something else that it writes, or what may not be replaced.
    ///
    /// - Parameters:
    ///   - input: what is being read.
    ///   - isReserved: whether this is the file that a name was kept for.
    /// - Throws: `.cannotCreate`.
    package func examine(_ path: String, from input: String, isReserved: Bool = false) throws(CoderError) {
        if !isReserved, !reserved.isEmpty, path != "-", let role = reserved[Self.place(ofName: path)] {
            throw CoderError(.cannotCreate, "\(path) is \(role)", hint: "choose another name")
        }
        if let place = Place(path) {
            if !mayReplaceInput, let known = inputs[place] {
                let role =
                    known.role
                    ?? (Place(input) == place ? "the input itself" : "\(known.file), another input of this call")
                throw CoderError(.cannotCreate, "\(path) is \(role)", hint: remedy)
            }
            // Another process may have replaced what was written; its number then goes to some other file.
            if let earlier = written[place], Place(earlier.path) == place {
                throw CoderError(
                    .cannotCreate, "\(path) was just written from \(earlier.input)", hint: tellingApart)
            }
        }
        // A pipe, a device and a link that leads nowhere are there as well.
        if !mayReplace, path != "-", FileStatus.of(path, followingLinks: false) != nil {
            throw CoderError(.cannotCreate, "\(path) exists", hint: wayOut)
        }
    }

    /// Remembers an output that is in place.
    package mutating func note(_ path: String, from input: String) {
        if let place = Place(path) { written[place] = (input, path) }
        claims[Self.place(ofName: path)] = nil
    }

    /// Keeps the name for one of several inputs that are worked on at the same time.
    ///
    /// - Throws: as ``examine(_:from:isReserved:)``, and `.cannotCreate` where another input has the name already.
    package mutating func claim(_ path: String, from input: String) throws(CoderError) {
        try examine(path, from: input)
        if path == "-" { return }
        let name = Self.place(ofName: path)
        if FileStatus.of(path).map(\.isRegular) ?? true, let other = claims[name] {
            throw CoderError(
                .cannotCreate, "\(path) is being written from \(other)", hint: tellingApart)
        }
        claims[name] = input
    }

    /// Gives the name of an output back that came to nothing.
    package mutating func release(_ path: String) { claims[Self.place(ofName: path)] = nil }
}
