import CCoderPlugin
import Glibc
import HostSystem
import ImageModel
import ImageProcessing
import struct Synchronization.Atomic

/// Input bytes at an address that never changes.
// Sendable because: bytes below `available` are never written again, and `available` is published after the bytes.
@safe package final class SourceStorage: @unchecked Sendable {
    private let memory: UnsafeMutableRawPointer?
    private let capacity: Int
    private let watermark: Atomic<Int>
    private let complete: Atomic<Bool>
    /// A large file that is read on demand; then `memory` is nil.
    private let file: File?
    /// The original file of a complete read, which a worker can map.
    private let original: File?
    private let share = Mutex<SourceShare?>(nil)

    /// The file size above which input is read in pieces: most decoders read it from front to back.
    private static let readPiecewiseFrom = 8 << 20

    /// Copies bytes.
    init(copying bytes: [UInt8]) {
        file = nil
        original = nil
        capacity = bytes.count
        unsafe memory = LargeMemory.allocate(max(1, capacity))
        guard let memory = unsafe memory else {
            watermark = Atomic(0)
            complete = Atomic(true)
            return
        }
        unsafe bytes.withUnsafeBytes {
            unsafe memory.copyMemory(from: $0.baseAddress ?? UnsafeRawPointer(memory), byteCount: $0.count)
        }
        watermark = Atomic(bytes.count)
        complete = Atomic(true)
    }

    /// Reserves address space; pages are allocated as bytes arrive.
    init(capacity: Int) throws(CoderError) {
        file = nil
        original = nil
        self.capacity = capacity
        unsafe memory = LargeMemory.allocate(max(1, capacity))
        watermark = Atomic(0)
        complete = Atomic(false)
        if unsafe memory == nil { throw CoderError(.outOfMemory, "no memory for \(capacity) bytes of input") }
    }

    /// Reads a file to its end.
    init(path: String, maxBytes: Int) throws(CoderError) {
        let file: File
        let size: Int
        let isPipe: Bool
        do throws(SystemError) {
            file = path == "-" ? File(descriptor: dup(STDIN_FILENO)) : try File(reading: path)
            let status = try file.status()
            if status.isDirectory { throw SystemError(EISDIR) }
            size = status.isRegular ? status.size : 0
            isPipe = status.isPipe
        } catch {
            throw Self.error(error, path)
        }
        if maxBytes > 0 && size > maxBytes {
            throw .limit("input", allowed: maxBytes, requested: size)
        }
        if size >= Self.readPiecewiseFrom {
            unsafe memory = nil
            capacity = size
            self.file = file
            original = nil
            watermark = Atomic(size)
            complete = Atomic(true)
            return
        }
        self.file = nil
        // A pipe has no size: the capacity doubles until the end of input.
        var room = size > 0 ? size : 1 << 16
        guard var target = unsafe LargeMemory.allocate(room) else {
            throw CoderError(.outOfMemory, "no memory for \(room) bytes of input")
        }
        if isPipe { Self.wait(for: file) }
        var filled = 0
        while true {
            if filled == room {
                // The size of a regular file can be wrong, as in /proc; read one more byte to find out.
                var probe: UInt8 = 0
                let count = unsafe read(file.descriptor, &probe, 1)
                if count == 0 { break }
                if count < 0 && Self.mayTryAgain(file) { continue }
                guard count > 0, let larger = unsafe LargeMemory.allocate(room * 2) else {
                    let problem = SystemError.last
                    unsafe LargeMemory.release(target, room)
                    throw count < 0 ? Self.error(problem) : CoderError(.outOfMemory, "no memory for the input")
                }
                unsafe larger.copyMemory(from: target, byteCount: filled)
                unsafe larger.storeBytes(of: probe, toByteOffset: filled, as: UInt8.self)
                unsafe LargeMemory.release(target, room)
                unsafe target = larger
                room *= 2
                filled += 1
                unsafe try Self.examine(filled, maxBytes, target, room)
            }
            let count = unsafe read(file.descriptor, target + filled, room - filled)
            if count < 0 {
                if Self.mayTryAgain(file) { continue }
                let problem = SystemError.last
                unsafe LargeMemory.release(target, room)
                throw Self.error(problem)
            }
            if count == 0 { break }
            filled += count
            unsafe try Self.examine(filled, maxBytes, target, room)
        }
        unsafe memory = target
        capacity = room
        original = size > 0 && size == filled ? file : nil
        watermark = Atomic(filled)
        complete = Atomic(true)
    }

    /// Releases the memory and throws if the input exceeds the limit.
    private static func examine(
        _ filled: Int, _ maxBytes: Int, _ memory: UnsafeMutableRawPointer, _ room: Int
    ) throws(CoderError) {
        guard maxBytes > 0 && filled > maxBytes else { return }
        unsafe LargeMemory.release(memory, room)
        throw .limit("input", allowed: maxBytes, requested: filled)
    }

    /// Whether a failed read can be retried; waits if no data was available.
    private static func mayTryAgain(_ file: File) -> Bool {
        if errno == EAGAIN { wait(for: file) } else if errno != EINTR { return false }
        return true
    }

    /// Blocks until input or its end is available; a pipe that was opened without waiting may have no writer yet.
    private static func wait(for file: File) {
        var entry = pollfd(fd: file.descriptor, events: Int16(POLLIN), revents: 0)
        while unsafe poll(&entry, 1, -1) < 0 && errno == EINTR {}
    }

    private static func error(_ error: SystemError, _ path: String = "") -> CoderError {
        switch error.code {
        // Replacement characters for invalid UTF-8 are almost never part of a real name.
        case ENOENT where path.unicodeScalars.contains("\u{FFFD}"):
            CoderError(
                .notFound, "there is no such file, or its name is not UTF-8, which is not supported",
                hint: "rename it, or read it from standard input as -")
        case ENOENT, ENOTDIR: CoderError(.notFound, "there is no such file", hint: "check the path")
        case EISDIR:
            CoderError(.inputOutput, "it is a directory", hint: "pass -r, or name the files in it")
        case EACCES, EPERM: CoderError(.inputOutput, "permission denied", hint: "check its permissions")
        default: CoderError(.inputOutput, "cannot be read: \(error)")
        }
    }

    deinit {
        if let memory = unsafe memory { unsafe LargeMemory.release(memory, max(1, capacity)) }
    }

    var available: Int { watermark.load(ordering: .acquiring) }
    var isComplete: Bool { complete.load(ordering: .acquiring) }

    func append(_ bytes: [UInt8]) throws(CoderError) {
        let start = available
        if isComplete { throw CoderError(.misuse, "the source is already finished") }
        guard let memory = unsafe memory, bytes.count <= capacity - start else {
            throw .limit("input", allowed: capacity, requested: start + bytes.count)
        }
        unsafe bytes.withUnsafeBytes { source in
            if let base = source.baseAddress { unsafe (memory + start).copyMemory(from: base, byteCount: source.count) }
        }
        share.withLock { $0?.write(bytes, at: start) }
        watermark.store(start + bytes.count, ordering: .releasing)
    }

    // MARK: For workers

    /// Returns the source of the bytes for a worker.
    ///
    /// - Throws: `.outOfMemory`.
    func shared() throws(CoderError) -> SourceShare {
        try share.withLock { share throws(CoderError) -> SourceShare in
            if let share { return share }
            let fresh: SourceShare
            if let file {
                fresh = SourceShare(file, kind: CPI_SOURCE_READER, count: capacity)
            } else if let original, (try? original.status().size) == available {
                // The worker maps the file without a copy; if the file is truncated, only the worker dies.
                fresh = SourceShare(original, kind: CPI_SOURCE_MEMORY, count: available)
            } else {
                let count = available
                let view = unsafe UnsafeRawBufferPointer(start: memory, count: count)
                fresh = try SourceShare(
                    copying: unsafe view.bytes, capacity: isComplete ? count : capacity, grows: !isComplete)
            }
            share = fresh
            return fresh
        }
    }

    func finish() { complete.store(true, ordering: .releasing) }

    func bytes(_ range: Range<Int>) -> [UInt8] {
        let part = range.clamped(to: 0..<available)
        if let file { return (try? file.bytes(at: part.lowerBound, count: part.count)) ?? [] }
        guard let memory = unsafe memory, !part.isEmpty else { return [] }
        return unsafe Array(UnsafeRawBufferPointer(start: memory + part.lowerBound, count: part.count))
    }

    /// Calls `body` with a range, clamped to the available bytes.
    func withBytes<R, E: Error>(_ range: Range<Int>, _ body: (RawSpan) throws(E) -> R) throws(E) -> R {
        if file != nil { return try bytes(range).withSpan(body) }
        let part = range.clamped(to: 0..<available)
        let view = unsafe UnsafeRawBufferPointer(start: memory.map { unsafe $0 + part.lowerBound }, count: part.count)
        return try unsafe body(view.bytes)
    }

    /// Returns the source in the form of the contract; valid as long as this object.
    /// - Parameter ending: a string that outlives the call or session (see ``ExtensionHint``).
    func contract(ending: String?) -> cpi_source {
        let complete = isComplete
        return unsafe cpi_source(
            size: UInt32(MemoryLayout<cpi_source>.size),
            kind: file != nil ? CPI_SOURCE_READER : complete ? CPI_SOURCE_MEMORY : CPI_SOURCE_GROWING,
            length: complete ? UInt64(available) : CPI_LENGTH_UNKNOWN,
            bytes: memory.map { unsafe UnsafePointer($0.assumingMemoryBound(to: UInt8.self)) },
            ctx: Unmanaged.passUnretained(self).toOpaque(),
            available: { ctx in unsafe UInt64(SourceStorage.from(ctx).available) },
            complete: { ctx in unsafe SourceStorage.from(ctx).isComplete ? 1 : 0 },
            read_at: { ctx, offset, buffer, count, copied in
                let storage = unsafe SourceStorage.from(ctx)
                // Read before the count, so a source that finishes in between is not taken for a truncated one.
                let complete = storage.isComplete
                let available = UInt64(storage.available)
                let part = offset >= available ? 0 : min(count, available - offset)
                if part > 0, let file = storage.file {
                    // If the file was truncated, pread returns fewer bytes; a mapping would kill the process.
                    let count = unsafe pread(file.descriptor, buffer, Int(part), Int(offset))
                    unsafe copied.pointee = UInt64(max(0, count))
                    return count < 0 ? CPI_IO : CPI_OK
                }
                if part > 0, let memory = unsafe storage.memory {
                    unsafe UnsafeMutableRawPointer(buffer).copyMemory(from: memory + Int(offset), byteCount: Int(part))
                }
                unsafe copied.pointee = part
                return part < count && !complete ? CPI_NEED_INPUT : CPI_OK
            },
            ending: unsafe ending.map { unsafe ExtensionHint.pointer($0) } ?? nil)
    }

    private static func from(_ ctx: UnsafeMutableRawPointer?) -> SourceStorage {
        unsafe Unmanaged<SourceStorage>.fromOpaque(ctx!).takeUnretainedValue()
    }
}
