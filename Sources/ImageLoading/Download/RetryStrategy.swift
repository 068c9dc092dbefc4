public import ImageModel

/// Decides whether and when a failed download is retried.
public protocol RetryStrategy: Sendable {
    /// Returns the delay before the next attempt; nil gives up.
    ///
    /// - Parameters:
    ///   - attempt: the number of failed attempts, from 1.
    ///   - retryAfter: the delay that the server requested.
    func delay(after error: CoderError, attempt: Int, retryAfter: Duration?) -> Duration?
}

/// Retries after temporary failures: lost connections, timeouts, and busy or failing servers.
public struct RetryPolicy: RetryStrategy, Hashable {
    /// The delay between attempts.
    package enum Interval: Sendable, Hashable {
        /// The same delay each time.
        case fixed(Duration)
        /// A delay that grows by this duration each time.
        case linear(Duration)
        /// A delay that doubles each time.
        case exponential(Duration)
    }

    /// The number of retries after the first attempt.
    package var maxCount: Int
    /// The delay between attempts.
    package var interval: Interval
    /// The maximum delay.
    package var maxDelay = Duration.seconds(30)
    /// The random share of a delay, 0…1, which spreads the retries of many clients.
    package var jitter = 0.2
    /// The longest `Retry-After` delay that is accepted; a longer one ends the retries.
    package var maxRetryAfter = Duration.seconds(30)
    /// HTTP status codes that are retried.
    package var statuses: Set<Int> = [408, 425, 429, 500, 502, 503, 504]

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - maxCount: the number of retries after the first attempt.
    ///   - delay: the delay before the first retry; it doubles each time, up to 30 seconds.
    public init(maxCount: Int = 2, delay: Duration = .milliseconds(500)) {
        self.init(maxCount: maxCount, .exponential(delay))
    }

    package init(maxCount: Int, _ interval: Interval) {
        self.maxCount = maxCount
        self.interval = interval
    }

    /// Never retries.
    public static let none = RetryPolicy(maxCount: 0)

    /// Returns the delay before the next attempt; nil gives up.
    public func delay(after error: CoderError, attempt: Int, retryAfter: Duration?) -> Duration? {
        guard attempt <= maxCount, error.isTransient || error.httpStatus.map(statuses.contains) ?? false else {
            return nil
        }
        if let retryAfter, retryAfter > maxRetryAfter { return nil }
        let base =
            switch interval {
            case .fixed(let step): step
            case .linear(let step): step * attempt
            case .exponential(let step): step * (1 << min(attempt - 1, 20))
            }
        let spread = min(1, max(0, jitter))
        let delay = min(base, maxDelay) * Double.random(in: 1 - spread...1)
        return max(delay, retryAfter ?? .zero)
    }
}
