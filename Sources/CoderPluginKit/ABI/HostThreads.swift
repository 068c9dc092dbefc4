internal import CCoderPlugin
public import ImageModel

/// The host's threads: the function of `cpi_parallel_api`, available after the entry call.
@safe enum HostThreads {
    typealias Run =
        @convention(c) (
            UnsafePointer<cpi_services>, UInt32, @escaping cpi_task, UnsafeMutableRawPointer?
        ) -> cpi_status

    // Written once, by the entry function, before any session exists.
    private(set) nonisolated(unsafe) static var run: Run?

    /// Reads the table from a host.
    @unsafe
    static func adopt(_ host: cpi_host) {
        guard let get = unsafe host.get, let found = unsafe get(host.ctx, CPI_EXT_PARALLEL) else { return }
        let table = unsafe found.assumingMemoryBound(to: cpi_parallel_api.self)
        guard unsafe table.pointee.table.tag == CPI_EXT_PARALLEL_TAG,
            unsafe Int(table.pointee.table.size) >= MemoryLayout<cpi_parallel_api>.size
        else { return }
        unsafe run = table.pointee.run
    }
}

extension HostServices {
    /// Runs `body` once for each index in 0 ..< `count`, on up to ``threadHint`` threads in parallel.
    ///
    /// - Parameter body: receives the index and the number of its thread, for scratch memory per thread.
    /// - Throws: the error of the lowest index that failed; `.cancelled` and `.deadlineExceeded`.
    /// - Concurrency: `body` runs on several threads and writes only to memory of its index or thread. Only the calling
    ///   thread may read a source: read the bytes before, or use ``ArrivedBytes``.
    ///
    /// The corresponding C function is `cpi_parallel_api.run`.
    public func concurrently(
        _ count: Int, _ body: (_ index: Int, _ thread: Int) throws(CoderError) -> Void
    ) throws(CoderError) {
        guard count > 1, threadHint > 1, let services = unsafe table, let run = unsafe HostThreads.run else {
            for index in 0..<count {
                try checkCancellation()
                try body(index, 0)
            }
            return
        }
        let failures = Failures(count)
        let status = withoutActuallyEscaping(body) { body -> cpi_status in
            var work = Work(body: body, failures: failures)
            return unsafe withUnsafeMutablePointer(to: &work) { work in
                unsafe run(
                    services, UInt32(clamping: count),
                    { context, index, thread in
                        let work = unsafe context!.assumingMemoryBound(to: Work.self)
                        do throws(CoderError) {
                            try unsafe work.pointee.body(Int(index), Int(thread))
                            return CPI_OK
                        } catch {
                            unsafe work.pointee.failures.note(error, at: Int(index))
                            return error.status < 0 ? error.status : CPI_INTERNAL
                        }
                    }, work)
            }
        }
        if let failure = failures.first { throw failure }
        if let failure = CoderError(callback: status) { throw failure }
    }

    private struct Work {
        let body: (Int, Int) throws(CoderError) -> Void
        let failures: Failures
    }
}

/// The errors of the failed indices.
// Sendable because: every index has its own element, and only the thread that runs the index writes to it.
@safe private final class Failures: @unchecked Sendable {
    private let places: UnsafeMutableBufferPointer<CoderError?>

    init(_ count: Int) {
        unsafe places = .allocate(capacity: count)
        unsafe places.initialize(repeating: nil)
    }

    deinit { unsafe places.deinitialize().deallocate() }

    func note(_ error: CoderError, at index: Int) { unsafe places[index] = error }
    var first: CoderError? { unsafe places.first { $0 != nil } ?? nil }
}
