import CCoderPlugin
import CIsolationWire
import Glibc
import ImageModel
import ImageProcessing
import Synchronization

/// A confined process that has loaded one plugin and forks a worker for whoever asks.
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
    ///   - plugin: nil asks what confinement there is, and loads nothing.
    ///   - context: of the session that waits for it, whose time may be shorter.
    init(_ program: String, _ plugin: WorkerPlugin?, _ context: SessionContext? = nil) throws(ZygoteFailure) {
        let pair: (own: Int32, theirs: Int32)
        do throws(SystemError) { pair = try socketPair() } catch {
            throw .unavailable("no socket for a worker: \(error)")
        }
        let channel = WorkerChannel(descriptor: pair.own)
        let guardian: Guardian
        do throws(SystemError) {
            // As long as it is open here, the other end would not be seen to end.
            defer { close(pair.theirs) }
            let orders = try socketPair()
            defer { close(orders.theirs) }
            guardian = Guardian(orders.own)
            process = try ProcessHandle(starting: program, socket: pair.theirs, guardian: orders.theirs)
        } catch {
            throw .unavailable("\(program) cannot be started: \(error)")
        }
        var header = iso_header()
        header.type = UInt16(plugin == nil ? ISO_PROBE : ISO_LOAD)
        let body = plugin?.message ?? wireBytes(iso_load())
        let sent = body.withSpan { body in
            channel.send(header, body, descriptors: plugin?.descriptor.map { [$0] } ?? [], milliseconds: 1000)
        }
        guard sent == .sent else { throw .unavailable("\(program) ended at once") }
        let loaded = try Self.awaitLoaded(channel, process, context)
        do throws(GuardianFailure) {
            sealFailure = try guardian.seal()
        } catch {
            throw Self.failure(error.call.map { .violation($0) } ?? process.ending())
        }
        var confinement = Confinement(loaded.confinement)
        confinement.hold(sealFailure)
        self.confinement = confinement
        if let plugin, loaded.status == CPI_UNSUPPORTED, loaded.stage == UInt32(ISO_STAGE_CONFINED) {
            if sealFailure == nil { confinement.missing.removeAll { $0.mechanism == .seccompSeal } }
            if let error = confinement.shortfall(plugin.needed) { throw .failed(error) }
        }
        if loaded.status != CPI_OK, plugin != nil { throw .refused(loaded) }
        facts = PluginFacts(loaded, coders: Self.coders(channel, count: loaded.coder_count))
        isAlone = loaded.threads > 1
        state = Mutex(State(channel: channel, guardian: guardian))
    }

    private static func awaitLoaded(
        _ channel: WorkerChannel, _ process: ProcessHandle, _ context: SessionContext?
    ) throws(ZygoteFailure) -> iso_loaded {
        let end = monotonicNow() + UInt64(loadMilliseconds) * 1_000_000
        while monotonicNow() < end {
            switch channel.receive(milliseconds: 10) {
            case .nothing:
                do throws(CoderError) { try context?.checkCancellation() } catch { throw .failed(error) }
                continue
            case .end: throw failure(process.ending())
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
        throw .crashed("loading it took longer than \(loadMilliseconds / 1000) s", .hang)
    }

    /// Why a process that was to load a plugin is gone.
    private static func failure(_ ending: Ending?) -> ZygoteFailure {
        switch ending {
        case .exit(66): .unavailable("there is no memory or no process left for a worker")
        // Nobody but the system or a person ends a process that way.
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
        _ number: UInt64, of plugin: IsolatedPlugin, dataBytes: Int, seconds: Int, threads: Bool
    ) throws(ZygoteFailure) -> Worker {
        guard let page = SharedPage() else { throw .unavailable("no memory for a worker: \(SystemError.last)") }
        var request = iso_fork()
        request.worker = number
        request.data_bytes = UInt64(clamping: dataBytes)
        request.cpu_seconds = UInt32(clamping: seconds)
        request.threads = threads || isAlone ? 1 : 0
        if isAlone { return try become(request, plugin, page, dataBytes) }
        let pair: (own: Int32, theirs: Int32)
        do throws(SystemError) { pair = try socketPair() } catch {
            throw .unavailable("no socket for a worker: \(error)")
        }
        let channel = WorkerChannel(descriptor: pair.own)
        defer { close(pair.theirs) }
        let handle = try state.withLock { state throws(ZygoteFailure) -> ProcessHandle? in
            try Self.forked(&state, request, [pair.theirs, page.descriptor])
        }
        return Worker(number, plugin, self, channel, page, handle, dataBytes: dataBytes)
    }

    private static func forked(
        _ state: inout State, _ request: iso_fork, _ descriptors: [Int32]
    ) throws(ZygoteFailure) -> ProcessHandle? {
        guard state.isUsable else { throw .gone }
        try limit(&state, request.data_bytes)
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
            switch channel.receive(milliseconds: 100) {
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
            if answer.error != 0 { throw .unavailable("a worker cannot be forked: \(SystemError(answer.error))") }
            // Without it, as on kernels before 5.3, a worker is ended with the process that it was forked from.
            return channel.takeDescriptors().first.map { ProcessHandle(descriptor: $0) }
        }
        state.isUsable = false
        throw .crashed("it did not fork within five seconds", .hang)
    }

    /// Has the memory limited of what is forked from now on.
    private static func limit(_ state: inout State, _ dataBytes: UInt64) throws(ZygoteFailure) {
        do throws(GuardianFailure) {
            try state.guardian.limit(dataBytes)
        } catch {
            state.isUsable = false
            if let call = error.call { throw failure(.violation(call)) }
            throw .gone
        }
    }

    /// Makes the zygote itself the worker.
    private func become(
        _ request: iso_fork, _ plugin: IsolatedPlugin, _ page: SharedPage, _ dataBytes: Int
    ) throws(ZygoteFailure) -> Worker {
        let channel = try state.withLock { state throws(ZygoteFailure) -> WorkerChannel in
            guard state.isUsable else { throw .gone }
            try Self.limit(&state, request.data_bytes)
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
        return Worker(request.worker, plugin, self, channel, page, nil, dataBytes: dataBytes)
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

    /// How a worker ended whose socket has.
    func ending(of worker: Worker) -> Ending {
        if isAlone {
            _ = process.ending()
            return state.withLock { $0.guardian.violation() }.map { .violation($0) } ?? .unknown
        }
        return state.withLock { state in
            let end = monotonicNow() + 500_000_000
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
    /// The system does not give what is needed.
    case unavailable(String)
    /// The plugin ended the process, or broke the rules.
    case crashed(String, Quarantine.Kind)
    /// The plugin answered that it cannot work.
    case refused(iso_loaded)
    /// It has ended since; a new one may be started.
    case gone
    /// Something of which there is an error already.
    case failed(CoderError)
}
