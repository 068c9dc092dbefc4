import CoderHost
package import ImageModel

/// Facts about one entry of a disk cache.
///
/// - Units: bytes; dates in nanoseconds since 1970.
package struct DiskCacheEntry: Sendable, Hashable {
    /// Key of the entry.
    package var key: String
    /// Path of the entry's file.
    package var path: String
    /// Bytes of the image.
    package var byteCount: Int
    /// Bytes that the file occupies on the disk.
    package var size: Int
    /// Date when the entry was stored.
    package var stored: Int64
    /// Date of the last use.
    package var accessed: Int64
    /// Attributes that were stored with the bytes.
    package var attributes: [String: String]
    /// Whether extended data were stored with the bytes.
    package var hasExtendedData: Bool
    /// The URL of the image, if it was stored with the bytes.
    package var url: String? { attributes["url"] }
}

extension DiskCache {
    /// The number of entries and the bytes that they occupy on the disk.
    ///
    /// - Complexity: one `stat` call per entry.
    package var totals: (count: Int, size: Int) {
        var count = 0
        var size = 0
        walk { _, _, facts in
            count += 1
            size += facts.usage
        }
        return (count, size)
    }
    /// The number of entries; see ``totals``.
    package var totalCount: Int { totals.count }
    /// The bytes that all entries occupy on the disk; see ``totals``.
    package var totalSize: Int { totals.size }

    /// Removes all entries and all unfinished files of stopped processes; if a file cannot be removed, ``state``
    /// reports it.
    package func clear() {
        guard isUsable(anew: true) else { return }
        let isMarked = files.isMarked()
        for folder in EntryName.folders {
            let path = files.folder(folder)
            var names: [String] = []
            list(folder, isMarked) { name, occupant, _ in
                if occupant == .temporary { _ = files.removeAbandoned("\(path)/\(name)") }
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

    /// Calls `body` for every entry that a lookup would find, in no particular order; images are not read.
    package func forEachEntry(_ body: (DiskCacheEntry) -> Void) {
        let settings = configuration
        walk { path, name, facts in
            let outcome = files.read(path, keyHash: nil, .tail, maxCount: settings.maxEntrySize)
            guard case .entry(let entry) = outcome, EntryName(key: entry.tail.key).files.contains(name) else { return }
            body(
                DiskCacheEntry(
                    key: entry.tail.key, path: path, byteCount: entry.tail.imageCount, size: facts.usage,
                    stored: entry.tail.stored, accessed: facts.dates.accessed, attributes: entry.tail.attributes,
                    hasExtendedData: entry.tail.extended != nil))
        }
    }

    /// Visits the files of all entries.
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

    /// Lists one of the folders; if it cannot be read, ``state`` reports it.
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

    /// Moves the entries of another directory into this cache, and removes that directory if it is empty then.
    ///
    /// If both caches have an entry for a key, the one that was stored later stays.
    /// - Returns: the number of moved entries.
    /// - Throws: `.inputOutput` for the first entry that cannot be moved; this entry and all later ones stay in place.
    @discardableResult
    package func moveEntries(from other: String) throws(CoderError) -> Int {
        var moved = 0
        let source = EntryStore(directory: other, system: files.system)
        guard try source.examineFolder() else { return 0 }
        let isMarked = source.isMarked()
        for folder in EntryName.folders {
            var entries: [(name: String, facts: FileFacts)] = []
            try? source.list(folder, isMarked: isMarked) { name, occupant, facts in
                if occupant == .temporary { _ = source.removeAbandoned("\(source.folder(folder))/\(name)") }
                if occupant == .entry { entries.append((name, facts)) }
            }
            // Creates the folder if it is missing, and checks it again, because another process may have created it.
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
            for name in [SweepRecord.name, FolderMark.name] { try? files.system.unlink("\(other)/\(name)") }
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
        if let old = try? files.system.facts(at: target), old.dates.modified >= facts.dates.modified {
            try files.system.unlink(path)
            return false
        }
        do throws(SystemError) {
            try files.system.rename(path, to: target)
        } catch {
            guard error.isOtherDevice else { throw error }
            let outcome = files.read(path, keyHash: nil, .everything, maxCount: settings.maxEntrySize)
            guard case .entry(let entry) = outcome, let image = entry.image else { return false }
            let name = EntryName(key: entry.tail.key)
            try files.write(
                name, image, EntryFormat.encode(entry.tail, keyHash: name.keyHash),
                EntryStore.WriteOptions(
                    isDurable: settings.isDurable, accessed: facts.dates.accessed, modified: facts.dates.modified))
            try files.system.unlink(path)
        }
        return true
    }
}
