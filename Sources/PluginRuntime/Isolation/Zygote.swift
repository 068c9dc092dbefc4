import CCoderPlugin
import CIsolationWire
import Glibc
import HostSystem
import ImageModel
import ImageProcessing
import PluginCatalogue

/// A confined process that has loaded one plugin and forks workers.
///
/// It starts in two steps. Before `ISO_START` no plugin code has run, so a failure is the system's; afterwards every
/// failure is the plugin's.
///
/// - Concurrency: any thread; requests are served one at a time.
final class Zygote: Sendable {
    /// How a worker ended.
    package enum Ending: Hashable {
        case signal(Int32)
        case exit(Int32)
        /// The guardian ended it because of this forbidden system call.
        case violation(Int)
        case unknown

        /// An exit code above 128 means a signal that could not end the process; SIGKILL always can, so it is ignored.
        init(exitCode code: Int32) {
            self = code > 128 && code != 128 + SIGKILL ? .signal(code - 128) : .exit(code)
        }

        package var text: String {
            switch self {
            case .signal(let number): "crashed (\(SignalName.of(number)))"
            case .exit(let code): "ended the process (exit code \(code))"
            case .violation(let call): "tried \(SystemCall.name(call)), which the sandbox forbids,"
            case .unknown: "crashed"
            }
        }
    }

    private struct State {
        var channel: WorkerChannel
        var endings: [UInt64: Ending] = [:]
        var isUsable = true
        var sequence: UInt32 = 0
        var guardian: Guardian
    }

    private let state: Mutex<State>
    private let process: ProcessHandle
    /// The confinement before any plugin code ran.
    package let confinement: Confinement
    /// Why the guardian cannot enforce the seal; nil if it does.
    let sealFailure: SystemError?
    /// The properties that the plugin reports.
    package let facts: PluginFacts
    /// Whether it has threads, so it cannot fork and must serve as the worker itself.
    package let cannotFork: Bool

    /// The timeout for loading.
    private static let loadMilliseconds = 20_000

    /// Starts the program and loads a plugin; returns when loading is complete.
    ///
    /// - Parameters:
    ///   - plugin: The plugin to load; nil only tests the confinement.
    ///   - group: The control group for all its processes, or why there is none.
    ///   - sandbox: Records whether this system can confine a process, before any plugin code runs.
    ///   - context: The waiting session, whose time limit may be shorter than the loading timeout.
    package init(
        _ program: String, _ plugin: WorkerPlugin?,
        _ group: Result<WorkerGroup, WorkerGroup.Unavailable>,
        _ sandbox: SandboxAvailability = SandboxAvailability(), _ context: SessionContext? = nil
    ) throws(ZygoteFailure) {
        let pair: (own: Int32, theirs: Int32)
        do throws(SystemError) { pair = try socketPair() } catch {
            throw .shortage("no socket for a worker: \(error)")
        }
        let channel = WorkerChannel(descriptor: pair.own)
        var guardian: Guardian
        do throws(SystemError) {
            // While this end is open here, the host would not notice when the process closes its end.
            defer { close(pair.theirs) }
            let orders = try socketPair()
            defer { close(orders.theirs) }
            guardian = Guardian(orders.own)
            process = try ProcessHandle(
                starting: program, socket: pair.theirs, guardian: orders.theirs, group: try? group.get())
        } catch {
            let why = "\(program) cannot be started: \(error)"
            throw error.isShortage ? .shortage(why) : .absent(why)
        }
        var header = iso_header()
        header.type = UInt16(plugin == nil ? ISO_PROBE : ISO_LOAD)
        let body = plugin?.message ?? wireBytes(iso_load())
        let sent = body.withSpan { body in
            channel.send(header, body, descriptors: plugin?.descriptor.map { [$0] } ?? [], milliseconds: 1000)
        }
        guard sent == .sent else { throw .absent("\(program) ended immediately") }
        var loaded = try Self.awaitLoaded(channel, process, context, isStarted: false)
        sandbox.note(.present)
        var confinement = Confinement(loaded.confinement)
        confinement.controlGroup = Confinement.ControlGroup(group)
        if let plugin {
            // The seal comes last; if it is unavailable, that is already known.
            confinement.missing.removeAll { $0.mechanism == .seccompSeal && $0.reason == Confinement.notYet }
            if let error = confinement.shortfall(plugin.needed) { throw .failed(error) }
            header.type = UInt16(ISO_START)
            guard channel.send(header, RawSpan(), milliseconds: 1000) == .sent else { throw .gone }
            loaded = try Self.awaitLoaded(channel, process, context, isStarted: true)
        }
        do throws(GuardianFailure) {
            sealFailure = try guardian.seal()
        } catch {
            throw Self.failure(error.call.map { .violation($0) } ?? process.ending())
        }
        confinement.hold(sealFailure)
        if plugin == nil { _ = confinement.seal(Confinement(loaded.confinement)) }
        self.confinement = confinement
        if loaded.status != CPI_OK, plugin != nil { throw .refused(loaded) }
        facts = PluginFacts(loaded, coders: Self.coders(channel, count: loaded.coder_count))
        cannotFork = loaded.threads > 1
        state = Mutex(State(channel: channel, guardian: guardian))
    }

    /// - Parameter isStarted: Whether plugin code may have run.
    private static func awaitLoaded(
        _ channel: WorkerChannel, _ process: ProcessHandle, _ context: SessionContext?, isStarted: Bool
    ) throws(ZygoteFailure) -> iso_loaded {
        let end = monotonicNow() + UInt64(loadMilliseconds) * 1_000_000
        while monotonicNow() < end {
            switch channel.receive(milliseconds: 10) {
            case .nothing:
                do throws(CoderError) { try context?.checkCancellation() } catch { throw .failed(error) }
                continue
            case .end: throw isStarted ? failure(process.ending()) : failureToConfine(process.ending())
            case .damaged: throw .crashed("it sent an invalid packet", .violation)
            case .packet: break
            }
            switch Int32(channel.header.type) {
            case ISO_LOADED:
                guard let loaded = channel.load(iso_loaded.self) else {
                    throw .crashed("it sent a short packet", .violation)
                }
                return loaded
            case ISO_VIOLATION:
                let number = channel.load(iso_violation.self).map { Int($0.system_call) } ?? -1
                throw .crashed(
                    "it tried \(SystemCall.name(number)) while it was loading, which the sandbox forbids", .violation)
            default: throw .crashed("it sent a packet of kind \(channel.header.type)", .violation)
            }
        }
        let seconds = loadMilliseconds / 1000
        throw isStarted
            ? .crashed("loading took longer than \(seconds) s", .hang)
            : .shortage("a worker was not confined within \(seconds) s")
    }

    /// Returns why a process ended before any plugin code ran.
    private static func failureToConfine(_ ending: Ending?) -> ZygoteFailure {
        switch ending {
        case .exit(Int32(ISO_EXIT_RESOURCES)): .shortage("there is not enough memory, or no process, for a worker")
        // Only the system or a user sends this signal.
        case .signal(SIGKILL): .gone
        case .signal, .exit, .violation: .absent("the worker \(ending!.text) before it was confined")
        case .unknown, nil: .shortage("a worker ended before it was confined")
        }
    }

    /// Returns why a process ended in which plugin code ran.
    private static func failure(_ ending: Ending?) -> ZygoteFailure {
        switch ending {
        // Only the system or a user sends this signal; the plugin cannot reach the guardian.
        case .signal(SIGKILL): .gone
        case .signal(SIGSYS):
            .crashed(
                "it tried to start a thread or a process while it was loading, which the sandbox forbids", .violation)
        case .signal(SIGXCPU), .signal(SIGALRM): .crashed("loading did not finish", .hang)
        case .violation(let call):
            .crashed("it tried \(SystemCall.name(call)) after it was loaded, which the sandbox forbids", .violation)
        case .signal, .exit: .crashed("it \(ending!.text) while it was loading", .crash)
        case .unknown, nil: .crashed("it crashed while it was loading", .crash)
        }
    }

    private static func coders(_ channel: WorkerChannel, count: UInt32) -> [iso_coder] {
        let bytes = channel.withBody { copyBytes($0) }
        let size = MemoryLayout<iso_coder>.size
        return (0..<Int(min(count, 256))).compactMap { index in
            wireStruct(iso_coder(), bytes, at: MemoryLayout<iso_loaded>.size + index * size)
        }
    }

    package var isUsable: Bool { state.withLock { $0.isUsable } }

    /// Ends the process and all its workers.
    package func end() {
        state.withLock { $0.isUsable = false }
        process.kill()
    }

    /// Forks a worker.
    ///
    /// - Throws: the reason why there is no worker; the caller may retry with a new zygote.
    package func fork(
        _ number: UInt64, of plugin: IsolatedPlugin, memory: WorkerMemory, seconds: Int, threads: Bool,
        pool: Int,
        _ context: SessionContext
    ) throws(ZygoteFailure) -> Worker {
        guard let page = SharedPage() else { throw .shortage("no memory for a worker: \(SystemError.last)") }
        var request = iso_fork()
        request.worker = number
        request.data_bytes = UInt64(clamping: memory.dataBytes)
        request.address_bytes = UInt64(clamping: memory.addressBytes)
        request.cpu_seconds = UInt32(clamping: seconds)
        request.threads = threads || cannotFork ? 1 : 0
        request.pool = UInt32(clamping: pool)
        if let group = process.group { group.admit(memory, kept: plugin.surfaces.byteCount) }
        do throws(ZygoteFailure) {
            return cannotFork
                ? try become(request, plugin, page, memory) : try fork(request, plugin, page, memory, context)
        } catch {
            process.group?.dismiss(memory)
            throw error
        }
    }

    private func fork(
        _ request: iso_fork, _ plugin: IsolatedPlugin, _ page: SharedPage, _ memory: WorkerMemory,
        _ context: SessionContext
    ) throws(ZygoteFailure) -> Worker {
        let pair: (own: Int32, theirs: Int32)
        do throws(SystemError) { pair = try socketPair() } catch {
            throw .shortage("no socket for a worker: \(error)")
        }
        let channel = WorkerChannel(descriptor: pair.own, takesDescriptors: false)
        defer { close(pair.theirs) }
        let handle = try state.withLock { state throws(ZygoteFailure) -> ProcessHandle? in
            try Self.forked(&state, request, memory, [pair.theirs, page.descriptor], context)
        }
        return Worker(request.worker, plugin, self, channel, page, handle, memory)
    }

    private static func forked(
        _ state: inout State, _ request: iso_fork, _ memory: WorkerMemory, _ descriptors: [Int32],
        _ context: SessionContext
    ) throws(ZygoteFailure) -> ProcessHandle? {
        guard state.isUsable else { throw .gone }
        try limit(&state, memory)
        guard state.guardian.permitFork() else {
            state.isUsable = false
            throw .gone
        }
        state.sequence &+= 1
        var header = iso_header()
        header.type = UInt16(ISO_FORK)
        header.sequence = state.sequence
        let body = wireBytes(request)
        let channel = state.channel
        let sent = body.withSpan { body in
            channel.send(header, body, descriptors: descriptors, milliseconds: 2000)
        }
        guard sent == .sent else {
            state.isUsable = false
            throw .gone
        }
        let end = monotonicNow() + 5_000_000_000
        while monotonicNow() < end {
            // Checked here as well, in case other packets never stop arriving.
            do throws(CoderError) { try context.checkCancellation() } catch {
                state.isUsable = false
                throw .failed(error)
            }
            switch channel.receive(milliseconds: 10) {
            case .nothing: continue
            case .end, .damaged:
                state.isUsable = false
                throw .gone
            case .packet: break
            }
            if note(&state, channel) { continue }
            guard Int32(channel.header.type) == ISO_FORKED, channel.header.sequence == state.sequence,
                let answer = channel.load(iso_forked.self), answer.worker == request.worker
            else {
                state.isUsable = false
                throw .crashed("it replied to a request that was not made", .violation)
            }
            // Descriptors that are not taken are closed with the next packet.
            guard channel.header.descriptors <= 1 else {
                state.isUsable = false
                throw .crashed("it sent unrequested descriptors", .violation)
            }
            // The kernel returns this error after the guardian, which decides about the call, was killed.
            if answer.error == ENOSYS {
                state.isUsable = false
                throw .gone
            }
            // The plugin's constructors ran, so they may have used up the resource or forged the error.
            if answer.error != 0 {
                throw .crashed("it cannot fork a worker: \(SystemError(answer.error))", .violation)
            }
            // Without a pidfd, as on kernels before 5.3, a worker ends together with its zygote.
            let zygote = state.guardian.zygote
            return channel.takeDescriptors().first.map { ProcessHandle(descriptor: $0, childOf: zygote) }
        }
        state.isUsable = false
        throw .crashed("it did not fork a worker within five seconds", .hang)
    }

    /// Limits the memory of processes forked from now on.
    private static func limit(_ state: inout State, _ memory: WorkerMemory) throws(ZygoteFailure) {
        do throws(GuardianFailure) {
            try state.guardian.limit(memory)
        } catch {
            state.isUsable = false
            if let call = error.call { throw failure(.violation(call)) }
            throw .gone
        }
    }

    /// Uses the zygote itself as the worker.
    private func become(
        _ request: iso_fork, _ plugin: IsolatedPlugin, _ page: SharedPage, _ memory: WorkerMemory
    ) throws(ZygoteFailure) -> Worker {
        let channel = try state.withLock { state throws(ZygoteFailure) -> WorkerChannel in
            guard state.isUsable else { throw .gone }
            try Self.limit(&state, memory)
            state.isUsable = false
            var header = iso_header()
            header.type = UInt16(ISO_BECOME)
            header.session = request.worker
            let channel = state.channel
            let body = wireBytes(request)
            let sent = body.withSpan { body in
                channel.send(header, body, descriptors: [page.descriptor], milliseconds: 1000)
            }
            guard sent == .sent else { throw .gone }
            return channel
        }
        return Worker(request.worker, plugin, self, channel, page, nil, memory)
    }

    /// Records a worker that ended; returns false for any other packet.
    private static func note(_ state: inout State, _ channel: WorkerChannel) -> Bool {
        guard Int32(channel.header.type) == ISO_ENDED, let ended = channel.load(iso_ended.self) else { return false }
        // Reports that were not queried belong to workers that the host ended.
        if state.endings.count > 256 { state.endings.removeAll() }
        state.endings[ended.worker] = ended.signal != 0 ? .signal(ended.signal) : Ending(exitCode: ended.exit_code)
        return true
    }

    /// How often the control group ran out of memory.
    var shortages: Int { process.group?.shortages ?? 0 }

    /// Returns the granted memory of a worker.
    package func dismiss(_ memory: WorkerMemory) { process.group?.dismiss(memory) }

    /// Returns how a worker ended whose socket is closed.
    package func ending(of worker: Worker) -> Ending {
        if cannotFork {
            // The process is the worker, and the guardian ends as it did.
            let ending = process.ending()
            return state.withLock { $0.guardian.violation() }.map { .violation($0) } ?? ending ?? .unknown
        }
        return state.withLock { state in
            // A zygote can withhold its report, and on an overloaded machine the report takes time.
            let end = monotonicNow() + 2_000_000_000
            while true {
                if let known = state.endings.removeValue(forKey: worker.number) { return known }
                // The workers end with the zygote.
                guard state.isUsable else {
                    let ending = process.ending()
                    if let call = state.guardian.violation() { return .violation(call) }
                    return ending == .signal(SIGKILL) ? .signal(SIGKILL) : .unknown
                }
                guard monotonicNow() < end else { return .unknown }
                switch state.channel.receive(milliseconds: 50) {
                case .nothing: continue
                case .packet where Self.note(&state, state.channel): continue
                case .end, .packet, .damaged: state.isUsable = false
                }
            }
        }
    }
}

/// Why there is no zygote or no worker.
enum ZygoteFailure: Error {
    /// This system cannot confine a process; detected before any plugin code ran.
    case absent(String)
    /// The system ran out of memory, processes or descriptors; the plugin is not the cause.
    case shortage(String)
    /// The plugin ended the process, or violated the protocol.
    case crashed(String, Quarantine.Kind)
    /// The plugin reported that it cannot work.
    case refused(iso_loaded)
    /// The process has ended; a new one may be started.
    case gone
    /// The session failed with this error.
    case failed(CoderError)
}
