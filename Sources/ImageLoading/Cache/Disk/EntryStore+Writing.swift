import CoderHost
import ImageProcessing
import Synchronization

/// Folders whose own names are on the disk, as far as this process knows.
final class DurableFolders: Sendable {
    private let names = Mutex<Set<String>>([])

    func contains(_ name: String) -> Bool { names.withLock { $0.contains(name) } }
    func insert(_ name: String) { names.withLock { _ = $0.insert(name) } }
    func forget() { names.withLock { $0 = [] } }
}

extension EntryStore {
    /// How an entry is written.
    struct Manner {
        /// Whether it is on the disk when the call returns.
        var isDurable = false
        /// Dates to be set; nil is now.
        var accessed: Int64?
        var modified: Int64?
        /// The file that is replaced, if only that one may be.
        var onlyReplacing: FileFacts?
    }

    /// Puts an entry in place of whatever has its name, at once: readers see the old one or the new one.
    ///
    /// A name is given to a file when all of it is written. Where the file system has no files without a name, and where
    /// there is an old entry, the file has a hidden one for a while; it is locked then, so that a sweep can tell it from
    /// one that was forsaken.
    ///
    /// - Throws: `ESTALE` where `onlyReplacing` is another file by now; `ENOENT` without the folder.
    func write(_ name: EntryName, _ picture: [UInt8], _ tail: [UInt8], _ manner: Manner) throws(SystemError) {
        let folder = folder(name.folder)
        let (file, given) = try newFile(name, in: folder)
        var hidden = given
        defer { system.close(file) }
        do throws(SystemError) {
            try system.writeAll(file, picture, at: 0)
            try system.writeAll(file, tail, at: picture.count)
            let now = system.now()
            try system.setDates(file, accessed: manner.accessed ?? now, modified: manner.modified ?? now)
            if manner.isDurable { try system.synchronize(file, isFolder: false) }
            try withFolder(folder, manner.onlyReplacing == nil ? .shared : .exclusive, attempts: 500) {
                isLocked throws(SystemError) in
                if let expected = manner.onlyReplacing {
                    guard isLocked, try system.facts(at: path(name)).isSameFile(as: expected) else { throw .replaced }
                }
                try place(file, name, in: folder, &hidden)
            }
        } catch {
            if let hidden { try? system.unlink(hidden) }
            throw error
        }
        if manner.isDurable { try synchronize(name.folder) }
    }

    /// A file to write to, and its hidden name where it has to have one.
    private func newFile(_ name: EntryName, in folder: String) throws(SystemError) -> (Int32, String?) {
        do throws(SystemError) {
            let file = try system.createUnnamed(in: folder)
            // For the moment in which it has a hidden name.
            try? system.lock(file, .exclusive)
            return (file, nil)
        } catch {
            if !error.meansNoUnnamedFiles { throw error }
        }
        while true {
            let path = "\(folder)/\(name.temporary())"
            let file = try system.create(path)
            try? system.lock(file, .exclusive)
            // Somebody may have taken it for forsaken before it was locked.
            if let facts = try? system.facts(file), facts.links > 0 { return (file, path) }
            system.close(file)
        }
    }

    /// Gives a finished file the entry's name.
    private func place(
        _ file: Int32, _ name: EntryName, in folder: String, _ hidden: inout String?
    ) throws(SystemError) {
        if hidden == nil {
            do throws(SystemError) {
                return try system.giveName(file, path(name))
            } catch {
                if !error.isTaken { throw error }
            }
            // A file cannot be given the name of another one; it can only be renamed to it.
            let path = "\(folder)/\(name.temporary())"
            try system.giveName(file, path)
            hidden = path
        }
        if let from = hidden {
            try system.rename(from, to: path(name))
            hidden = nil
        }
    }

    // MARK: Folders

    /// Makes sure that a name in a folder, and the folder's own, survive a loss of power.
    private func synchronize(_ name: String) throws(SystemError) {
        try synchronize(folderAt: folder(name))
        if durable.contains(name) { return }
        try synchronize(folderAt: directory)
        if !durable.contains("") {
            var above = Self.parent(of: directory)
            try synchronize(folderAt: above)
            while above != "/", above != "." {
                above = Self.parent(of: above)
                // Where this user may not look, this user has made nothing.
                do throws(SystemError) { try synchronize(folderAt: above) } catch { if !error.isDenied { throw error } }
            }
            durable.insert("")
        }
        durable.insert(name)
    }

    private func synchronize(folderAt path: String) throws(SystemError) {
        // It may be a link.
        let descriptor = try system.openFolder("\(path)/.")
        defer { system.close(descriptor) }
        try system.synchronize(descriptor, isFolder: true)
    }

    /// Makes the cache's directory, what is above it, and one of its folders.
    func makeFolders(_ name: String) throws(SystemError) {
        durable.forget()
        if try makeFolder(directory) || !isMarked() { try mark() }
        try makeFolder(folder(name))
    }

    /// False where there was one.
    @discardableResult
    private func makeFolder(_ path: String) throws(SystemError) -> Bool {
        do throws(SystemError) {
            try system.makeFolder(path)
        } catch {
            if error.isTaken { return false }
            let parent = Self.parent(of: path)
            guard error.isMissing, parent != path, parent != ".", parent != "/" else { throw error }
            try makeFolder(parent)
            do throws(SystemError) { try system.makeFolder(path) } catch { if !error.isTaken { throw error } }
        }
        return true
    }

    static func parent(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
