import HostSystem
import ImageModel
import ImageProcessing

/// Measures the rate at which the bytes of one attempt arrive.
///
/// - Concurrency: any thread.
final class DownloadPace: Sendable {
    private struct State {
        var received = 0
        /// Changes with every request, because each response starts a new window.
        var request = 0
    }

    /// The number of measurements per window.
    private static let steps = 6

    private let state = Mutex(State())

    func add(_ count: Int) { state.withLock { $0.received = $0.received.addingReportingOverflow(count).partialValue } }
    func beginRequest() { state.withLock { $0.request += 1 } }

    /// Runs `body` while its bytes arrive fast enough.
    ///
    /// - Parameters:
    ///   - rate: the minimum rate; nil for any rate.
    ///   - idle: how long a server may send nothing; the window is at least as long.
    ///   - onSlow: called once, after the first measurement below the rate.
    /// - Throws: `.deadlineExceeded` when the rate was too low for a whole window, or the error of `body`.
    func run<R: Sendable>(
        atLeast rate: MinimumRate?, idle: Duration, onSlow: @escaping @Sendable () -> Void,
        _ body: @escaping @Sendable () async throws(CoderError) -> R
    ) async throws(CoderError) -> R {
        guard let rate, rate.bytesPerSecond > 0, rate.window > .zero else { return try await body() }
        return try await TimeLimit.race(body) {
            await self.shortfall(rate, max(rate.window, idle), onSlow)
        }
    }

    /// Returns an error when the rate was too low for a whole window; nil after cancellation.
    private func shortfall(_ rate: MinimumRate, _ window: Duration, _ onSlow: () -> Void) async -> CoderError? {
        let step = min(window, rate.window) / Self.steps
        let count = Int((window / step).rounded(.up))
        /// Received bytes at the end of each step, oldest first.
        var history: [Int] = []
        var request = -1
        var isSlow = false
        while true {
            let now = state.withLock { $0 }
            if now.request != request { (history, request) = ([], now.request) }
            history.append(now.received)
            if let last = history.dropLast().last, !isSlow, now.received - last < Self.bytes(rate, step) {
                isSlow = true
                onSlow()
            }
            if history.count > count {
                let arrived = now.received - history.removeFirst()
                if arrived < Self.bytes(rate, window) { return Self.error(rate, arrived, window) }
            }
            guard (try? await Task.sleep(for: step)) != nil else { return nil }
        }
    }

    private static func bytes(_ rate: MinimumRate, _ time: Duration) -> Int {
        Int(clamping: Int128(Double(rate.bytesPerSecond) * (time / .seconds(1))))
    }

    private static func error(_ rate: MinimumRate, _ arrived: Int, _ window: Duration) -> CoderError {
        let perSecond = Int(Double(arrived) / (window / .seconds(1)))
        return CoderError(
            .deadlineExceeded,
            "only \(arrived) bytes arrived in \(DownloadFailure.text(window)); the minimum rate is "
                + "\(rate.bytesPerSecond) bytes per second",
            hint: "try again later, or lower the minimum rate of the downloader",
            limit: .init(
                name: "rate", allowed: UInt64(clamping: rate.bytesPerSecond), requested: UInt64(clamping: perSecond)))
    }
}
