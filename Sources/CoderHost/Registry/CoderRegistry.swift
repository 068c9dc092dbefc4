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
        if let known, !changed { return withLoadState(known) }
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
        let plugins = scanner.scan()
        let fresh = RegistrySnapshot(
            generation: generation, plugins: plugins, coders: coders(plugins), warnings: scanner.warnings)
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
        for record in plugins where record.status.isUsable {
            for coder in record.manifest?.coders ?? [] {
                result.append(
                    PluginCoder(
                        descriptor: CoderDescriptor(coder, of: record), record: record, isolation: isolation
                    ) { [configuration] in PluginScanner(configuration: configuration).examine(again: $0) })
            }
        }
        return result
    }

    /// Lays over what became known since the scan: which plugins were loaded, which failed, which are not to be used
    /// for a while.
    private func withLoadState(_ snapshot: RegistrySnapshot) -> RegistrySnapshot {
        var result = snapshot
        for index in result.plugins.indices where result.plugins[index].status.isUsable {
            let record = result.plugins[index]
            guard let status = quarantine.verdict(of: record) else { continue }
            result.plugins[index].status = status
            result.coders.removeAll { ($0 as? PluginCoder)?.record.identity == record.identity }
        }
        for index in result.plugins.indices where result.plugins[index].status.isUsable {
            guard let identity = result.plugins[index].identity,
                let status = LoadedPlugin.status(of: identity) ?? isolation.status(of: identity)
            else { continue }
            result.plugins[index].status = status
            if !status.isUsable {
                result.coders.removeAll { ($0 as? PluginCoder)?.record.identity == identity }
            }
        }
        return result
    }
}
