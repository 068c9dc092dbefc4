import CoderHost
import ImageProcessing

/// The file `CACHEDIR.TAG` in a folder that a cache has created.
///
/// In a marked folder, every file with the name of an entry may be removed, even if it is damaged. A folder that
/// existed before gets no mark, because it may hold files of other programs with similar names. There, only files that
/// end like an entry count as entries. Backup programs skip folders with this file.
/// - Source: Cache Directory Tagging Specification 0.6, <https://bford.info/cachedir/>
enum FolderMark {
    static let name = "CACHEDIR.TAG"
    /// The required beginning: the standard signature, and the line of this program.
    static let head = Array("Signature: 8a477f597d28d172789f06886806bc55\n# coderhost-cache 1\n".utf8)
    static let bytes =
        head + Array("# Cached images. Any file with the name of an entry may be removed.\n".utf8)
}

extension EntryStore {
    /// Whether a cache has created this folder.
    func isMarked() -> Bool {
        guard let file = try? system.open("\(directory)/\(FolderMark.name)") else { return false }
        defer { system.close(file) }
        return (try? system.read(file, at: 0, count: FolderMark.head.count)) == FolderMark.head
    }

    /// Marks the folder if it contains only an empty mark and the janitor's file.
    func mark() throws(SystemError) {
        var isEmpty = true
        try system.list("\(directory)/.") { name, facts in
            let isOwn = name == FolderMark.name && facts.size == 0 || name == SweepRecord.name
            if !isOwn || facts.kind != .regular { isEmpty = false }
        }
        guard isEmpty else { return }
        let file = try system.openLock("\(directory)/\(FolderMark.name)")
        defer { system.close(file) }
        // Several processes may do this at once; all write the same bytes.
        guard try system.facts(file).links == 1 else { return }
        try system.writeAll(file, FolderMark.bytes, at: 0)
        // A mark that a power loss has emptied does not count.
        try? system.synchronize(file, isFolder: false)
    }

    // MARK: Files in one of the folders

    enum Occupant { case entry, temporary, obstacle, foreign }

    /// Lists one of the folders and classifies its files.
    ///
    /// - Parameter isMarked: the result of ``isMarked()``.
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
