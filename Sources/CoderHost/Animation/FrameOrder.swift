/// The order in which an animation is played.
public enum PlaybackMode: String, Sendable, Hashable, CaseIterable {
    /// 0 … n−1, and again.
    case normal
    /// n−1 … 0, and again.
    case reverse
    /// 0 … n−1 … 0 counts once.
    case bounce
    /// n−1 … 0 … n−1 counts once.
    case reversedBounce
}

/// A place in the order of playing, which knows what comes next.
struct FrameOrder: Sendable, Hashable {
    private(set) var mode: PlaybackMode
    private(set) var index: Int
    /// Plays that were finished.
    private(set) var loop = 0
    /// Whether the next frame is a later one of the file.
    private(set) var isRising: Bool
    /// Frames there are now.
    private(set) var frameCount: Int
    /// Plays in all; 0 for ever.
    var plays = 0
    /// Whether no frame will be added: only then the last one is known to be the last.
    private(set) var isComplete: Bool

    /// What comes after a frame.
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

    /// Goes to a frame without playing; the direction stays.
    mutating func seek(to index: Int, loop: Int? = nil) {
        self.index = index
        if let loop { self.loop = loop }
    }

    /// Plays on in another order from here.
    mutating func change(to mode: PlaybackMode) {
        self.mode = mode
        isRising = mode == .normal || mode == .bounce
    }

    /// Plays on in the other direction from here.
    mutating func turnRound() {
        switch mode {
        case .normal: change(to: .reverse)
        case .reverse: change(to: .normal)
        // A play still ends where the mode says.
        case .bounce, .reversedBounce: isRising.toggle()
        }
    }

    /// Notes frames that have arrived.
    mutating func grow(to count: Int, isComplete: Bool) {
        frameCount = max(frameCount, count)
        self.isComplete = isComplete
    }

    /// Says what the next step would be, and takes it.
    mutating func step() -> Step {
        let last = frameCount - 1
        if last < 0 { return isComplete ? .ended : .waits }
        if isRising, index >= last, !isComplete { return .waits }
        switch mode {
        case .normal: return go(index < last, to: index + 1, else: 0)
        case .reverse: return go(index > 0, to: index - 1, else: last)
        case .bounce, .reversedBounce:
            // One frame is there and back at the same time.
            if last == 0 { return go(false, to: 0, else: 0) }
            let turns = isRising ? index >= last : index <= 0
            // A play ends where it began, after the way there and back.
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

    /// Counts a play; false when it was the last one.
    private mutating func countLoop() -> Bool {
        loop += 1
        return plays == 0 || loop < plays
    }

    /// Takes a step; false when there is none.
    mutating func advance() -> Bool { step() == .frame }

    /// Steps until a frame is shown: 0 for the present one, `.max` for never.
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
