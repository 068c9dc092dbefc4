import CoderHost
import ImageProcessing

/// The file `CACHEDIR.TAG` in a folder that a cache has made.
///
/// Whatever has the name of an entry there may be removed, however damaged it is. A folder that was there before may hold
/// files of other programs under names like ours, and gets no mark: only what ends as entries do is taken for one there.
/// Programs that make backups leave out folders with this file.
/// - Source: Cache Directory Tagging Specification 0.6, <https://bford.info/cachedir/>
enum FolderMark {
    static let name = "CACHEDIR.TAG"
    /// What has to be there: the words that every such file begins with, and ours.
    static let head = Array("Signature: 8a477f597d28d172789f06886806bc55\n# coderhost-cache 1\n".utf8)
    static let bytes =
        head + Array("# Pictures that can be got again. Whatever is named like an entry may be removed.\n".utf8)
}

extension EntryStore {
    /// Whether a cache has made this folder.
    func isMarked() -> Bool {
        guard let file = try? system.open("\(directory)/\(FolderMark.name)") else { return false }
        defer { system.close(file) }
        return (try? system.read(file, at: 0, count: FolderMark.head.count)) == FolderMark.head
    }

    /// Marks the folder as a cache's, if nothing is in it but such a mark that was not written, and the janitor's file.
    func mark() throws(SystemError) {
        var isEmpty = true
        try system.list("\(directory)/.") { name, facts in
            let isOwn = name == FolderMark.name && facts.size == 0 || name == JanitorRecord.name
            if !isOwn || facts.kind != .regular { isEmpty = false }
        }
        guard isEmpty else { return }
        let file = try system.openLock("\(directory)/\(FolderMark.name)")
        defer { system.close(file) }
        // Several may be at it; all of them write the same.
        guard try system.facts(file).links == 1 else { return }
        try system.writeAll(file, FolderMark.bytes, at: 0)
        // A mark that a loss of power has emptied is none.
        try? system.synchronize(file, isFolder: false)
    }

    // MARK: What stands in one of the folders

    enum Occupant { case entry, temporary, obstacle, foreign }

    /// Goes through one of the folders.
    ///
    /// - Parameter isMarked: what ``isMarked()`` says.
    func list(
        _ folder: String, isMarked: Bool, _ visit: (_ name: String, Occupant, FileFacts) -> Void
    ) throws(SystemError) {
        let path = self.folder(folder)
        try system.list(path) { name, facts in
            if facts.kind == .regular, EntryName.isTemporary(name) { return visit(name, .temporary, facts) }
            guard EntryName.isEntry(name, in: folder) else { return visit(name, .foreign, facts) }
            switch facts.kind {
            case .regular: visit(name, isMarked || endsLikeEntry("\(path)/\(name)") ? .entry : .foreign, facts)
            default: visit(name, isMarked ? .obstacle : .foreign, facts)
            }
        }
    }

    private func endsLikeEntry(_ path: String) -> Bool {
        guard let file = try? system.open(path) else { return false }
        defer { system.close(file) }
        let magic = EntryFormat.magic
        guard let facts = try? system.facts(file), facts.size >= EntryFormat.trailerCount else { return false }
        return (try? system.read(file, at: facts.size - magic.count, count: magic.count)) == magic
    }
}
