import HostSystem
import ImageModel
import ImageProcessing
import PluginCatalogue
import PluginRuntime

/// An immutable snapshot of the installed plugins and coders.
struct RegistrySnapshot: Sendable {
    var generation: Int
    var plugins: [PluginRecord]
    /// The coders of usable plugins and of the host.
    var coders: [any ImageCoder]
    /// Warnings about ignored files.
    var warnings: [String] = []
    /// Existing places that could not be read.
    var unread: [UnreadablePlace] = []
}

/// Keeps the current snapshot and renews it after a folder changed.
///
/// The registry loads no plugin, and calls no foreign code while it holds the lock.
final class CoderRegistry: Sendable {
    private struct State {
        var snapshot: RegistrySnapshot?
        var watcher: DirectoryWatcher?
        /// The number of started scans.
        var scans = 0
    }

    private let configuration: HostConfiguration
    private let state = Mutex(State())
    /// The plugins that failed too often; consulted for every snapshot and session.
    let quarantine: Quarantine
    let isolation: Isolation

    init(configuration: HostConfiguration) {
        self.configuration = configuration
        quarantine = Quarantine(folder: configuration.stateDirectory.map { "\($0)/quarantine" })
        isolation = Isolation(
            configuration.isolation, quarantine, catalogue: configuration.catalogue, ids: configuration.catalogueIDs)
    }

    /// The current snapshot of the folders.
    var snapshot: RegistrySnapshot {
        let (known, watcher) = state.withLock { state in
            if configuration.followsChanges && state.watcher == nil {
                state.watcher = DirectoryWatcher(configuration.search.directories.map(\.path))
            }
            return (state.snapshot, state.watcher)
        }
        // Events are taken before the scan, so the next call handles changes during the scan.
        let changed = watcher?.takeChanges() ?? false
        // A folder that was unreadable because of a shortage may be readable now, without any event.
        if let known, !changed, !known.unread.contains(where: \.isTransient) { return withLoadState(known) }
        return withLoadState(rescan())
    }

    /// Scans the folders again, regardless of changes.
    @discardableResult
    func rescan() -> RegistrySnapshot {
        let generation = state.withLock { state in
            state.scans += 1
            return state.scans
        }
        let scanner = PluginScanner(configuration.search)
        let (plugins, unread) = scanner.scan()
        let fresh = RegistrySnapshot(
            generation: generation, plugins: plugins, coders: coders(plugins),
            warnings: unread.map { "\($0.message); try: \($0.remedy)" } + scanner.warnings, unread: unread)
        return state.withLock { state in
            // A scan that began later may have finished earlier; its result is newer.
            if let known = state.snapshot, known.generation > generation { return known }
            state.snapshot = fresh
            return fresh
        }
    }

    /// Blocks until a folder changes or the timeout; returns true if something changed.
    func waitForChange(milliseconds: Int) -> Bool {
        let watcher = state.withLock { state in
            if state.watcher == nil { state.watcher = DirectoryWatcher(configuration.search.directories.map(\.path)) }
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
                [configuration] in PluginScanner(configuration.search).examine(again: $0)
            }
        }
    }

    /// Adds the state since the scan: loaded, failed and quarantined plugins. If a plugin becomes unusable, the file
    /// that it shadows replaces it.
    private func withLoadState(_ snapshot: RegistrySnapshot) -> RegistrySnapshot {
        var result = snapshot
        /// The unusable file, for each id without a usable file so far.
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
                result.coders.removeAll {
                    ($0 as? PluginCoder)?.record.examination.identity == record.examination.identity
                }
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

    /// Returns the status of a file that has changed since the scan; nil if it has not.
    private func presentStatus(of record: PluginRecord) -> PluginStatus? {
        if let status = quarantine.verdict(of: record) { return status }
        guard let identity = record.examination.identity else { return nil }
        return LoadedPlugin.status(of: identity) ?? isolation.status(of: identity)
    }
}
