import ImageProcessing
import Synchronization

/// Plugins that failed too often, and when they are tried again.
///
/// Kept by plugin id and content, so a file that was rebuilt gets a fresh chance. The ledger lies in the user's state
/// folder, is shared by all processes of the user, and is advice only: where it cannot be read or written, nothing but
/// the memory of this process remains, and ``warnings`` says so.
///
///     let sealed = try SealedPlugin(record)                     // the bytes that the worker is given
///     switch quarantine.admit(sealed.record, sealed.hash) {     // when a session begins, before anything of the plugin runs
///     case .refused(let status): …                // typed error from status: reason and remedy are filled in
///     case .granted: …
///     }
///     quarantine.record(failure: .crash, phase: .decode, of: record, try sealed.hash())
///     quarantine.recordSuccess(of: record, sealed.hash)         // costs nothing unless this was the trial
///
/// - Concurrency: any thread, any number of processes.
public final class Quarantine: Sendable {
    /// What happened.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The process of the plugin ended by a signal or by itself.
        case crash
        /// It had to be ended because it did not come back.
        case hang
        /// It was ended for a system call that it may not make.
        case violation
    }

    /// What the plugin was doing.
    public enum Phase: String, Sendable, Hashable, CaseIterable {
        case load, initialise, decode, encode

        /// Whether no picture had come yet: then one failure is enough.
        var isStart: Bool { self == .load || self == .initialise }
        /// For example "while decoding".
        var words: String {
            switch self {
            case .load: "while it was loaded"
            case .initialise: "while it was initialised"
            case .decode: "while decoding"
            case .encode: "while encoding"
            }
        }
    }

    public enum Admission: Sendable, Hashable {
        case granted
        case refused(PluginStatus)
    }

    /// One plugin file that has failed.
    public struct Entry: Sendable, Hashable {
        public var plugin: String
        public var hash: ContentHash
        /// Where it stood when it failed last.
        public var path: String
        var breaker = Breaker()

        public var failureCount: Int { breaker.failures.count }
        public var lastFailure: (kind: Kind, phase: Phase, milliseconds: Int)? {
            breaker.failures.last.map { ($0.kind, $0.phase, $0.time) }
        }
        /// Milliseconds since 1970; nil while it is used.
        public var since: Int? { breaker.since }
        public var until: Int? { breaker.until }

        /// `closed`, `open` or `half-open`.
        public func word(at milliseconds: Int) -> String {
            switch breaker.state(milliseconds) {
            case .closed: "closed"
            case .open: "open"
            case .halfOpen: "half-open"
            }
        }
    }

    /// Milliseconds since 1970.
    typealias Time = @Sendable () -> Int

    struct Key: Hashable {
        var plugin: String
        var hash: ContentHash
    }

    private struct Memory {
        /// What could not be written, or concerns a trial of this process.
        var unwritten: [Key: Entry] = [:]
        var trials: Set<Key> = []
        var warnings: [String] = []
        /// The ledger as last read, and the folder's identity then.
        var entries: [Entry]?
        var folder: FileIdentity?
    }

    let ledger: QuarantineLedger?
    private let time: Time
    private let memory = Mutex(Memory())

    /// - Parameters:
    ///   - folder: `…/coderhost/quarantine`; nil keeps everything in memory.
    init(folder: String?, time: @escaping Time = wallMilliseconds) {
        ledger = folder.map(QuarantineLedger.init)
        self.time = time
    }

    /// Where the ledger lies; nil where there is none.
    public var directory: String? { ledger?.folder }
    /// What is wrong with the ledger.
    public var warnings: [String] { memory.withLock { $0.warnings } }

    // MARK: Asking

    /// Every plugin file that has failed lately, by plugin id.
    public var entries: [Entry] {
        let now = time()
        return memory.withLock { current(&$0) }.filter { !$0.breaker.isSpent(now) }
    }

    /// Why a plugin is not to be used, without claiming the trial; nil when it may be.
    ///
    /// Its file is hashed only when the ledger knows a plugin of that id.
    func verdict(of record: PluginRecord) -> PluginStatus? {
        let mine = entries.filter { $0.plugin == record.id }
        guard !mine.isEmpty, let hash = KnownHashes.hash(of: record), let entry = mine.first(where: { $0.hash == hash })
        else { return nil }
        return status(entry, time())
    }

    /// Whether a session may begin. Of a plugin that is half open one caller in all processes gets to try it.
    ///
    /// - Parameter hash: that of the bytes which will be loaded; asked for only when the ledger knows a plugin of that
    ///   id.
    func admit(_ record: PluginRecord, _ hash: () throws(PluginRefusal) -> ContentHash) -> Admission {
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

    /// The status of a plugin that is not to be used; nil when it may be, or may be tried.
    private func status(_ entry: Entry, _ now: Int) -> PluginStatus? {
        guard case .open(let until) = entry.breaker.state(now), let last = entry.breaker.failures.last else {
            return nil
        }
        let count = entry.failureCount
        let how =
            switch last.kind {
            case .crash: "crashed"
            case .hang: "hung"
            case .violation: "made a forbidden system call"
            }
        return PluginStatus(
            .quarantined,
            reason: "it failed \(count == 1 ? "once" : "\(count) times"); last it \(how) \(last.phase.words); "
                + "not used since \(CivilTime.text(milliseconds: entry.breaker.since ?? last.time)), tried again at \(CivilTime.text(milliseconds: until))",
            remedy: "replace it by a build that works, or: coderhost quarantine clear \(entry.plugin)")
    }

    // MARK: Telling

    /// Takes note of a failure. A plugin that was replaced has another hash and is not affected.
    func record(failure kind: Kind, phase: Phase, of record: PluginRecord, _ hash: ContentHash) {
        let key = Key(plugin: record.id, hash: hash)
        let now = time()
        change(key, making: true) { entry, memory in
            var changed = entry ?? Entry(plugin: record.id, hash: hash, path: record.path)
            changed.path = record.path
            changed.breaker.fail(kind, phase, now)
            entry = changed
            memory.trials.remove(key)
            return true
        }
        prune(now)
    }

    /// Takes away what has no say any more.
    private func prune(_ now: Int) {
        for entry in memory.withLock({ current(&$0) }) where entry.breaker.isSpent(now) { forget(entry) }
    }

    private func forget(_ entry: Entry) {
        change(Key(plugin: entry.plugin, hash: entry.hash)) { entry, memory in
            entry = nil
            return true
        }
    }

    /// Takes note of a session that went well; closes the breaker when this was the trial.
    func recordSuccess(of record: PluginRecord, _ hash: () throws(PluginRefusal) -> ContentHash) {
        guard memory.withLock({ $0.trials.contains { $0.plugin == record.id } }), let hash = try? hash() else { return }
        let key = Key(plugin: record.id, hash: hash)
        guard memory.withLock({ $0.trials.contains(key) }) else { return }
        change(key) { entry, memory in
            memory.trials.remove(key)
            entry = nil
            return true
        }
    }

    /// Forgets what is known of a plugin, or of all; answers how many files that concerned.
    @discardableResult
    public func clear(_ plugin: String? = nil) -> Int {
        let known = entries.filter { plugin == nil || $0.plugin == plugin }
        for entry in known { forget(entry) }
        // What is damaged cannot be told apart, and goes when everything goes.
        if plugin == nil { ledger?.removeDamaged() }
        return known.count
    }

    /// Forgets what is known of one file; answers how many that concerned.
    @discardableResult
    public func clear(_ entry: Entry) -> Int {
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
        // A change within the clock tick of the one that was seen would not show.
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

    /// Changes one entry in the ledger as it is now, if `body` says so; nil takes it away.
    private func change(_ key: Key, making: Bool = false, _ body: (inout Entry?, inout Memory) -> Bool) {
        memory.withLock { memory in
            let lock = ledger?.lock(making: making)
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
