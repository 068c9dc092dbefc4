import CIsolationWire
import CoderWorkerShim
import Glibc
import Testing

/// A plugin's description of itself.
struct Loaded {
    var facts: iso_loaded
    var coders: [iso_coder]

    var id: String { text(facts.id) }
    var message: String { text(facts.error.message) }
    /// One state for each mechanism, in the order of `ISO_NO_NEW_PRIVILEGES …`.
    var states: [Int32] { confinementStates(facts.confinement) }

    init(_ body: [UInt8]) throws {
        let facts = try value(iso_loaded.self, in: body)
        self.facts = facts
        coders = try (0..<Int(facts.coder_count)).map {
            try value(
                iso_coder.self, in: body, at: MemoryLayout<iso_loaded>.size + $0 * MemoryLayout<iso_coder>.size)
        }
    }
}

func confinementStates(_ confinement: iso_confinement) -> [Int32] {
    let raw = bytes(of: confinement.state)
    return (0..<raw.count / 4).map { (try? value(Int32.self, in: raw, at: $0 * 4)) ?? -2 }
}

/// The result of a request.
enum Outcome {
    case reply(Reply)
    case violation(call: Int32, phase: UInt32)
    case end
}

/// The reply to a request, with the bytes that follow it.
struct Reply {
    var status: Int32
    var message: String
    var tail: [UInt8]
    /// The number of output bytes at the end of the tail.
    private var written: Int
    private var union: [UInt8]

    init(_ body: [UInt8]) throws {
        status = try value(Int32.self, in: body)
        let error = MemoryLayout<iso_reply>.offset(of: \.error)!
        message = text(try value(cpi_error.self, in: body, at: error).message)
        union = Array(body[MemoryLayout<iso_reply>.offset(of: \.value)!..<MemoryLayout<iso_reply>.size])
        tail = Array(body[MemoryLayout<iso_reply>.size...])
        written = Int(try value(UInt32.self, in: body, at: MemoryLayout<iso_reply>.offset(of: \.written)!))
        guard written <= tail.count else { throw WorkerFailure("more output than bytes") }
    }

    /// Removes and returns the output bytes.
    mutating func takeOutput() -> [UInt8] {
        defer { tail.removeLast(written) }
        return Array(tail.suffix(written))
    }

    /// Returns the union's member for the request.
    func asked<T: BitwiseCopyable>(_ type: T.Type) throws -> T { try value(T.self, in: union) }
}

/// A sealed process with one session.
final class SealedWorker {
    let socket: Int32
    /// The page shared by both processes.
    let page: SharedMemory
    private(set) var states: [Int32] = []
    let pidfd: Int32
    private var sequence: UInt32 = 0
    private let session: UInt64 = 77

    /// Its log messages.
    private(set) var logs: [String] = []
    private(set) var progress: [iso_progress] = []
    private(set) var output: [UInt8] = []
    private(set) var writes = 0
    /// The status that answers its output.
    var sinkStatus: Int32 = CPI_OK

    init(socket: Int32, page: SharedMemory, pidfd: Int32) throws {
        self.socket = socket
        self.page = page
        self.pidfd = pidfd
        guard case .message(type: ISO_READY, let body, _) = try unsafe receivePacket(socket) else {
            throw WorkerFailure("the worker is not ready")
        }
        states = confinementStates(try value(iso_ready.self, in: body).confinement)
    }

    deinit {
        close(socket)
        if pidfd >= 0 { close(pidfd) }
    }

    func kill() { _ = driver_kill(pidfd, SIGKILL) }

    func send(_ type: Int32, _ body: [UInt8] = [], descriptors: [Int32] = []) {
        sequence += 1
        unsafe _ = driver_send(
            socket, UInt16(type), session, sequence, body, body.count, descriptors, Int32(descriptors.count))
    }

    func sendBytes(_ bytes: [UInt8]) { unsafe _ = driver_send_bytes(socket, bytes, bytes.count) }

    /// Sends a request and serves the worker until the request ends.
    func ask(_ type: Int32, _ body: [UInt8] = [], descriptors: [Int32] = []) throws -> Outcome {
        send(type, body, descriptors: descriptors)
        return try waitForOutcome()
    }

    func waitForOutcome() throws -> Outcome {
        while true {
            guard case .message(let type, let body, _) = try unsafe receivePacket(socket) else { return .end }
            switch type {
            case ISO_REPLY:
                var reply = try Reply(body)
                output += reply.takeOutput()
                return .reply(reply)
            case ISO_VIOLATION:
                let violation = try value(iso_violation.self, in: body)
                return .violation(call: violation.system_call, phase: violation.phase)
            case ISO_LOG: logs.append(String(decoding: body[MemoryLayout<iso_log>.size...], as: UTF8.self))
            case ISO_PROGRESS: progress.append(try value(iso_progress.self, in: body))
            case ISO_WRITE, ISO_WRITE_AT: try take(type, body)
            default: throw WorkerFailure("a packet of type \(type)")
            }
        }
    }

    private func take(_ type: Int32, _ body: [UInt8]) throws {
        let write = try value(iso_write.self, in: body)
        let content = body[MemoryLayout<iso_write>.size...]
        guard UInt64(content.count) == write.length else { throw WorkerFailure("a write has the wrong length") }
        writes += 1
        if type == ISO_WRITE {
            output += content
        } else {
            output.replaceSubrange(Int(write.offset)..<Int(write.offset) + content.count, with: content)
        }
        let answer = bytes(of: iso_written(status: sinkStatus, reserved: 0))
        unsafe _ = driver_send(socket, UInt16(ISO_WRITTEN), session, sequence, answer, answer.count, [], 0)
    }

    /// Sends a request that must get a reply.
    func reply(_ type: Int32, _ body: [UInt8] = [], descriptors: [Int32] = []) throws -> Reply {
        guard case .reply(let reply) = try ask(type, body, descriptors: descriptors) else {
            throw WorkerFailure("request \(type) was not answered")
        }
        return reply
    }
}

extension WorkerProcess {
    /// The folders for the plugins of all tests.
    static let folders = ["/lib", "/lib64", "/usr/lib"]

    /// The result of loading a plugin.
    enum Outcome {
        case loaded(Loaded)
        case violation(call: Int32, phase: UInt32)
        case end
    }

    /// Loads a file; the worker gets a sealed copy.
    func load(
        _ path: String, flags: UInt32 = 0, seconds: UInt32 = 20, dataBytes: UInt64 = 4 << 30,
        folders: [String] = folders, threads: UInt32 = 4
    ) throws -> Outcome {
        guard let content = readWhole(path) else { throw WorkerFailure("\(path) cannot be read") }
        let copy = try SharedMemory(content, sealed: true)
        var load = iso_load()
        load.flags = flags
        load.host_minor = UInt32(CPI_ABI_MINOR)
        load.data_bytes = dataBytes
        load.load_seconds = seconds
        load.max_descriptors = 64
        load.threads = threads
        let names = folders.reduce(into: [UInt8]()) { $0 += Array($1.utf8) + [0] }
        send(ISO_LOAD, bytes(of: load) + names, descriptors: [copy.descriptor])
        guard case .loaded(let confined) = try outcome() else { throw WorkerFailure("it was not confined") }
        #expect(confined.facts.stage == UInt32(ISO_STAGE_CONFINED) && confined.facts.status == CPI_OK)
        self.confined = confined.states
        send(ISO_START)
        return try outcome()
    }

    func probe() throws -> Outcome {
        send(ISO_PROBE)
        return try outcome()
    }

    private func outcome() throws -> Outcome {
        switch try receive() {
        case .message(type: ISO_LOADED, let body, _): return .loaded(try Loaded(body))
        case .message(type: ISO_VIOLATION, let body, _):
            let violation = try value(iso_violation.self, in: body)
            return .violation(call: violation.system_call, phase: violation.phase)
        case .message(let type, _, _): throw WorkerFailure("a packet of type \(type)")
        case .end: return .end
        }
    }

    /// Loads a plugin that must load successfully.
    func loadGood(_ path: String, flags: UInt32 = 0) throws -> Loaded {
        guard case .loaded(let loaded) = try load(path, flags: flags), loaded.facts.status == CPI_OK,
            loaded.facts.stage == UInt32(ISO_STAGE_READY)
        else { throw WorkerFailure("\(path) was not loaded") }
        return loaded
    }

    /// Forks a worker of the loaded plugin.
    func fork(threads: Bool = false, dataBytes: UInt64 = 4 << 30, seconds: UInt32 = 60) throws -> SealedWorker {
        let page = try SharedMemory(capacity: 4096)
        var ends: [Int32] = [-1, -1]
        if unsafe driver_pair(&ends) != 0 { throw WorkerFailure("no socket") }
        var fork = iso_fork()
        fork.worker = 5
        fork.data_bytes = dataBytes
        fork.cpu_seconds = seconds
        fork.threads = threads ? 1 : 0
        _ = try seal(dataBytes: dataBytes)
        permitFork()
        send(ISO_FORK, bytes(of: fork), descriptors: [ends[1], page.descriptor])
        close(ends[1])
        guard case .message(type: ISO_FORKED, let body, let pidfd) = try receive(),
            try value(iso_forked.self, in: body).error == 0, try value(iso_forked.self, in: body).worker == 5
        else { throw WorkerFailure("no worker was forked") }
        return try SealedWorker(socket: ends[0], page: page, pidfd: pidfd)
    }

    /// Lets the process itself become the worker.
    func become() throws -> SealedWorker {
        let page = try SharedMemory(capacity: 4096)
        _ = try seal(dataBytes: 0)
        send(ISO_BECOME, bytes(of: iso_fork()), descriptors: [page.descriptor])
        return try SealedWorker(socket: dup(control), page: page, pidfd: -1)
    }

    /// Waits for the report of the worker's end.
    func endOfWorker() throws -> iso_ended {
        guard case .message(type: ISO_ENDED, let body, _) = try receive() else {
            throw WorkerFailure("the end of the worker is not reported")
        }
        return try value(iso_ended.self, in: body)
    }
}
