import CCoderPlugin
import CHostSystem
import CIsolationWire
import ImageModel
import ImageProcessing
import Synchronization

/// One version of a plugin file, loaded in a confined process from which workers are forked.
///
/// - Concurrency: any thread.
final class IsolatedPlugin: Sendable {
    private struct State {
        var zygote: Zygote?
        /// Workers that may serve another session.
        var idle: [Worker] = []
        /// Why it is not used: it does not work, whoever asks.
        var refusal: PluginRefusal?
        /// Whether nobody will ask for it again.
        var isRetired = false
    }

    let record: PluginRecord
    private let sealed: SealedPlugin
    private let policy: IsolationPolicy
    private let quarantine: Quarantine
    private let sandbox: SandboxAvailability
    private let groups: ControlGroups
    private let program: String
    private let state = Mutex(State())
    /// Held while a zygote is started.
    private let starting = Mutex<Void>(())
    let surfaces: SharedSurfaces
    private static let nextWorker = Atomic<UInt64>(1)

    init(
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

    /// What became of loading it; nil when it works, or was not tried.
    var refusal: PluginRefusal? { state.withLock { $0.refusal } }
    var isLoaded: Bool { state.withLock { $0.zygote != nil } }
    var sessionsPerWorker: Int { policy.reuse.sessions }

    // MARK: Workers

    /// A worker for one session.
    ///
    /// - Throws: `.pluginRefused`, `.isolationUnavailable`, `.pluginCrashed`.
    func lease(_ context: SessionContext) throws(CoderError) -> Worker {
        if case .refused(let status) = quarantine.admit(record, sealed.hash) { throw record.refusal(status) }
        let pool = poolThreads(context)
        let memory = WorkerMemory(context.limits, threads: threads + pool)
        let processor = host_bound_processor()
        while let idle = state.withLock({ state in
            let index =
                state.idle.lastIndex { $0.memory == memory && $0.processor == processor }
                ?? state.idle.lastIndex { $0.memory == memory }
            return index.map { state.idle.remove(at: $0) }
        }) {
            if idle.isStillThere {
                idle.beginSession()
                return idle
            }
        }
        // One zygote may have idled out, and the next one may be killed from outside: a third says something of the plugin.
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

    /// Threads that the plugin declares to have at one time, beside the first.
    var threads: Int { max(0, record.manifest?.threads ?? 0) }

    /// Processes and threads that may be there at one time. Some of them have ended and are not reaped yet: half is reserve.
    private var processLimit: Int { 2 * (min(policy.maxWorkers, 1 << 12) + 2) * (1 + min(threads, 1 << 10) + Self.maxPool) }

    /// Threads of the host's in one worker beside the first, at most.
    static let maxPool = max(0, min(64, processorCount) - 1)

    /// Threads of the host's that a session is worth.
    private func poolThreads(_ context: SessionContext) -> Int { min(Self.maxPool, context.threadHint - 1) }

    private func fork(
        _ context: SessionContext, _ memory: WorkerMemory, pool: Int
    ) throws(ZygoteFailure) -> Worker {
        let zygote = try self.zygote(context)
        let seconds = context.limits.maxMilliseconds == 0 ? 0 : context.limits.maxMilliseconds / 1000 + 2
        let worker = try zygote.fork(
            Self.nextWorker.add(1, ordering: .relaxed).oldValue, of: self, memory: memory,
            // The time of all threads together, and of all sessions.
            seconds: min(seconds, 1 << 20) * min(1024, max(1, context.limits.maxThreads))
                * min(1 << 20, policy.reuse.sessions),
            threads: threads > 0, pool: pool, context)
        if zygote.isAlone { state.withLock { $0.zygote = nil } }
        do throws(CoderError) {
            try worker.awaitReady(context)
        } catch {
            throw .failed(error)
        }
        worker.beginSession()
        return worker
    }

    /// Takes a worker back: for the next session, or to its end.
    func giveBack(_ worker: Worker) {
        // Reading a header is no proof that it works again, and one that had to be ended tells nothing good.
        if worker.isUsable, worker.hasWorked { quarantine.recordSuccess(of: record, sealed.hash) }
        guard worker.isUsable, worker.sessions < policy.reuse.sessions else {
            worker.end()
            return
        }
        let isKept = state.withLock { state in
            if !state.isRetired { state.idle.append(worker) }
            return !state.isRetired
        }
        if !isKept { worker.end() }
    }

    /// Ends the workers that wait, and each that is given back later.
    ///
    /// They hold the plugin as the plugin holds them: without that neither would ever go.
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
        let resources = record.manifest?.readable ?? []
        let readable = LibraryResolver().readable(for: record) + resources.flatMap(\.folders)
        let message = WorkerPlugin(
            name: record.fileName, descriptor: isCopy ? sealed.file.descriptor : nil, path: sealed.path,
            readable: readable, idleSeconds: policy.idleSeconds,
            records: policy.recordsRefusals, threads: threads, pool: Self.maxPool,
            needed: policy.mode == .require ? policy.needed : [])
        guard readable.count <= Self.maxPaths, message.message.count <= WorkerChannel.bodyLimit else {
            throw .failed(unpreparable("it needs \(readable.count) libraries by names too long or too many"))
        }
        do throws(ZygoteFailure) {
            let zygote = try Zygote(program, message, groups.make(processes: processLimit), sandbox, context)
            do throws(PluginRefusal) { try sealed.confirm() } catch { throw .failed(record.refusal(error.status)) }
            if let unknown = zygote.facts.unknown { throw keep(.needsNewerHost(unknown)) }
            if let manifest = record.manifest, let contradiction = zygote.facts.contradiction(with: manifest) {
                throw keep(PluginRefusal(.lyingManifest, contradiction, "correct the manifest and rebuild"))
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
                        .pluginCrashed, "\(record.fileName) cannot be used: \(how)",
                        hint: "remove it, or replace it by a build that works"))
            case .absent(let why):
                // What the worker was told comes from the plugin's file: only a probe without it judges the system.
                if let absence = absenceOfSandbox() {
                    sandbox.note(.absent(absence))
                    throw .absent(absence)
                }
                throw .failed(unpreparable(why))
            default: throw error
            }
        }
    }

    /// Why no process can be confined here, found out without the plugin; nil where one can, or that cannot be told.
    private func absenceOfSandbox() -> String? {
        do throws(ZygoteFailure) {
            _ = try Zygote(program, nil, .failure(WorkerGroup.Unavailable(reason: "a probe has none")), sandbox)
        } catch {
            if case .absent(let why) = error { return why }
        }
        return nil
    }

    /// No worker can be made ready for this file, although one can for others.
    private func unpreparable(_ why: String) -> CoderError {
        CoderError(
            .pluginRefused, "no worker can be made ready for \(record.fileName): \(why)",
            hint: "look at the libraries that it names (readelf -d \(record.path)), or remove it")
    }

    /// Paths that a private root has room for.
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
                .missingLibrary, message.isEmpty ? "the loader refuses it" : message,
                "install what is missing (ldd \(record.path))")
        case ISO_STAGE_MAPPED:
            return PluginRefusal(
                .initFailed, message.isEmpty ? "its entry function failed" : message,
                "see the plugin's own documentation")
        default:
            return PluginRefusal(
                .initFailed, message.isEmpty ? "it could not be initialised" : message,
                "see the plugin's own documentation")
        }
    }

    // MARK: Errors

    private func error(_ failure: ZygoteFailure) -> CoderError {
        switch failure {
        case .failed(let error): error
        case .absent(let why):
            CoderError(.isolationUnavailable, "no sandbox: \(why)", hint: "see coderhost doctor isolation")
        case .shortage(let why):
            CoderError(
                .isolationUnavailable, "no sandbox: \(why)",
                hint: "raise the limits of this process (ulimit -n, ulimit -u, ulimit -v), or try again later")
        case .crashed(let how, _): misbehaved(how)
        case .refused(let loaded): record.refusal(Self.refusal(loaded, record).status)
        case .gone: misbehaved("its process ended three times")
        }
    }

    /// The process that workers are forked from did not fork, or forged its answer.
    private func misbehaved(_ how: String) -> CoderError {
        // Some of it a machine without time to spare could cause, too: not one such failure is enough.
        failed(.violation, during: .decode)
        return CoderError(.pluginCrashed, "\(record.fileName) cannot be used: \(how)")
    }

    /// Takes note of a session that ended the worker.
    func failed(_ kind: Quarantine.Kind, during phase: Quarantine.Phase) {
        guard let hash = try? sealed.hash() else { return }
        quarantine.record(failure: kind, phase: phase, of: record, hash)
    }
}
