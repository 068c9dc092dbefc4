import CConformance
import Glibc

/// The memory shared by the kit and a check's process: the plugin's current call, denied system calls, the result.
@safe final class Board {
    struct Refusal: Hashable {
        enum Kind: Int32 { case process = 1, network, file, system }
        var call: String
        var kind: Kind?
        var path: String
    }

    private let memory: UnsafeMutablePointer<kit_board>
    /// The descriptor of the shared memory in the process that created it; -1 elsewhere.
    let descriptor: Int32
    private let isMapped: Bool

    /// Creates a board to pass to a child.
    init?(ticket: UInt64) {
        descriptor = unsafe kit_memory("conformance-board", UInt64(MemoryLayout<kit_board>.size))
        guard descriptor >= 0, let map = unsafe kit_map(descriptor, UInt64(MemoryLayout<kit_board>.size), 1) else {
            return nil
        }
        unsafe memory = map.assumingMemoryBound(to: kit_board.self)
        isMapped = true
        unsafe kit_board_begin(memory, ticket)
    }

    private init(_ memory: UnsafeMutablePointer<kit_board>) {
        unsafe self.memory = memory
        descriptor = -1
        isMapped = false
    }

    /// Returns the board that the parent passed, and closes its descriptor.
    static func inherited() -> Board? {
        guard let map = unsafe kit_map(KIT_BOARD_DESCRIPTOR, UInt64(MemoryLayout<kit_board>.size), 1) else {
            return nil
        }
        close(KIT_BOARD_DESCRIPTOR)
        return unsafe Board(map.assumingMemoryBound(to: kit_board.self))
    }

    /// Returns a board for use within this process.
    static func local() -> Board {
        let board = unsafe kit_local_board()
        unsafe kit_board_begin(board, 0)
        return unsafe Board(board)
    }

    deinit {
        if isMapped { unsafe munmap(memory, MemoryLayout<kit_board>.size) }
        if descriptor >= 0 { close(descriptor) }
    }

    /// The running plugin function; empty between calls.
    var call: String {
        get { unsafe String(cString: kit_board_get_call(memory)) }
        set { unsafe kit_board_call(memory, newValue) }
    }

    /// The coder under check.
    var coder: String {
        get { unsafe String(cString: kit_board_get_coder(memory)) }
        set { unsafe kit_board_coder(memory, newValue) }
    }

    /// Stores the child's report, and marks that the child reached its end.
    func finish(_ text: String) {
        unsafe kit_board_text(memory, text, text.utf8.count)
        unsafe memory.pointee.finished = memory.pointee.ticket
    }

    /// Returns the child's report; nil if the child did not reach its end.
    func text(for ticket: UInt64) -> String? {
        guard unsafe memory.pointee.finished == ticket else { return nil }
        return unsafe String(cString: kit_board_get_text(memory))
    }

    var refusals: [Refusal] {
        var result: [Refusal] = []
        while let refusal = unsafe kit_board_refusal(memory, UInt32(result.count)) {
            unsafe result.append(
                Refusal(
                    call: String(cString: kit_call_name(refusal.pointee.number)),
                    kind: Refusal.Kind(rawValue: kit_call_kind(refusal.pointee.number)),
                    path: String(cString: kit_refusal_path(refusal))))
        }
        return result
    }

    /// Confines this process; returns false if the kernel has no system call filters.
    func confine(memory bytes: Int, processorSeconds: Int) -> Bool {
        unsafe kit_confine(
            memory,
            kit_bounds(
                memory: UInt64(bytes), descriptors: 256, file_bytes: 64 << 20,
                processor_seconds: UInt64(processorSeconds))) == 0
    }
}

/// Memory shared with all children, for the sample images.
@safe final class SharedBytes {
    private let memory: UnsafeMutableRawPointer
    let descriptor: Int32
    private static let capacity = Int(KIT_SAMPLE_BYTES)

    init?() {
        descriptor = unsafe kit_memory("conformance-samples", UInt64(Self.capacity))
        guard descriptor >= 0, let map = unsafe kit_map(descriptor, UInt64(Self.capacity), 1) else { return nil }
        unsafe memory = map
    }

    private init(_ memory: UnsafeMutableRawPointer) {
        unsafe self.memory = memory
        descriptor = -1
    }

    static func inherited() -> SharedBytes? {
        guard let map = unsafe kit_map(KIT_SAMPLES_DESCRIPTOR, UInt64(capacity), 1) else { return nil }
        close(KIT_SAMPLES_DESCRIPTOR)
        return unsafe SharedBytes(map)
    }

    deinit {
        if descriptor >= 0 {
            unsafe munmap(memory, Self.capacity)
            close(descriptor)
        }
    }

    /// The bytes; the memory begins with their count in eight bytes.
    var bytes: [UInt8] {
        get {
            let count = unsafe min(memory.load(as: Int.self), Self.capacity - 8)
            return unsafe count <= 0 ? [] : Array(UnsafeRawBufferPointer(start: memory + 8, count: count))
        }
        set {
            let count = min(newValue.count, Self.capacity - 8)
            unsafe newValue.withUnsafeBytes {
                if let base = $0.baseAddress { unsafe (memory + 8).copyMemory(from: base, byteCount: count) }
            }
            unsafe memory.storeBytes(of: count, as: Int.self)
        }
    }
}
