import HostSystem
import ImageModel
import ImageProcessing

/// URLs that failed recently; limited in number and by age.
final class FailedURLs: Sendable {
    private struct State {
        var ends: [ExactKey: (end: ContinuousClock.Instant, number: Int)] = [:]
        /// The order of failures; outdated entries are removed later.
        var order: [(url: ExactKey, number: Int)] = []
        var next = 0
    }

    private let state = Mutex(State())
    private let limit: Int
    private let life: Duration
    private let now: @Sendable () -> ContinuousClock.Instant

    init(limit: Int, seconds: Int, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
        self.limit = max(0, limit)
        life = .seconds(max(0, seconds))
        self.now = now
    }

    func insert(_ url: String) {
        let end = now() + life
        state.withLock { state in
            state.next += 1
            state.ends[ExactKey(url)] = (end, state.next)
            state.order.append((ExactKey(url), state.next))
            // Remove outdated entries, and the oldest ones above the limit.
            var first = 0
            while first < state.order.count {
                let (url, number) = state.order[first]
                if state.ends[url]?.number == number {
                    if state.ends.count <= limit { break }
                    state.ends[url] = nil
                }
                first += 1
            }
            state.order.removeFirst(first)
            if state.order.count > 2 * limit + 16 {
                state.order.removeAll { state.ends[$0.url]?.number != $0.number }
            }
        }
    }

    func contains(_ url: String) -> Bool {
        let now = now()
        return state.withLock { state in
            guard let end = state.ends[ExactKey(url)]?.end else { return false }
            if now < end { return true }
            state.ends[ExactKey(url)] = nil
            return false
        }
    }

    /// The length of the order, including outdated entries.
    var places: Int { state.withLock { $0.order.count } }
    var count: Int { state.withLock { $0.ends.count } }

    func remove(_ url: String) { state.withLock { $0.ends[ExactKey(url)] = nil } }

    func removeAll() {
        state.withLock { state in
            state.ends = [:]
            state.order = []
        }
    }
}
