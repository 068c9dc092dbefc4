package import HostSystem
package import ImageModel
import ImageProcessing
package import PluginCatalogue

/// Decides where a plugin runs, and manages the processes of isolated plugins.
///
/// - Concurrency: any thread.
package final class Isolation: Sendable {
    package let policy: IsolationPolicy
    private let quarantine: Quarantine
    private let plugins = Mutex<[FileIdentity: IsolatedPlugin]>([:])
    /// The ids of this host's own plugins, computed on first use.
    private let own = Mutex<Set<String>?>(nil)
    private let ids: @Sendable () -> Set<String>
    /// The path of the worker program, computed on first use.
    private let worker = Mutex<String?>(nil)
    package let sandbox = SandboxAvailability()
    private let groups = ControlGroups()
    let slots: WorkerSlots

    /// - Parameters:
    ///   - catalogue: this host's own plugins; if empty, all plugins in its installation folder.
    ///   - ids: their ids, if they are known without the catalogue.
    package init(
        _ policy: IsolationPolicy, _ quarantine: Quarantine,
        catalogue: @escaping @Sendable () -> [KnownPlugin], ids: (@Sendable () -> Set<String>)? = nil
    ) {
        self.policy = policy
        self.quarantine = quarantine
        self.ids = ids ?? { Set(catalogue().map(\.manifest.id)) }
        slots = WorkerSlots(policy.maxWorkers)
    }

    deinit {
        for plugin in plugins.withLock({ $0.values }) { plugin.retire() }
    }

    /// Where to run a plugin, and the reason.
    package enum Choice: Hashable {
        case inProcess(String)
        case worker(String)
    }

    package func choice(_ record: PluginRecord, _ origin: ImageSource.Origin?, _ limits: DecodeLimits) -> Choice {
        switch policy.mode {
        case .off: .inProcess("isolation is off")
        case .require: .worker("isolation is required")
        case .auto:
            if record.manifest?.isolation.isRequired == true {
                .worker("a plugin that requires isolation")
            } else if !isBundled(record) {
                .worker("a third-party plugin")
            } else if origin == .network {
                .worker("bytes from a network")
            } else if record.manifest?.isolation.isInterruptible == false, limits.isShort {
                .worker("a time limit that this coder could overrun in one call")
            } else if record.manifest?.isolation.survivesShortage == false, Machine.refusesMemory {
                .worker("memory may run out here, and this coder would end the process")
            } else {
                .inProcess(origin == nil ? "a bundled coder" : "a bundled coder, and no bytes from a network")
            }
        }
    }

    /// Whether a plugin belongs to this host and is in its installation folder.
    private func isBundled(_ record: PluginRecord) -> Bool {
        guard record.examination.isInstalled else { return false }
        let known = own.withLock { own in
            if let own { return own }
            let fresh = ids()
            own = fresh
            return fresh
        }
        return known.isEmpty || known.contains(record.id)
    }

    /// Returns the plugin for execution in its own process.
    ///
    /// - Parameter program: the path of the worker program.
    package func plugin(_ record: PluginRecord, _ program: String) -> Result<IsolatedPlugin, PluginRefusal> {
        guard let identity = record.examination.identity else { return .failure(PluginRefusal(record.status)) }
        if let known = plugins.withLock({ $0[identity] }) { return .success(known) }
        do throws(PluginRefusal) {
            let fresh = try IsolatedPlugin(record, policy, quarantine, sandbox, groups, program: program)
            let (used, replaced) = plugins.withLock { plugins -> (IsolatedPlugin, [IsolatedPlugin]) in
                if let known = plugins[identity] { return (known, []) }
                // The same path had another file before.
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

    /// Returns the result for a plugin; nil if none of its code has run.
    package func status(of identity: FileIdentity) -> PluginStatus? {
        guard let plugin = plugins.withLock({ $0[identity] }) else { return nil }
        if let refusal = plugin.refusal { return refusal.status }
        return plugin.isLoaded ? PluginStatus(.loaded) : nil
    }

    /// Returns the path of the worker program.
    ///
    /// - Throws: `.isolationUnavailable`.
    package func program() throws(CoderError) -> String {
        if let named = policy.workerPath { return named }
        if let named = trustedEnvironment("CODERHOST_WORKER") {
            // A wrong value does not mean that the system has no sandbox, so the plugin never moves into this process.
            guard named.hasPrefix("/"), FileStatus.of(named)?.isRegular == true else {
                throw CoderError(
                    .isolationUnavailable, "CODERHOST_WORKER is \(named), not the absolute path of a file",
                    hint: "correct it, or unset it to use the installed worker")
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
            hint: "install it beside coderhost, or set CODERHOST_WORKER to its path")
    }

    /// Returns the confinement of workers on this system without loading a plugin.
    ///
    /// - Throws: `.isolationUnavailable`.
    package func probe() throws(CoderError) -> Confinement {
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

    /// Checks the active confinement against the policy.
    ///
    /// - Throws: `.isolationUnavailable`, naming the missing mechanisms.
    package func examine(_ confinement: Confinement) throws(CoderError) {
        guard policy.mode == .require else { return }
        if let error = confinement.shortfall(policy.needed) { throw error }
    }
}

extension DecodeLimits {
    /// Whether a session has a shorter time limit than the default.
    fileprivate var isShort: Bool { maxMilliseconds > 0 && maxMilliseconds < DecodeLimits.default.maxMilliseconds }
}

extension PluginRecord {
    /// Returns the error for a plugin that is not used.
    package func refusal(_ status: PluginStatus) -> CoderError {
        CoderError(
            .pluginRefused, "\(fileName) is not used (\(status.state.word)): \(status.reason)", hint: status.remedy)
    }
}
