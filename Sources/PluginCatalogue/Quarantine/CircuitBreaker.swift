/// A circuit breaker that decides from its failures whether a plugin file is used.
///
///     closed ── 1 failure while starting, or 3 within ten minutes ──► open ── time is up ──► half open
///        ▲                                                             ▲                      │     │
///        │                                                 twice as long, at most 1 h ── failure   success
///        └────────────────────────────────────────────────────────────────────────────────────────────┘
///
/// A success in between does not close the breaker: a plugin that fails on every third image is as unusable as one that
/// fails three times in a row. Times are milliseconds since 1970, because they outlive the process.
struct CircuitBreaker: Sendable, Hashable {
    package struct Failure: Sendable, Hashable {
        package var time: Int
        package var kind: Quarantine.Kind
        package var phase: Quarantine.Phase
    }

    package enum State: Sendable, Hashable {
        /// The plugin is used.
        case closed
        /// The plugin is not used before this time.
        case open(until: Int)
        /// One trial is allowed.
        case halfOpen
    }

    /// The most recent failures, oldest first.
    package var failures: [Failure] = []
    /// When the breaker first opened since it was closed; nil while closed.
    package var since: Int?
    /// When a trial is allowed; nil while closed.
    package var until: Int?
    /// The length of the last open period.
    var backOff = 0
    /// When a trial began; nil unless half open.
    package var trial: Int?

    package static let window = 10 * 60_000
    package static let threshold = 3
    static let firstBackOff = 60_000
    static let longestBackOff = 60 * 60_000
    /// A trial without an outcome after this time is void: its process ended.
    static let longestTrial = 60_000
    package static let maxFailures = 16
    private static let oblivion = 30 * 24 * 60 * 60_000

    package func state(_ now: Int) -> State {
        guard let until else { return .closed }
        // A clock that was set back must not disable a plugin for longer than the rule allows.
        if now < until, until - now <= Self.longestBackOff { return .open(until: until) }
        if let trial, now >= trial, now - trial < Self.longestTrial { return .open(until: trial + Self.longestTrial) }
        return .halfOpen
    }

    /// Whether the entry can be deleted: its failures are too old to count, or no trial took place for a month.
    func isSpent(_ now: Int) -> Bool {
        if let until { return now > until && now - until > Self.oblivion }
        return failures.allSatisfy { now > $0.time && now - $0.time >= Self.window }
    }

    /// Records a failure.
    package mutating func fail(_ kind: Quarantine.Kind, _ phase: Quarantine.Phase, _ now: Int) {
        failures.append(Failure(time: now, kind: kind, phase: phase))
        failures.removeFirst(max(0, failures.count - Self.maxFailures))
        switch state(now) {
        case .closed:
            let recent = failures.count { $0.time <= now && now - $0.time < Self.window }
            if phase.isStart || recent >= Self.threshold { open(for: Self.firstBackOff, now) }
        case .halfOpen: open(for: backOff * 2, now)
        // Failures of sessions that began before the breaker opened do not count; a failure of the trial does.
        case .open: if trial != nil { open(for: backOff * 2, now) }
        }
    }

    private mutating func open(for time: Int, _ now: Int) {
        backOff = min(max(time, Self.firstBackOff), Self.longestBackOff)
        since = since ?? now
        until = now + backOff
        trial = nil
    }

    /// Admits a session or a single trial; false while open.
    package mutating func admit(_ now: Int) -> Bool {
        switch state(now) {
        case .closed: return true
        case .open: return false
        case .halfOpen:
            trial = now
            return true
        }
    }
}
