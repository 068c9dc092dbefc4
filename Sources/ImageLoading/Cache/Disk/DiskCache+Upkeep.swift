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

/// What ``DiskCache/verify(repair:)`` found; paths of files.
public struct VerifyReport: Sendable, Hashable {
    /// Entries that are as they were written.
    public var sound = 0
    public var soundSize = 0
    /// Entries that are not; each is a miss for everybody who asks for it.
    public var damaged: [String] = []
    /// Sound entries under a name that is another key's.
    public var misplaced: [String] = []
    /// Unfinished files of processes that were ended.
    public var forsaken: [String] = []
    /// What no cache has put there; always left alone.
    public var foreign: [String] = []
    /// What could not be read, so nothing is known of it.
    public var unreadable: [String] = []
    /// Files that were removed.
    public var removed = 0

    public init() {}

    /// Whether there is nothing to repair.
    public var isSound: Bool { damaged.isEmpty && misplaced.isEmpty && forsaken.isEmpty && unreadable.isEmpty }
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

    /// Forgets all entries, and removes what was left unfinished.
    public func clear() {
        for folder in EntryName.folders {
            let path = files.folder(folder)
            var names: [String] = []
            try? files.system.list(path) { name, facts in
                if EntryName.isTemporary(name) {
                    _ = files.removeForsaken("\(path)/\(name)")
                } else if EntryName.isEntry(name, in: folder), facts.kind == .regular {
                    names.append(name)
                }
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

    /// Tells of every entry whose facts can be read, without reading pictures, in no order.
    public func forEachEntry(_ body: (DiskCacheEntry) -> Void) {
        let settings = configuration
        walk { path, _, facts in
            let outcome = files.read(path, keyHash: nil, .tail, maxCount: settings.maxEntrySize)
            guard case .entry(let entry) = outcome else { return }
            body(
                DiskCacheEntry(
                    key: entry.tail.key, path: path, byteCount: entry.tail.pictureCount, size: facts.usage,
                    stored: entry.tail.stored, accessed: facts.accessed, attributes: entry.tail.attributes,
                    hasExtendedData: entry.tail.extended != nil))
        }
    }

    /// All entries' files: path, folder, facts.
    private func walk(_ body: (String, String, FileFacts) -> Void) {
        for folder in EntryName.folders {
            let path = files.folder(folder)
            try? files.system.list(path) { name, facts in
                if facts.kind == .regular, EntryName.isEntry(name, in: folder) {
                    body("\(path)/\(name)", folder, facts)
                }
            }
        }
    }

    /// Reads every file and compares it with its checks.
    ///
    /// - Parameter repair: removes entries that are damaged or misplaced, and unfinished files.
    public func verify(repair: Bool = false) -> VerifyReport {
        var report = VerifyReport()
        try? files.system.list(directory) { name, facts in
            let isOurs = name == JanitorRecord.name || EntryName.folders.contains(name)
            // A folder may be another namespace.
            if !isOurs && facts.kind != .folder { report.foreign.append("\(directory)/\(name)") }
        }
        for folder in EntryName.folders {
            let place = files.folder(folder)
            try? files.system.list(place) { name, facts in
                let path = "\(place)/\(name)"
                if EntryName.isTemporary(name), facts.kind == .regular {
                    examineTemporary(path, repair, &report)
                } else if EntryName.isEntry(name, in: folder), facts.kind == .regular {
                    examine(path, name, in: folder, facts, repair, &report)
                } else {
                    report.foreign.append(path)
                }
            }
        }
        return report
    }

    private func examineTemporary(_ path: String, _ repair: Bool, _ report: inout VerifyReport) {
        if repair {
            guard files.removeForsaken(path) else { return }
            report.removed += 1
            report.forsaken.append(path)
        } else if files.isForsaken(path) {
            report.forsaken.append(path)
        }
    }

    private func examine(
        _ path: String, _ name: String, in folder: String, _ facts: FileFacts, _ repair: Bool,
        _ report: inout VerifyReport
    ) {
        let outcome = files.read(path, keyHash: nil, .everything, maxCount: configuration.maxEntrySize)
        switch outcome {
        case .entry(let entry):
            if EntryName(key: entry.tail.key).files.contains(name) {
                report.sound += 1
                report.soundSize += facts.usage
                return
            }
            report.misplaced.append(path)
            if repair, files.discard(path, in: folder, entry.facts) { report.removed += 1 }
        case .missing: return
        case .damaged(let facts):
            report.damaged.append(path)
            if repair, files.discard(path, in: folder, facts) { report.removed += 1 }
        case .unreadable: report.unreadable.append(path)
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
        for folder in EntryName.folders {
            var entries: [(name: String, facts: FileFacts)] = []
            try? files.system.list(source.folder(folder)) { name, facts in
                if EntryName.isTemporary(name) {
                    _ = source.removeForsaken("\(source.folder(folder))/\(name)")
                } else if facts.kind == .regular, EntryName.isEntry(name, in: folder) {
                    entries.append((name, facts))
                }
            }
            for (name, facts) in entries {
                let target = "\(files.folder(folder))/\(name)"
                do throws(SystemError) {
                    if try move("\(source.folder(folder))/\(name)", facts, to: target, folder) { moved += 1 }
                } catch {
                    if !error.isMissing { throw note(error, at: target, isReading: false) }
                }
            }
            try? files.system.removeFolder(source.folder(folder))
        }
        try? files.system.unlink("\(other)/\(JanitorRecord.name)")
        try? files.system.removeFolder(other)
        return moved
    }

    private func move(
        _ path: String, _ facts: FileFacts, to target: String, _ folder: String
    ) throws(SystemError) -> Bool {
        let settings = configuration
        if let old = try? files.system.facts(at: target), old.modified >= facts.modified {
            try files.system.unlink(path)
            return false
        }
        do throws(SystemError) {
            do throws(SystemError) {
                try files.system.rename(path, to: target)
            } catch {
                if !error.isMissing { throw error }
                try files.makeFolders(folder)
                try files.system.rename(path, to: target)
            }
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
