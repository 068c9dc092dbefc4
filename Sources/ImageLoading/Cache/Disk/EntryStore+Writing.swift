import CoderHost
import ImageProcessing

/// Remembers the folders whose names this process has already synchronized to the disk.
final class DurableFolders: Sendable {
    private let names = Mutex<Set<String>>([])

    func contains(_ name: String) -> Bool { names.withLock { $0.contains(name) } }
    func insert(_ name: String) { names.withLock { _ = $0.insert(name) } }
    func forget() { names.withLock { $0 = [] } }
}

extension EntryStore {
    /// How an entry is written.
    struct WriteOptions {
        /// Whether the entry must be on the disk when the call returns.
        var isDurable = false
        /// Dates to set; nil for the current date.
        var accessed: Int64?
        var modified: Int64?
        /// If set, only this file may be replaced.
        var onlyReplacing: FileFacts?
    }

    /// Writes an entry and replaces an older one atomically: readers see the old entry or the new one.
    ///
    /// The file gets its final name after all bytes are written. On file systems without unnamed files, and when an
    /// older entry exists, it has a temporary name first. It is locked during that time, so that a sweep does not
    /// remove it.
    ///
    /// - Throws: `ESTALE` if `onlyReplacing` is set and the entry has been replaced; `ENOENT` if the folder is missing.
    func write(_ name: EntryName, _ image: [UInt8], _ tail: [UInt8], _ options: WriteOptions) throws(SystemError) {
        let folder = folder(name.folder)
        let (file, given) = try newFile(name, in: folder)
        var hidden = given
        defer { system.close(file) }
        do throws(SystemError) {
            try system.writeAll(file, image, at: 0)
            try system.writeAll(file, tail, at: image.count)
            let now = system.now()
            try system.setDates(file, accessed: options.accessed ?? now, modified: options.modified ?? now)
            if options.isDurable { try system.synchronize(file, isFolder: false) }
            try withFolder(folder, options.onlyReplacing == nil ? .shared : .exclusive, attempts: 500) {
                isLocked throws(SystemError) in
                if let expected = options.onlyReplacing {
                    guard isLocked, try system.facts(at: path(name)).isSameFile(as: expected) else { throw .replaced }
                }
                try place(file, name, in: folder, &hidden)
            }
        } catch {
            if let hidden { try? system.unlink(hidden) }
            throw error
        }
        if options.isDurable { try synchronize(name.folder) }
    }

    /// Creates a file to write to; returns its temporary name if it needs one.
    private func newFile(_ name: EntryName, in folder: String) throws(SystemError) -> (Int32, String?) {
        do throws(SystemError) {
            let file = try system.createUnnamed(in: folder)
            // The lock protects the file while it has a temporary name.
            try? system.lock(file, .exclusive)
            return (file, nil)
        } catch {
            if !error.meansNoUnnamedFiles { throw error }
        }
        while true {
            let path = "\(folder)/\(name.temporary())"
            let file = try system.create(path)
            try? system.lock(file, .exclusive)
            // Before the lock, a sweep may have removed the file as abandoned.
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
            // Linking cannot replace an existing file, but renaming can.
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

    /// Makes a name in a folder, and the folder's own name, survive a power loss.
    private func synchronize(_ name: String) throws(SystemError) {
        try synchronize(folderAt: folder(name))
        if durable.contains(name) { return }
        try synchronize(folderAt: directory)
        if !durable.contains("") {
            var above = Self.parent(of: directory)
            try synchronize(folderAt: above)
            while above != "/", above != "." {
                above = Self.parent(of: above)
                // If access is denied, this process cannot have created the folder.
                do throws(SystemError) { try synchronize(folderAt: above) } catch { if !error.isDenied { throw error } }
            }
            durable.insert("")
        }
        durable.insert(name)
    }

    private func synchronize(folderAt path: String) throws(SystemError) {
        // The trailing "/." follows a link.
        let descriptor = try system.openFolder("\(path)/.")
        defer { system.close(descriptor) }
        try system.synchronize(descriptor, isFolder: true)
    }

    /// Creates the cache's directory with its parents, and one of its folders.
    func makeFolders(_ name: String) throws(SystemError) {
        durable.forget()
        if try makeFolder(directory) || !isMarked() { try mark() }
        try makeFolder(folder(name))
    }

    /// Creates a folder; returns false if it already existed.
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
