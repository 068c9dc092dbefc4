import CCoderPlugin
import CHostSystem
import CIsolationWire
import HostSystem
import ImageModel
import ImageProcessing
package import PluginCatalogue
import struct Synchronization.Atomic

/// One version of a plugin file, loaded in a confined process that forks workers.
///
/// - Concurrency: any thread.
package final class IsolatedPlugin: Sendable {
    private struct State {
        var zygote: Zygote?
        /// Workers that can serve another session.
        var idle: [Worker] = []
        /// Why the plugin does not work for any session.
        var refusal: PluginRefusal?
        /// Whether no session will use it anymore.
        var isRetired = false
    }

    package let record: PluginRecord
    private let sealed: SealedPlugin
    private let policy: IsolationPolicy
    private let quarantine: Quarantine
    private let sandbox: SandboxAvailability
    private let groups: ControlGroups
    private let program: String
    private let state = Mutex(State())
    /// Held while a zygote starts.
    private let starting = Mutex<Void>(())
    let surfaces: SharedSurfaces
    private static let nextWorker = Atomic<UInt64>(1)

    package init(
        _ record: PluginRecord, _ policy: IsolationPolicy, _ quarantine: Quarantine, _ sandbox: SandboxAvailability,
        _ groups: ControlGroups, program: String
    ) throws(PluginRefusal) {
        sealed = try SealedPlugin(record)
        self.record = sealed.record
        self.policy = policy
        self.quarantine = quarantine
        self.sandbox = sandbox
        self.groups = groups
        self.program = program
        surfaces = SharedSurfaces(clearsUsed: policy.reuse == .fresh)
    }

    /// Why loading failed; nil if it succeeded or was not tried.
    package var refusal: PluginRefusal? { state.withLock { $0.refusal } }
    var isLoaded: Bool { state.withLock { $0.zygote != nil } }
    var sessionsPerWorker: Int { policy.reuse.sessions }

    // MARK: Workers

    /// Leases a worker for one session.
    ///
    /// - Throws: `.pluginRefused`, `.isolationUnavailable`, `.pluginCrashed`.
    func lease(_ context: SessionContext) throws(CoderError) -> Worker {
        if case .refused(let status) = quarantine.admit(record, sealed.hash) { throw record.refusal(status) }
        let pool = poolThreads(context)
        let memory = WorkerMemory(context.limits, threads: threads + pool)
        let processor = host_bound_processor()
        while let idle = state.withLock({ state in
            let index =
                state.idle.lastIndex { $0.memory == memory && $0.use.processor == processor }
                ?? state.idle.lastIndex { $0.memory == memory }
            return index.map { state.idle.remove(at: $0) }
        }) {
            if idle.isStillThere {
                idle.beginSession()
                return idle
            }
        }
        // One zygote may have reached its idle timeout, and the next may be killed from outside; a third is the
        // plugin's fault.
        var failure = ZygoteFailure.gone
        for _ in 0..<3 {
            do throws(ZygoteFailure) {
                return try fork(context, memory, pool: pool)
            } catch {
                failure = error
                guard case .gone = error else { break }
            }
        }
        throw error(failure)
    }

    /// The number of additional threads that the plugin declares.
    package var threads: Int { max(0, record.manifest?.isolation.threads ?? 0) }

    /// The maximum number of processes and threads. Half is a reserve for ended processes that are not reaped yet.
    private var processLimit: Int {
        2 * (min(policy.maxWorkers, 1 << 12) + 2) * (1 + min(threads, 1 << 10) + Self.maxPool)
    }

    /// The maximum number of additional host threads in a worker.
    static let maxPool = max(0, min(64, Machine.processorCount) - 1)

    /// The number of additional host threads for a session.
    private func poolThreads(_ context: SessionContext) -> Int { min(Self.maxPool, context.threadHint - 1) }

    private func fork(
        _ context: SessionContext, _ memory: WorkerMemory, pool: Int
    ) throws(ZygoteFailure) -> Worker {
        let zygote = try self.zygote(context)
        let seconds = context.limits.maxMilliseconds == 0 ? 0 : context.limits.maxMilliseconds / 1000 + 2
        let worker = try zygote.fork(
            Self.nextWorker.add(1, ordering: .relaxed).oldValue, of: self, memory: memory,
            // The processor time of all threads and sessions together.
            seconds: min(seconds, 1 << 20) * min(1024, max(1, context.limits.maxThreads))
                * min(1 << 20, policy.reuse.sessions),
            threads: threads > 0, pool: pool, context)
        if zygote.cannotFork { state.withLock { $0.zygote = nil } }
        do throws(CoderError) {
            try worker.awaitReady(context)
        } catch {
            throw .failed(error)
        }
        worker.beginSession()
        return worker
    }

    /// Returns a worker for the next session, or ends it.
    package func giveBack(_ worker: Worker) {
        // Reading a header does not prove that the plugin works again, and neither does a worker that had to be ended.
        if worker.isUsable, worker.use.hasWorked { quarantine.recordSuccess(of: record, sealed.hash) }
        guard worker.isUsable, worker.use.sessions < policy.reuse.sessions else {
            worker.end()
            return
        }
        let isKept = state.withLock { state in
            if !state.isRetired { state.idle.append(worker) }
            return !state.isRetired
        }
        if !isKept { worker.end() }
    }

    /// Ends the idle workers, and each worker that is returned later.
    ///
    /// Workers and plugin reference each other; without this, neither would be released.
    func retire() {
        let idle = state.withLock { state in
            state.isRetired = true
            defer { state.idle = [] }
            return state.idle
        }
        for worker in idle { worker.end() }
    }

    /// Starts the confined process if there is none.
    private func zygote(_ context: SessionContext) throws(ZygoteFailure) -> Zygote {
        if let known = state.withLock({ $0.zygote }), known.isUsable { return known }
        return try starting.withLock { _ throws(ZygoteFailure) -> Zygote in
            let (known, refusal) = state.withLock { state in (state.zygote, state.refusal) }
            if let known, known.isUsable { return known }
            if let refusal { throw .failed(record.refusal(refusal.status)) }
            let zygote = try start(context)
            state.withLock { $0.zygote = zygote }
            return zygote
        }
    }

    private func start(_ context: SessionContext) throws(ZygoteFailure) -> Zygote {
        let isCopy = sealed.path != record.path
        let resources = record.manifest?.isolation.readable ?? []
        let readable = LibraryResolver().readable(for: record) + resources.flatMap(\.folders)
        let message = WorkerPlugin(
            name: record.fileName, descriptor: isCopy ? sealed.file.descriptor : nil, path: sealed.path,
            readable: readable, idleSeconds: policy.idleSeconds,
            records: policy.recordsRefusals, threads: threads, pool: Self.maxPool,
            needed: policy.mode == .require ? policy.needed : [])
        guard readable.count <= Self.maxPaths, message.message.count <= WorkerChannel.bodyLimit else {
            throw .failed(unpreparable("the paths of its \(readable.count) libraries are too long or too many"))
        }
        do throws(ZygoteFailure) {
            let zygote = try Zygote(program, message, groups.make(processes: processLimit), sandbox, context)
            do throws(PluginRefusal) { try sealed.confirm() } catch { throw .failed(record.refusal(error.status)) }
            if let unknown = zygote.facts.unknown { throw keep(.needsNewerHost(unknown)) }
            if let manifest = record.manifest, let contradiction = zygote.facts.contradiction(with: manifest) {
                throw keep(PluginRefusal(.manifestMismatch, contradiction, "correct the manifest and rebuild"))
            }
            return zygote
        } catch {
            switch error {
            case .refused(let loaded):
                throw keep(Self.refusal(loaded, record))
            case .crashed(let how, let kind):
                failed(kind, during: .load)
                throw .failed(
                    CoderError(
                        .pluginCrashed, "\(record.fileName) is unusable: \(how)",
                        hint: "remove it, or install a fixed build"))
            case .absent(let why):
                // The worker's settings come from the plugin's file, so only a probe without a plugin tests the system.
                if let absence = absenceOfSandbox() {
                    sandbox.note(.absent(absence))
                    throw .absent(absence)
                }
                throw .failed(unpreparable(why))
            default: throw error
            }
        }
    }

    /// Probes without the plugin why no process can be confined; nil if one can, or if that cannot be determined.
    private func absenceOfSandbox() -> String? {
        do throws(ZygoteFailure) {
            _ = try Zygote(program, nil, .failure(WorkerGroup.Unavailable(reason: "not used by a probe")), sandbox)
        } catch {
            if case .absent(let why) = error { return why }
        }
        return nil
    }

    /// The error if no worker can be prepared for this file, although other files work.
    private func unpreparable(_ why: String) -> CoderError {
        CoderError(
            .pluginRefused, "cannot prepare a worker for \(record.fileName): \(why)",
            hint: "check the libraries that it needs (readelf -d \(record.path)), or remove it")
    }

    /// The maximum number of paths in a private root.
    private static let maxPaths = 512

    /// Remembers that the plugin does not work.
    private func keep(_ refusal: PluginRefusal) -> ZygoteFailure {
        state.withLock { $0.refusal = refusal }
        return .failed(record.refusal(refusal.status))
    }

    private static func refusal(_ loaded: iso_loaded, _ record: PluginRecord) -> PluginRefusal {
        let message = wireText(loaded.error.message)
        switch Int32(loaded.stage) {
        case ISO_STAGE_CONFINED:
            return PluginRefusal(
                .missingLibrary, message.isEmpty ? "the loader refused it" : message,
                "install the missing library (see ldd \(record.path))")
        case ISO_STAGE_MAPPED:
            return PluginRefusal(
                .initFailed, message.isEmpty ? "its entry function failed" : message,
                "see the plugin's own documentation")
        default:
            return PluginRefusal(
                .initFailed, message.isEmpty ? "it could not be initialized" : message,
                "see the plugin's own documentation")
        }
    }

    // MARK: Errors

    private func error(_ failure: ZygoteFailure) -> CoderError {
        switch failure {
        case .failed(let error): error
        case .absent(let why):
            CoderError(.isolationUnavailable, "no sandbox: \(why)", hint: "run coderhost doctor isolation")
        case .shortage(let why):
            CoderError(
                .isolationUnavailable, "no sandbox: \(why)",
                hint: "raise the limits of this process (ulimit -n, ulimit -u, ulimit -v), or try again later")
        case .crashed(let how, _): misbehaved(how)
        case .refused(let loaded): record.refusal(Self.refusal(loaded, record).status)
        case .gone: misbehaved("its worker process ended three times while starting")
        }
    }

    /// The error for a process that did not fork workers, or forged its reply.
    private func misbehaved(_ how: String) -> CoderError {
        // An overloaded machine could cause some of these failures, so one is not enough for quarantine.
        failed(.violation, during: .decode)
        return CoderError(.pluginCrashed, "\(record.fileName) is unusable: \(how)")
    }

    /// Records a session that ended the worker.
    package func failed(_ kind: Quarantine.Kind, during phase: Quarantine.Phase) {
        guard let hash = try? sealed.hash() else { return }
        quarantine.record(failure: kind, phase: phase, of: record, hash)
    }
}
