import ImageModel
import ImageProcessing
import Synchronization

/// The line in front of something that only so many may do at a time.
///
/// The most urgent comes first; among those of one priority the first or the last that came.
/// - Concurrency: any thread.
final class AdmissionQueue: Sendable {
    enum Order: Sendable, Hashable { case firstInFirstOut, lastInFirstOut }

    private struct Place {
        var urgency: LoadUrgency
        var continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var limit: Int
        var order: Order
        var isSuspended = false
        var running = 0
        var next = 0
        var waiting: [Int: Place] = [:]

        /// Whoever is let in now.
        mutating func admitted() -> [CheckedContinuation<Bool, Never>] {
            var result: [CheckedContinuation<Bool, Never>] = []
            while !isSuspended, running < limit, let number = best() {
                running += 1
                result.append(waiting.removeValue(forKey: number)!.continuation)
            }
            return result
        }

        private func best() -> Int? {
            waiting.max { a, b in
                let (p, q) = (a.value.urgency.priority, b.value.urgency.priority)
                if p != q { return p < q }
                return order == .firstInFirstOut ? a.key > b.key : a.key < b.key
            }?.key
        }
    }

    private let state: Mutex<State>

    init(limit: Int, order: Order = .firstInFirstOut) {
        state = Mutex(State(limit: max(1, limit), order: order))
    }

    var limit: Int {
        get { state.withLock { $0.limit } }
        set { change { $0.limit = max(1, newValue) } }
    }
    var order: Order {
        get { state.withLock { $0.order } }
        set { change { $0.order = newValue } }
    }
    /// While it is, nobody is let in.
    var isSuspended: Bool {
        get { state.withLock { $0.isSuspended } }
        set { change { $0.isSuspended = newValue } }
    }
    var running: Int { state.withLock { $0.running } }
    var waiting: Int { state.withLock { $0.waiting.count } }

    private func change(_ body: (inout State) -> Void) {
        let admitted = state.withLock { state in
            body(&state)
            return state.admitted()
        }
        for continuation in admitted { continuation.resume(returning: true) }
    }

    /// Does `body` when its turn comes.
    ///
    /// - Throws: `.cancelled` when the task is cancelled while it waits.
    func run<R: Sendable>(
        _ urgency: LoadUrgency, _ body: () async throws(CoderError) -> R
    ) async throws(CoderError) -> R {
        guard await wait(urgency) else { throw CoderError(.cancelled, "the load was cancelled") }
        defer { change { $0.running -= 1 } }
        return try await body()
    }

    /// False when the task was cancelled instead.
    private func wait(_ urgency: LoadUrgency) async -> Bool {
        let number = state.withLock { state in
            state.next += 1
            return state.next
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if Task.isCancelled {
                    continuation.resume(returning: false)
                    return
                }
                change { $0.waiting[number] = Place(urgency: urgency, continuation: continuation) }
                // It may have been cancelled in between.
                if Task.isCancelled { leave(number) }
            }
        } onCancel: {
            leave(number)
        }
    }

    private func leave(_ number: Int) {
        state.withLock { $0.waiting.removeValue(forKey: number) }?.continuation.resume(returning: false)
    }
}
