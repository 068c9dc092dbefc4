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
        case unknown

        var text: String {
            switch self {
            case .signal(let number): "crashed (\(SignalName.of(number)))"
            case .exit(let code): "ended the process (exit code \(code))"
            case .unknown: "crashed"
            }
        }
    }

    private struct State {
        var channel: WorkerChannel
        var endings: [UInt64: Ending] = [:]
        var isUsable = true
        var sequence: UInt32 = 0
    }

    private let state: Mutex<State>
    private let process: ProcessHandle
    let confinement: Confinement
    /// What the plugin says of itself.
    let facts: PluginFacts
    /// Whether it has threads, so that it cannot be forked and has to be the worker itself.
    let isAlone: Bool

    /// How long loading may take.
    private static let loadSeconds: UInt64 = 20

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
        do throws(SystemError) {
            // The other end is closed at once: while this process holds it, its end is not seen.
            defer { close(pair.theirs) }
            process = try ProcessHandle(starting: program, socket: pair.theirs)
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
        confinement = Confinement(loaded.confinement)
        if let plugin, loaded.status == CPI_UNSUPPORTED, loaded.stage == UInt32(ISO_STAGE_CONFINED) {
            var known = confinement
            known.missing.removeAll { $0.mechanism == .seccompSeal }
            if let error = known.shortfall(plugin.needed) { throw .failed(error) }
        }
        if loaded.status != CPI_OK, plugin != nil { throw .refused(loaded) }
        facts = PluginFacts(loaded, coders: Self.coders(channel, count: loaded.coder_count))
        isAlone = loaded.threads > 1
        state = Mutex(State(channel: channel))
    }

    private static func awaitLoaded(
        _ channel: WorkerChannel, _ process: ProcessHandle, _ context: SessionContext?
    ) throws(ZygoteFailure) -> iso_loaded {
        let end = monotonicNow() + loadSeconds * 1_000_000_000
        while monotonicNow() < end {
            switch channel.receive(milliseconds: 100) {
            case .nothing:
                do throws(CoderError) { try context?.checkCancellation() } catch { throw .failed(error) }
                continue
            case .end: throw .crashed("it crashed while it was loaded")
            case .damaged: throw .crashed("it sent a packet that is none")
            case .packet: break
            }
            switch Int32(channel.header.type) {
            case ISO_LOADED:
                guard let loaded = channel.load(iso_loaded.self) else { throw .crashed("it sent a short packet") }
                return loaded
            case ISO_VIOLATION:
                let number = channel.load(iso_violation.self).map { Int($0.system_call) } ?? -1
                throw .crashed("it tried \(SystemCall.name(number)) while it was loaded, which the sandbox forbids")
            default: throw .crashed("it sent a packet of kind \(channel.header.type)")
            }
        }
        throw .crashed("loading it took longer than \(loadSeconds) s")
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
                throw .crashed("it answered a request that was not made")
            }
            // Those that nobody takes are closed with the next packet.
            guard channel.header.descriptors <= 1 else {
                state.isUsable = false
                throw .crashed("it sent descriptors that nobody asked for")
            }
            if answer.error != 0 { throw .unavailable("a worker cannot be forked: \(SystemError(answer.error))") }
            // Without it, as on kernels before 5.3, a worker is ended with the process that it was forked from.
            return channel.takeDescriptors().first.map { ProcessHandle(descriptor: $0) }
        }
        state.isUsable = false
        throw .crashed("it did not fork within five seconds")
    }

    /// Makes the zygote itself the worker.
    private func become(
        _ request: iso_fork, _ plugin: IsolatedPlugin, _ page: SharedPage, _ dataBytes: Int
    ) throws(ZygoteFailure) -> Worker {
        let channel = try state.withLock { state throws(ZygoteFailure) -> WorkerChannel in
            guard state.isUsable else { throw .gone }
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
        if isAlone { return .unknown }
        return state.withLock { state in
            let end = monotonicNow() + 500_000_000
            while true {
                if let known = state.endings.removeValue(forKey: worker.number) { return known }
                guard state.isUsable, monotonicNow() < end else { return .unknown }
                switch state.channel.receive(milliseconds: 50) {
                case .nothing: continue
                case .packet where Self.note(&state, state.channel): continue
                default:
                    state.isUsable = false
                    return .unknown
                }
            }
        }
    }
}

/// Why there is no zygote, or no worker of one.
enum ZygoteFailure: Error {
    /// The system does not give what is needed.
    case unavailable(String)
    /// The plugin ended the process.
    case crashed(String)
    /// The plugin answered that it cannot work.
    case refused(iso_loaded)
    /// It has ended since; a new one may be started.
    case gone
    /// Something of which there is an error already.
    case failed(CoderError)
}
