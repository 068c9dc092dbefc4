internal import CoderPluginKit
internal import ImageModel
internal import JXLShim

/// Runs the tasks of libjxl on the host's threads.
///
/// libjxl aborts the process if its runner reports an error. After a cancellation, this runner therefore reports success;
/// the caller of libjxl reads ``error`` after the call. A decoder must not be used any more then: its other tasks did not
/// run.
/// - Concurrency: the library calls it on the thread of the session, one call at a time.
@safe final class HostRunner {
    private let host: HostServices
    /// Whether tasks may run on several threads of the host.
    private let isParallel: Bool
    /// Whether tasks may be left out after a cancellation. An encoder of libjxl aborts on unfinished data.
    private let maySkip: Bool
    /// The reason for which the host stopped the tasks.
    private(set) var error: CoderError?

    init(_ host: HostServices, isParallel: Bool, maySkip: Bool) {
        (self.host, self.isParallel, self.maySkip) = (host, isParallel, maySkip)
    }

    /// The argument of `function`.
    @unsafe var context: UnsafeMutableRawPointer { unsafe Unmanaged.passUnretained(self).toOpaque() }

    /// The runner for libjxl.
    @unsafe var function: jxl_shim_run {
        return { context, work, begin, task, first, end in
            let runner = unsafe Unmanaged<HostRunner>.fromOpaque(context!).takeUnretainedValue()
            // The library keeps scratch memory for each thread.
            let status = unsafe begin!(work, runner.isParallel ? runner.host.threadHint : 1)
            if status == 0 { unsafe runner.run(work, task!, first..<max(first, end)) }
            return status
        }
    }

    @unsafe
    private func run(
        _ work: UnsafeMutableRawPointer?, _ task: @convention(c) (UnsafeMutableRawPointer?, UInt32, Int) -> Void,
        _ range: Range<UInt32>
    ) {
        let isDone = TaskFlags(range.count)
        if error == nil {
            do throws(CoderError) {
                if isParallel, range.count > 1 {
                    try host.concurrently(range.count) { index, thread throws(CoderError) in
                        unsafe task(work, range.lowerBound + UInt32(index), thread)
                        isDone.set(index)
                    }
                } else {
                    for index in 0..<range.count {
                        try host.checkCancellation()
                        unsafe task(work, range.lowerBound + UInt32(index), 0)
                        isDone.set(index)
                    }
                }
            } catch {
                self.error = error
            }
        }
        if error == nil || maySkip { return }
        for index in 0..<range.count where !isDone[index] { unsafe task(work, range.lowerBound + UInt32(index), 0) }
    }
}

/// One flag for each task.
// Sendable because: every index has its own byte, and only the thread that runs the task writes it.
@safe private final class TaskFlags: @unchecked Sendable {
    private let places: UnsafeMutableBufferPointer<Bool>

    init(_ count: Int) {
        unsafe places = .allocate(capacity: max(1, count))
        unsafe places.initialize(repeating: false)
    }

    deinit { unsafe places.deallocate() }

    subscript(index: Int) -> Bool { unsafe places[index] }
    func set(_ index: Int) { unsafe places[index] = true }
}
