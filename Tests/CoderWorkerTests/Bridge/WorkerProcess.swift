import CIsolationWire
import CoderWorkerShim
import Glibc
import TestSupport

/// A test cannot continue: the worker is missing or silent.
struct WorkerFailure: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) { self.description = description }
}

/// The way a process ended.
enum Ending: Equatable {
    case exit(Int32)
    case signal(Int32)
}

/// A packet from a socket.
enum Packet {
    case message(type: Int32, body: [UInt8], descriptor: Int32)
    case end
}

/// A started worker process with its control socket.
final class WorkerProcess {
    /// The timeout of a test in milliseconds; not used for measurements.
    static let patience: Int32 = 60_000

    static let path = Repository.worker

    let process: Int32
    private(set) var control: Int32 = -1
    private var guardian: Int32 = -1
    private var sequence: UInt32 = 0
    private var ending: Ending?
    /// The confinement before any plugin code ran.
    var confined: [Int32] = []

    /// - Parameter denying: system calls that are denied to the worker; see `deny-calls.c`.
    init(denying words: String? = nil) throws {
        let denier = try words.map { _ in try Self.denier.get() }
        var socket: Int32 = -1
        var orders: Int32 = -1
        process = unsafe driver_start(denier, words, Self.path, &socket, &orders)
        if process < 0 { throw WorkerFailure("\(Self.path) cannot be started: errno \(-process)") }
        control = socket
        guardian = orders
    }

    /// Built once per process.
    private static let denier = Result { () throws -> String in
        let folder = try PluginBuilder.keptFolder("deny-calls")
        let path = "\(folder)/deny-calls"
        // Built in another place and moved, because another test may be running it.
        let mine = "\(path).\(getpid()).\(UInt64.random(in: 0 ... .max))"
        let source = "\(Repository.root)/Tests/ThirdParty/isolation/deny-calls.c"
        let result = try run(["cc", "-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", source, "-o", mine])
        guard result.status == 0, unsafe rename(mine, path) == 0 else { throw WorkerFailure(result.stderr) }
        return path
    }

    deinit {
        hangUp()
        if ending == nil {
            kill()
            _ = try? end()
        }
    }

    /// Closes the host's end, as the host's death does.
    func hangUp() {
        if control >= 0 { close(control) }
        if guardian >= 0 { close(guardian) }
        control = -1
        guardian = -1
    }

    func kill() { _ = Glibc.kill(process, SIGKILL) }

    /// Asks the worker to end, as a host does that no longer needs it.
    func tellToEnd() { _ = Glibc.kill(process, SIGTERM) }

    /// Waits for the worker's end.
    func end() throws -> Ending {
        if let ending { return ending }
        var status: Int32 = 0
        guard unsafe driver_wait(process, &status, Self.patience) == 1 else {
            throw WorkerFailure("the worker does not end")
        }
        let result: Ending = status & 0x7F == 0 ? .exit((status >> 8) & 0xFF) : .signal(status & 0x7F)
        ending = result
        return result
    }

    /// Waits until no process of the worker is left; they all belong to its session.
    func waitUntilNothingIsLeft() -> Bool {
        for _ in 0..<3000 {
            if driver_count_session(process) == 0 { return true }
            usleep(10_000)
        }
        return false
    }

    var livingProcesses: Int { Int(driver_count_session(process)) }

    func send(_ type: Int32, _ body: [UInt8] = [], descriptors: [Int32] = []) {
        sequence += 1
        // A process that has ended receives nothing; tests check its end.
        unsafe _ = driver_send(
            control, UInt16(type), 0, sequence, body, body.count, descriptors, Int32(descriptors.count))
    }

    func sendBytes(_ bytes: [UInt8]) { unsafe _ = driver_send_bytes(control, bytes, bytes.count) }

    func receive() throws -> Packet { try unsafe receivePacket(control) }

    /// Orders the guardian's seal, with a memory limit if given; returns the guardian's answer.
    func seal(dataBytes: UInt64? = nil) throws -> iso_sealed {
        let order = bytes(
            of: iso_seal(
                data_bytes: dataBytes ?? 0, address_bytes: 0, limits: dataBytes == nil ? 0 : 1, reserved: 0))
        unsafe _ = driver_send(guardian, UInt16(ISO_SEAL), 0, 9, order, order.count, [], 0)
        guard case .message(type: ISO_SEALED, let body, _) = try unsafe receivePacket(guardian) else {
            throw WorkerFailure("the guardian does not answer")
        }
        return try value(iso_sealed.self, in: body)
    }

    /// Permits the zygote one more fork.
    func permitFork() { unsafe _ = driver_send(guardian, UInt16(ISO_PERMIT), 0, 9, [UInt8](), 0, [], 0) }

    /// Returns the forbidden system call that ended all processes after the seal; nil if the guardian reported none.
    func violationBehindTheSeal() throws -> Int32? {
        guard case .message(type: ISO_VIOLATION, let body, _) = try unsafe receivePacket(guardian) else { return nil }
        return try value(iso_violation.self, in: body).system_call
    }
}

/// Receives one message of any number of packets.
@unsafe
func receivePacket(_ socket: Int32) throws -> Packet {
    var all: [UInt8] = []
    var first: Int32 = -1
    while true {
        var header = iso_header()
        var body = [UInt8](repeating: 0, count: Int(ISO_PACKET_LIMIT))
        var descriptor: Int32 = -1
        let result = unsafe driver_receive(socket, &header, &body, &descriptor, WorkerProcess.patience)
        if result == 0 { return .end }
        if result < 0 { throw WorkerFailure("receiving failed: errno \(-result)") }
        all += body[..<Int(header.length)]
        if descriptor >= 0 { first = descriptor }
        if header.more == 0 { return .message(type: Int32(header.type), body: all, descriptor: first) }
    }
}

/// Returns the bytes of a value in the wire format.
func bytes<T: BitwiseCopyable>(of value: T) -> [UInt8] {
    unsafe withUnsafeBytes(of: value) { unsafe Array($0) }
}

/// Reads a value from bytes, which must be long enough.
func value<T: BitwiseCopyable>(_ type: T.Type, in bytes: [UInt8], at offset: Int = 0) throws -> T {
    guard bytes.count - offset >= MemoryLayout<T>.size else { throw WorkerFailure("a body is too short") }
    return unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(fromByteOffset: offset, as: T.self) }
}

/// Returns the text in a field of fixed size.
func text<T: BitwiseCopyable>(_ field: T) -> String {
    String(decoding: bytes(of: field).prefix { $0 != 0 }, as: UTF8.self)
}

/// Memory that can be passed to a worker.
@safe final class SharedMemory {
    let descriptor: Int32
    let count: Int
    private let memory: UnsafeMutableRawPointer?

    init(_ content: [UInt8] = [], capacity: Int? = nil, sealed: Bool = false) throws {
        count = capacity ?? content.count
        descriptor = unsafe driver_memory(content, content.count, count, sealed ? 1 : 0)
        if descriptor < 0 { throw WorkerFailure("no memory: errno \(-descriptor)") }
        unsafe memory = sealed || count == 0 ? nil : driver_map(descriptor, count)
    }

    deinit {
        if let memory = unsafe memory { unsafe driver_unmap(memory, count) }
        close(descriptor)
    }

    var bytes: [UInt8] {
        get { unsafe memory.map { unsafe Array(UnsafeRawBufferPointer(start: $0, count: count)) } ?? [] }
        set {
            guard let memory = unsafe memory, newValue.count <= count else { return }
            unsafe memory.copyMemory(from: newValue, byteCount: newValue.count)
        }
    }

    var shared: iso_shared {
        unsafe memory!.load(as: iso_shared.self)
    }

    func wantProgress() { unsafe driver_want_progress(memory!.assumingMemoryBound(to: iso_shared.self)) }
    func cancel() { unsafe driver_cancel(memory!.assumingMemoryBound(to: iso_shared.self)) }
}
