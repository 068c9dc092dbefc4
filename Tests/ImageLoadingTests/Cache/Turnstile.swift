import Dispatch
import ImageProcessing
import HostSystem

/// Blocks threads until a test opens it.
final class Turnstile: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let state = Mutex((isOpen: false, count: 0, arrivals: [CheckedContinuation<Void, Never>]()))

    func pass() {
        let (isOpen, arrivals) = state.withLock { state in
            state.count += 1
            defer { state.arrivals = [] }
            return (state.isOpen, state.arrivals)
        }
        for arrival in arrivals { arrival.resume() }
        if isOpen { return }
        semaphore.wait()
        // Wake the next thread, too.
        semaphore.signal()
    }

    /// The number of threads that have arrived.
    var count: Int { state.withLock { $0.count } }

    /// Waits until a thread is blocked.
    func arrival() async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.count > 0 { return true }
                state.arrivals.append(continuation)
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    func open() {
        state.withLock { $0.isOpen = true }
        semaphore.signal()
    }
}
