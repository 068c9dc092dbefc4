import Dispatch
import ImageProcessing
import Synchronization

/// Lets those in who have a number, in the order of their numbers; everybody has to come by and to leave.
///
/// - Concurrency: any thread; whoever waits blocks it.
final class Turns: Sendable {
    private struct State {
        var next = 0
        var gone: Set<Int> = []
        var waiting: [Int: DispatchSemaphore] = [:]
    }

    private let state = Mutex(State())

    /// Waits until all with smaller numbers have left.
    func wait(for number: Int) {
        let place = state.withLock { state -> DispatchSemaphore? in
            if state.next >= number { return nil }
            let place = DispatchSemaphore(value: 0)
            state.waiting[number] = place
            return place
        }
        place?.wait()
    }

    /// To be called once for every number, whether or not it has waited.
    func leave(_ number: Int) {
        let place = state.withLock { state in
            state.gone.insert(number)
            while state.gone.remove(state.next) != nil { state.next += 1 }
            return state.waiting.removeValue(forKey: state.next)
        }
        place?.signal()
    }
}
