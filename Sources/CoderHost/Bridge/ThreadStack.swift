import CHostSystem
import Glibc

/// The memory that calls of this package and of codec libraries take on the stack of a thread.
package enum ThreadStack {
    /// Bytes that every thread needs; the deepest call measured takes less than a quarter (AVIF in a debug build).
    package static let needed = 1 << 20
    private static let usual = 8 << 20

    /// Raises the stack limit of this process where it is below the usual one.
    ///
    /// - Returns: the limit in bytes when it stays below ``needed``; nil when it suffices.
    package static func shortage() -> Int? {
        let limit = host_raise_stack_limit(UInt64(usual))
        return limit < UInt64(needed) ? Int(limit) : nil
    }

    /// Starts a thread with enough stack; nil when the system has no thread to give.
    @unsafe
    package static func start(
        _ context: UnsafeMutableRawPointer,
        _ body: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?
    ) -> UInt? {
        var thread: UInt = 0
        return unsafe host_start_thread(UInt64(needed), body, context, &thread) == 0 ? thread : nil
    }
}
