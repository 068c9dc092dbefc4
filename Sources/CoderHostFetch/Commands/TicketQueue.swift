import ImageProcessing
import HostSystem

/// Admits callers in ticket order. Every caller must call ``leave(_:)`` exactly once.
///
/// - Concurrency: any thread; ``wait(for:)`` suspends its task and blocks no thread.
final class TicketQueue: Sendable {
    private struct State {
        var next = 0
        var gone: Set<Int> = []
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
    }

    private let state = Mutex(State())

    /// Waits until all callers with smaller tickets have left.
    func wait(for number: Int) async {
        await withCheckedContinuation { continuation in
            let isAdmitted = state.withLock { state in
                if state.next >= number { return true }
                state.waiting[number] = continuation
                return false
            }
            if isAdmitted { continuation.resume() }
        }
    }

    /// Releases a ticket. Call it once for every ticket, even without ``wait(for:)``.
    func leave(_ number: Int) {
        let admitted = state.withLock { state in
            state.gone.insert(number)
            while state.gone.remove(state.next) != nil { state.next += 1 }
            return state.waiting.removeValue(forKey: state.next)
        }
        admitted?.resume()
    }
}
