import ImageModel
import ImageProcessing
import Synchronization

/// Work that any number of callers wait for, and that is done once.
///
/// Every caller gets exactly one answer. Cancelling a caller's task ends only its own waiting; the work itself is
/// cancelled with the last one, and nobody joins it after that.
/// - Concurrency: any thread.
final class SharedWork<Key: Hashable & Sendable, Event: Sendable, Value: Sendable>: Sendable {
    typealias Outcome = Result<Value, CoderError>

    fileprivate struct Waiter {
        var continuation: CheckedContinuation<Outcome, Never>
        var urgency: LoadUrgency
        var onEvent: @Sendable (Event) -> Void
        var stopObserving: @Sendable () -> Void
    }

    /// One piece of work, as it sees those who wait for it.
    final class Node: Sendable {
        fileprivate struct State {
            var waiters: [Int: Waiter] = [:]
            var next = 0
            var task: Task<Void, Never>?
            /// Nobody may join any more.
            var isOver = false
        }

        fileprivate let state = Mutex(State())
        /// That of the most urgent caller.
        let urgency = LoadUrgency()

        /// Tells everybody who waits now; to be called by the work itself, one call after the other.
        func send(_ event: Event) {
            for body in state.withLock({ $0.waiters.values.map(\.onEvent) }) { body(event) }
        }

        fileprivate func weigh() {
            // In the lock, or an older answer might be set after a newer one.
            state.withLock { state in
                if let most = state.waiters.values.map(\.urgency.priority).max() { urgency.priority = most }
            }
        }

        /// Answers one caller; true when it was the last.
        fileprivate func dismiss(_ number: Int, _ outcome: Outcome) -> Bool {
            let (waiter, isLast) = state.withLock { state -> (Waiter?, Bool) in
                let waiter = state.waiters.removeValue(forKey: number)
                let isLast = waiter != nil && state.waiters.isEmpty
                if isLast { state.isOver = true }
                return (waiter, isLast)
            }
            waiter?.stopObserving()
            waiter?.continuation.resume(returning: outcome)
            return isLast
        }

        fileprivate func finish(_ outcome: Outcome) {
            let waiters = state.withLock { state in
                state.isOver = true
                defer { state.waiters = [:] }
                return state.waiters.values
            }
            for waiter in waiters {
                waiter.stopObserving()
                waiter.continuation.resume(returning: outcome)
            }
        }
    }

    private let nodes = Mutex<[Key: Node]>([:])

    /// Pieces of work that are being done.
    var count: Int { nodes.withLock { $0.count } }

    /// Everybody who waits.
    var callers: Int {
        nodes.withLock { Array($0.values) }.reduce(0) { sum, node in sum + node.state.withLock { $0.waiters.count } }
    }

    /// Joins the work for `key`, or begins it.
    ///
    /// - Parameters:
    ///   - onEvent: what the work sends while it goes on; on any thread.
    ///   - body: the work; its task is cancelled when nobody waits any more.
    func value(
        for key: Key, _ urgency: LoadUrgency, onEvent: @escaping @Sendable (Event) -> Void = { _ in },
        _ body: @escaping @Sendable (Node) async -> Outcome
    ) async throws(CoderError) -> Value {
        let place = Mutex<(node: Node, number: Int)?>(nil)
        let isCancelled = Atomic<Bool>(false)
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (node, number) = join(key, urgency, onEvent, continuation, body)
                place.withLock { $0 = (node, number) }
                // The handler may have run before there was anything to cancel.
                if isCancelled.load(ordering: .sequentiallyConsistent) { leave(key, node, number) }
            }
        } onCancel: {
            isCancelled.store(true, ordering: .sequentiallyConsistent)
            if let (node, number) = place.withLock({ $0 }) { leave(key, node, number) }
        }
        return try outcome.get()
    }

    /// Answers everybody who waits with `.cancelled`, and cancels all work.
    func cancelAll() {
        let all = nodes.withLock { nodes in
            defer { nodes = [:] }
            return Array(nodes.values)
        }
        for node in all {
            node.finish(.failure(CoderError(.cancelled, "the load was cancelled")))
            node.state.withLock { $0.task }?.cancel()
        }
    }

    private func join(
        _ key: Key, _ urgency: LoadUrgency, _ onEvent: @escaping @Sendable (Event) -> Void,
        _ continuation: CheckedContinuation<Outcome, Never>, _ body: @escaping @Sendable (Node) async -> Outcome
    ) -> (Node, Int) {
        let (node, number, isNew) = nodes.withLock { nodes -> (Node, Int, Bool) in
            let known = nodes[key]
            if let known, let number = enter(known, urgency, onEvent, continuation) { return (known, number, false) }
            let fresh = Node()
            nodes[key] = fresh
            return (fresh, enter(fresh, urgency, onEvent, continuation)!, true)
        }
        node.weigh()
        if isNew {
            let task = Task {
                let outcome = await body(node)
                forget(key, node)
                node.finish(outcome)
            }
            let isOver = node.state.withLock { state in
                state.task = task
                return state.isOver
            }
            if isOver { task.cancel() }
        }
        return (node, number)
    }

    private func enter(
        _ node: Node, _ urgency: LoadUrgency, _ onEvent: @escaping @Sendable (Event) -> Void,
        _ continuation: CheckedContinuation<Outcome, Never>
    ) -> Int? {
        let stop = urgency.observe { [weak node] in node?.weigh() }
        let number = node.state.withLock { state -> Int? in
            if state.isOver { return nil }
            state.next += 1
            state.waiters[state.next] = Waiter(
                continuation: continuation, urgency: urgency, onEvent: onEvent, stopObserving: stop)
            return state.next
        }
        if number == nil { stop() }
        return number
    }

    private func leave(_ key: Key, _ node: Node, _ number: Int) {
        if node.dismiss(number, .failure(CoderError(.cancelled, "the load was cancelled"))) {
            forget(key, node)
            node.state.withLock { $0.task }?.cancel()
        } else {
            node.weigh()
        }
    }

    private func forget(_ key: Key, _ node: Node) {
        nodes.withLock { nodes in if nodes[key] === node { nodes[key] = nil } }
    }
}
