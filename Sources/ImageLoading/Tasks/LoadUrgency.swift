import HostSystem
import ImageProcessing

/// The current urgency of a load; queues observe its changes.
///
/// - Concurrency: any thread.
public final class LoadUrgency: Sendable {
    private struct State {
        var priority: LoadPriority
        var observers: [Int: @Sendable () -> Void] = [:]
        var next = 0
    }

    private let state: Mutex<State>

    /// Creates an urgency.
    public init(_ priority: LoadPriority = .normal) { state = Mutex(State(priority: priority)) }

    /// The priority; setting it notifies the observers.
    public var priority: LoadPriority {
        get { state.withLock { $0.priority } }
        set {
            let observers = state.withLock { state -> [@Sendable () -> Void] in
                if state.priority == newValue { return [] }
                state.priority = newValue
                return Array(state.observers.values)
            }
            for observer in observers { observer() }
        }
    }

    /// Calls `body` after every change; the returned function ends the observation.
    func observe(_ body: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        let number = state.withLock { state in
            state.next += 1
            state.observers[state.next] = body
            return state.next
        }
        return { [weak self] in self?.state.withLock { _ = $0.observers.removeValue(forKey: number) } }
    }
}
