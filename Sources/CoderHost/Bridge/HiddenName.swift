import CHostSystem
import Glibc
import ImageProcessing

/// Names beside a file or folder for what is to take its place when it is complete.
///
/// Whoever works on such a thing holds its lock; what a process that was ended left there, the next one that makes the
/// same thing removes.
enum HiddenName {
    /// Takes a name that nothing has, or that only something forsaken has.
    ///
    /// - Parameter take: gives something the name, or says why not; after EEXIST another name is tried.
    static func claim(
        beside path: String, isFolder: Bool = false, _ take: (String) -> SystemError?
    ) throws(SystemError) -> String {
        var last = SystemError(EEXIST)
        for attempt in 0..<100 {
            let candidate = name(beside: path, attempt)
            guard let error = take(candidate) else { return candidate }
            last = error
            if last.code != EEXIST { break }
            if !removeForsaken(candidate, isFolder: isFolder) { continue }
            guard let error = take(candidate) else { return candidate }
            last = error
        }
        throw last
    }

    /// Makes a file under such a name.
    ///
    /// - Parameter open: makes a file that did not exist; -1 on failure.
    static func create(
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

    /// Marks what was just made as in use; nil where somebody took it for forsaken before that.
    static func hold(_ descriptor: Int32, at path: String) -> File? {
        let file = File(descriptor: descriptor)
        guard host_lock(descriptor) == 0 || errno != EWOULDBLOCK, let status = try? file.status(),
            FileStatus.of(path, followingLinks: false)?.identity.inode == status.identity.inode
        else { return nil }
        return file
    }

    /// A path up to and with its last slash, and what follows.
    static func split(_ path: String) -> (folder: String, name: String) {
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        return (slash.map { String(path[...$0]) } ?? "", slash.map { String(path[path.index(after: $0)...]) } ?? path)
    }

    private static func name(beside path: String, _ attempt: Int) -> String {
        let (folder, name) = split(path)
        // Names are at most 255 bytes long. The last ones are for a file system on which nobody can tell what is forsaken.
        let stem = String(decoding: name.utf8.prefix(160), as: UTF8.self)
        let number = attempt < 90 ? "\(attempt)" : "\(getpid())-\(monotonicNow() % 1_000_000)-\(attempt)"
        return "\(folder).\(stem).coderhost-\(number).tmp"
    }
}
