import CHostSystem
import Glibc

/// Temporary names beside a file or folder, used until the new content is complete.
///
/// The process that creates the content holds a lock on it. If a process ends early, the next process that writes the
/// same target removes the abandoned file.
package enum HiddenName {
    /// Claims a name that is free or belongs to an abandoned file.
    ///
    /// - Parameter take: gives a file the name, or returns the error; after EEXIST, the next name is tried.
    package static func claim(
        beside path: String, isFolder: Bool = false, _ take: (String) -> SystemError?
    ) throws(SystemError) -> String {
        var last = SystemError(EEXIST)
        for attempt in 0..<100 {
            let candidate = name(beside: path, attempt)
            guard let error = take(candidate) else { return candidate }
            last = error
            if last.code != EEXIST { break }
            if !removeAbandoned(candidate, isFolder: isFolder) { continue }
            guard let error = take(candidate) else { return candidate }
            last = error
        }
        throw last
    }

    /// Creates a file under a hidden name.
    ///
    /// - Parameter open: creates a file that did not exist; returns -1 on failure.
    package static func create(
        beside path: String, _ open: (String) -> Int32
    ) throws(SystemError) -> (file: File, name: String) {
        var made: File?
        let name = try claim(beside: path) { candidate in
            let descriptor = open(candidate)
            if descriptor < 0 { return .last }
            made = hold(descriptor, at: candidate)
            return made == nil ? SystemError(EEXIST) : nil
        }
        guard let made else { throw SystemError(EEXIST) }
        return (made, name)
    }

    /// Locks a new file; nil if another process took it for abandoned and removed it first.
    package static func hold(_ descriptor: Int32, at path: String) -> File? {
        let file = File(descriptor: descriptor)
        guard host_lock(descriptor) == 0 || errno != EWOULDBLOCK, let status = try? file.status(),
            FileStatus.of(path, followingLinks: false)?.identity.inode == status.identity.inode
        else { return nil }
        return file
    }

    /// Splits a path after its last slash.
    package static func split(_ path: String) -> (folder: String, name: String) {
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        return (slash.map { String(path[...$0]) } ?? "", slash.map { String(path[path.index(after: $0)...]) } ?? path)
    }

    private static func name(beside path: String, _ attempt: Int) -> String {
        let (folder, name) = split(path)
        // Names have at most 255 bytes. The last ten attempts are for file systems on which locks do not work.
        let stem = String(decoding: name.utf8.prefix(160), as: UTF8.self)
        let number = attempt < 90 ? "\(attempt)" : "\(getpid())-\(monotonicNow() % 1_000_000)-\(attempt)"
        return "\(folder).\(stem).coderhost-\(number).tmp"
    }
}
