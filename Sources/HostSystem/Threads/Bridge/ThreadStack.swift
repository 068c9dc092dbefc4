import CHostSystem
import Glibc

/// The stack size that this package and its codec libraries need on a thread.
package enum ThreadStack {
    /// The bytes that every thread needs; the deepest measured call uses less than a quarter (AVIF in a debug build).
    package static let needed = 1 << 20
    private static let usual = 8 << 20

    /// Raises the stack limit of this process if it is below the usual one.
    ///
    /// - Returns: the limit in bytes if it stays below ``needed``; nil if it suffices.
    package static func shortage() -> Int? {
        let limit = host_raise_stack_limit(UInt64(usual))
        return limit < UInt64(needed) ? Int(limit) : nil
    }

    /// Starts a thread with enough stack; nil if the system cannot create one.
    @unsafe
    package static func start(
        _ context: UnsafeMutableRawPointer,
        _ body: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?
    ) -> UInt? {
        var thread: UInt = 0
        return unsafe host_start_thread(UInt64(needed), body, context, &thread) == 0 ? thread : nil
    }
}
