public import ImageModel
import ImageProcessing
import Synchronization

/// What one session may do and what it reports: limits, options, cancellation, warnings.
///
/// - Concurrency: ``cancel()`` may be called from any thread while the session runs on another.
public final class SessionContext: Sendable {
    public let limits: DecodeLimits
    public let options: CoderOptions
    /// Nanoseconds on the monotonic clock; 0 for none.
    private let end: Atomic<UInt64>
    private let cancelled = Atomic<Bool>(false)
    private let state = Mutex(State())
    /// Threads that are worth using where the options state no number.
    private let usualThreads: Int
    private let onProgress: (@Sendable (_ done: Int, _ total: Int) -> Void)?

    private struct State {
        var warnings: [String] = []
        /// Bytes that the coder reported.
        var reserved = 0
        /// Bytes of the pixel buffers that the current call works on.
        var pixels = 0
        var isolation: IsolationReport?
        var choices: Set<String> = []
        var progress: HeldProgress = .none
    }

    /// A report of progress that waits until the call into the plugin is over.
    private enum HeldProgress {
        /// Reports reach the application at once.
        case none
        case waiting(latest: (done: Int, total: Int)?)
    }

    /// A hostile file may warn once a row.
    private static let maxWarnings = 32

    public init(
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

    /// The options that take one of several names, in the schema of the coder that is in use.
    var choices: Set<String> {
        get { state.withLock { $0.choices } }
        set { state.withLock { $0.choices = newValue } }
    }

    /// Gives the next piece of work the whole time: an animation is played for longer than it may take to decode.
    package func restartClock() { end.store(Self.deadline(limits), ordering: .relaxed) }

    /// When the time is used up.
    var deadline: UInt64 { end.load(ordering: .relaxed) }

    /// Ends the session as soon as its coder asks whether to go on.
    public func cancel() { cancelled.store(true, ordering: .relaxed) }

    /// What was off although the picture is usable.
    public var warnings: [String] { state.withLock { $0.warnings } }

    /// Throws when the session was cancelled or its time is used up.
    public func checkCancellation() throws(CoderError) {
        if cancelled.load(ordering: .relaxed) { throw CoderError(.cancelled, "the session was cancelled") }
        if isLate { throw Self.late(limits) }
    }

    var isCancelled: Bool { cancelled.load(ordering: .relaxed) }
    var isLate: Bool { deadline != 0 && monotonicNow() > deadline }

    static func late(_ limits: DecodeLimits) -> CoderError {
        CoderError(
            .deadlineExceeded, "it took longer than \(limits.maxMilliseconds) ms",
            hint: "raise it with --limits time=N (milliseconds) if the source is trusted")
    }

    package func warn(_ message: String) {
        state.withLock { state in
            if state.warnings.count < Self.maxWarnings, !state.warnings.contains(message) {
                state.warnings.append(message)
            }
        }
    }

    /// Notes a warning of a plugin, whose text may be long and need not be UTF-8.
    func warn(bytes: [UInt8]) { warn(String(String(decoding: bytes, as: UTF8.self).prefix(512))) }

    /// Adds memory of the coder to the session's budget; false when pixels and coder together would exceed the limit.
    func reserve(_ delta: Int) -> Bool {
        state.withLock { state in
            let (sum, overflow) = state.reserved.addingReportingOverflow(delta)
            if overflow { return false }
            if delta > 0, exceeded(by: sum, state.pixels) != nil { return false }
            state.reserved = max(0, sum)
            return true
        }
    }

    /// Counts pixel buffers against the same budget while `body` runs.
    ///
    /// - Throws: `.limitExceeded` when pixels and the coder's memory together exceed the limit; what `body` throws.
    func holding<R>(pixelBytes bytes: Int, _ body: () throws(CoderError) -> R) throws(CoderError) -> R {
        let refused = state.withLock { state -> Int? in
            if let sum = exceeded(by: state.reserved, bytes) { return sum }
            state.pixels = bytes
            return nil
        }
        if let refused { throw .limit("memory", allowed: limits.maxDecodedBytes, requested: refused) }
        defer { state.withLock { $0.pixels = 0 } }
        return try body()
    }

    /// The sum of both where it is above the limit.
    private func exceeded(by reserved: Int, _ pixels: Int) -> Int? {
        let (sum, overflow) = reserved.addingReportingOverflow(pixels)
        guard limits.maxDecodedBytes > 0, overflow || sum > limits.maxDecodedBytes else { return nil }
        return overflow ? .max : sum
    }

    var wantsProgress: Bool { onProgress != nil }

    func progress(_ done: Int, _ total: Int) {
        guard let onProgress else { return }
        let isHeld = state.withLock { state in
            guard case .waiting = state.progress else { return false }
            state.progress = .waiting(latest: (done, total))
            return true
        }
        if !isHeld { onProgress(done, total) }
    }

    /// Keeps the latest report back until ``releaseProgress()``.
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

    /// How many threads a coder is told that are worth using.
    var threadHint: Int {
        let wanted = options.integer(OptionKey.threads) ?? usualThreads
        return max(1, limits.maxThreads > 0 ? min(wanted, limits.maxThreads) : wanted)
    }

    /// Where the coder ran; nil for the host's own and the application's, which always run in this process.
    public internal(set) var isolation: IsolationReport? {
        get { state.withLock { $0.isolation } }
        set { state.withLock { $0.isolation = newValue } }
    }
}
