import CCoderPlugin
import CHostSystem
import Glibc
import HostSystem
import ImageModel
import ImageProcessing

/// The input of a worker: a file, or memory that the worker cannot change.
// Sendable because: written bytes are never written again.
@safe final class SourceShare: @unchecked Sendable {
    private let file: File
    /// `CPI_SOURCE_…`
    let kind: UInt32
    let capacity: Int
    /// The writable mapping for further bytes; nil for complete input.
    private let memory: UnsafeMutableRawPointer?

    var descriptor: Int32 { file.descriptor }

    init(_ file: File, kind: UInt32, count: Int) {
        self.file = file
        self.kind = kind
        capacity = count
        unsafe memory = nil
    }

    /// Copies bytes into memory that only this process can write to.
    ///
    /// - Parameter grows: whether the input will grow, up to `capacity`.
    init(copying bytes: RawSpan, capacity: Int, grows: Bool) throws(CoderError) {
        let room = max(1, capacity)
        let descriptor = unsafe host_shared_memory("coderhost-input", UInt64(room), 1)
        let lack = CoderError(.outOfMemory, "no memory to share \(capacity) bytes of input with a worker")
        guard descriptor >= 0 else { throw lack }
        file = File(descriptor: descriptor)
        kind = grows ? CPI_SOURCE_GROWING : CPI_SOURCE_MEMORY
        self.capacity = room
        guard let mapped = unsafe mmap(nil, room, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0),
            unsafe mapped != MAP_FAILED
        else { throw lack }
        unsafe bytes.withUnsafeBytes {
            unsafe mapped.copyMemory(from: $0.baseAddress ?? UnsafeRawPointer(mapped), byteCount: $0.count)
        }
        // After this call, only the existing mapping can write.
        guard host_forbid_writing(descriptor) == 0 else {
            unsafe munmap(mapped, room)
            throw lack
        }
        if grows {
            unsafe memory = mapped
        } else {
            unsafe munmap(mapped, room)
            unsafe memory = nil
        }
    }

    deinit { if let memory = unsafe memory { unsafe munmap(memory, capacity) } }

    func write(_ bytes: [UInt8], at offset: Int) {
        guard let memory = unsafe memory, offset >= 0, bytes.count <= capacity - offset else { return }
        unsafe bytes.withUnsafeBytes { source in
            if let base = source.baseAddress {
                unsafe (memory + offset).copyMemory(from: base, byteCount: source.count)
            }
        }
    }
}
