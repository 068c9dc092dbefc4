/// Decides from the failures of one plugin file whether it is used.
///
///     closed ── 1 failure while starting, or 3 within ten minutes ──► open ── time is up ──► half open
///        ▲                                                             ▲                      │     │
///        │                                                 twice as long, at most 1 h ── failure   success
///        └────────────────────────────────────────────────────────────────────────────────────────────┘
///
/// A success in between does not close it: a plugin that fails on every third picture is worth no more than one that
/// fails on three in a row. Times are milliseconds since 1970, because they outlive processes.
struct Breaker: Sendable, Hashable {
    struct Failure: Sendable, Hashable {
        var time: Int
        var kind: Quarantine.Kind
        var phase: Quarantine.Phase
    }

    enum State: Sendable, Hashable {
        /// It is used.
        case closed
        /// It is not, until then.
        case open(until: Int)
        /// It may be tried once.
        case halfOpen
    }

    /// The last few, oldest first.
    var failures: [Failure] = []
    /// When it opened for the first time since it was closed; nil while it is closed.
    var since: Int?
    /// When it may be tried again; nil while it is closed.
    var until: Int?
    /// How long it was opened for the last time.
    var backOff = 0
    /// When somebody began to try it; nil unless it is half open.
    var trial: Int?

    static let window = 10 * 60_000
    static let threshold = 3
    static let firstBackOff = 60_000
    static let longestBackOff = 60 * 60_000
    /// A trial without an outcome after this time has none: its process is gone.
    static let longestTrial = 60_000
    static let maxFailures = 16
    private static let oblivion = 30 * 24 * 60 * 60_000

    func state(_ now: Int) -> State {
        guard let until else { return .closed }
        // A clock that was set back must not lock a plugin out for longer than the rule has it.
        if now < until, until - now <= Self.longestBackOff { return .open(until: until) }
        if let trial, now >= trial, now - trial < Self.longestTrial { return .open(until: trial + Self.longestTrial) }
        return .halfOpen
    }

    /// Whether it says nothing any more: failures too old to count, or nobody tried it for a month.
    func isSpent(_ now: Int) -> Bool {
        if let until { return now > until && now - until > Self.oblivion }
        return failures.allSatisfy { now > $0.time && now - $0.time >= Self.window }
    }

    /// Takes note of a failure.
    mutating func fail(_ kind: Quarantine.Kind, _ phase: Quarantine.Phase, _ now: Int) {
        failures.append(Failure(time: now, kind: kind, phase: phase))
        failures.removeFirst(max(0, failures.count - Self.maxFailures))
        switch state(now) {
        case .closed:
            let recent = failures.count { $0.time <= now && now - $0.time < Self.window }
            if phase.isStart || recent >= Self.threshold { open(for: Self.firstBackOff, now) }
        case .halfOpen: open(for: backOff * 2, now)
        // Sessions that began before it opened add nothing; the one that tries it does.
        case .open: if trial != nil { open(for: backOff * 2, now) }
        }
    }

    private mutating func open(for time: Int, _ now: Int) {
        backOff = min(max(time, Self.firstBackOff), Self.longestBackOff)
        since = since ?? now
        until = now + backOff
        trial = nil
    }

    /// Lets one caller try it; false when it is open.
    mutating func admit(_ now: Int) -> Bool {
        switch state(now) {
        case .closed: return true
        case .open: return false
        case .halfOpen:
            trial = now
            return true
        }
    }
}
