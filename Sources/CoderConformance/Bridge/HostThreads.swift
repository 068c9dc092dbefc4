import CCoderPlugin
import Glibc
import Synchronization

/// The threads that the kit lends to a plugin: `coderhost.parallel/1` of a host.
enum HostThreads {
    /// How many times a plugin has used them.
    static let uses = Atomic<Int>(0)
    /// The lent threads that run tasks now.
    private static let busy = Mutex<Set<pthread_t>>([])
    /// How many times a task has called what only the session thread may call.
    static let strayCalls = Atomic<Int>(0)

    /// Counts a call that only the session thread may make, where another thread makes it.
    static func expectSessionThread() {
        if busy.withLock({ $0.contains(pthread_self()) }) { strayCalls.add(1, ordering: .relaxed) }
    }

    /// The table; NULL for every other id.
    static func table(_ id: UnsafePointer<CChar>) -> UnsafeRawPointer? {
        guard unsafe String(cString: id) == CPI_EXT_PARALLEL else { return nil }
        return unsafe UnsafeRawPointer(lent)
    }

    /// Never freed: a plugin keeps it as long as it lives.
    nonisolated(unsafe) private static let lent: UnsafeMutablePointer<cpi_parallel_api> = {
        let table = UnsafeMutablePointer<cpi_parallel_api>.allocate(capacity: 1)
        unsafe table.initialize(
            to: cpi_parallel_api(
                table: cpi_table(
                    size: UInt32(MemoryLayout<cpi_parallel_api>.size), rev: 1, tag: CPI_EXT_PARALLEL_TAG),
                run: { services, count, task, arg in
                    unsafe HostThreads.run(services.pointee, Int(count), task, arg)
                }))
        return unsafe table
    }()

    private final class Failures: Sendable {
        let lowest = Mutex<(index: Int, status: cpi_status)?>(nil)

        var isEmpty: Bool { lowest.withLock { $0 == nil } }

        func note(_ index: Int, _ status: cpi_status) {
            lowest.withLock { lowest in
                if index < lowest?.index ?? .max { lowest = (index, status) }
            }
        }
    }

    /// Each thread has a fixed share of the tasks; with more than one thread, the last of them come first.
    private static func run(
        _ services: cpi_services, _ count: Int, _ task: cpi_task, _ arg: UnsafeMutableRawPointer?
    ) -> cpi_status {
        uses.add(1, ordering: .relaxed)
        let threads = unsafe max(1, min(16, Int(services.thread_hint(services.ctx))))
        let failures = Failures()
        Threads.shared(threads) { thread in
            if thread > 0 { _ = busy.withLock { $0.insert(pthread_self()) } }
            defer { _ = busy.withLock { $0.remove(pthread_self()) } }
            for turn in stride(from: thread, to: count, by: threads) where failures.isEmpty {
                let index = threads == 1 ? turn : count - 1 - turn
                let answer = unsafe services.poll(services.ctx)
                let status = unsafe answer == CPI_CONTINUE ? task(arg, UInt32(index), UInt32(thread)) : answer
                if status != CPI_OK { failures.note(index, status < 0 ? status : CPI_INTERNAL) }
            }
        }
        return failures.lowest.withLock { $0?.status } ?? CPI_OK
    }
}
