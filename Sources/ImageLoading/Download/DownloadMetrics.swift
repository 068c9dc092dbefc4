import Metrics

/// What is counted, and under which name.
enum DownloadMetrics {
    /// Requests that were sent, redirects and repetitions included.
    static let requests = Counter(label: "coderhost_fetch_requests_total")
    static let redirects = Counter(label: "coderhost_fetch_redirects_total")
    static let retries = Counter(label: "coderhost_fetch_retries_total")
    /// Transfers that went on where an earlier one was cut.
    static let resumed = Counter(label: "coderhost_fetch_resumed_total")
    /// Bytes of bodies.
    static let bytes = Counter(label: "coderhost_fetch_received_bytes_total")
    /// From the beginning of a transfer to its last byte.
    static let duration = Timer(label: "coderhost_fetch_duration_seconds")
    static let inProgress = Meter(label: "coderhost_fetch_in_progress")

    static func answered(_ status: Int) {
        Counter(label: "coderhost_fetch_status_codes_total", dimensions: [("status", "\(status)")]).increment()
    }

    static func failed(_ code: String) {
        Counter(label: "coderhost_fetch_errors_total", dimensions: [("type", code)]).increment()
    }

    /// A connection that was not made.
    static func blocked(_ reason: String) {
        Counter(label: "coderhost_fetch_blocked_total", dimensions: [("reason", reason)]).increment()
    }
}
