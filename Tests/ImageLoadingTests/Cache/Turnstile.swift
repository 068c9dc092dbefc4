import Dispatch
import ImageProcessing
import Synchronization

/// Holds threads up until a test opens it.
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
        // The next one may go, too.
        semaphore.signal()
    }

    /// How many came by.
    var count: Int { state.withLock { $0.count } }

    /// Waits until somebody stands in front of it.
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
