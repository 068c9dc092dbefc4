public import ImageModel
import CoderHost
import ImageProcessing
import Synchronization

/// Keeps bytes on disk, in plain files and without a database.
///
/// The file system is the index. The name of an entry follows from its key, so it is found without looking at any
/// other, in a folder of any size. There is nothing that could disagree with the files, be rebuilt after a crash, or
/// be locked by another process, and nothing of it is in memory. What a database would add (many small values in few
/// files, queries) a cache of pictures does not need; what it would take (a second copy of each picture on its way, one
/// writer at a time, a log that has to be gone over after a kill) it would notice.
///
/// An entry is one file: the picture as it came, so that any program opens it, and behind it what belongs to it and a
/// check of everything. Files are put in place when they are complete. Whatever is wrong with one (damaged, short, of
/// another key or version) makes it a miss, never wrong bytes, and it is removed.
///
/// Any number of processes may use a directory; only sweeping is done by one at a time. Readers never wait. A directory of
/// another user, or one that others may write to, is not used (``examine()``).
/// - Concurrency: any thread; calls wait for storage, so they do not belong on threads that tasks share.
public final class DiskCache: Sendable {
    /// Whether entries can be read and stored.
    public enum State: Sendable, Hashable {
        case working
        /// What went wrong last, and what would help; every call tries again.
        case degraded(CoderError)
    }

    private struct Status {
        var configuration: DiskCacheConfiguration
        var trouble: (error: CoderError, isReading: Bool)?
        /// What keeps the folder from being used at all.
        var objection: CoderError?
        /// Whether the folder was there when it was examined, and nothing was wrong with it.
        var isExamined = false
        var written = 0
        /// When the last sweep began, on the clock of the calendar; nil before that was looked up.
        var swept: Int64?
        var isSweeping = false
    }

    /// Where the entries are, the namespace included.
    public let directory: String
    let files: EntryStore
    private let status: Mutex<Status>

    /// A cache in a directory that is made when something is stored.
    ///
    /// - Parameter namespace: the folder in it, for those who share a directory but no entries; nil is none.
    public convenience init(
        directory: String, namespace: String? = nil,
        configuration: DiskCacheConfiguration = DiskCacheConfiguration()
    ) {
        self.init(directory: directory, namespace: namespace, configuration: configuration, system: LocalDisk())
    }

    init(
        directory: String, namespace: String? = nil, configuration: DiskCacheConfiguration, system: any DiskSystem
    ) {
        var path = directory
        while path.utf8.count > 1, path.hasSuffix("/") { path.removeLast() }
        if path.isEmpty { path = "." }
        if let namespace, !namespace.isEmpty { path += "/\(Self.folderName(namespace))" }
        self.directory = path
        files = EntryStore(directory: path, system: system)
        status = Mutex(Status(configuration: configuration))
    }

    /// A name of one folder, whatever the namespace is called.
    private static func folderName(_ namespace: String) -> String {
        isFolderName(namespace) ? namespace : EntryName(key: namespace).digits
    }

    /// Whether a namespace's folder has its name.
    package static func isFolderName(_ namespace: String) -> Bool {
        let isPlain = namespace.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "/") }
        return isPlain && !namespace.isEmpty && !namespace.hasPrefix(".") && namespace.utf8.count <= 200
    }

    /// The directory of a user's caches: `$XDG_CACHE_HOME/coderhost`, or else `.cache/coderhost` in `$HOME`, or in the
    /// home that the system's list of users names; nil for a user without one.
    public static var standardDirectory: String? {
        if let folder = environment("XDG_CACHE_HOME"), folder.hasPrefix("/") { return "\(folder)/coderhost" }
        return [environment("HOME"), homeOfUser()].compactMap { $0 }.first { $0.hasPrefix("/") }
            .map { "\($0)/.cache/coderhost" }
    }

    /// May be changed at any time.
    public var configuration: DiskCacheConfiguration {
        get { status.withLock { $0.configuration } }
        set { status.withLock { $0.configuration = newValue } }
    }

    /// Whether it works; a caller that finds it does not may keep more in memory.
    public var state: State {
        status.withLock { $0.objection ?? $0.trouble?.error }.map { State.degraded($0) } ?? .working
    }

    /// Finds out whether the directory may be used, before anything in it is believed or changed.
    ///
    /// It has to belong to this user or to root, as has the one that it stands in, and nobody else may write to it.
    /// Nothing is wrong with one that does not exist yet; it is made for this user alone. Every call does this until it
    /// succeeds, then whatever looks through all of the cache, and whatever finds that the directory is gone.
    /// - Throws: `.inputOutput`, with the remedy; every look-up is a miss then, and nothing is stored or removed.
    public func examine() throws(CoderError) { _ = try examine(anew: true) }

    /// False where there is no directory.
    func examine(anew: Bool) throws(CoderError) -> Bool {
        if !anew, status.withLock({ $0.isExamined }) { return true }
        do throws(CoderError) {
            let isThere = try files.examineFolder()
            status.withLock { ($0.isExamined, $0.objection) = (isThere, nil) }
            return isThere
        } catch {
            status.withLock { ($0.isExamined, $0.objection) = (false, error) }
            throw error
        }
    }

    /// Whether nothing speaks against using the directory.
    func isUsable(anew: Bool = false) -> Bool { (try? examine(anew: anew)) != nil }

    // MARK: Entries

    /// The file of a key's entry, whether or not there is one.
    public func path(for key: String) -> String { files.path(EntryName(key: key)) }

    /// The bytes of a key and what was stored with them; nil where there are none, or none that are whole.
    ///
    /// - Complexity: O(1) whatever the number of entries.
    public func data(for key: String) -> CachedData? {
        let settings = configuration
        let name = EntryName(key: key)
        let entry = find(name, .everything, settings, isUse: settings.expiry != .changed)
        sweepIfDue(written: 0)
        if let entry, let picture = entry.picture {
            return CachedData(picture, extended: entry.tail.extended, attributes: entry.tail.attributes)
        }
        return extraPaths(name, settings).lazy.compactMap { [files] in
            files.readForeign($0, keyHash: name.keyHash, maxCount: settings.maxEntrySize)
        }.first
    }

    /// Whether there is a file for the key; ``data(for:)`` may still find that it is damaged.
    public func contains(_ key: String) -> Bool {
        let name = EntryName(key: key)
        let own = isUsable() ? name.files.map { "\(files.folder(name.folder))/\($0)" } : []
        return (own + extraPaths(name, configuration))
            .contains { (try? files.system.facts(at: $0))?.kind == .regular }
    }

    /// Keeps bytes, instead of what the key had.
    ///
    /// - Throws: `.inputOutput` when they could not be kept, with the remedy; `.limitExceeded` for an entry that is too
    ///   large. Nothing of it is left then, and an older entry stays.
    public func store(_ data: CachedData, for key: String) throws(CoderError) {
        let settings = configuration
        let name = EntryName(key: key)
        let tail = EntryFormat.Tail(
            key: key, extended: data.extended, attributes: data.attributes, stored: files.system.now(),
            picture: data.bytes.withSpan { ContentCheck(of: $0) }, pictureCount: data.bytes.count)
        let behind = EntryFormat.encode(tail, keyHash: name.keyHash)
        let count = data.bytes.count + behind.count
        if count > settings.maxEntrySize {
            throw .limit("cache entry", allowed: settings.maxEntrySize, requested: count)
        }
        try write(name, data.bytes, behind, EntryStore.Manner(isDurable: settings.isDurable))
        sweepIfDue(written: count)
    }

    /// Forgets the key's entry.
    public func remove(_ key: String) {
        guard isUsable() else { return }
        let name = EntryName(key: key)
        for file in name.files {
            let path = "\(files.folder(name.folder))/\(file)"
            do throws(SystemError) {
                try files.system.unlink(path)
            } catch {
                if !error.isMissing { note(error, at: path, isReading: false) }
            }
        }
    }

    // MARK: What is stored beside the bytes

    /// The extended data of a key's entry.
    public func extendedData(for key: String) -> [UInt8]? {
        find(EntryName(key: key), .tail, configuration, isUse: false)?.tail.extended
    }

    /// Changes the extended data of a key's entry, and neither its bytes nor its dates; nil removes them.
    ///
    /// - Throws: `.notFound` without an entry; `.inputOutput`; `.limitExceeded`.
    public func setExtendedData(_ extended: [UInt8]?, for key: String) throws(CoderError) {
        try change(key) { $0.extended = extended }
    }

    /// Changes the attributes of a key's entry, and neither its bytes nor its dates.
    ///
    /// - Throws: `.notFound` without an entry; `.inputOutput`; `.limitExceeded`.
    public func setAttributes(_ attributes: [String: String], for key: String) throws(CoderError) {
        try change(key) { $0.attributes = attributes }
    }

    private func change(_ key: String, _ body: (inout EntryFormat.Tail) -> Void) throws(CoderError) {
        let settings = configuration
        let name = EntryName(key: key)
        _ = try examine(anew: false)
        // Whoever stores a new entry meanwhile wins; then that one is changed.
        for _ in 0..<16 {
            guard let entry = find(name, .everything, settings, isUse: false), let picture = entry.picture else {
                throw CoderError(
                    .notFound, "the disk cache has no entry of this key", hint: "store the bytes first")
            }
            var tail = entry.tail
            body(&tail)
            let behind = EntryFormat.encode(tail, keyHash: name.keyHash)
            let count = picture.count + behind.count
            if count > settings.maxEntrySize {
                throw .limit("cache entry", allowed: settings.maxEntrySize, requested: count)
            }
            let manner = EntryStore.Manner(
                isDurable: settings.isDurable, accessed: entry.facts.accessed, modified: entry.facts.modified,
                onlyReplacing: entry.facts)
            if try write(name, picture, behind, manner) { return }
        }
        throw note(.replaced, at: files.path(name), isReading: false)
    }

    // MARK: Parts

    /// The entry under the best of its names.
    func find(
        _ name: EntryName, _ part: EntryStore.Part, _ settings: DiskCacheConfiguration, isUse: Bool
    ) -> EntryStore.Entry? {
        guard isUsable() else { return nil }
        for file in name.files {
            let path = "\(files.folder(name.folder))/\(file)"
            let outcome = files.read(
                path, keyHash: name.keyHash, part, maxCount: settings.maxEntrySize, isUse: isUse)
            switch outcome {
            case .entry(let entry):
                noteSuccess(isReading: true)
                return entry
            case .missing: continue
            // Nobody but a cache has files of this very name, so no mark of the folder is asked for.
            case .damaged(let facts): files.discard(path, in: name.folder, facts)
            // Another limit may have been in force when it was stored.
            case .unreadable(.tooLarge): continue
            case .unreadable(let error): note(error, at: path, isReading: true)
            }
        }
        return nil
    }

    /// False where `onlyReplacing` says that there is something newer.
    @discardableResult
    private func write(
        _ name: EntryName, _ picture: [UInt8], _ behind: [UInt8], _ manner: EntryStore.Manner
    ) throws(CoderError) -> Bool {
        var hasMadeRoom = false
        var attempts = 0
        var lacksFolder = !(try examine(anew: false))
        while true {
            do throws(SystemError) {
                if lacksFolder {
                    attempts += 1
                    try files.makeFolders(name.folder)
                } else {
                    try files.write(name, picture, behind, manner)
                }
            } catch {
                if error == .replaced || manner.onlyReplacing != nil && error.isMissing { return false }
                // In a new cache, and in one that somebody has just removed.
                if error.isMissing, attempts < 3 {
                    lacksFolder = true
                    continue
                }
                if error.isFull, !hasMadeRoom, configuration.maxSize > 0 {
                    hasMadeRoom = true
                    makeRoom()
                    continue
                }
                throw note(error, at: files.path(name), isReading: false)
            }
            if !lacksFolder { break }
            // Somebody else may have been faster at making it, or has removed it again.
            lacksFolder = !(try examine(anew: true)) && attempts < 3
        }
        noteSuccess(isReading: false)
        return true
    }

    private func extraPaths(_ name: EntryName, _ settings: DiskCacheConfiguration) -> [String] {
        settings.extraDirectories.flatMap { folder in
            name.files.flatMap { ["\(folder)/\(name.folder)/\($0)", "\(folder)/\($0)"] }
        }
    }

    // MARK: State

    @discardableResult
    func note(_ error: SystemError, at path: String, isReading: Bool) -> CoderError {
        let what = isReading ? "read" : "written"
        let problem = CoderError(.inputOutput, "\(path) cannot be \(what): \(error)", hint: error.remedy)
        status.withLock { $0.trouble = (problem, isReading) }
        return problem
    }

    private func noteSuccess(isReading: Bool) {
        status.withLock { if $0.trouble?.isReading == isReading { $0.trouble = nil } }
    }

    func noteSweep() {
        let now = files.system.now()
        status.withLock { state in
            state.swept = now
            state.written = 0
        }
    }

    /// Whether the caller is to sweep; it says when that has ended.
    func isSweepDue(written: Int, patience: Int64, bytes: Int) -> Bool {
        let now = files.system.now()
        if status.withLock({ $0.swept == nil }) {
            // Another process, or this one before it was started again, may have done it not long ago.
            let last = files.lastSweep() ?? .min
            status.withLock { if $0.swept == nil { $0.swept = last } }
        }
        return status.withLock { state in
            state.written = state.written.addingReportingOverflow(written).partialValue
            guard !state.isSweeping, let swept = state.swept else { return false }
            // A clock that went back is no reason to wait for it.
            let isTime = swept == .min || now < swept || now - swept >= patience
            guard isTime || state.written >= bytes else { return false }
            state.isSweeping = true
            state.swept = now
            state.written = 0
            return true
        }
    }

    func sweepHasEnded() { status.withLock { $0.isSweeping = false } }
}
