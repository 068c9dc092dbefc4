public import ImageModel

/// Decides whether a failed transfer is tried again.
public protocol RetryStrategy: Sendable {
    /// How long to wait before the next attempt; nil gives up.
    ///
    /// - Parameters:
    ///   - attempt: how many have failed, from 1.
    ///   - retryAfter: what the server asked for.
    func delay(after error: CoderError, attempt: Int, retryAfter: Duration?) -> Duration?
}

/// Tries again what may well work the next time: lost connections, timeouts, servers that are busy or broken.
public struct RetryPolicy: RetryStrategy, Hashable {
    public enum Interval: Sendable, Hashable {
        case fixed(Duration)
        /// So much longer each time.
        case linear(Duration)
        /// Twice as long each time.
        case exponential(Duration)
    }

    /// Attempts after the first.
    public var maxCount: Int
    public var interval: Interval
    public var maxDelay = Duration.seconds(30)
    /// The share of a delay, 0…1, that is left to chance, so that not everybody comes back at once.
    public var jitter = 0.2
    /// A server that asks for more time than this is not asked again.
    public var maxRetryAfter = Duration.seconds(30)
    public var statuses: Set<Int> = [408, 425, 429, 500, 502, 503, 504]

    public init(maxCount: Int = 2, _ interval: Interval = .exponential(.milliseconds(500))) {
        self.maxCount = maxCount
        self.interval = interval
    }

    public static let none = RetryPolicy(maxCount: 0)

    public func delay(after error: CoderError, attempt: Int, retryAfter: Duration?) -> Duration? {
        guard attempt <= maxCount, error.isPassing || error.httpStatus.map(statuses.contains) ?? false else {
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
