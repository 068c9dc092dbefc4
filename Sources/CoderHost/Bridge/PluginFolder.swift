import CHostSystem
import Glibc

/// A folder that may hold plugins, held open: its files are opened relative to it, whatever its path comes to mean.
final class PluginFolder {
    /// The path without links.
    let place: String
    /// Who could put something there.
    let chain: PathTrust.Chain
    private let folder: File

    /// Nil where there is no such folder, or it cannot be read.
    convenience init?(_ path: String) { try? self.init(opening: path) }

    /// - Throws: SystemError; `ENOENT` where there is no such folder.
    init(opening path: String) throws(SystemError) {
        // The chain has to be that of what is held; who keeps exchanging a folder does not get it looked at.
        for _ in 0..<Self.attempts {
            guard let place = resolvedPath(path) else { throw .last }
            let descriptor = unsafe host_open_folder(place)
            if descriptor < 0 { throw .last }
            let folder = File(descriptor: descriptor)
            let chain = PathTrust.chain(of: place)
            guard let held = try? folder.status().identity, held.isSameFile(as: chain.identity) else { continue }
            (self.place, self.chain, self.folder) = (place, chain, folder)
            return
        }
        throw .stale
    }

    private static let attempts = 8

    /// Tells folders apart, however they are named.
    var key: FileIdentity? {
        guard var identity = chain.identity else { return nil }
        (identity.size, identity.modified, identity.changed) = (0, 0, 0)
        return identity
    }

    /// Names in it, sorted by their bytes.
    func names() throws(SystemError) -> [String] { try directoryEntries(folder) }

    /// A file that was opened, and where it is when that is elsewhere.
    struct Opened {
        var file: File
        var status: FileStatus
        /// The end of a link that leads out of the folder.
        var outside: String?
    }

    /// Opens a regular file.
    ///
    /// - Returns: nil where it is something else: opening a device may do something, opening a FIFO may wait.
    /// - Throws: SystemError.
    func open(_ name: String) throws(SystemError) -> Opened? {
        var raw = stat()
        if unsafe fstatat(folder.descriptor, name, &raw, 0) != 0 { throw .last }
        guard FileStatus(raw).isRegular else { return nil }
        var outside: String?
        var descriptor = unsafe host_open_in_folder(folder.descriptor, name, 1)
        if descriptor < 0 && (errno == EXDEV || errno == EAGAIN) {
            // An absolute link may lead back into the folder; through a name in it, it is opened again.
            let end = resolvedPath("\(place)/\(name)")
            if let end, parentFolder(end) == place {
                descriptor = unsafe host_open_in_folder(
                    folder.descriptor, String(end.dropFirst(place.utf8.count + 1)), 1)
            } else {
                outside = end ?? name
                descriptor = unsafe host_open_in_folder(folder.descriptor, name, 0)
            }
        }
        if descriptor < 0 { throw .last }
        let file = File(descriptor: descriptor)
        let status = try file.status()
        return status.isRegular ? Opened(file: file, status: status, outside: outside) : nil
    }
}

extension FileIdentity {
    /// Whether it is one file, whatever became of its content.
    func isSameFile(as other: FileIdentity?) -> Bool { device == other?.device && inode == other?.inode }
}
