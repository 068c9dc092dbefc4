import CHostSystem
import Glibc
package import ImageModel
import ImageProcessing

/// A folder that appears with all of its files or not at all.
///
/// It is filled under a hidden name beside its place; ``commit()`` gives it the name that nothing had. What a process that
/// was killed leaves of it, the next one that makes the same folder removes.
package final class NewFolder {
    package let path: String
    private let hidden: String
    /// Held open for its lock.
    private let folder: File
    /// What was made, in order.
    private var made: [(path: String, isFolder: Bool)] = []
    private var isCommitted = false

    /// - Throws: `.cannotCreate` where something has the name, or no folder can be made beside it.
    package init(_ path: String) throws(CoderError) {
        var path = path
        while path.hasSuffix("/"), path.utf8.count > 1 { path.removeLast() }
        self.path = path
        let name = HiddenName.split(path).name
        guard !name.isEmpty, name != ".", name != ".." else {
            throw CoderError(.cannotCreate, "this names no new folder", hint: "choose another name")
        }
        if FileStatus.of(path, followingLinks: false) != nil { throw Self.exists }
        do throws(SystemError) {
            (hidden, folder) = try Self.make(beside: path)
        } catch {
            throw Self.failure("the folder", error)
        }
        made.append((hidden, true))
    }

    private static func make(beside path: String) throws(SystemError) -> (String, File) {
        var folder: File?
        let name = try HiddenName.claim(beside: path, isFolder: true) { candidate in
            if unsafe mkdir(candidate, 0o777) != 0 { return .last }
            let descriptor = unsafe host_open_itself(candidate)
            folder = descriptor < 0 ? nil : HiddenName.hold(descriptor, at: candidate)
            return folder == nil ? SystemError(EEXIST) : nil
        }
        guard let folder else { throw SystemError(EEXIST) }
        return (name, folder)
    }

    private static var exists: CoderError {
        CoderError(.cannotCreate, "something of this name is there already", hint: "choose another name")
    }

    private static func failure(_ name: String, _ error: SystemError) -> CoderError {
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
            guard unsafe mkdir(place, 0o777) == 0 else { throw Self.failure(name, .last) }
            made.append((place, true))
        }
        place += "/\(parts.last ?? "")"
        let descriptor = unsafe host_create_exclusive(place)
        guard descriptor >= 0 else { throw Self.failure(name, .last) }
        made.append((place, false))
        let file = File(descriptor: descriptor)
        if let problem = Array(text.utf8).withSpan({ (bytes: RawSpan) in file.write(bytes, at: 0) }) {
            throw problem.writing(name)
        }
    }

    /// Gives the folder its name.
    ///
    /// - Throws: `.cannotCreate` where something came to have it meanwhile.
    package func commit() throws(CoderError) {
        guard unsafe host_rename_exclusive(hidden, path) == 0 else {
            let error = SystemError.last
            throw [EEXIST, ENOTEMPTY].contains(error.code) ? Self.exists : Self.failure("the folder", error)
        }
        isCommitted = true
    }

    deinit {
        if isCommitted { return }
        for (path, isFolder) in made.reversed() { _ = unsafe isFolder ? rmdir(path) : unlink(path) }
    }
}
