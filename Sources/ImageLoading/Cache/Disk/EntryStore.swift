import CoderHost
import ImageProcessing
import ImageModel

/// The files of a cache, one by one: whatever happens, a file under an entry's name was written to its end.
///
/// - Concurrency: any thread, any number of processes.
struct EntryStore: Sendable {
    let directory: String
    let system: any DiskSystem
    /// Folders of which it is known that they will be there after a loss of power.
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
        /// The picture; nil where it was not asked for.
        var picture: [UInt8]?
        var facts: FileFacts
    }

    /// What an entry is asked for.
    enum Part { case everything, tail }

    /// Reads an entry's file.
    ///
    /// - Parameters:
    ///   - keyHash: nil takes an entry of any key.
    ///   - maxCount: a larger file is not read.
    ///   - isUse: whether the date of its last use becomes now.
    func read(_ path: String, keyHash: [UInt8]?, _ part: Part, maxCount: Int, isUse: Bool = false) -> Outcome {
        do throws(SystemError) {
            let file = try system.open(path)
            defer { system.close(file) }
            let facts = try system.facts(file)
            if facts.kind != .regular || facts.size < EntryFormat.trailerCount { return .damaged(facts) }
            // Somebody else's is none of ours, however it came here.
            if facts.owner != 0, facts.owner != system.user().id { return .damaged(facts) }
            if facts.size > maxCount { throw .tooLarge }
            guard let entry = try read(file, facts, keyHash, part) else { return .damaged(facts) }
            if isUse { try? system.setDates(file, accessed: system.now(), modified: nil) }
            return .entry(entry)
        } catch {
            return error.isMissing ? .missing : .unreadable(error)
        }
    }

    /// Nil where it is damaged.
    private func read(
        _ file: Int32, _ facts: FileFacts, _ keyHash: [UInt8]?, _ part: Part
    ) throws(SystemError) -> Entry? {
        // Most tails are that short, and so is many a picture.
        let end = try system.readAll(file, at: max(0, facts.size - 4096), count: min(facts.size, 4096))
        guard let trailer = EntryFormat.Trailer(endOf: end, fileCount: facts.size),
            keyHash == nil || keyHash == trailer.keyHash
        else { return nil }
        let behind =
            trailer.tailCount <= end.count
            ? Array(end.suffix(trailer.tailCount))
            : try system.readAll(file, at: trailer.pictureCount, count: trailer.tailCount)
        guard let tail = trailer.tail(behind) else { return nil }
        guard part == .everything else { return Entry(tail: tail, picture: nil, facts: facts) }
        let picture =
            end.count == facts.size
            ? Array(end.prefix(trailer.pictureCount))
            : try system.readAll(file, at: 0, count: trailer.pictureCount)
        guard picture.withSpan({ ContentCheck(of: $0) }) == tail.picture else { return nil }
        return Entry(tail: tail, picture: picture, facts: facts)
    }

    /// Reads a file that no cache wrote; one that ends like an entry has to be one.
    func readForeign(_ path: String, keyHash: [UInt8], maxCount: Int) -> CachedData? {
        guard let file = try? system.open(path) else { return nil }
        defer { system.close(file) }
        guard let facts = try? system.facts(file), facts.kind == .regular, facts.size <= maxCount,
            let bytes = try? system.readAll(file, at: 0, count: facts.size)
        else { return nil }
        guard bytes.suffix(EntryFormat.magic.count).elementsEqual(EntryFormat.magic) else { return CachedData(bytes) }
        guard let entry = try? read(file, facts, keyHash, .everything), let picture = entry.picture else { return nil }
        return CachedData(picture, extended: entry.tail.extended, attributes: entry.tail.attributes)
    }

    // MARK: Removing

    /// Whatever removes an entry because of what it saw earlier holds the folder for itself, and whatever puts an entry
    /// in place shares it: nothing newer is ever hit. The lock goes with the process; nobody waits long for it.
    func withFolder<R>(
        _ folder: String, _ kind: DiskLock, attempts: Int, _ body: (_ isLocked: Bool) throws(SystemError) -> R
    ) throws(SystemError) -> R {
        let descriptor = try system.openFolder(folder)
        defer { system.close(descriptor) }
        return try body(system.lock(descriptor, kind, attempts: attempts))
    }

    /// Removes a damaged entry, unless there is a newer one in its place.
    @discardableResult
    func discard(_ path: String, in folder: String, _ facts: FileFacts) -> Bool {
        let isDone = try? withFolder(self.folder(folder), .exclusive, attempts: 3) { isLocked throws(SystemError) in
            guard isLocked, try system.facts(at: path).isSameFile(as: facts) else { return false }
            try system.unlink(path)
            return true
        }
        return isDone ?? false
    }

    /// Removes a file that nobody writes any more.
    ///
    /// Whoever writes one holds its lock, which goes with the process.
    func removeForsaken(_ path: String) -> Bool {
        withForsaken(path) { () throws(SystemError) in try system.unlink(path) }
    }

    func isForsaken(_ path: String) -> Bool { withForsaken(path) {} }

    private func withForsaken(_ path: String, _ body: () throws(SystemError) -> Void) -> Bool {
        guard let file = try? system.open(path) else { return false }
        defer { system.close(file) }
        do throws(SystemError) {
            let facts = try system.facts(file)
            do throws(SystemError) {
                try system.lock(file, .exclusive)
            } catch {
                // Where there are no locks, an hour is long enough for any write.
                if error.isBusy || system.now() - facts.modified < 3600 * 1_000_000_000 { return false }
            }
            guard try system.facts(at: path).inode == facts.inode else { return false }
            try body()
            return true
        } catch {
            return false
        }
    }
}
