import CHostSystem
import Glibc
package import HostSystem

/// A plugin folder that is held open, so its files are opened relative to it even if its path changes.
final class PluginFolder {
    /// The path without links.
    package let place: String
    /// The users who can write to the folder, as a trust check of its path.
    let chain: PathTrust.Chain
    private let folder: File

    /// Opens a folder; nil if it does not exist or cannot be read.
    package convenience init?(_ path: String) { try? self.init(opening: path) }

    /// Opens a folder.
    ///
    /// - Throws: SystemError; `ENOENT` if there is no such folder, `ESTALE` if it is replaced again and again.
    package init(opening path: String) throws(SystemError) {
        // The chain must describe the opened folder; retry if another process replaced it in between.
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

    /// Identifies the folder independent of its path and times.
    package var key: FileIdentity? {
        guard var identity = chain.identity else { return nil }
        (identity.size, identity.modified, identity.changed) = (0, 0, 0)
        return identity
    }

    /// Returns the names in the folder, sorted by their bytes.
    package func names() throws(SystemError) -> [String] { try directoryEntries(folder) }

    /// An opened file, and its real location if that is outside the folder.
    struct Opened {
        package var file: File
        package var status: FileStatus
        /// The target of a link that leads out of the folder.
        package var outside: String?
    }

    /// Opens a regular file.
    ///
    /// - Returns: nil for other files: opening a device can have side effects, and opening a FIFO can block.
    /// - Throws: SystemError.
    package func open(_ name: String) throws(SystemError) -> Opened? {
        var raw = stat()
        if unsafe fstatat(folder.descriptor, name, &raw, 0) != 0 { throw .last }
        guard FileStatus(raw).isRegular else { return nil }
        var outside: String?
        var descriptor = unsafe host_open_in_folder(folder.descriptor, name, 1)
        if descriptor < 0 && (errno == EXDEV || errno == EAGAIN) {
            // An absolute link may lead back into the folder; then the file is opened again by its name in the folder.
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
    /// Whether both are the same file, regardless of content changes.
    package func isSameFile(as other: FileIdentity?) -> Bool { device == other?.device && inode == other?.inode }
}
