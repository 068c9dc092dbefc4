import ImageModel
import ImageProcessing
import Synchronization

/// Decides where a plugin runs, and keeps the processes of those that run elsewhere.
///
/// - Concurrency: any thread.
final class Isolation: Sendable {
    let policy: IsolationPolicy
    private let quarantine: Quarantine
    private let plugins = Mutex<[FileIdentity: IsolatedPlugin]>([:])
    /// The ids of this host's own plugins, once they were asked for.
    private let own = Mutex<Set<String>?>(nil)
    private let catalogue: @Sendable () -> [HostConfiguration.KnownPlugin]
    /// The worker's program, once it was looked for.
    private let worker = Mutex<String?>(nil)
    let sandbox = SandboxAvailability()
    private let groups = ControlGroups()
    let slots: WorkerSlots

    /// - Parameter catalogue: this host's own plugins; none stands for all that are in its installation's folder.
    init(
        _ policy: IsolationPolicy, _ quarantine: Quarantine,
        catalogue: @escaping @Sendable () -> [HostConfiguration.KnownPlugin]
    ) {
        self.policy = policy
        self.quarantine = quarantine
        self.catalogue = catalogue
        slots = WorkerSlots(policy.maxWorkers)
    }

    deinit {
        for plugin in plugins.withLock({ $0.values }) { plugin.retire() }
    }

    /// Where to run a plugin, and why there.
    enum Choice: Hashable {
        case inProcess(String)
        case worker(String)
    }

    func choice(_ record: PluginRecord, _ origin: ImageSource.Origin?, _ limits: DecodeLimits) -> Choice {
        switch policy.mode {
        case .off: .inProcess("isolation is off")
        case .require: .worker("isolation is required")
        case .auto:
            if record.manifest?.requiresIsolation == true {
                .worker("a plugin that requires isolation")
            } else if !isBundled(record) {
                .worker("a plugin of a third party")
            } else if origin == .network {
                .worker("bytes from a network")
            } else if record.manifest?.isInterruptible == false, limits.isShort {
                .worker("a time limit that this coder could overrun in one call")
            } else if record.manifest?.survivesShortage == false, Machine.refusesMemory {
                .worker("memory may run out here, and this coder ends the process then")
            } else {
                .inProcess(origin == nil ? "a bundled coder" : "a bundled coder, and no bytes from a network")
            }
        }
    }

    /// Whether a plugin came with this host: one of its own, in the folder of its installation.
    private func isBundled(_ record: PluginRecord) -> Bool {
        guard record.isInstalled else { return false }
        let known = own.withLock { own in
            if let own { return own }
            let fresh = Set(catalogue().map(\.manifest.id))
            own = fresh
            return fresh
        }
        return known.isEmpty || known.contains(record.id)
    }

    /// The plugin in its own process.
    ///
    /// - Parameter program: the worker's.
    func plugin(_ record: PluginRecord, _ program: String) -> Result<IsolatedPlugin, PluginRefusal> {
        guard let identity = record.identity else { return .failure(PluginRefusal(record.status)) }
        if let known = plugins.withLock({ $0[identity] }) { return .success(known) }
        do throws(PluginRefusal) {
            let fresh = try IsolatedPlugin(record, policy, quarantine, sandbox, groups, program: program)
            let (used, replaced) = plugins.withLock { plugins -> (IsolatedPlugin, [IsolatedPlugin]) in
                if let known = plugins[identity] { return (known, []) }
                // The file was another one before.
                let old = plugins.filter { $0.value.record.path == record.path }
                for key in old.keys { plugins[key] = nil }
                plugins[identity] = fresh
                return (fresh, Array(old.values))
            }
            for plugin in replaced { plugin.retire() }
            return .success(used)
        } catch {
            return .failure(error)
        }
    }

    /// What became of a plugin here; nil when nothing of it has run.
    func status(of identity: FileIdentity) -> PluginStatus? {
        guard let plugin = plugins.withLock({ $0[identity] }) else { return nil }
        if let refusal = plugin.refusal { return refusal.status }
        return plugin.isLoaded ? PluginStatus(.loaded) : nil
    }

    /// The worker's program.
    ///
    /// - Throws: `.isolationUnavailable`.
    func program() throws(CoderError) -> String {
        if let named = policy.workerPath { return named }
        if let named = trustedEnvironment("CODERHOST_WORKER") {
            // A mistake in it is none of the system's: it never lets a plugin into this process.
            guard named.hasPrefix("/"), FileStatus.of(named)?.isRegular == true else {
                throw CoderError(
                    .isolationUnavailable, "CODERHOST_WORKER names \(named), which is not the absolute path of a file",
                    hint: "correct it, or unset it to use the worker that came with coderhost")
            }
            return named
        }
        let found = worker.withLock { worker in
            if worker == nil {
                worker = IsolationPolicy.workerCandidates().first { FileStatus.of($0)?.isRegular == true }
            }
            return worker
        }
        if let found { return found }
        sandbox.note(.absent("there is no coderhost-worker"))
        throw CoderError(
            .isolationUnavailable, "no sandbox: there is no coderhost-worker",
            hint: "install it beside coderhost, or name it in CODERHOST_WORKER")
    }

    /// What a worker would be held back by on this system; loads nothing.
    ///
    /// - Throws: `.isolationUnavailable`.
    func probe() throws(CoderError) -> Confinement {
        let program = try program()
        do throws(ZygoteFailure) {
            return try Zygote(program, nil, groups.make(processes: 8)).confinement
        } catch {
            let why =
                switch error {
                case .absent(let why), .shortage(let why), .crashed(let why, _): why
                case .failed(let error): error.message
                case .refused, .gone: "it ended"
                }
            throw CoderError(.isolationUnavailable, "\(program) does not work: \(why)")
        }
    }

    /// Holds what is in force against what the policy insists on.
    ///
    /// - Throws: `.isolationUnavailable`, naming what is missing.
    func examine(_ confinement: Confinement) throws(CoderError) {
        guard policy.mode == .require else { return }
        if let error = confinement.shortfall(policy.needed) { throw error }
    }
}

extension DecodeLimits {
    /// Whether a session may take less time than by default.
    fileprivate var isShort: Bool { maxMilliseconds > 0 && maxMilliseconds < DecodeLimits.default.maxMilliseconds }
}

extension PluginRecord {
    /// The error that says why the plugin is not used.
    func refusal(_ status: PluginStatus) -> CoderError {
        CoderError(
            .pluginRefused, "\(fileName) is not used (\(status.state.word)): \(status.reason)", hint: status.remedy)
    }
}
