import CCoderPlugin
import CIsolationWire
import Glibc
import ImageModel
import ImageProcessing
import Synchronization

/// A confined process that has loaded one plugin and forks workers.
///
/// It starts in two steps. Before `ISO_START` no code of the plugin has run, so a failure says something about the system;
/// from then on every failure is the plugin's.
///
/// - Concurrency: any thread; requests are served one at a time.
final class Zygote: Sendable {
    /// How a worker ended.
    enum Ending: Hashable {
        case signal(Int32)
        case exit(Int32)
        /// By its guardian, because of a system call behind the seal.
        case violation(Int)
        case unknown

        var text: String {
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
    /// What held the process back before any code of the plugin ran.
    let confinement: Confinement
    /// Why the seal is not held from outside the process that ran the plugin's code; nil where it is.
    let sealFailure: SystemError?
    /// What the plugin says of itself.
    let facts: PluginFacts
    /// Whether it has threads, so that it cannot be forked and has to be the worker itself.
    let isAlone: Bool

    /// How long loading may take at most.
    private static let loadMilliseconds = 20_000

    /// Starts the program and loads a plugin in it; waits until that is done.
    ///
    /// - Parameters:
    ///   - plugin: The plugin to load; nil loads none and only finds out what holds the process back.
    ///   - group: What bounds all its processes together, or why there is nothing that does.
    ///   - sandbox: Learns whether this system can confine a process, before any code of the plugin runs.
    ///   - context: The session that waits, whose time may be shorter than what loading may take.
    init(
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
            // As long as it is open here, the other end would not be seen to end.
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
        guard sent == .sent else { throw .absent("\(program) ended at once") }
        var loaded = try Self.awaitLoaded(channel, process, context, isStarted: false)
        sandbox.note(.present)
        var confinement = Confinement(loaded.confinement)
        confinement.controlGroup = Confinement.ControlGroup(group)
        if let plugin {
            // The seal comes last; that it cannot be had is known already.
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
        isAlone = loaded.threads > 1
        state = Mutex(State(channel: channel, guardian: guardian))
    }

    /// - Parameter isStarted: Whether code of the plugin may have run.
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
            case .damaged: throw .crashed("it sent a packet that is none", .violation)
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
                    "it tried \(SystemCall.name(number)) while it was loaded, which the sandbox forbids", .violation)
            default: throw .crashed("it sent a packet of kind \(channel.header.type)", .violation)
            }
        }
        let seconds = loadMilliseconds / 1000
        throw isStarted
            ? .crashed("loading it took longer than \(seconds) s", .hang)
            : .shortage("a worker was not confined within \(seconds) s")
    }

    /// Why a process ended before any code of a plugin ran.
    private static func failureToConfine(_ ending: Ending?) -> ZygoteFailure {
        switch ending {
        case .exit(Int32(ISO_EXIT_RESOURCES)): .shortage("there is no memory or no process left for a worker")
        // Only the system or a person ends a process that way.
        case .signal(SIGKILL): .gone
        case .signal, .exit, .violation: .absent("the worker \(ending!.text) before it was confined")
        case .unknown, nil: .shortage("a worker ended before it was confined")
        }
    }

    /// Why a process ended in which code of the plugin ran.
    private static func failure(_ ending: Ending?) -> ZygoteFailure {
        switch ending {
        // Only the system or a person ends a process that way; the plugin cannot reach the guardian.
        case .signal(SIGKILL): .gone
        case .signal(SIGSYS):
            .crashed(
                "it tried to start a thread or a process while it was loaded, which the sandbox forbids", .violation)
        case .signal(SIGXCPU), .signal(SIGALRM): .crashed("loading it did not come to an end", .hang)
        case .violation(let call):
            .crashed("it tried \(SystemCall.name(call)) once it was loaded, which the sandbox forbids", .violation)
        case .signal, .exit: .crashed("it \(ending!.text) while it was loaded", .crash)
        case .unknown, nil: .crashed("it crashed while it was loaded", .crash)
        }
    }

    private static func coders(_ channel: WorkerChannel, count: UInt32) -> [iso_coder] {
        let bytes = channel.withBody { copyBytes($0) }
        let size = MemoryLayout<iso_coder>.size
        return (0..<Int(min(count, 256))).compactMap { index in
            wireStruct(iso_coder(), bytes, at: MemoryLayout<iso_loaded>.size + index * size)
        }
    }

    var isUsable: Bool { state.withLock { $0.isUsable } }

    /// Ends the process, and with it every worker.
    func end() {
        state.withLock { $0.isUsable = false }
        process.kill()
    }

    /// Forks a worker.
    ///
    /// - Throws: what is missing when there can be none; the caller may try with a new zygote.
    func fork(
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
        request.threads = threads || isAlone ? 1 : 0
        request.pool = UInt32(clamping: pool)
        if let group = process.group { group.admit(memory, kept: plugin.surfaces.byteCount) }
        do throws(ZygoteFailure) {
            return isAlone
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
            // Also where other packets arrive without end.
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
                throw .crashed("it answered a request that was not made", .violation)
            }
            // Those that nobody takes are closed with the next packet.
            guard channel.header.descriptors <= 1 else {
                state.isUsable = false
                throw .crashed("it sent descriptors that nobody asked for", .violation)
            }
            // So the kernel answers once the guardian that it would ask has been killed.
            if answer.error == ENOSYS {
                state.isUsable = false
                throw .gone
            }
            // Its constructors have run: they may have used up what is missing, or only say so.
            if answer.error != 0 {
                throw .crashed("a worker cannot be forked from it: \(SystemError(answer.error))", .violation)
            }
            // Without it, as on kernels before 5.3, a worker is ended with the process that it was forked from.
            let zygote = state.guardian.zygote
            return channel.takeDescriptors().first.map { ProcessHandle(descriptor: $0, childOf: zygote) }
        }
        state.isUsable = false
        throw .crashed("it did not fork a worker within five seconds", .hang)
    }

    /// Has the memory limited of what is forked from now on.
    private static func limit(_ state: inout State, _ memory: WorkerMemory) throws(ZygoteFailure) {
        do throws(GuardianFailure) {
            try state.guardian.limit(memory)
        } catch {
            state.isUsable = false
            if let call = error.call { throw failure(.violation(call)) }
            throw .gone
        }
    }

    /// Makes the zygote itself the worker.
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

    /// Takes note of a worker that has ended; false for any other packet.
    private static func note(_ state: inout State, _ channel: WorkerChannel) -> Bool {
        guard Int32(channel.header.type) == ISO_ENDED, let ended = channel.load(iso_ended.self) else { return false }
        // Those that nobody asks about were ended on purpose.
        if state.endings.count > 256 { state.endings.removeAll() }
        // Above 128 stands for a signal that the process could not end by; SIGKILL is none of them, and is not counted.
        let told = ended.exit_code > 128 && ended.exit_code != 128 + SIGKILL ? ended.exit_code - 128 : 0
        let signal = ended.signal != 0 ? ended.signal : told
        state.endings[ended.worker] = signal != 0 ? .signal(signal) : .exit(ended.exit_code)
        return true
    }

    /// How often its control group was out of memory.
    var shortages: Int { process.group?.shortages ?? 0 }

    /// Takes back the memory that a worker was granted.
    func dismiss(_ memory: WorkerMemory) { process.group?.dismiss(memory) }

    /// How a worker ended whose socket has.
    func ending(of worker: Worker) -> Ending {
        if isAlone {
            _ = process.ending()
            return state.withLock { $0.guardian.violation() }.map { .violation($0) } ?? .unknown
        }
        return state.withLock { state in
            // A zygote can keep its report back; a machine without time to spare needs a while for it.
            let end = monotonicNow() + 2_000_000_000
            while true {
                if let known = state.endings.removeValue(forKey: worker.number) { return known }
                // Its workers end with it.
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

/// Why there is no zygote, or no worker of one.
enum ZygoteFailure: Error {
    /// This system can confine no process; found out before any code of the plugin ran.
    case absent(String)
    /// The system is short of memory, processes or descriptors; no code of the plugin ran, or it cannot be the reason.
    case shortage(String)
    /// The plugin ended the process, or broke the rules.
    case crashed(String, Quarantine.Kind)
    /// The plugin answered that it cannot work.
    case refused(iso_loaded)
    /// It has ended since; a new one may be started.
    case gone
    /// Something of which there is an error already.
    case failed(CoderError)
}
