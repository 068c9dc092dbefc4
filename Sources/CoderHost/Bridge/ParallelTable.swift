import CCoderPlugin
import Synchronization

/// The host's threads as a plugin in this process sees them (`cpi_parallel_api`).
enum ParallelTable {
    // Written once, before anybody reads it, and never again.
    nonisolated(unsafe) static let pointer: UnsafePointer<cpi_parallel_api> = {
        let table = UnsafeMutablePointer<cpi_parallel_api>.allocate(capacity: 1)
        unsafe table.initialize(
            to: cpi_parallel_api(
                table: cpi_table(
                    size: UInt32(MemoryLayout<cpi_parallel_api>.size), rev: 1, tag: CPI_EXT_PARALLEL_TAG),
                run: { services, count, task, argument in
                    unsafe ParallelRun(services, task, argument).run(count)
                }))
        return unsafe UnsafePointer(table)
    }()
}

/// One call of `run`: the tasks that are left, and the first that failed.
// Sendable because: the pointers are valid during the call, and what changes is behind a lock or atomic.
@safe private final class ParallelRun: @unchecked Sendable {
    private let services: UnsafePointer<cpi_services>
    private let task: cpi_task
    private let argument: UnsafeMutableRawPointer?
    private let freeThreads: Mutex<[UInt32]>
    private let failure = Mutex<(index: Int, status: cpi_status)?>(nil)
    private let threads: Int

    init(_ services: UnsafePointer<cpi_services>, _ task: @escaping cpi_task, _ argument: UnsafeMutableRawPointer?) {
        unsafe self.services = services
        unsafe self.task = task
        unsafe self.argument = argument
        unsafe threads = Int(services.pointee.thread_hint(services.pointee.ctx))
        freeThreads = Mutex(Array((0..<UInt32(clamping: threads)).reversed()))
    }

    func run(_ count: UInt32) -> cpi_status {
        sideBySide(Int(count), threads: threads) { self.runTask($0) }
        return failure.withLock { $0?.status } ?? CPI_OK
    }

    private func runTask(_ index: Int) {
        if failure.withLock({ $0 != nil }) { return }
        var status = unsafe services.pointee.poll(services.pointee.ctx)
        if status == CPI_OK {
            let thread = freeThreads.withLock { $0.removeLast() }
            status = unsafe task(argument, UInt32(index), thread)
            freeThreads.withLock { $0.append(thread) }
        }
        if status >= 0 { return }
        failure.withLock { if $0.map({ index < $0.index }) ?? true { $0 = (index, status) } }
    }
}
