import CHostSystem
import Glibc
package import ImageModel
import HostSystem

/// Creates a folder with all of its files, or nothing.
///
/// The files are written to a folder with a hidden name in the same place; ``commit()`` renames it. If the process is
/// killed, the next process that creates the same folder removes the hidden one.
package final class NewFolder {
    /// The path of the folder after ``commit()``.
    package let path: String
    private let hidden: String
    /// Open for the lock on the hidden folder.
    private let folder: File
    /// The created files and folders, in order.
    private var made: [(path: String, isFolder: Bool)] = []
    private var isCommitted = false

    /// Creates the hidden folder.
    ///
    /// - Throws: `.cannotCreate` if the name exists or the parent folder is not writable.
    package init(_ path: String) throws(CoderError) {
        var path = path
        while path.hasSuffix("/"), path.utf8.count > 1 { path.removeLast() }
        self.path = path
        let name = HiddenName.split(path).name
        guard !name.isEmpty, name != ".", name != ".." else {
            throw CoderError(.cannotCreate, "not a valid name for a new folder", hint: "choose another name")
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
        CoderError(.cannotCreate, "the name exists already", hint: "choose another name")
    }

    private static func failure(_ name: String, _ error: SystemError) -> CoderError {
        CoderError(.cannotCreate, "cannot create \(name): \(error)", hint: "check the folder and its permissions")
    }

    /// Writes a file and creates the folders in its name.
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

    /// Renames the hidden folder to its final name.
    ///
    /// - Throws: `.cannotCreate` if the name exists by now.
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
