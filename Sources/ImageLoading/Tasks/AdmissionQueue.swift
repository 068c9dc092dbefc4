import HostSystem
import ImageModel
import ImageProcessing

/// A queue that limits how many callers run at a time.
///
/// Callers with a higher priority run first; within one priority, the order is first-in or last-in first.
/// - Concurrency: any thread.
final class AdmissionQueue: Sendable {
    enum Order: Sendable, Hashable { case firstInFirstOut, lastInFirstOut }

    private struct Place {
        var urgency: LoadUrgency
        /// The current lane; entries with this number in other lanes are outdated.
        var lane: LoadPriority
        var continuation: CheckedContinuation<Bool, Never>
    }

    /// The callers of one priority in their order of arrival; cancelled callers are skipped later.
    private struct Lane {
        var numbers: [Int] = []
        var head = 0

        mutating func insert(_ number: Int) {
            var (low, high) = (head, numbers.count)
            while low < high {
                let middle = (low + high) / 2
                if numbers[middle] < number { low = middle + 1 } else { high = middle }
            }
            if low == numbers.count || numbers[low] != number { numbers.insert(number, at: low) }
        }

        /// Removes and returns the next caller; nil if the lane is empty.
        mutating func next(_ order: Order, where stands: (Int) -> Bool) -> Int? {
            while head < numbers.count {
                let number = order == .firstInFirstOut ? numbers[head] : numbers.removeLast()
                if order == .firstInFirstOut { head += 1 }
                if stands(number) {
                    if head > 64, head > numbers.count / 2 {
                        numbers.removeFirst(head)
                        head = 0
                    }
                    return number
                }
            }
            numbers = []
            head = 0
            return nil
        }
    }

    private struct State {
        var limit: Int
        var order: Order
        var isSuspended = false
        var running = 0
        /// Callers that are still running, but have given up their place.
        var away = 0
        var next = 0
        var waiting: [Int: Place] = [:]
        var lanes: [LoadPriority: Lane] = [:]

        /// Admits waiting callers up to the limit, and returns their continuations.
        mutating func admitted() -> [CheckedContinuation<Bool, Never>] {
            var result: [CheckedContinuation<Bool, Never>] = []
            while !isSuspended, running < limit, let number = best() {
                running += 1
                result.append(waiting.removeValue(forKey: number)!.continuation)
            }
            return result
        }

        private mutating func best() -> Int? {
            for priority in LoadPriority.allCases.reversed() {
                // Removed from the dictionary to avoid a copy.
                guard var lane = lanes.removeValue(forKey: priority) else { continue }
                let number = lane.next(order) { waiting[$0]?.lane == priority }
                lanes[priority] = lane
                if let number { return number }
            }
            return nil
        }

        mutating func enter(_ number: Int, _ place: Place) {
            waiting[number] = place
            lanes[place.lane, default: Lane()].insert(number)
        }

        /// Moves a caller to the lane of its changed urgency.
        mutating func move(_ number: Int) {
            guard var place = waiting[number], place.lane != place.urgency.priority else { return }
            place.lane = place.urgency.priority
            enter(number, place)
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
    /// Whether admission is suspended.
    var isSuspended: Bool {
        get { state.withLock { $0.isSuspended } }
        set { change { $0.isSuspended = newValue } }
    }
    var running: Int { state.withLock { $0.running + $0.away } }
    var waiting: Int { state.withLock { $0.waiting.count } }

    private func change(_ body: (inout State) -> Void) {
        let admitted = state.withLock { state in
            body(&state)
            return state.admitted()
        }
        for continuation in admitted { continuation.resume(returning: true) }
    }

    /// The place of an admitted caller.
    final class Turn: Sendable {
        private let queue: AdmissionQueue
        private let isAway = Mutex(false)

        fileprivate init(_ queue: AdmissionQueue) { self.queue = queue }

        /// Gives the place to the next caller before the work is done.
        ///
        /// At most ``AdmissionQueue/mostAway`` times the limit of callers do so at a time; others keep their place.
        func leave() {
            isAway.withLock { isAway in
                if isAway { return }
                queue.change { state in
                    guard state.away < AdmissionQueue.mostAway * state.limit else { return }
                    state.running -= 1
                    state.away += 1
                    isAway = true
                }
            }
        }

        fileprivate func end() {
            isAway.withLock { isAway in
                queue.change { state in if isAway { state.away -= 1 } else { state.running -= 1 } }
            }
        }
    }

    static let mostAway = 4

    /// Runs `body` when the caller is admitted.
    ///
    /// - Throws: `.cancelled` when the task is cancelled while it waits.
    func run<R: Sendable>(
        _ urgency: LoadUrgency, _ body: (Turn) async throws(CoderError) -> R
    ) async throws(CoderError) -> R {
        guard await wait(urgency) else { throw CoderError(.cancelled, "the load was cancelled") }
        let turn = Turn(self)
        defer { turn.end() }
        return try await body(turn)
    }

    func run<R: Sendable>(
        _ urgency: LoadUrgency, _ body: () async throws(CoderError) -> R
    ) async throws(CoderError) -> R {
        try await run(urgency) { (_: Turn) async throws(CoderError) -> R in try await body() }
    }

    /// Waits for admission; returns false if the task was cancelled.
    private func wait(_ urgency: LoadUrgency) async -> Bool {
        let number = state.withLock { state in
            state.next += 1
            return state.next
        }
        let stop = urgency.observe { [weak self] in self?.change { $0.move(number) } }
        defer { stop() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if Task.isCancelled {
                    continuation.resume(returning: false)
                    return
                }
                change { state in
                    state.enter(number, Place(urgency: urgency, lane: urgency.priority, continuation: continuation))
                }
                // The task may have been cancelled before it entered.
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
