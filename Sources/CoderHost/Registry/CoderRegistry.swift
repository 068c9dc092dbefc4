import ImageModel
import ImageProcessing
import Synchronization

/// What is installed at one moment; never changes once made.
struct RegistrySnapshot: Sendable {
    var generation: Int
    var plugins: [PluginRecord]
    /// The coders of usable plugins and of the host itself.
    var coders: [any ImageCoder]
    /// What was passed over.
    var warnings: [String] = []
    /// Places that were there and could not be read.
    var unread: [UnreadPlace] = []
}

/// Keeps the current snapshot and renews it when a folder changed.
///
/// No plugin is loaded here, and nothing foreign is called while the lock is held.
final class CoderRegistry: Sendable {
    private struct State {
        var snapshot: RegistrySnapshot?
        var watcher: DirectoryWatcher?
        /// Scans begun so far.
        var scans = 0
    }

    private let configuration: HostConfiguration
    private let state = Mutex(State())
    /// Plugins that failed too often; asked for every snapshot, and by whoever begins a session.
    let quarantine: Quarantine
    let isolation: Isolation

    init(configuration: HostConfiguration) {
        self.configuration = configuration
        quarantine = Quarantine(folder: configuration.stateDirectory.map { "\($0)/quarantine" })
        isolation = Isolation(configuration.isolation, quarantine, catalogue: configuration.catalogue)
    }

    /// The present state of the folders.
    var snapshot: RegistrySnapshot {
        let (known, watcher) = state.withLock { state in
            if configuration.followsChanges && state.watcher == nil {
                state.watcher = DirectoryWatcher(configuration.directories.map(\.path))
            }
            return (state.snapshot, state.watcher)
        }
        // Events are taken before the scan: what happens during it is seen by the next call.
        let changed = watcher?.takeChanges() ?? false
        // What was missed for want of descriptors may be read now, and no event tells of that.
        if let known, !changed, !known.unread.contains(where: \.isTransient) { return withLoadState(known) }
        return withLoadState(rescan())
    }

    /// Reads the folders again, whether or not something is known to have changed.
    @discardableResult
    func rescan() -> RegistrySnapshot {
        let generation = state.withLock { state in
            state.scans += 1
            return state.scans
        }
        let scanner = PluginScanner(configuration: configuration)
        let (plugins, unread) = scanner.scan()
        let fresh = RegistrySnapshot(
            generation: generation, plugins: plugins, coders: coders(plugins),
            warnings: unread.map { "\($0.message); try: \($0.remedy)" } + scanner.warnings, unread: unread)
        return state.withLock { state in
            // A scan that began later may have ended earlier, and has seen more.
            if let known = state.snapshot, known.generation > generation { return known }
            state.snapshot = fresh
            return fresh
        }
    }

    /// Blocks until a folder changes or time is up; true when something changed.
    func waitForChange(milliseconds: Int) -> Bool {
        let watcher = state.withLock { state in
            if state.watcher == nil { state.watcher = DirectoryWatcher(configuration.directories.map(\.path)) }
            return state.watcher
        }
        return watcher?.wait(milliseconds: milliseconds) ?? false
    }

    private func coders(_ plugins: [PluginRecord]) -> [any ImageCoder] {
        var result: [any ImageCoder] = NetpbmCoder.all
        for record in plugins where record.status.isUsable { result += coders(of: record) }
        return result
    }

    private func coders(of record: PluginRecord) -> [any ImageCoder] {
        (record.manifest?.coders ?? []).map { coder in
            PluginCoder(descriptor: CoderDescriptor(coder, of: record), record: record, isolation: isolation) {
                [configuration] in PluginScanner(configuration: configuration).examine(again: $0)
            }
        }
    }

    /// Lays over what became known since the scan: which plugins were loaded, which failed, which are not to be used
    /// for a while. A file that another of the same id shadows is used while that one is not.
    private func withLoadState(_ snapshot: RegistrySnapshot) -> RegistrySnapshot {
        var result = snapshot
        /// The file that is not used, for every id of which none was found usable yet.
        var failed: [String: PluginRecord] = [:]
        var served: Set<String> = []
        for index in result.plugins.indices {
            var record = result.plugins[index]
            let isShadowed = record.status.state == .shadowed
            guard isShadowed || record.status.isUsable, !isShadowed || !served.contains(record.id) else { continue }
            if isShadowed { record.status = PluginStatus(.ready) }
            if let status = presentStatus(of: record) { record.status = status }
            guard record.status.isUsable else {
                result.plugins[index].status = record.status
                result.coders.removeAll { ($0 as? PluginCoder)?.record.identity == record.identity }
                if failed[record.id] == nil { failed[record.id] = record }
                continue
            }
            served.insert(record.id)
            if isShadowed, let other = failed[record.id] {
                result.coders += coders(of: record)
                record.status.reason =
                    "in place of \(other.path), which is \(other.status.state.word)"
                    + (record.status.reason.isEmpty ? "" : "; \(record.status.reason)")
            }
            result.plugins[index].status = record.status
        }
        return result
    }

    /// What became of a file since it was looked at; nil when nothing.
    private func presentStatus(of record: PluginRecord) -> PluginStatus? {
        if let status = quarantine.verdict(of: record) { return status }
        guard let identity = record.identity else { return nil }
        return LoadedPlugin.status(of: identity) ?? isolation.status(of: identity)
    }
}
