import CoderHost
public import ImageModel

/// Facts of one entry of a disk cache.
///
/// - Units: bytes; dates in nanoseconds since 1970.
public struct DiskCacheEntry: Sendable, Hashable {
    public var key: String
    public var path: String
    /// Bytes of the picture.
    public var byteCount: Int
    /// Bytes that the file takes on the disk.
    public var size: Int
    public var stored: Int64
    public var accessed: Int64
    public var attributes: [String: String]
    public var hasExtendedData: Bool
    /// Where the picture came from, if whoever stored it said so.
    public var url: String? { attributes["url"] }
}

extension DiskCache {
    /// How many entries there are, and the bytes that they take on the disk.
    ///
    /// - Complexity: one look at every entry's facts.
    public var totals: (count: Int, size: Int) {
        var count = 0
        var size = 0
        walk { _, _, facts in
            count += 1
            size += facts.usage
        }
        return (count, size)
    }
    public var totalCount: Int { totals.count }
    public var totalSize: Int { totals.size }

    /// Forgets all entries, and removes what was left unfinished; what could not be removed is the ``state`` then.
    public func clear() {
        guard isUsable(anew: true) else { return }
        let isMarked = files.isMarked()
        for folder in EntryName.folders {
            let path = files.folder(folder)
            var names: [String] = []
            list(folder, isMarked) { name, occupant, _ in
                if occupant == .temporary { _ = files.removeForsaken("\(path)/\(name)") }
                if occupant == .entry { names.append(name) }
            }
            for name in names {
                do throws(SystemError) {
                    try files.system.unlink("\(path)/\(name)")
                } catch {
                    if !error.isMissing { note(error, at: "\(path)/\(name)", isReading: false) }
                }
            }
        }
    }

    /// Tells of every entry that a look-up finds and whose facts can be read, without reading pictures, in no order.
    public func forEachEntry(_ body: (DiskCacheEntry) -> Void) {
        let settings = configuration
        walk { path, name, facts in
            let outcome = files.read(path, keyHash: nil, .tail, maxCount: settings.maxEntrySize)
            guard case .entry(let entry) = outcome, EntryName(key: entry.tail.key).files.contains(name) else { return }
            body(
                DiskCacheEntry(
                    key: entry.tail.key, path: path, byteCount: entry.tail.pictureCount, size: facts.usage,
                    stored: entry.tail.stored, accessed: facts.accessed, attributes: entry.tail.attributes,
                    hasExtendedData: entry.tail.extended != nil))
        }
    }

    /// All entries' files.
    private func walk(_ body: (_ path: String, _ name: String, FileFacts) -> Void) {
        guard isUsable(anew: true) else { return }
        let isMarked = files.isMarked()
        for folder in EntryName.folders {
            let path = files.folder(folder)
            list(folder, isMarked) { name, occupant, facts in
                if occupant == .entry { body("\(path)/\(name)", name, facts) }
            }
        }
    }

    /// Goes through one of the folders; one that cannot be read is noted.
    func list(
        _ folder: String, _ isMarked: Bool, _ visit: (_ name: String, EntryStore.Occupant, FileFacts) -> Void
    ) {
        do throws(SystemError) {
            try files.list(folder, isMarked: isMarked, visit)
        } catch {
            if !error.isMissing { note(error, at: files.folder(folder), isReading: true) }
        }
    }

    // MARK: Moving

    /// Takes over the entries of another directory, and removes it where nothing else is in it.
    ///
    /// Of two entries of one key the one that was stored later stays.
    /// - Returns: how many entries came over.
    /// - Throws: `.inputOutput` for the first one that could not be moved; it and those behind it are where they were.
    @discardableResult
    public func moveEntries(from other: String) throws(CoderError) -> Int {
        var moved = 0
        let source = EntryStore(directory: other, system: files.system)
        guard try source.examineFolder() else { return 0 }
        let isMarked = source.isMarked()
        for folder in EntryName.folders {
            var entries: [(name: String, facts: FileFacts)] = []
            try? source.list(folder, isMarked: isMarked) { name, occupant, facts in
                if occupant == .temporary { _ = source.removeForsaken("\(source.folder(folder))/\(name)") }
                if occupant == .entry { entries.append((name, facts)) }
            }
            // Made where it is missing, and looked at, whoever has made it.
            if !entries.isEmpty { try makeFolders(folder) }
            for (name, facts) in entries {
                let target = "\(files.folder(folder))/\(name)"
                do throws(SystemError) {
                    if try move("\(source.folder(folder))/\(name)", facts, to: target) { moved += 1 }
                } catch {
                    if !error.isMissing { throw note(error, at: target, isReading: false) }
                }
            }
            try? files.system.removeFolder(source.folder(folder))
        }
        if isMarked {
            for name in [JanitorRecord.name, FolderMark.name] { try? files.system.unlink("\(other)/\(name)") }
        }
        try? files.system.removeFolder(other)
        return moved
    }

    private func makeFolders(_ folder: String) throws(CoderError) {
        _ = try examine(anew: true)
        do throws(SystemError) {
            try files.makeFolders(folder)
        } catch {
            throw note(error, at: files.folder(folder), isReading: false)
        }
        _ = try examine(anew: true)
    }

    private func move(
        _ path: String, _ facts: FileFacts, to target: String
    ) throws(SystemError) -> Bool {
        let settings = configuration
        if let old = try? files.system.facts(at: target), old.modified >= facts.modified {
            try files.system.unlink(path)
            return false
        }
        do throws(SystemError) {
            try files.system.rename(path, to: target)
        } catch {
            guard error.isOtherDevice else { throw error }
            let outcome = files.read(path, keyHash: nil, .everything, maxCount: settings.maxEntrySize)
            guard case .entry(let entry) = outcome, let picture = entry.picture else { return false }
            let name = EntryName(key: entry.tail.key)
            try files.write(
                name, picture, EntryFormat.encode(entry.tail, keyHash: name.keyHash),
                EntryStore.Manner(
                    isDurable: settings.isDurable, accessed: facts.accessed, modified: facts.modified))
            try files.system.unlink(path)
        }
        return true
    }
}
