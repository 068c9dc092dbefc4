import CConformance
import Glibc

/// What a check's process and the kit share: where the plugin is, what was refused, how it ended.
@safe final class Board {
    struct Refusal: Hashable {
        enum Kind: Int32 { case process = 1, network, file, system }
        var call: String
        var kind: Kind?
        var path: String
    }

    private let memory: UnsafeMutablePointer<kit_board>
    /// The shared memory, in the process that made it; -1 elsewhere.
    let descriptor: Int32
    private let isMapped: Bool

    /// Makes one, to be handed to a child.
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

    /// The board that the parent handed over; its descriptor is closed.
    static func inherited() -> Board? {
        guard let map = unsafe kit_map(KIT_BOARD_DESCRIPTOR, UInt64(MemoryLayout<kit_board>.size), 1) else {
            return nil
        }
        close(KIT_BOARD_DESCRIPTOR)
        return unsafe Board(map.assumingMemoryBound(to: kit_board.self))
    }

    /// The one of this process.
    static func local() -> Board {
        let board = unsafe kit_local_board()
        unsafe kit_board_begin(board, 0)
        return unsafe Board(board)
    }

    deinit {
        if isMapped { unsafe munmap(memory, MemoryLayout<kit_board>.size) }
        if descriptor >= 0 { close(descriptor) }
    }

    /// Which function of the plugin runs; empty outside.
    var call: String {
        get { unsafe String(cString: kit_board_get_call(memory)) }
        set { unsafe kit_board_call(memory, newValue) }
    }

    /// Which coder is checked.
    var coder: String {
        get { unsafe String(cString: kit_board_get_coder(memory)) }
        set { unsafe kit_board_coder(memory, newValue) }
    }

    /// What the child has to say, and that it came to its end.
    func finish(_ text: String) {
        unsafe kit_board_text(memory, text, text.utf8.count)
        unsafe memory.pointee.finished = memory.pointee.ticket
    }

    /// What the child said; nil when it did not come to its end.
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

    /// Bounds this process; false where the kernel cannot refuse system calls.
    func confine(memory bytes: Int, processorSeconds: Int) -> Bool {
        unsafe kit_confine(
            memory,
            kit_bounds(
                memory: UInt64(bytes), descriptors: 256, file_bytes: 64 << 20,
                processor_seconds: UInt64(processorSeconds))) == 0
    }
}

/// Bytes that all children can see: the pictures they work with.
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

    /// The bytes; the first eight are their number.
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
