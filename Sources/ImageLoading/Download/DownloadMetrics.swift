import CoreMetrics
import Metrics

/// What is counted, and under which name.
enum DownloadMetrics {
    private static let requests = Counter(label: "coderhost_fetch_requests_total")
    private static let redirects = Counter(label: "coderhost_fetch_redirects_total")
    private static let retries = Counter(label: "coderhost_fetch_retries_total")
    private static let resumptions = Counter(label: "coderhost_fetch_resumed_total")
    private static let bytes = Counter(label: "coderhost_fetch_received_bytes_total")
    private static let duration = Timer(label: "coderhost_fetch_duration_seconds")
    private static let inProgress = Meter(label: "coderhost_fetch_in_progress")

    /// A request was sent; redirects and repetitions count.
    static func requested() { requests.increment() }
    static func redirected() { redirects.increment() }
    static func retried() { retries.increment() }
    /// A transfer went on where an earlier one was cut.
    static func resumed() { resumptions.increment() }
    /// Bytes of a body.
    static func received(_ count: Int) { bytes.increment(by: count) }
    static func began() { inProgress.increment() }

    /// A transfer has brought its last byte, or failed.
    static func ended(after time: Duration) {
        inProgress.decrement()
        duration.record(duration: time)
    }

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
