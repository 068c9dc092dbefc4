import Dispatch
import ImageProcessing
import HostSystem

/// Admits callers in ticket order. Every caller must call ``leave(_:)`` exactly once.
///
/// - Concurrency: any thread; ``wait(for:)`` blocks it.
final class TicketQueue: Sendable {
    private struct State {
        var next = 0
        var gone: Set<Int> = []
        var waiting: [Int: DispatchSemaphore] = [:]
    }

    private let state = Mutex(State())

    /// Waits until all callers with smaller tickets have left.
    func wait(for number: Int) {
        let place = state.withLock { state -> DispatchSemaphore? in
            if state.next >= number { return nil }
            let place = DispatchSemaphore(value: 0)
            state.waiting[number] = place
            return place
        }
        place?.wait()
    }

    /// Releases a ticket. Call it once for every ticket, even without ``wait(for:)``.
    func leave(_ number: Int) {
        let place = state.withLock { state in
            state.gone.insert(number)
            while state.gone.remove(state.next) != nil { state.next += 1 }
            return state.waiting.removeValue(forKey: state.next)
        }
        place?.signal()
    }
}
