import ImageModel

/// Where an animation is: which frame, for how long already, and what comes next. Nanoseconds, and no clock.
struct Playhead {
    /// What is done with durations that browsers do not believe.
    ///
    /// - Source: 10 ms and less is played as 100 ms, as browsers do since Netscape's GIFs.
    static func duration(_ duration: FrameDuration, isExact: Bool) -> UInt64 {
        guard duration.denominator > 0 else { return 100_000_000 }
        let exact = UInt64(duration.numerator) * 1_000_000_000 / UInt64(duration.denominator)
        if isExact { return max(1_000_000, exact) }
        return exact < 11_000_000 ? 100_000_000 : exact
    }

    let durations: [UInt64]
    private let starts: [UInt64]
    let total: UInt64
    /// Turns round at the ends instead of beginning again.
    let bounces: Bool
    /// How often all of it is played; nil for ever.
    var plays: Int?
    private(set) var isForward: Bool
    private let startsForward: Bool
    private(set) var frame: Int
    /// How long the frame has been seen.
    private(set) var shown: UInt64 = 0
    private(set) var playsDone = 0
    private(set) var isFinished = false

    init(durations: [UInt64], plays: Int?, isForward: Bool = true, bounces: Bool = false) {
        precondition(!durations.isEmpty)
        self.durations = durations
        var starts: [UInt64] = []
        var sum: UInt64 = 0
        for duration in durations {
            starts.append(sum)
            sum += duration
        }
        self.starts = starts
        total = sum
        self.plays = plays
        self.bounces = bounces && durations.count > 1
        self.isForward = isForward
        startsForward = isForward
        frame = isForward ? 0 : durations.count - 1
    }

    /// Until the frame changes.
    var remaining: UInt64 { durations[frame] - min(shown, durations[frame]) }

    /// The place in the animation, 0 at its start whatever the direction.
    var time: UInt64 {
        let inside = min(shown, durations[frame])
        return starts[frame] + (isForward ? inside : durations[frame] - inside)
    }

    /// Lets time pass.
    ///
    /// - Returns: how often the frame changed.
    mutating func advance(by elapsed: UInt64) -> Int {
        var rest = elapsed
        var changes = 0
        while !isFinished, rest >= remaining {
            rest -= remaining
            guard moveOn() else {
                isFinished = true
                shown = durations[frame]
                return changes
            }
            shown = 0
            changes += 1
        }
        if !isFinished { shown += rest }
        return changes
    }

    /// Goes to the next frame; false when everything was played.
    private mutating func moveOn() -> Bool {
        let next = frame + (isForward ? 1 : -1)
        if durations.indices.contains(next) {
            frame = next
            return true
        }
        if bounces {
            // There and back again is one play.
            if isForward != startsForward, !countPlay() { return false }
            isForward.toggle()
            frame += isForward ? 1 : -1
            return true
        }
        guard countPlay() else { return false }
        frame = isForward ? 0 : durations.count - 1
        return true
    }

    private mutating func countPlay() -> Bool {
        playsDone += 1
        return plays.map { playsDone < $0 } ?? true
    }

    // MARK: By hand

    mutating func turnRound() {
        isForward.toggle()
        shown = durations[frame] - min(shown, durations[frame])
    }

    /// One frame on or back, over the ends.
    mutating func step(_ count: Int) {
        frame = (frame + count % durations.count + durations.count) % durations.count
        shown = 0
    }

    mutating func seek(toFrame index: Int) {
        frame = min(max(0, index), durations.count - 1)
        shown = 0
    }

    /// To a time from the start, kept inside.
    mutating func seek(to time: Int64) {
        let wanted = UInt64(clamping: min(max(0, time), Int64(clamping: total) - 1))
        // The last frame that starts at or before it.
        var low = 0
        var high = starts.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if starts[middle] <= wanted { low = middle } else { high = middle }
        }
        frame = low
        let inside = wanted - starts[low]
        shown = isForward ? inside : durations[low] - inside
    }
}
