package import HostSystem

/// Temporarily disables plugins that failed too often.
///
/// Entries are kept by plugin id and content hash, so a rebuilt file starts without failures. All processes of a user
/// share the ledger in the user's state folder. The ledger is best effort: if it cannot be read or written, only this
/// process remembers failures, and ``warnings`` states the reason.
///
///     let sealed = try SealedPlugin(record)                     // the bytes for the worker
///     switch quarantine.admit(sealed.record, sealed.hash) {     // when a session begins, before any plugin code runs
///     case .refused(let status): …                // typed error from status: reason and remedy are filled in
///     case .granted: …
///     }
///     quarantine.record(failure: .crash, phase: .decode, of: record, try sealed.hash())
///     quarantine.recordSuccess(of: record, sealed.hash)         // costs nothing unless this was the trial
///
/// - Concurrency: any thread, any number of processes.
package final class Quarantine: Sendable {
    /// The kind of failure.
    package enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The plugin's process ended by a signal or exited.
        case crash
        /// The host ended the process after a timeout.
        case hang
        /// The process violated the rules of the sandbox, for example by a forbidden system call.
        case violation
    }

    /// The phase of the session in which the plugin failed.
    package enum Phase: String, Sendable, Hashable, CaseIterable {
        case load, initialize, decode, encode

        /// Whether the failure came before any image; then one failure is enough.
        var isStart: Bool { self == .load || self == .initialize }
        /// The phase in messages, for example "while decoding".
        package var words: String {
            switch self {
            case .load: "while loading"
            case .initialize: "while initializing"
            case .decode: "while decoding"
            case .encode: "while encoding"
            }
        }
    }

    /// Whether a session may begin.
    package enum Admission: Sendable, Hashable {
        case granted
        case refused(PluginStatus)
    }

    /// A plugin file that failed.
    package struct Entry: Sendable, Hashable {
        /// The id of the plugin.
        package var plugin: String
        /// The hash of the file.
        package var hash: ContentHash
        /// The location of the file at its last failure.
        package var path: String
        var breaker = CircuitBreaker()

        /// The number of recorded failures.
        package var failureCount: Int { breaker.failures.count }
        /// The most recent failure, with its time in milliseconds since 1970.
        package var lastFailure: (kind: Kind, phase: Phase, milliseconds: Int)? {
            breaker.failures.last.map { ($0.kind, $0.phase, $0.time) }
        }
        /// When it was disabled, in milliseconds since 1970; nil while it is used.
        package var since: Int? { breaker.since }
        /// When a trial is allowed, in milliseconds since 1970; nil while it is used.
        package var until: Int? { breaker.until }

        /// Returns `closed`, `open` or `half-open`.
        package func word(at milliseconds: Int) -> String {
            switch breaker.state(milliseconds) {
            case .closed: "closed"
            case .open: "open"
            case .halfOpen: "half-open"
            }
        }
    }

    /// Returns milliseconds since 1970.
    package typealias Time = @Sendable () -> Int

    package struct Key: Hashable {
        package var plugin: String
        package var hash: ContentHash
    }

    private struct Memory {
        /// Entries that could not be written; without a ledger, all entries.
        var unwritten: [Key: Entry] = [:]
        var trials: Set<Key> = []
        var warnings: [String] = []
        /// The entries as last read, and the folder's identity at that time.
        var entries: [Entry]?
        var folder: FileIdentity?
    }

    let ledger: QuarantineLedger?
    private let time: Time
    private let memory = Mutex(Memory())

    /// Creates a quarantine.
    ///
    /// - Parameters:
    ///   - folder: `…/coderhost/quarantine`; nil keeps everything in memory.
    package init(folder: String?, time: @escaping Time = wallMilliseconds) {
        ledger = folder.map(QuarantineLedger.init)
        self.time = time
    }

    /// The folder of the ledger; nil if there is none.
    package var directory: String? { ledger?.folder }
    /// Problems with the ledger.
    package var warnings: [String] { memory.withLock { $0.warnings } }

    // MARK: Asking

    /// Every plugin file that failed recently, by plugin id.
    package var entries: [Entry] {
        let now = time()
        return memory.withLock { current(&$0) }.filter { !$0.breaker.isSpent(now) }
    }

    /// Returns the reason why a plugin is disabled, without claiming the trial; nil if it is usable.
    ///
    /// The file is hashed only if the ledger has an entry for its id.
    package func verdict(of record: PluginRecord) -> PluginStatus? {
        let mine = entries.filter { $0.plugin == record.id }
        guard !mine.isEmpty, let hash = KnownHashes.hash(of: record), let entry = mine.first(where: { $0.hash == hash })
        else { return nil }
        return status(entry, time())
    }

    /// Decides whether a session may begin; after the waiting time, one session of all processes may try the plugin.
    ///
    /// - Parameter hash: returns the hash of the bytes to load; called only if the ledger has an entry for the id.
    package func admit(_ record: PluginRecord, _ hash: () throws(PluginRefusal) -> ContentHash) -> Admission {
        guard entries.contains(where: { $0.plugin == record.id }), let hash = try? hash() else { return .granted }
        let key = Key(plugin: record.id, hash: hash)
        let now = time()
        var result = Admission.granted
        change(key) { entry, memory in
            guard var changed = entry, changed.breaker.state(now) != .closed else { return false }
            guard changed.breaker.admit(now) else {
                if let status = status(changed, now) { result = .refused(status) }
                return false
            }
            memory.trials.insert(key)
            entry = changed
            return true
        }
        return result
    }

    /// Returns the status of a disabled plugin; nil if it may be used or tried.
    private func status(_ entry: Entry, _ now: Int) -> PluginStatus? {
        guard case .open(let until) = entry.breaker.state(now), let last = entry.breaker.failures.last else {
            return nil
        }
        let count = entry.failureCount
        let how =
            switch last.kind {
            case .crash: "a crash"
            case .hang: "a hang"
            case .violation: "a violation of the rules of the sandbox"
            }
        return PluginStatus(
            .quarantined,
            reason: "it failed \(count == 1 ? "once," : "\(count) times, last") by \(how) \(last.phase.words); "
                + "disabled since \(CivilTime.text(milliseconds: entry.breaker.since ?? last.time)) "
                + "until \(CivilTime.text(milliseconds: until))",
            remedy: "install a fixed build, or: coderhost quarantine clear \(entry.plugin)")
    }

    // MARK: Telling

    /// Records a failure. A replaced file has another hash and is not affected.
    package func record(failure kind: Kind, phase: Phase, of record: PluginRecord, _ hash: ContentHash) {
        let key = Key(plugin: record.id, hash: hash)
        let now = time()
        change(key, createsFolder: true) { entry, memory in
            var changed = entry ?? Entry(plugin: record.id, hash: hash, path: record.path)
            changed.path = record.path
            changed.breaker.fail(kind, phase, now)
            entry = changed
            memory.trials.remove(key)
            return true
        }
        prune(now)
    }

    /// Removes spent entries.
    private func prune(_ now: Int) {
        for entry in memory.withLock({ current(&$0) }) where entry.breaker.isSpent(now) { forget(entry) }
    }

    private func forget(_ entry: Entry) {
        change(Key(plugin: entry.plugin, hash: entry.hash)) { entry, memory in
            entry = nil
            return true
        }
    }

    /// Records a successful session; closes the breaker if this was the trial.
    package func recordSuccess(of record: PluginRecord, _ hash: () throws(PluginRefusal) -> ContentHash) {
        guard memory.withLock({ $0.trials.contains { $0.plugin == record.id } }), let hash = try? hash() else { return }
        let key = Key(plugin: record.id, hash: hash)
        guard memory.withLock({ $0.trials.contains(key) }) else { return }
        change(key) { entry, memory in
            memory.trials.remove(key)
            entry = nil
            return true
        }
    }

    /// Removes the entries of a plugin, or all entries; returns how many files they concerned.
    @discardableResult
    package func clear(_ plugin: String? = nil) -> Int {
        let known = entries.filter { plugin == nil || $0.plugin == plugin }
        for entry in known { forget(entry) }
        // Damaged files have no plugin id, so they are removed only when everything is removed.
        if plugin == nil { ledger?.removeDamaged() }
        return known.count
    }

    /// Removes one entry; returns how many files it concerned.
    @discardableResult
    package func clear(_ entry: Entry) -> Int {
        guard entries.contains(where: { $0.plugin == entry.plugin && $0.hash == entry.hash }) else { return 0 }
        forget(entry)
        return 1
    }

    // MARK: The ledger

    private func current(_ memory: inout Memory) -> [Entry] {
        guard let ledger else { return sorted(Array(memory.unwritten.values)) }
        let (folder, isSettled) = ledger.identity
        if let known = memory.entries, let folder, folder == memory.folder { return known }
        if folder == nil && memory.unwritten.isEmpty { return [] }
        var problems: [String] = []
        var all: [Key: Entry] = [:]
        for entry in folder == nil ? [] : ledger.entries(&problems) {
            all[Key(plugin: entry.plugin, hash: entry.hash)] = entry
        }
        all.merge(memory.unwritten) { _, own in own }
        note(problems, &memory)
        let result = sorted(Array(all.values))
        // The folder's times would not show another change within the same clock tick.
        (memory.entries, memory.folder) = isSettled ? (result, folder) : (nil, nil)
        return result
    }

    private func sorted(_ entries: [Entry]) -> [Entry] {
        entries.sorted { ($0.plugin, $0.hash.description) < ($1.plugin, $1.hash.description) }
    }

    private func note(_ problems: [String], _ memory: inout Memory) {
        for problem in problems where !memory.warnings.contains(problem) && memory.warnings.count < 16 {
            memory.warnings.append(problem)
        }
    }

    /// Changes one entry of the current ledger if `body` returns true; nil removes it.
    private func change(_ key: Key, createsFolder: Bool = false, _ body: (inout Entry?, inout Memory) -> Bool) {
        memory.withLock { memory in
            let lock = ledger?.lock(createsFolder: createsFolder)
            defer { lock?.release() }
            var problems: [String] = []
            var entry = memory.unwritten[key] ?? ledger?.entry(key, &problems)
            let isChanged = body(&entry, &memory)
            if isChanged {
                memory.entries = nil
                let problem = ledger?.write(entry, key)
                if let problem { problems.append(problem) }
                memory.unwritten[key] = ledger == nil || problem != nil ? entry : nil
            }
            note(problems, &memory)
        }
    }
}
