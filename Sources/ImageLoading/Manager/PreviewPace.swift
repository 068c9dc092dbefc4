import CoderHost

/// The time source of previews; tests replace it.
struct PreviewClock: Sendable {
    /// Nanoseconds on a monotonic clock.
    var now: @Sendable () -> UInt64 = { monotonicNow() }
    /// Waits for some nanoseconds; throws if the task is cancelled.
    var sleep: @Sendable (UInt64) async throws -> Void = { try await Task.sleep(nanoseconds: $0) }
}

/// Decides when the next preview is decoded.
///
/// With every policy, decoding takes at most a third of the time: a preview that took 100 ms is followed by a pause of
/// at least 200 ms.
struct PreviewPace: Sendable {
    /// The answer to ``begin(_:)``.
    enum Turn: Sendable, Hashable {
        /// The caller must decode a preview and call ``end(_:hasImage:)``.
        case now
        /// Too early by some nanoseconds.
        case later(UInt64)
        /// Another preview is being decoded, or there are no more previews.
        case never
    }

    /// The pause after an attempt without anything new to display, in nanoseconds.
    private static let idlePause: UInt64 = 20_000_000

    private let interval: UInt64
    private let isPaced: Bool
    private var begun: UInt64?
    private var isOver = false
    private var next: UInt64 = 0

    init(_ policy: PreviewPolicy) {
        switch policy {
        case .paced(let duration):
            let (seconds, attoseconds) = duration.components
            let whole = UInt64(clamping: seconds).multipliedReportingOverflow(by: 1_000_000_000)
            let rest = UInt64(clamping: attoseconds / 1_000_000_000)
            interval = whole.overflow ? .max : whole.partialValue.addingReportingOverflow(rest).partialValue
            isPaced = true
        case .none, .everyScan: (interval, isPaced) = (0, false)
        }
    }

    /// Asks for the turn to decode a preview.
    mutating func begin(_ now: UInt64) -> Turn {
        guard begun == nil, !isOver else { return .never }
        guard now >= next else { return .later(next - now) }
        begun = now
        return .now
    }

    /// Ends a turn.
    ///
    /// - Parameter hasImage: whether there was something new to display.
    mutating func end(_ now: UInt64, hasImage: Bool) {
        let start = begun ?? now
        begun = nil
        let pause = (now - min(start, now)).multipliedReportingOverflow(by: 2).partialValue
        let rest = hasImage ? Self.sum(start, interval) : isPaced ? Self.sum(now, min(interval, Self.idlePause)) : now
        next = max(rest, Self.sum(now, pause))
    }

    /// Refuses all later turns.
    mutating func stop() { isOver = true }

    private static func sum(_ a: UInt64, _ b: UInt64) -> UInt64 {
        let (sum, overflow) = a.addingReportingOverflow(b)
        return overflow ? .max : sum
    }
}
