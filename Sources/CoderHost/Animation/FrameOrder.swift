/// The order in which an animation plays.
public enum PlaybackMode: String, Sendable, Hashable, CaseIterable {
    /// 0 … n−1, repeated.
    case normal
    /// n−1 … 0, repeated.
    case reverse
    /// 0 … n−1 … 0, which counts as one play.
    case bounce
    /// n−1 … 0 … n−1, which counts as one play.
    case reversedBounce
}

/// A position in the playback order, which determines the next frame.
struct FrameOrder: Sendable, Hashable {
    private(set) var mode: PlaybackMode
    private(set) var index: Int
    /// The number of completed plays.
    private(set) var loop = 0
    /// Whether the next frame comes later in the file.
    private(set) var isRising: Bool
    /// The number of available frames.
    private(set) var frameCount: Int
    /// The total number of plays; 0 for infinite.
    var plays = 0
    /// Whether the list of frames is final; only then is the last frame known.
    private(set) var isComplete: Bool

    /// The result of a step.
    enum Step: Sendable, Hashable {
        case frame
        /// The next frame has not arrived.
        case waits
        case ended
    }

    init(_ mode: PlaybackMode, frameCount: Int, isComplete: Bool = true, plays: Int = 0) {
        self.mode = mode
        self.frameCount = frameCount
        self.isComplete = isComplete
        self.plays = plays
        isRising = mode == .normal || mode == .bounce
        index = isRising ? 0 : max(0, frameCount - 1)
    }

    /// Moves to a frame without playing; keeps the direction.
    mutating func seek(to index: Int, loop: Int? = nil) {
        self.index = index
        if let loop { self.loop = loop }
    }

    /// Changes the mode at the current position.
    mutating func change(to mode: PlaybackMode) {
        self.mode = mode
        isRising = mode == .normal || mode == .bounce
    }

    /// Reverses the direction at the current position.
    mutating func turnRound() {
        switch mode {
        case .normal: change(to: .reverse)
        case .reverse: change(to: .normal)
        // A play still ends at the frame that the mode defines.
        case .bounce, .reversedBounce: isRising.toggle()
        }
    }

    /// Adds frames that have arrived.
    mutating func grow(to count: Int, isComplete: Bool) {
        frameCount = max(frameCount, count)
        self.isComplete = isComplete
    }

    /// Performs the next step and returns its result.
    mutating func step() -> Step {
        let last = frameCount - 1
        if last < 0 { return isComplete ? .ended : .waits }
        if isRising, index >= last, !isComplete { return .waits }
        switch mode {
        case .normal: return go(index < last, to: index + 1, else: 0)
        case .reverse: return go(index > 0, to: index - 1, else: last)
        case .bounce, .reversedBounce:
            // With one frame, both directions coincide.
            if last == 0 { return go(false, to: 0, else: 0) }
            let turns = isRising ? index >= last : index <= 0
            // In the bounce modes, a play ends at its start frame.
            let isEnd = turns && isRising == (mode == .reversedBounce)
            if isEnd, !countLoop() { return .ended }
            if turns { isRising.toggle() }
            index = min(last, max(0, index + (isRising ? 1 : -1)))
            return .frame
        }
    }

    private mutating func go(_ goesOn: Bool, to next: Int, else first: Int) -> Step {
        if !goesOn, !countLoop() { return .ended }
        index = goesOn ? next : first
        return .frame
    }

    /// Counts a completed play; returns false after the last one.
    private mutating func countLoop() -> Bool {
        loop += 1
        return plays == 0 || loop < plays
    }

    /// Performs a step; returns false if there is none.
    mutating func advance() -> Bool { step() == .frame }

    /// Returns the number of steps until a frame is displayed: 0 for the current one, `.max` for never.
    func steps(to wanted: Int) -> Int {
        if wanted == index { return 0 }
        guard frameCount > 0, (0..<frameCount).contains(wanted) else { return .max }
        let count = frameCount
        let steps: Int
        switch mode {
        case .normal: steps = (wanted - index + count) % count
        case .reverse: steps = (index - wanted + count) % count
        case .bounce, .reversedBounce:
            let period = max(1, 2 * (count - 1))
            let place = isRising ? index : period - index
            steps = min((wanted - place + 2 * period) % period, (2 * period - wanted - place) % period)
        }
        let isLastPlay = plays != 0 && loop + 1 >= plays
        let wraps = mode == .normal ? wanted < index : mode == .reverse && wanted > index
        return isLastPlay && wraps ? .max : steps
    }
}
