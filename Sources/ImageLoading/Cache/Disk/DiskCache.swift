package import ImageModel
import CoderHost
import ImageProcessing

/// Stores bytes on disk in plain files, without a database.
///
/// The file system is the index: the key determines the name of an entry's file, so a lookup opens one file, for any
/// number of entries. No separate index can contradict the files, need a rebuild after a crash, be locked by
/// another process, or use memory. A database would add queries and small values packed into few files, which an image
/// cache does not need. It would also copy each image twice, allow one writer at a time, and replay its log after a
/// kill.
///
/// An entry is one file. It begins with the unchanged image, so any program can open it; the metadata and the checksums
/// follow. A file gets its final name only when it is complete. A file that is damaged, too short, or of another key or
/// version counts as a miss and is removed. A lookup never returns wrong bytes.
///
/// Any number of processes may use a directory, and readers never wait. One process at a time sweeps. The cache rejects
/// a directory that belongs to another user or that other users may write to (``examine()``).
/// - Concurrency: any thread. Calls block on storage, so do not make them on the threads that Swift tasks share.
package final class DiskCache: Sendable {
    /// Whether entries can be read and stored.
    package enum State: Sendable, Hashable {
        case working
        /// The last failure with its hint; every call tries again.
        case degraded(CoderError)
    }

    private struct Status {
        var configuration: DiskCacheConfiguration
        var trouble: (error: CoderError, isReading: Bool)?
        /// The reason why the folder must not be used.
        var objection: CoderError?
        /// Whether the folder existed and was acceptable when it was examined.
        var isExamined = false
        var written = 0
        /// Calendar time of the last sweep's start; nil before it was looked up.
        var swept: Int64?
        var isSweeping = false
    }

    /// The directory of the entries, including the namespace.
    package let directory: String
    let files: EntryStore
    private let status: Mutex<Status>

    /// Creates a cache; its directory is created when the first entry is stored.
    ///
    /// - Parameter namespace: a subfolder that separates the entries of several users of the directory; nil for none.
    package convenience init(
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

    /// Returns the folder name for a namespace; a namespace that is not a valid name becomes a hash.
    private static func folderName(_ namespace: String) -> String {
        isFolderName(namespace) ? namespace : EntryName(key: namespace).digits
    }

    /// Whether a namespace can be used as a folder name.
    package static func isFolderName(_ namespace: String) -> Bool {
        let isPlain = namespace.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "/") }
        return isPlain && !namespace.isEmpty && !namespace.hasPrefix(".") && namespace.utf8.count <= 200
    }

    /// The user's default cache directory; nil if the user has no home directory.
    ///
    /// It is `$XDG_CACHE_HOME/coderhost`, or else `.cache/coderhost` in `$HOME` or in the home of the user database.
    package static var standardDirectory: String? {
        if let folder = environment("XDG_CACHE_HOME"), folder.hasPrefix("/") { return "\(folder)/coderhost" }
        return [environment("HOME"), homeOfUser()].compactMap { $0 }.first { $0.hasPrefix("/") }
            .map { "\($0)/.cache/coderhost" }
    }

    /// The configuration; it may be changed at any time.
    package var configuration: DiskCacheConfiguration {
        get { status.withLock { $0.configuration } }
        set { status.withLock { $0.configuration = newValue } }
    }

    /// Whether the cache works; a caller may keep more in memory while it does not.
    package var state: State {
        status.withLock { $0.objection ?? $0.trouble?.error }.map { State.degraded($0) } ?? .working
    }

    /// Checks whether the directory may be used, before any entry is trusted or changed.
    ///
    /// The directory and its parent must belong to this user or to root, and no other user may write to the directory.
    /// A missing directory is acceptable; it is created for this user alone. Every call repeats this check until it
    /// succeeds. Operations on the whole cache check again, and so does a call that finds the directory missing.
    /// - Throws: `.inputOutput` with a hint; then every lookup is a miss, and nothing is stored or removed.
    package func examine() throws(CoderError) { _ = try examine(anew: true) }

    /// Returns false if the directory does not exist.
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

    /// Whether the directory passed the check or does not exist yet.
    func isUsable(anew: Bool = false) -> Bool { (try? examine(anew: anew)) != nil }

    // MARK: Entries

    /// Returns the path of a key's entry, whether it exists or not.
    package func path(for key: String) -> String { files.path(EntryName(key: key)) }

    /// Returns the bytes and metadata of a key; nil if there are none or they are damaged.
    ///
    /// - Complexity: O(1), independent of the number of entries.
    package func data(for key: String) -> CachedData? {
        let settings = configuration
        let name = EntryName(key: key)
        let entry = find(name, .everything, settings, isUse: settings.expiry != .changed)
        sweepIfDue(written: 0)
        if let entry, let image = entry.image {
            let data = CachedData(image, extended: entry.tail.extended, attributes: entry.tail.attributes)
            guard let expiry = data.expiry, Int64(clamping: expiry) <= files.system.now() / 1_000_000_000 else {
                return data
            }
            remove(key)
            return nil
        }
        return extraPaths(name, settings).lazy.compactMap { [files] in
            files.readForeign($0, keyHash: name.keyHash, maxCount: settings.maxEntrySize)
        }.first
    }

    /// Whether a file exists for the key; ``data(for:)`` may still find that it is damaged or has expired.
    package func contains(_ key: String) -> Bool {
        let name = EntryName(key: key)
        let own = isUsable() ? name.files.map { "\(files.folder(name.folder))/\($0)" } : []
        return (own + extraPaths(name, configuration))
            .contains { (try? files.system.facts(at: $0))?.kind == .regular }
    }

    /// Stores bytes, replacing an older entry of the key.
    ///
    /// - Throws: `.inputOutput` with a hint when the bytes cannot be stored; `.limitExceeded` when the entry is too
    ///   large. In both cases an older entry stays.
    package func store(_ data: CachedData, for key: String) throws(CoderError) {
        let settings = configuration
        let name = EntryName(key: key)
        let tail = EntryFormat.Tail(
            key: key, extended: data.extended, attributes: data.attributes, stored: files.system.now(),
            image: data.bytes.withSpan { ContentCheck(of: $0) }, imageCount: data.bytes.count)
        let behind = EntryFormat.encode(tail, keyHash: name.keyHash)
        let count = data.bytes.count + behind.count
        if count > settings.maxEntrySize {
            throw .limit("cache entry", allowed: settings.maxEntrySize, requested: count)
        }
        try write(name, data.bytes, behind, EntryStore.WriteOptions(isDurable: settings.isDurable))
        sweepIfDue(written: count)
    }

    /// Removes the key's entry.
    package func remove(_ key: String) {
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

    // MARK: Metadata of an entry

    /// Returns the extended data of a key's entry.
    package func extendedData(for key: String) -> [UInt8]? {
        find(EntryName(key: key), .tail, configuration, isUse: false)?.tail.extended
    }

    /// Replaces the extended data of a key's entry and keeps its bytes and dates; nil removes them.
    ///
    /// - Throws: `.notFound` if there is no entry; `.inputOutput`; `.limitExceeded`.
    package func setExtendedData(_ extended: [UInt8]?, for key: String) throws(CoderError) {
        try change(key) { $0.extended = extended }
    }

    /// Replaces the attributes of a key's entry and keeps its bytes and dates.
    ///
    /// - Throws: `.notFound` if there is no entry; `.inputOutput`; `.limitExceeded`.
    package func setAttributes(_ attributes: [String: String], for key: String) throws(CoderError) {
        try change(key) { $0.attributes = attributes }
    }

    private func change(_ key: String, _ body: (inout EntryFormat.Tail) -> Void) throws(CoderError) {
        let settings = configuration
        let name = EntryName(key: key)
        _ = try examine(anew: false)
        // If another process stores a new entry meanwhile, the change is repeated on the new entry.
        for _ in 0..<16 {
            guard let entry = find(name, .everything, settings, isUse: false), let image = entry.image else {
                throw CoderError(
                    .notFound, "the disk cache has no entry for this key", hint: "store the bytes first")
            }
            var tail = entry.tail
            body(&tail)
            let behind = EntryFormat.encode(tail, keyHash: name.keyHash)
            let count = image.count + behind.count
            if count > settings.maxEntrySize {
                throw .limit("cache entry", allowed: settings.maxEntrySize, requested: count)
            }
            let writeOptions = EntryStore.WriteOptions(
                isDurable: settings.isDurable, accessed: entry.facts.dates.accessed,
                modified: entry.facts.dates.modified,
                onlyReplacing: entry.facts)
            if try write(name, image, behind, writeOptions) { return }
        }
        throw note(.replaced, at: files.path(name), isReading: false)
    }

    // MARK: Implementation

    /// Reads the entry under the first of its names that has one.
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
            // Only a cache creates files with such a name, so the mark of the folder need not be checked.
            case .damaged(let facts): files.discard(path, in: name.folder, facts)
            // The entry may have been stored under a higher limit.
            case .unreadable(.tooLarge): continue
            case .unreadable(let error): note(error, at: path, isReading: true)
            }
        }
        return nil
    }

    /// Returns false if `onlyReplacing` is set and the entry has been replaced.
    @discardableResult
    private func write(
        _ name: EntryName, _ image: [UInt8], _ behind: [UInt8], _ writeOptions: EntryStore.WriteOptions
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
                    try files.write(name, image, behind, writeOptions)
                }
            } catch {
                if error == .replaced || writeOptions.onlyReplacing != nil && error.isMissing { return false }
                // The folder is missing in a new cache, and in one that another process has just removed.
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
            // Another process may have created the folder, or removed it again.
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

    /// Whether the caller must sweep; the caller then calls ``sweepHasEnded()``.
    func isSweepDue(written: Int, patience: Int64, bytes: Int) -> Bool {
        let now = files.system.now()
        if status.withLock({ $0.swept == nil }) {
            // Another process, or an earlier run of this one, may have swept recently.
            let last = files.lastSweep() ?? .min
            status.withLock { if $0.swept == nil { $0.swept = last } }
        }
        return status.withLock { state in
            state.written = state.written.addingReportingOverflow(written).partialValue
            guard !state.isSweeping, let swept = state.swept else { return false }
            // After the clock was set back, the sweep does not wait for the old time.
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
