import CCoderPlugin
import CHostSystem
import CIsolationWire
import Glibc
import HostSystem
import ImageModel
import ImageProcessing
import PluginCatalogue

/// A sealed process that decodes or encodes one image at a time.
///
/// The host trusts nothing from a worker: a packet that does not belong to the current call ends the process, and the
/// caller validates every reply.
/// - Concurrency: one thread at a time.
// Sendable because: a lease is exclusive.
package final class Worker: @unchecked Sendable {
    /// The reply to a request.
    struct Reply {
        var head: iso_reply
        /// The bytes after the fixed part.
        var rest: [UInt8]
    }

    let number: UInt64
    let plugin: IsolatedPlugin
    let channel: WorkerChannel
    let page: SharedPage
    private let origin: Origin
    /// The memory limits of the process.
    let memory: WorkerMemory
    private(set) var confinement: Confinement
    private var life = Life()
    private(set) var use = Use()
    private var request = Request()

    /// The processes behind the worker.
    private struct Origin {
        let zygote: Zygote
        let process: ProcessHandle?
        /// The out-of-memory count of the control group before the fork.
        let shortages: Int
    }

    /// Whether the worker still runs.
    private struct Life {
        var isUsable = true
        /// Why the worker ended, for later calls.
        var failure: CoderError?
    }

    /// The sessions of the worker.
    struct Use {
        fileprivate(set) var sessions = 0
        /// The processor that the worker is bound to; -1 if it is not bound.
        fileprivate(set) var processor: Int32 = -1
        /// Whether the current session has produced an image or a file.
        fileprivate(set) var hasWorked = false
    }

    /// The latest request.
    private struct Request {
        var sequence: UInt32 = 0
        var phase = WorkerPhase(UInt16(ISO_READY))
    }

    /// The process that forked this worker and reports its end.
    var zygote: Zygote { origin.zygote }
    var isUsable: Bool { life.isUsable }
    private var process: ProcessHandle? { origin.process }
    private var phase: WorkerPhase { request.phase }

    /// How long a plugin may continue after a cancellation.
    private static let graceAfterCancel: UInt64 = 80_000_000
    private static let graceAfterDeadline: UInt64 = 200_000_000
    /// The time limit in milliseconds from which on an unresponsive plugin counts as hanging.
    private static let patience = 10_000
    /// The interval in milliseconds at which a waiting call checks for cancellation.
    private static let tick: Int32 = 10

    init(
        _ number: UInt64, _ plugin: IsolatedPlugin, _ zygote: Zygote, _ channel: WorkerChannel, _ page: SharedPage,
        _ process: ProcessHandle?, _ memory: WorkerMemory
    ) {
        self.number = number
        self.plugin = plugin
        origin = Origin(zygote: zygote, process: process, shortages: zygote.shortages)
        self.channel = channel
        self.page = page
        self.memory = memory
        confinement = zygote.confinement
    }

    deinit {
        if isUsable { end() }
        zygote.dismiss(memory)
    }

    /// Ends the process.
    func end() {
        life.isUsable = false
        if process?.kill() != true { zygote.end() }
    }

    /// Waits until the process is sealed.
    func awaitReady(_ context: SessionContext) throws(CoderError) {
        request.phase = WorkerPhase(UInt16(ISO_FORK))
        var watch = Watch(context)
        let deadline = monotonicNow() + 5_000_000_000
        while monotonicNow() < deadline {
            switch channel.receive(milliseconds: Self.tick) {
            case .nothing:
                try look(&watch)
                continue
            case .packet where channel.header.type == UInt16(ISO_READY):
                guard let ready = channel.load(iso_ready.self) else { throw breach("a short packet") }
                guard confinement.seal(Confinement(ready.confinement)) else { throw breach("a report of no seal") }
                return
            case .packet, .damaged: throw breach("a packet other than its ready report")
            case .end: throw crash()
            }
        }
        plugin.failed(.hang, during: phase.kind)
        throw end(CoderError(.pluginCrashed, "the plugin's worker was not ready within five seconds"))
    }

    // MARK: Calls

    /// Whether it may serve another session after this one.
    var mayServeAgain: Bool { use.sessions < plugin.sessionsPerWorker }

    /// Whether an idle worker is still running.
    var isStillThere: Bool { isUsable && channel.receive(milliseconds: 0) == .nothing }

    /// Begins another session and resets the shared page.
    ///
    /// A worker moves to the processor that its caller is bound to. The two never run at the same time, and waking a
    /// process on another processor takes longer than many requests. A plugin with threads needs several processors.
    func beginSession() {
        let bound = plugin.threads > 0 ? -1 : host_bound_processor()
        if bound != use.processor {
            process?.shareProcessors()
            use.processor = bound
        }
        use.sessions += 1
        use.hasWorked = false
        page.setCancelled(false)
    }

    /// Sends one request and waits for its reply.
    ///
    /// - Throws: if the process ends, violates the protocol, or must be ended; never for the plugin's own status.
    func call(
        _ type: Int32, _ body: [UInt8], descriptors: [Int32] = [], _ context: SessionContext, sink: PluginSink? = nil
    ) throws(CoderError) -> Reply {
        guard isUsable else { throw life.failure ?? CoderError(.misuse, "the worker has ended") }
        request.sequence &+= 1
        request.phase = WorkerPhase(UInt16(type))
        page.setDeadline(context.deadline)
        page.setWantsProgress(context.wantsProgress)
        var watch = Watch(context)
        try send(UInt16(type), body, descriptors, &watch)
        var rest: [UInt8] = []
        while true {
            switch channel.receive(milliseconds: Self.tick) {
            case .nothing:
                try look(&watch)
                continue
            case .end: throw crash()
            case .damaged: throw breach("an invalid packet")
            case .packet: break
            }
            let header = channel.header
            guard header.session == number else { throw breach("a reply for session \(header.session)") }
            guard header.sequence == request.sequence else { throw breach("a reply to another request") }
            guard header.descriptors == 0 else { throw breach("unrequested descriptors") }
            switch Int32(header.type) {
            case ISO_LOG: try note(context)
            case ISO_PROGRESS:
                guard let progress = channel.load(iso_progress.self) else { throw breach("a short packet") }
                context.progress(Int(clamping: progress.done), Int(clamping: progress.total))
            case ISO_WRITE, ISO_WRITE_AT:
                guard let sink else { throw breach("unrequested output") }
                try write(to: sink, &watch)
            case ISO_VIOLATION:
                let violation = channel.load(iso_violation.self)
                throw forbidden(violation.map { Int($0.system_call) } ?? -1)
            case ISO_REPLY:
                guard rest.count + Int(header.length) <= Int(ISO_MESSAGE_LIMIT) else {
                    throw breach("an endless reply")
                }
                rest += channel.withBody { copyBytes($0) }
                if header.more != 0 {
                    guard header.length > 0 else { throw breach("an endless reply") }
                    try look(&watch)
                    continue
                }
                guard var head = wireStruct(iso_reply(), rest) else { throw breach("a short reply") }
                rest.removeFirst(MemoryLayout<iso_reply>.size)
                if head.written > 0 { try write(&rest, to: sink, &head) }
                if head.status == CPI_OK, [ISO_DECODE, ISO_FINISH, ISO_REWRITE, ISO_TRANSCODE].contains(type) {
                    use.hasWorked = true
                }
                return Reply(head: head, rest: rest)
            default: throw breach("a packet of kind \(header.type)")
            }
            // Endless log messages must not extend the wait.
            try look(&watch)
        }
    }

    private func send(
        _ type: UInt16, _ body: [UInt8], _ descriptors: [Int32], _ watch: inout Watch
    ) throws(CoderError) {
        var at = 0
        repeat {
            let end = min(body.count, at + WorkerChannel.bodyLimit)
            var header = iso_header()
            header.type = type
            header.session = number
            header.sequence = request.sequence
            header.more = end < body.count ? 1 : 0
            var departure = WorkerChannel.Departure.waiting
            while departure == .waiting {
                departure = body.withSpan { bytes in
                    channel.send(
                        header, bytes.extracting(at..<end), descriptors: at == 0 ? descriptors : [],
                        milliseconds: Self.tick)
                }
                if departure == .waiting { try look(&watch) }
            }
            if departure == .gone { throw crash() }
            at = end
        } while at < body.count
    }

    private func note(_ context: SessionContext) throws(CoderError) {
        guard let log = channel.load(iso_log.self) else { throw breach("a short packet") }
        let text = channel.withBody { body in
            let start = MemoryLayout<iso_log>.size
            let count = min(Int(log.length), Int(ISO_WARNING_LIMIT), body.byteCount - start)
            return copyBytes(body.extracting(start..<start + count))
        }
        context.warn(bytes: text)
    }

    private func write(to sink: PluginSink, _ watch: inout Watch) throws(CoderError) {
        let isAt = channel.header.type == UInt16(ISO_WRITE_AT)
        guard let write = channel.load(iso_write.self),
            write.length == UInt64(channel.header.length) - UInt64(MemoryLayout<iso_write>.size)
        else { throw breach("output with a wrong length") }
        let status = channel.withBody { body in
            sink.write(body.extracting(MemoryLayout<iso_write>.size..<body.byteCount), at: isAt ? write.offset : nil)
        }
        var answer = iso_written()
        answer.status = status
        try send(UInt16(ISO_WRITTEN), wireBytes(answer), [], &watch)
    }

    /// Writes the output at the end of a reply.
    private func write(_ rest: inout [UInt8], to sink: PluginSink?, _ head: inout iso_reply) throws(CoderError) {
        guard let sink else { throw breach("unrequested output") }
        guard rest.count >= Int(head.written) else { throw breach("output with a wrong length") }
        let status = rest.suffix(Int(head.written)).withSpan { sink.write($0, at: nil) }
        rest.removeLast(Int(head.written))
        if status != CPI_OK, head.status >= 0 { head.status = status }
    }

    // MARK: Watching

    /// The state of a waiting call.
    private struct Watch {
        let context: SessionContext
        /// When to end the process; 0 while there is no reason.
        var end: UInt64 = 0

        init(_ context: SessionContext) { self.context = context }
    }

    /// Asks the plugin to stop if necessary, and ends the process if it does not.
    private func look(_ watch: inout Watch) throws(CoderError) {
        let context = watch.context
        let now = monotonicNow()
        if watch.end == 0 {
            if context.isCancelled {
                page.setCancelled(true)
                watch.end = now + Self.graceAfterCancel
            } else if context.isLate {
                watch.end = now + Self.graceAfterDeadline
            }
            return
        }
        guard now > watch.end else { return }
        if context.isCancelled { throw end(CoderError(.cancelled, "the session was cancelled")) }
        // A short time limit of the caller is not the plugin's fault.
        if context.limits.maxMilliseconds >= Self.patience { plugin.failed(.hang, during: phase.kind) }
        var late = SessionContext.late(context.limits)
        late.message += ", and the plugin did not stop: its worker was ended"
        throw end(late)
    }

    // MARK: Failures

    /// Ends the process with an error that later calls throw too.
    private func end(_ reason: CoderError) -> CoderError {
        life.failure = reason
        end()
        return reason
    }

    /// Ends the process because it violated the protocol; returns the error to throw.
    func breach(_ what: String) -> CoderError {
        plugin.failed(.violation, during: phase.kind)
        return end(
            CoderError(
                .pluginFault, "the worker was ended: it sent \(what)", hint: "the plugin may be malicious; remove it"))
    }

    /// The error for a forbidden system call.
    private func forbidden(_ number: Int) -> CoderError {
        plugin.failed(.violation, during: phase.kind)
        return end(
            CoderError(
                .pluginCrashed,
                "the plugin tried \(SystemCall.name(number)) while \(phase.text), which the sandbox forbids",
                hint: "the plugin may be malicious, or the file is crafted: remove the plugin, or report it"))
    }

    /// The error for a process that ended on its own.
    private func crash() -> CoderError {
        // A last report may be waiting in the socket.
        life.isUsable = false
        let ending = zygote.ending(of: self)
        process?.kill()
        if case .violation(let call) = ending { return forbidden(call) }
        var error = CoderError(
            .pluginCrashed, "the plugin \(ending.text) while \(phase.text)",
            hint: "the file may be crafted: report it to the plugin's author; nothing else is affected")
        switch ending {
        case .signal(SIGSYS):
            error.message =
                "the plugin tried to start a thread or a process while \(phase.text), which the sandbox forbids"
            error.hint = "the manifest must declare threads (isolation.threads)"
            plugin.failed(.violation, during: phase.kind)
        case .signal(SIGKILL) where zygote.shortages > origin.shortages:
            error = CoderError(
                .limitExceeded, "the plugin's workers together exceeded their memory limit",
                hint: "raise the memory limit (--limits memory=BYTES) if the file is trusted")
        case .signal(SIGKILL):
            // Only the system or a user sends this signal.
            error.message = "the plugin's worker was killed while \(phase.text)"
            error.hint = "the system may be short of memory; try again"
            error.isTransient = true
        case .exit(Int32(ISO_EXIT_RESOURCES)) where Machine.refusesMemory, .signal(SIGABRT) where Machine.refusesMemory:
            // Libraries and the worker end like this when an allocation fails, which is expected under memory limits.
            error = CoderError(
                .outOfMemory, "the plugin \(ending.text) while \(phase.text), and allocations of this process can fail",
                hint: "raise the limits of this process (ulimit -v, ulimit -d), or free memory")
        default: plugin.failed(.crash, during: phase.kind)
        }
        life.failure = error
        return error
    }
}

/// What a worker was doing when it ended.
struct WorkerPhase: Sendable, Hashable {
    var text: String
    var kind: Quarantine.Phase

    init(_ type: UInt16) {
        kind =
            switch Int32(type) {
            case ISO_LOAD: .load
            case ISO_OPEN_ENCODER...ISO_TRANSCODE: .encode
            default: .decode
            }
        text =
            switch Int32(type) {
            case ISO_LOAD: "it was loading"
            case ISO_READY, ISO_FORK: "it was being prepared"
            case ISO_OPEN_DECODER: "it opened the image or read its header"
            case ISO_OPEN_ENCODER: "a session was opened"
            case ISO_READ_HEADER: "it read the header"
            case ISO_BLOB: "it read metadata"
            case ISO_NEXT_FRAME, ISO_SEEK_FRAME: "it looked for a frame"
            case ISO_DECODE: "it decoded"
            case ISO_ITEM_DESCRIBE, ISO_ITEM_SELECT, ISO_ITEM_COUNT: "it looked for an item"
            case ISO_REWRITE, ISO_TRANSCODE: "it rewrote the file"
            case ISO_ACCEPT, ISO_BEGIN, ISO_ADD_BLOB, ISO_ADD_THUMBNAIL: "it prepared to encode"
            case ISO_ADD_FRAME, ISO_BEGIN_ROWS, ISO_ADD_ROWS, ISO_NEXT_ITEM, ISO_FINISH: "it encoded"
            case ISO_CLOSE: "a session was closed"
            default: "it handled a request"
            }
    }
}
