import CoreMetrics
import Metrics

/// The metrics of downloads.
enum DownloadMetrics {
    private static let requests = Counter(label: "coderhost_fetch_requests_total")
    private static let redirects = Counter(label: "coderhost_fetch_redirects_total")
    private static let retries = Counter(label: "coderhost_fetch_retries_total")
    private static let resumptions = Counter(label: "coderhost_fetch_resumed_total")
    private static let bytes = Counter(label: "coderhost_fetch_received_bytes_total")
    private static let duration = Timer(label: "coderhost_fetch_duration_seconds")
    private static let inProgress = Meter(label: "coderhost_fetch_in_progress")

    /// Counts a sent request, including redirects and retries.
    static func requested() { requests.increment() }
    static func redirected() { redirects.increment() }
    static func retried() { retries.increment() }
    /// Counts a resumed download.
    static func resumed() { resumptions.increment() }
    /// Counts received bytes of bodies.
    static func received(_ count: Int) { bytes.increment(by: count) }
    static func began() { inProgress.increment() }

    /// Records the duration of a download that has finished or failed.
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

    /// Counts a connection that the policy did not allow.
    static func blocked(_ reason: String) {
        Counter(label: "coderhost_fetch_blocked_total", dimensions: [("reason", reason)]).increment()
    }
}
