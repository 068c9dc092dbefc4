import HostSystem
import ImageModel
import ImageProcessing

/// A token bucket: limits the rate and the burst of starts.
final class TokenBucket: Sendable {
    private struct State {
        var tokens: Double
        var last: ContinuousClock.Instant
    }

    private let limit: RateLimit
    private let state: Mutex<State>

    init(_ limit: RateLimit) {
        self.limit = limit
        state = Mutex(State(tokens: Double(max(1, limit.burst)), last: .now))
    }

    /// Takes a token; returns the delay until it is available.
    func take(now: ContinuousClock.Instant = .now) -> Duration {
        guard limit.perSecond > 0 else { return .zero }
        return state.withLock { state in
            let elapsed = max(0, (now - state.last) / .seconds(1))
            state.tokens = min(Double(max(1, limit.burst)), state.tokens + elapsed * limit.perSecond)
            state.last = max(now, state.last)
            state.tokens -= 1
            return state.tokens >= 0 ? .zero : .seconds(-state.tokens / limit.perSecond)
        }
    }

    /// Waits for a token.
    ///
    /// - Throws: `.cancelled`.
    func wait() async throws(CoderError) {
        let delay = take()
        guard delay > .zero else { return }
        do {
            try await Task.sleep(for: delay)
        } catch {
            // The token was not used.
            state.withLock { $0.tokens += 1 }
            throw CoderError(.cancelled, "the load was cancelled")
        }
    }
}
