import HostSystem
public import ImageModel
import ImageProcessing
import struct Synchronization.Atomic

/// The limits, options, cancellation and warnings of one session.
///
/// - Concurrency: ``cancel()`` may be called from any thread while the session runs on another.
public final class SessionContext: Sendable {
    /// The limits of the session.
    public let limits: DecodeLimits
    /// The options for the coder.
    public let options: CoderOptions
    /// The deadline in nanoseconds of the monotonic clock; 0 for none.
    private let end: Atomic<UInt64>
    private let cancelled = Atomic<Bool>(false)
    private let state = Mutex(State())
    /// The default number of threads if the options state none.
    private let usualThreads: Int
    private let onProgress: (@Sendable (_ done: Int, _ total: Int) -> Void)?

    private struct State {
        var warnings: [String] = []
        /// The bytes that the coder reported.
        var reserved = 0
        /// The bytes of the pixel buffers in use by the current call.
        var pixels = 0
        var isolation: IsolationReport?
        var choices: Set<String> = []
        var progress: HeldProgress = .none
    }

    /// A progress report that is delayed until the call into the plugin returns.
    private enum HeldProgress {
        /// Reports reach the application at once.
        case none
        case waiting(latest: (done: Int, total: Int)?)
    }

    /// A hostile file may cause a warning per row.
    private static let maxWarnings = 32

    /// Creates a context.
    package init(
        limits: DecodeLimits = .default, options: CoderOptions = CoderOptions(), usualThreads: Int = 1,
        onProgress: (@Sendable (_ done: Int, _ total: Int) -> Void)? = nil
    ) {
        self.limits = limits
        self.options = options
        self.usualThreads = usualThreads
        self.onProgress = onProgress
        end = Atomic(Self.deadline(limits))
    }

    private static func deadline(_ limits: DecodeLimits) -> UInt64 {
        let (nanoseconds, overflow) = UInt64(clamping: limits.maxMilliseconds).multipliedReportingOverflow(
            by: 1_000_000)
        let (end, tooLate) = monotonicNow().addingReportingOverflow(nanoseconds)
        return nanoseconds == 0 && !overflow ? 0 : overflow || tooLate ? .max : end
    }

    /// The options with a fixed set of values, according to the schema of the current coder.
    var choices: Set<String> {
        get { state.withLock { $0.choices } }
        set { state.withLock { $0.choices = newValue } }
    }

    /// Restarts the time limit, because an animation may play for longer than it may take to decode.
    package func restartClock() { end.store(Self.deadline(limits), ordering: .relaxed) }

    /// The deadline in nanoseconds of the monotonic clock.
    package var deadline: UInt64 { end.load(ordering: .relaxed) }

    /// Cancels the session; it ends when its coder next polls.
    public func cancel() { cancelled.store(true, ordering: .relaxed) }

    /// Problems of a usable image.
    package var warnings: [String] { state.withLock { $0.warnings } }

    /// Throws if the session was cancelled or has reached its deadline.
    public func checkCancellation() throws(CoderError) {
        if cancelled.load(ordering: .relaxed) { throw CoderError(.cancelled, "the session was cancelled") }
        if isLate { throw Self.late(limits) }
    }

    package var isCancelled: Bool { cancelled.load(ordering: .relaxed) }
    package var isLate: Bool { deadline != 0 && monotonicNow() > deadline }

    package static func late(_ limits: DecodeLimits) -> CoderError {
        CoderError(
            .deadlineExceeded, "the operation took longer than \(limits.maxMilliseconds) ms",
            hint: "raise it with --limits time=N (milliseconds) if the source is trusted")
    }

    /// Adds a problem of a usable image; equal ones count once.
    public func warn(_ message: String) {
        state.withLock { state in
            if state.warnings.count < Self.maxWarnings, !state.warnings.contains(message) {
                state.warnings.append(message)
            }
        }
    }

    /// Adds a warning of a plugin; its text may be long and invalid UTF-8.
    package func warn(bytes: [UInt8]) { warn(String(String(decoding: bytes, as: UTF8.self).prefix(512))) }

    /// Adds memory of the coder to the session's budget; returns false if pixels and coder would exceed the limit.
    package func reserve(_ delta: Int) -> Bool {
        state.withLock { state in
            let (sum, overflow) = state.reserved.addingReportingOverflow(delta)
            if overflow { return false }
            if delta > 0, exceeded(by: sum, state.pixels) != nil { return false }
            state.reserved = max(0, sum)
            return true
        }
    }

    /// Counts pixel buffers against the same budget during `body`.
    ///
    /// - Throws: `.limitExceeded` if pixels and coder memory exceed the limit; the error of `body`.
    package func holding<R>(pixelBytes bytes: Int, _ body: () throws(CoderError) -> R) throws(CoderError) -> R {
        let refused = state.withLock { state -> Int? in
            if let sum = exceeded(by: state.reserved, bytes) { return sum }
            state.pixels = bytes
            return nil
        }
        if let refused { throw .limit("memory", allowed: limits.maxDecodedBytes, requested: refused) }
        defer { state.withLock { $0.pixels = 0 } }
        return try body()
    }

    /// Returns the sum if it exceeds the limit.
    private func exceeded(by reserved: Int, _ pixels: Int) -> Int? {
        let (sum, overflow) = reserved.addingReportingOverflow(pixels)
        guard limits.maxDecodedBytes > 0, overflow || sum > limits.maxDecodedBytes else { return nil }
        return overflow ? .max : sum
    }

    var wantsProgress: Bool { onProgress != nil }

    package func progress(_ done: Int, _ total: Int) {
        guard let onProgress else { return }
        let isHeld = state.withLock { state in
            guard case .waiting = state.progress else { return false }
            state.progress = .waiting(latest: (done, total))
            return true
        }
        if !isHeld { onProgress(done, total) }
    }

    /// Delays the latest report until ``releaseProgress()``.
    func holdProgress() {
        if wantsProgress { state.withLock { $0.progress = .waiting(latest: nil) } }
    }

    func releaseProgress() {
        guard let onProgress else { return }
        let held = state.withLock { state in
            defer { state.progress = .none }
            return state.progress
        }
        if case .waiting(let latest?) = held { onProgress(latest.done, latest.total) }
    }

    /// The number of threads that a coder should use.
    package var threadHint: Int {
        let wanted = options.integer(OptionKey.threads) ?? usualThreads
        return max(1, limits.maxThreads > 0 ? min(wanted, limits.maxThreads) : wanted)
    }

    /// Where the coder ran; nil for coders of the host and the application, which always run in this process.
    package internal(set) var isolation: IsolationReport? {
        get { state.withLock { $0.isolation } }
        set { state.withLock { $0.isolation = newValue } }
    }
}
