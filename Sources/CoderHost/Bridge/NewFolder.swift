import CHostSystem
import Glibc
package import ImageModel
import ImageProcessing

/// A folder that appears with all of its files or not at all.
///
/// It is filled under a hidden name beside its place; ``commit()`` gives it the name that nothing had.
package final class NewFolder {
    package let path: String
    private let hidden: String
    /// What was made, in order.
    private var made: [(path: String, isFolder: Bool)] = []
    private var isCommitted = false

    /// - Throws: `.cannotCreate` where something has the name, or no folder can be made beside it.
    package init(_ path: String) throws(CoderError) {
        var path = path
        while path.hasSuffix("/"), path.utf8.count > 1 { path.removeLast() }
        self.path = path
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let parent = slash.map { String(path[...$0]) } ?? ""
        let name = slash.map { String(path[path.index(after: $0)...]) } ?? path
        guard !name.isEmpty, name != ".", name != ".." else {
            throw CoderError(.cannotCreate, "this names no new folder", hint: "choose another name")
        }
        hidden = "\(parent).\(String(decoding: name.utf8.prefix(160), as: UTF8.self)).\(getpid()).tmp"
        if FileStatus.of(path, followingLinks: false) != nil { throw exists }
        guard unsafe mkdir(hidden, 0o777) == 0 else { throw failure("the folder", .last) }
        made.append((hidden, true))
    }

    private var exists: CoderError {
        CoderError(.cannotCreate, "something of this name is there already", hint: "choose another name")
    }

    private func failure(_ name: String, _ error: SystemError) -> CoderError {
        CoderError(.cannotCreate, "\(name) cannot be created: \(error)", hint: "check the folder and its permissions")
    }

    /// Writes a file; folders in its name are made.
    ///
    /// - Throws: `.cannotCreate`, `.inputOutput`.
    package func write(_ text: String, to name: String) throws(CoderError) {
        var place = hidden
        let parts = name.split(separator: "/")
        for part in parts.dropLast() {
            place += "/\(part)"
            if made.contains(where: { $0.path == place }) { continue }
            guard unsafe mkdir(place, 0o777) == 0 else { throw failure(name, .last) }
            made.append((place, true))
        }
        place += "/\(parts.last ?? "")"
        let descriptor = unsafe host_create_exclusive(place)
        guard descriptor >= 0 else { throw failure(name, .last) }
        made.append((place, false))
        let file = File(descriptor: descriptor)
        if let problem = Array(text.utf8).withSpan({ (bytes: RawSpan) in file.write(bytes, at: 0) }) {
            throw CoderError(
                .inputOutput, "\(name) cannot be written: \(problem)", hint: "check the free space")
        }
    }

    /// Gives the folder its name.
    ///
    /// - Throws: `.cannotCreate` where something came to have it meanwhile.
    package func commit() throws(CoderError) {
        guard unsafe host_rename_exclusive(hidden, path) == 0 else {
            let error = SystemError.last
            throw [EEXIST, ENOTEMPTY].contains(error.code) ? exists : failure("the folder", error)
        }
        isCommitted = true
    }

    deinit {
        if isCommitted { return }
        for (path, isFolder) in made.reversed() { _ = unsafe isFolder ? rmdir(path) : unlink(path) }
    }
}
