import CCoderPlugin
import Glibc
import HostSystem
import struct Synchronization.Atomic

/// The host threads that the kit provides to a plugin: `coderhost.parallel/1`.
enum HostThreads {
    /// The number of times a plugin has used them.
    static let uses = Atomic<Int>(0)
    /// The threads that currently run tasks.
    private static let busy = Mutex<Set<pthread_t>>([])
    /// The number of calls from tasks that only the session's thread may make.
    static let strayCalls = Atomic<Int>(0)

    /// Counts a call as stray if it is not made by the session's thread.
    static func expectSessionThread() {
        if busy.withLock({ $0.contains(pthread_self()) }) { strayCalls.add(1, ordering: .relaxed) }
    }

    /// Returns the table; NULL for any other id.
    static func table(_ id: UnsafePointer<CChar>) -> UnsafeRawPointer? {
        guard unsafe String(cString: id) == CPI_EXT_PARALLEL else { return nil }
        return unsafe UnsafeRawPointer(lent)
    }

    /// Never freed, because a plugin keeps it for its lifetime.
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

    /// Each thread runs a fixed share of the tasks; with more than one thread, the last tasks run first.
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
