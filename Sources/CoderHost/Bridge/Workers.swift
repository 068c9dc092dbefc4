import CHostSystem
import Glibc
import Synchronization

/// Does pieces of work side by side.
///
/// - Parameters:
///   - count: `body` is called with 0 ..< count, each once, begun in this order.
///   - threads: how many at a time.
///   - isBound: Whether each thread is bound to a processor of its own, where there is one for each and work for all.
package func sideBySide(
    _ count: Int, threads: Int, isBound: Bool = false, _ body: @escaping @Sendable (Int) -> Void
) {
    let isBound = isBound && threads > 1 && threads == processorCount && count >= threads
    let work = Work(count, isBound: isBound, body)
    // The calling thread is one of them, unless that would leave it bound.
    let helpers = ((isBound ? 0 : 1)..<max(1, min(count, threads))).compactMap { _ in Helper(work) }
    if !isBound || helpers.isEmpty { work.run() }
    for helper in helpers { helper.join() }
}

/// The processors that the calling thread may use, whether it is bound to one of them or not.
package var processorCount: Int {
    max(1, Int(host_processor_count()))
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

    /// What a helper does.
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

/// A thread that helps with the work.
@safe private struct Helper {
    private let thread: pthread_t

    /// Nil when the system has no thread to give: the others do its part.
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
