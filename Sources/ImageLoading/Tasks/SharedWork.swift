import HostSystem
import ImageModel
import ImageProcessing
import struct Synchronization.Atomic

/// Work that runs once for any number of waiting callers.
///
/// Every caller gets exactly one answer. Cancelling a caller ends only its own wait. The work is cancelled when its
/// last caller is cancelled; after that, no caller can join it.
/// - Concurrency: any thread.
final class SharedWork<Key: Hashable & Sendable, Event: Sendable, Value: Sendable>: Sendable {
    typealias Outcome = Result<Value, CoderError>

    fileprivate struct Waiter {
        var continuation: CheckedContinuation<Outcome, Never>
        var urgency: LoadUrgency
        var onEvent: @Sendable (Event) -> Void
        var stopObserving: @Sendable () -> Void
    }

    /// One piece of work with its waiting callers.
    final class Node: Sendable {
        fileprivate struct State {
            var waiters: [Int: Waiter] = [:]
            var next = 0
            var task: Task<Void, Never>?
            /// Whether no more callers may join.
            var isOver = false
        }

        fileprivate let state = Mutex(State())
        /// The urgency of the most urgent caller.
        let urgency = LoadUrgency()

        /// Sends an event to all waiting callers; only the work itself calls this, never concurrently.
        func send(_ event: Event) {
            for body in state.withLock({ $0.waiters.values.map(\.onEvent) }) { body(event) }
        }

        fileprivate func weigh() {
            // Inside the lock, so that updates are applied in order.
            state.withLock { state in
                if let most = state.waiters.values.map(\.urgency.priority).max() { urgency.priority = most }
            }
        }

        /// Answers one caller; returns true if it was the last.
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

    /// The number of pieces of work in progress.
    var count: Int { nodes.withLock { $0.count } }

    /// The number of waiting callers.
    var callers: Int {
        nodes.withLock { Array($0.values) }.reduce(0) { sum, node in sum + node.state.withLock { $0.waiters.count } }
    }

    /// Joins the work for `key`, or starts it.
    ///
    /// - Parameters:
    ///   - onEvent: receives events of the work; on any thread.
    ///   - body: the work; its task is cancelled when no caller waits any more.
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
                // The task may have been cancelled before the caller joined.
                if isCancelled.load(ordering: .sequentiallyConsistent) { leave(key, node, number) }
            }
        } onCancel: {
            isCancelled.store(true, ordering: .sequentiallyConsistent)
            if let (node, number) = place.withLock({ $0 }) { leave(key, node, number) }
        }
        return try outcome.get()
    }

    /// Answers all waiting callers with `.cancelled`, and cancels all work.
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
