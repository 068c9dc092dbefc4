import FuzzTargets
import Glibc

/// Numbers that two processes share: the counts of one process remain after it has crashed.
///
/// - Concurrency: one writer.
@safe final class SharedCounters: @unchecked Sendable {
    let descriptor: Int32
    private let place: UnsafeMutableRawPointer
    private static let bytes = 4096

    /// Makes a new ledger, which child processes inherit.
    init() {
        descriptor = anonymousFile([UInt8](repeating: 0, count: Self.bytes), closesOnExec: false)
        unsafe place = Self.map(descriptor)
    }

    /// Opens the inherited ledger.
    init(descriptor: Int32) {
        self.descriptor = descriptor
        unsafe place = Self.map(descriptor)
    }

    deinit {
        unsafe munmap(place, Self.bytes)
        close(descriptor)
    }

    private static func map(_ descriptor: Int32) -> UnsafeMutableRawPointer {
        guard let place = unsafe mmap(nil, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0),
            unsafe place != MAP_FAILED
        else { fatalError("no shared memory") }
        return unsafe place
    }

    subscript(index: Int) -> Int {
        get { unsafe place.load(fromByteOffset: 8 * index, as: Int.self) }
        set { unsafe place.storeBytes(of: newValue, toByteOffset: 8 * index, as: Int.self) }
    }
}
