import CCoderPlugin
import Glibc
import HostSystem
import ImageProcessing
import struct Synchronization.Atomic

/// The host's thread pool for plugins in this process (`cpi_parallel_api`).
enum ParallelTable {
    // Initialized once before its first use and never changed.
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

/// One call of `run`: the remaining tasks, and the status of the first failed task.
// Sendable because: the pointers are valid during the call, and mutable state is behind a lock or atomic.
@safe private final class ParallelRun: @unchecked Sendable {
    private let services: UnsafePointer<cpi_services>
    private let task: cpi_task
    private let argument: UnsafeMutableRawPointer?
    private let next = Atomic<Int>(0)
    private let hasFailed = Atomic<Bool>(false)
    private let failure = Mutex<(index: Int, status: cpi_status)?>(nil)

    /// A thread-specific value that marks threads while they run tasks.
    private static let mark: pthread_key_t = {
        var key = pthread_key_t()
        unsafe pthread_key_create(&key, nil)
        return key
    }()

    init(_ services: UnsafePointer<cpi_services>, _ task: @escaping cpi_task, _ argument: UnsafeMutableRawPointer?) {
        unsafe self.services = services
        unsafe self.task = task
        unsafe self.argument = argument
    }

    func run(_ count: UInt32) -> cpi_status {
        // Tasks must not call run: threads could wait for each other.
        if unsafe pthread_getspecific(Self.mark) != nil { return CPI_MISUSE }
        let threads = unsafe min(Int(count), max(1, Int(services.pointee.thread_hint(services.pointee.ctx))))
        runInParallel(threads, threads: threads) { self.takePart(UInt32($0), of: Int(count)) }
        return failure.withLock { $0?.status } ?? CPI_OK
    }

    /// Runs tasks until none is left or one has failed.
    private func takePart(_ thread: UInt32, of count: Int) {
        unsafe pthread_setspecific(Self.mark, UnsafeRawPointer(bitPattern: 1))
        defer { pthread_setspecific(Self.mark, nil) }
        while !hasFailed.load(ordering: .relaxed) {
            let index = next.add(1, ordering: .relaxed).oldValue
            if index >= count { return }
            var status = unsafe services.pointee.poll(services.pointee.ctx)
            if status == CPI_OK { status = unsafe task(argument, UInt32(index), thread) }
            if status == CPI_OK { continue }
            hasFailed.store(true, ordering: .relaxed)
            // A positive status is not a success for a task.
            let code = status < 0 ? status : CPI_INTERNAL
            failure.withLock { if $0.map({ index < $0.index }) ?? true { $0 = (index, code) } }
        }
    }
}
