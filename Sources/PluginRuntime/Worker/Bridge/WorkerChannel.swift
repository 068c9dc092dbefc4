import CHostSystem
import CIsolationWire
import Glibc
import HostSystem

/// One end of the connection to an isolated process.
///
/// Checks the envelope of every packet; the receiver checks the body.
/// - Concurrency: one thread at a time.
// Sendable because: a channel has one owner.
@safe final class WorkerChannel: @unchecked Sendable {
    let descriptor: Int32
    private let takesDescriptors: Bool
    private let buffer: UnsafeMutableRawPointer
    /// The last received packet.
    private(set) var header = iso_header()
    private(set) var descriptors: [Int32] = []

    /// The result of waiting for a packet.
    enum Arrival { case packet, nothing, end, damaged }
    /// The result of sending a packet.
    enum Departure { case sent, waiting, gone }

    private static let headerBytes = MemoryLayout<iso_header>.size
    static let bodyLimit = Int(ISO_PACKET_LIMIT) - headerBytes

    /// Takes ownership of a descriptor.
    ///
    /// - Parameter takesDescriptors: Whether packets may contain descriptors; if not, the kernel closes them and the
    ///   packet counts as damaged.
    init(descriptor: Int32, takesDescriptors: Bool = true) {
        self.descriptor = descriptor
        self.takesDescriptors = takesDescriptors
        unsafe buffer = .allocate(byteCount: Int(ISO_PACKET_LIMIT), alignment: 16)
    }

    deinit {
        closeDescriptors()
        close(descriptor)
        unsafe buffer.deallocate()
    }

    private func closeDescriptors() {
        for descriptor in descriptors { close(descriptor) }
        descriptors = []
    }

    /// Transfers the descriptors of the last packet to the caller, who must close them.
    func takeDescriptors() -> [Int32] {
        defer { descriptors = [] }
        return descriptors
    }

    // MARK: Sending

    /// Sends one packet; returns `.waiting` if the socket stayed full until the timeout.
    func send(_ header: iso_header, _ body: RawSpan, descriptors: [Int32] = [], milliseconds: Int32) -> Departure {
        var header = header
        header.magic = ISO_MAGIC
        header.version = ISO_VERSION
        header.length = UInt32(body.byteCount)
        header.descriptors = UInt32(descriptors.count)
        let count = unsafe body.withUnsafeBytes { body in
            unsafe host_send_packet(
                descriptor, &header, Self.headerBytes, body.baseAddress, body.count, descriptors,
                UInt32(descriptors.count), milliseconds)
        }
        if count >= 0 { return .sent }
        return errno == EAGAIN ? .waiting : .gone
    }

    // MARK: Receiving

    /// Waits for a packet.
    func receive(milliseconds: Int32) -> Arrival {
        closeDescriptors()
        var received: [Int32] = [-1, -1, -1, -1]
        var number: UInt32 = takesDescriptors ? UInt32(received.count) : 0
        let count = unsafe host_receive_packet(
            descriptor, buffer, Int(ISO_PACKET_LIMIT), &received, &number, milliseconds)
        if count < 0 { return errno == EAGAIN ? .nothing : errno == EMSGSIZE ? .damaged : .end }
        if count == 0 { return .end }
        descriptors = Array(received.prefix(Int(number)))
        guard count >= Self.headerBytes else { return .damaged }
        header = unsafe buffer.loadUnaligned(as: iso_header.self)
        guard header.magic == ISO_MAGIC, header.version == ISO_VERSION,
            Int64(header.length) == count - Int64(Self.headerBytes), header.more <= 1, header.descriptors == number
        else { return .damaged }
        return .packet
    }

    /// Calls `body` with the body of the last packet.
    func withBody<R, E: Error>(_ body: (RawSpan) throws(E) -> R) throws(E) -> R {
        let view = unsafe UnsafeRawBufferPointer(start: buffer + Self.headerBytes, count: Int(header.length))
        return try unsafe body(view.bytes)
    }

    /// Reads a struct from the start of the last body; nil if the body is shorter.
    func load<T: BitwiseCopyable>(_ type: T.Type) -> T? {
        guard Int(header.length) >= MemoryLayout<T>.size else { return nil }
        return unsafe (buffer + Self.headerBytes).loadUnaligned(as: type)
    }
}

/// Returns the bytes of a wire struct, followed by `rest`.
func wireBytes<T>(_ head: T, _ rest: [UInt8] = []) -> [UInt8] {
    unsafe withUnsafeBytes(of: head) { unsafe Array($0) } + rest
}

/// Reads a struct from bytes; nil if there are too few.
///
/// - Parameter empty: a struct of the C interface without pointers, which is overwritten with the bytes.
func wireStruct<T>(_ empty: T, _ bytes: [UInt8], at offset: Int = 0) -> T? {
    guard offset >= 0, bytes.count - offset >= MemoryLayout<T>.size else { return nil }
    var result = empty
    unsafe withUnsafeMutableBytes(of: &result) { target in
        unsafe target.copyBytes(from: bytes[offset..<offset + MemoryLayout<T>.size])
    }
    return result
}

/// Reads a fixed-size text field without reading beyond it; replaces control characters of the untrusted text.
func wireText<T>(_ field: T) -> String {
    unsafe withUnsafeBytes(of: field) { bytes in
        let text = unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        return String(text.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : Character($0) })
    }
}

/// Writes text to a fixed-size wire field, truncated so that a NUL remains.
func setWireText<T>(_ field: inout T, _ text: String) {
    unsafe withUnsafeMutableBytes(of: &field) { bytes in
        let utf8 = text.utf8.prefix(bytes.count - 1)
        unsafe bytes.copyBytes(from: utf8)
    }
}

/// A memory page shared by host and worker.
// Sendable because: all accesses are atomic.
@safe final class SharedPage: @unchecked Sendable {
    let descriptor: Int32
    private let page: UnsafeMutablePointer<iso_shared>
    private static let bytes = 4096

    /// Creates a page; nil without memory or descriptors.
    init?() {
        let descriptor = unsafe host_shared_memory("coderhost-page", UInt64(Self.bytes), 0)
        guard descriptor >= 0 else { return nil }
        guard let memory = unsafe mmap(nil, Self.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0),
            unsafe memory != MAP_FAILED
        else {
            close(descriptor)
            return nil
        }
        self.descriptor = descriptor
        unsafe page = memory.bindMemory(to: iso_shared.self, capacity: 1)
    }

    deinit {
        unsafe munmap(page, Self.bytes)
        close(descriptor)
    }

    func setCancelled(_ isCancelled: Bool) { unsafe host_store_word(&page.pointee.cancelled, isCancelled ? 1 : 0) }
    func setWantsProgress(_ isWanted: Bool) { unsafe host_store_word(&page.pointee.progress, isWanted ? 1 : 0) }
    func setDeadline(_ deadline: UInt64) { unsafe host_store_long(&page.pointee.deadline, deadline) }

    /// The system calls that were refused without ending the worker, if recorded.
    var refused: [Int] {
        let count = unsafe min(64, Int(host_load_word(&page.pointee.refused_count)))
        return unsafe withUnsafeBytes(of: page.pointee.refused) { bytes in
            (0..<count).map { unsafe Int(bytes.load(fromByteOffset: $0 * 4, as: UInt32.self)) }
        }
    }
}
