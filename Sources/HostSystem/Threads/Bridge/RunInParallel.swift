import CHostSystem
import Glibc
import Synchronization

/// Runs pieces of work in parallel.
///
/// - Parameters:
///   - count: the number of calls of `body`, with 0 ..< count, started in this order.
///   - threads: the number of threads.
///   - isBound: whether to bind each thread to its own processor, if there are enough processors and work for all.
package func runInParallel(
    _ count: Int, threads: Int, isBound: Bool = false, _ body: @escaping @Sendable (Int) -> Void
) {
    let isBound = isBound && threads > 1 && threads == Machine.processorCount && count >= threads
    let work = Work(count, isBound: isBound, body)
    // The calling thread takes part, unless it would remain bound to a processor.
    let helpers = ((isBound ? 0 : 1)..<max(1, min(count, threads))).compactMap { _ in Helper(work) }
    if !isBound || helpers.isEmpty { work.run() }
    for helper in helpers { helper.join() }
}

private final class Work: Sendable {
    private let count: Int
    private let body: @Sendable (Int) -> Void
    private let next = Atomic<Int>(0)
    private let isBound: Bool
    private let bound = Atomic<Int>(0)

    init(_ count: Int, isBound: Bool, _ body: @escaping @Sendable (Int) -> Void) {
        self.count = count
        self.isBound = isBound
        self.body = body
    }

    /// Runs on a helper thread.
    func help() {
        if isBound { _ = host_bind_processor(Int32(bound.add(1, ordering: .relaxed).oldValue)) }
        run()
    }

    func run() {
        while true {
            let index = next.add(1, ordering: .relaxed).oldValue
            if index >= count { return }
            body(index)
        }
    }
}

/// A helper thread.
@safe private struct Helper {
    private let thread: pthread_t

    /// Starts a thread; nil if the system cannot create one, then the others do its part.
    init?(_ work: Work) {
        let context = unsafe Unmanaged.passRetained(work)
        let thread = unsafe ThreadStack.start(context.toOpaque()) { context in
            unsafe Unmanaged<Work>.fromOpaque(context!).takeRetainedValue().help()
            return nil
        }
        guard let thread else {
            unsafe context.release()
            return nil
        }
        self.thread = thread
    }

    func join() { pthread_join(thread, nil) }
}
