import CoderHost
import ImageProcessing
import ImageModel

/// The entry files of a cache. A file under an entry's name is always completely written.
///
/// - Concurrency: any thread, any number of processes.
struct EntryStore: Sendable {
    let directory: String
    let system: any DiskSystem
    /// Folders whose names survive a power loss.
    let durable = DurableFolders()

    func folder(_ name: String) -> String { "\(directory)/\(name)" }
    func path(_ name: EntryName) -> String { "\(directory)/\(name.folder)/\(name.file)" }

    // MARK: Reading

    enum Outcome {
        case entry(Entry)
        case missing
        case damaged(FileFacts)
        case unreadable(SystemError)
    }

    struct Entry {
        var tail: EntryFormat.Tail
        /// The image; nil if it was not requested.
        var image: [UInt8]?
        var facts: FileFacts
    }

    /// The part of an entry to read.
    enum Part { case everything, tail }

    /// Reads an entry's file.
    ///
    /// - Parameters:
    ///   - keyHash: nil accepts an entry of any key.
    ///   - maxCount: larger files are not read.
    ///   - isUse: whether to set the date of the last use.
    func read(_ path: String, keyHash: [UInt8]?, _ part: Part, maxCount: Int, isUse: Bool = false) -> Outcome {
        do throws(SystemError) {
            let file = try system.open(path)
            defer { system.close(file) }
            let facts = try system.facts(file)
            if facts.kind != .regular || facts.size < EntryFormat.trailerCount { return .damaged(facts) }
            // A file of another user is not trusted; treat it as damaged.
            if facts.owner != 0, facts.owner != system.user().id { return .damaged(facts) }
            if facts.size > maxCount { throw .tooLarge }
            guard let entry = try read(file, facts, keyHash, part) else { return .damaged(facts) }
            if isUse { try? system.setDates(file, accessed: system.now(), modified: nil) }
            return .entry(entry)
        } catch {
            return error.isMissing ? .missing : .unreadable(error)
        }
    }

    /// Reads an open file; returns nil if it is damaged.
    private func read(
        _ file: Int32, _ facts: FileFacts, _ keyHash: [UInt8]?, _ part: Part
    ) throws(SystemError) -> Entry? {
        // One read usually covers the whole tail, and often the image, too.
        let end = try system.readAll(file, at: max(0, facts.size - 4096), count: min(facts.size, 4096))
        guard let trailer = EntryFormat.Trailer(endOf: end, fileCount: facts.size),
            keyHash == nil || keyHash == trailer.keyHash
        else { return nil }
        let tailBytes =
            trailer.tailCount <= end.count
            ? Array(end.suffix(trailer.tailCount))
            : try system.readAll(file, at: trailer.imageCount, count: trailer.tailCount)
        guard let tail = trailer.tail(tailBytes) else { return nil }
        guard part == .everything else { return Entry(tail: tail, image: nil, facts: facts) }
        let image =
            end.count == facts.size
            ? Array(end.prefix(trailer.imageCount))
            : try system.readAll(file, at: 0, count: trailer.imageCount)
        guard image.withSpan({ ContentCheck(of: $0) }) == tail.image else { return nil }
        return Entry(tail: tail, image: image, facts: facts)
    }

    /// Reads a file from outside of the cache. If it ends like an entry, it must be a valid one.
    func readForeign(_ path: String, keyHash: [UInt8], maxCount: Int) -> CachedData? {
        guard let file = try? system.open(path) else { return nil }
        defer { system.close(file) }
        guard let facts = try? system.facts(file), facts.kind == .regular, facts.size <= maxCount,
            let bytes = try? system.readAll(file, at: 0, count: facts.size)
        else { return nil }
        guard bytes.suffix(EntryFormat.magic.count).elementsEqual(EntryFormat.magic) else { return CachedData(bytes) }
        guard let entry = try? read(file, facts, keyHash, .everything), let image = entry.image else { return nil }
        return CachedData(image, extended: entry.tail.extended, attributes: entry.tail.attributes)
    }

    // MARK: Removing

    /// Locks a folder and calls `body`.
    ///
    /// Code that removes an entry takes the exclusive lock; code that stores one takes the shared lock. So a remover
    /// never deletes an entry that was stored after its check. The lock ends with the process, and is held only
    /// briefly.
    func withFolder<R>(
        _ folder: String, _ kind: DiskLock, attempts: Int, _ body: (_ isLocked: Bool) throws(SystemError) -> R
    ) throws(SystemError) -> R {
        let descriptor = try system.openFolder(folder)
        defer { system.close(descriptor) }
        return try body(system.lock(descriptor, kind, attempts: attempts))
    }

    /// Removes a damaged entry, unless a newer one has replaced it.
    @discardableResult
    func discard(_ path: String, in folder: String, _ facts: FileFacts) -> Bool {
        let isDone = try? withFolder(self.folder(folder), .exclusive, attempts: 3) { isLocked throws(SystemError) in
            guard isLocked, try system.facts(at: path).isSameFile(as: facts) else { return false }
            try system.unlink(path)
            return true
        }
        return isDone ?? false
    }

    /// Removes an unfinished file if no process writes it any more.
    ///
    /// A writing process holds a lock on the file, which ends with the process.
    func removeAbandoned(_ path: String) -> Bool {
        withAbandoned(path) { () throws(SystemError) in try system.unlink(path) }
    }

    func isAbandoned(_ path: String) -> Bool { withAbandoned(path) {} }

    private func withAbandoned(_ path: String, _ body: () throws(SystemError) -> Void) -> Bool {
        guard let file = try? system.open(path) else { return false }
        defer { system.close(file) }
        do throws(SystemError) {
            let facts = try system.facts(file)
            do throws(SystemError) {
                try system.lock(file, .exclusive)
            } catch {
                // Without support for locks, a file is considered abandoned after an hour.
                if error.isBusy || system.now() - facts.dates.modified < 3600 * 1_000_000_000 { return false }
            }
            guard try system.facts(at: path).inode == facts.inode else { return false }
            try body()
            return true
        } catch {
            return false
        }
    }
}
