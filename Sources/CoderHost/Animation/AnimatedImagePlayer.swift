public import ImageModel

/// Tells the time to a player.
public protocol PlaybackClock: Sendable {
    /// Nanoseconds since some point in the past; never goes down.
    var now: UInt64 { get }
}

/// The machine's clock, which does not stand still while the process waits.
public struct SystemClock: PlaybackClock {
    public init() {}
    public var now: UInt64 { monotonicNow() }
}

/// Plays an animation: says which frame is to be seen now.
///
/// It does nothing by itself: whoever shows the frames calls ``update()`` at every refresh, or after ``nanosecondsToNext``.
/// Time is that of the clock, so the speed does not depend on how often that is.
///
///     let player = AnimatedImagePlayer(image)
///     player.start()
///     while player.isPlaying { if try player.update() { show(player.currentFrame) } … }
///
/// - Concurrency: one thread at a time. Several players may play one image; they share its ``FramePool``.
public final class AnimatedImagePlayer {
    public let image: AnimatedImage
    private let clock: any PlaybackClock
    private var order: FrameOrder
    private var times = FrameTimes(.browser)
    private let poolID: Int
    /// When the time of the current frame was last looked at.
    private var lastTime: UInt64?
    /// Nanoseconds the current frame has been shown, at normal speed.
    private var shownFor = 0
    /// Whether the last play is over, and nobody went elsewhere since.
    private var isAtEnd = false

    public private(set) var isPlaying = false
    /// Whether a frame is due that has not arrived.
    public private(set) var isWaiting = false
    /// The frame to be seen; nil before the first ``update()``.
    public private(set) var currentFrame: ImageFrame?
    /// Frames that were never seen because their time was over.
    public private(set) var skippedFrames = 0
    /// Whether frames whose time is over are left out, so that the animation keeps its speed on a slow machine. Without,
    /// every frame is seen.
    public var skipsLateFrames = false
    /// Called with the index of every new frame.
    public var onFrame: ((Int) -> Void)?
    /// Called with the number of finished plays.
    public var onLoop: ((Int) -> Void)?

    public init(_ image: AnimatedImage, mode: PlaybackMode = .normal, clock: any PlaybackClock = SystemClock()) {
        self.image = image
        self.clock = clock
        let extent = image.extent
        order = FrameOrder(
            mode, frameCount: extent.frameCount, isComplete: extent.isComplete, plays: image.loopCount.plays)
        poolID = image.pool.register(order)
        times.append(image.durations(0..<extent.frameCount))
    }

    deinit { image.pool.remove(poolID) }

    // MARK: How it is played

    /// 1 is the normal speed; 0 and less stands still.
    public var playbackRate = 1.0 {
        willSet { passTime() }
    }

    public var durationPolicy: DurationPolicy {
        get { times.policy }
        set {
            times = FrameTimes(newValue)
            times.append(image.durations(0..<order.frameCount))
        }
    }

    /// How often it is played, 0 for ever; at first what the file says.
    public var plays: Int {
        get { order.plays }
        set {
            order.plays = max(0, newValue)
            image.pool.update(poolID, order)
        }
    }

    public var mode: PlaybackMode {
        get { order.mode }
        set { turn { $0.change(to: newValue) } }
    }

    /// Whether the next frame is a later one of the file.
    public var isForward: Bool { order.isRising }

    /// Plays in the other direction from here: the frame stays, and what was seen of it is seen again.
    public func turnRound() { turn { $0.turnRound() } }

    private func turn(_ change: (inout FrameOrder) -> Void) {
        passTime()
        let wasRising = order.isRising
        change(&order)
        if currentFrame == nil {
            // What was never shown begins at the other end.
            rewind()
        } else if order.isRising != wasRising {
            shownFor = max(0, currentDuration - shownFor)
        }
        isAtEnd = false
        image.pool.update(poolID, order)
    }

    /// Bytes of decoded frames that all players of this image keep; at least the current frame is always held.
    public var byteBudget: Int {
        get { image.pool.byteBudget }
        set { image.pool.byteBudget = newValue }
    }

    // MARK: Where it is

    public var currentIndex: Int { order.index }
    /// Plays that were finished.
    public var currentLoop: Int { order.loop }
    /// Nanoseconds at normal speed from the beginning of the file to what is seen, whatever the direction.
    public var position: Int {
        passTime()
        let inside = min(shownFor, currentDuration)
        return times.start(of: order.index) + (order.isRising ? inside : currentDuration - inside)
    }
    /// Nanoseconds at normal speed that the frames last which have arrived.
    public var duration: Int { times.total }

    private var currentDuration: Int { times.duration(of: order.index) }

    // MARK: Control

    /// Plays on from where it is, from now on; once the last play is over, from the beginning.
    public func start() {
        if isPlaying { return }
        if isAtEnd { stop() }
        isPlaying = true
        lastTime = clock.now
    }

    /// Goes on from now: the time since the last ``update()`` does not count, because nobody could see anything.
    public func forgetElapsedTime() {
        if isPlaying { lastTime = clock.now }
    }

    /// Stands still.
    public func pause() {
        passTime()
        isPlaying = false
        lastTime = nil
    }

    /// Stands still at the beginning.
    public func stop() {
        isPlaying = false
        lastTime = nil
        rewind()
        currentFrame = nil
        image.pool.update(poolID, order)
    }

    private func rewind() {
        order = FrameOrder(order.mode, frameCount: order.frameCount, isComplete: order.isComplete, plays: order.plays)
        shownFor = 0
        isAtEnd = false
        isWaiting = false
    }

    /// Shows frame `index` at once; one that does not exist is ignored.
    public func seek(to index: Int, loop: Int? = nil) throws(CoderError) {
        grow()
        guard (0..<order.frameCount).contains(index) else { return }
        try go(to: index, loop: loop, shownFor: 0)
    }

    /// Shows what is seen at a ``position``; one outside is taken for the nearer end.
    public func seek(toPosition nanoseconds: Int) throws(CoderError) {
        grow()
        if order.frameCount == 0 { return }
        let (index, inside) = times.frame(at: nanoseconds)
        try go(
            to: index, loop: nil, shownFor: order.isRising ? inside : max(0, times.duration(of: index) - inside))
    }

    /// Shows the frame that stands `count` places further on in the file, over its ends.
    public func step(by count: Int) throws(CoderError) {
        grow()
        let frames = order.frameCount
        if frames == 0 { return }
        try seek(to: (order.index + count % frames + frames) % frames)
    }

    private func go(to index: Int, loop: Int?, shownFor: Int) throws(CoderError) {
        order.seek(to: index, loop: loop)
        self.shownFor = shownFor
        isAtEnd = false
        isWaiting = false
        if isPlaying { lastTime = clock.now }
        try show()
    }

    // MARK: Time

    /// Brings the animation to the present.
    ///
    /// The time of the first frame begins when it was decoded.
    /// - Returns: whether there is another frame to be seen.
    /// - Throws: what is wrong with the frame that is due.
    @discardableResult
    public func update() throws(CoderError) -> Bool {
        grow()
        if currentFrame == nil {
            if order.frameCount == 0 { return false }
            do throws(CoderError) {
                try show()
            } catch {
                // Of the first frame there may be only a part.
                guard error.code == .needsInput else { throw error }
                return false
            }
            if isPlaying { lastTime = clock.now }
            return true
        }
        passTime()
        guard isPlaying, playbackRate > 0, moveOn() else { return false }
        try show()
        return true
    }

    /// Counts the time since the last time towards the current frame.
    private func passTime() {
        guard isPlaying, currentFrame != nil, let lastTime else { return }
        let now = clock.now
        self.lastTime = max(now, lastTime)
        guard now > lastTime, playbackRate > 0 else { return }
        let passed = min(Double(now - lastTime) * playbackRate, 1e18)
        shownFor = min(shownFor, 1_000_000_000_000_000_000) + Int(passed.rounded())
    }

    /// Whoever was away for longer than this many frames, and than the whole animation, does not catch up.
    private static let maxSteps = 1000

    /// Steps to the frame that is due; false when it is the current one.
    private func moveOn() -> Bool {
        var steps = 0
        var finished: [Int] = []
        isWaiting = false
        while shownFor >= currentDuration {
            let duration = currentDuration
            let loop = order.loop
            let step = order.step()
            if order.loop != loop { finished.append(order.loop) }
            if step != .frame {
                // The time that passes while a frame is missing is not made up for.
                shownFor = duration
                isWaiting = step == .waits
                isAtEnd = step == .ended
                if isAtEnd { isPlaying = false }
                break
            }
            shownFor -= duration
            steps += 1
            // What is late stays late by less than a frame. Frames that last no time at all have no present.
            let isEmptyPlay = duration == 0 && (order.index == 0 || order.loop != loop)
            if !skipsLateFrames || isEmptyPlay || steps >= max(Self.maxSteps, 2 * order.frameCount) {
                shownFor = min(shownFor, currentDuration)
                break
            }
        }
        skippedFrames += max(0, steps - 1)
        // Whoever is told may stop it, or go elsewhere.
        for loop in finished { onLoop?(loop) }
        return steps > 0
    }

    /// Nanoseconds until another frame is due; nil while it stands still or waits for one to arrive.
    public var nanosecondsToNext: UInt64? {
        passTime()
        guard isPlaying, playbackRate > 0, !isWaiting else { return nil }
        if currentFrame == nil { return 0 }
        let rest = Double(max(0, currentDuration - shownFor))
        return UInt64(min((rest / playbackRate).rounded(.up), 1e18))
    }

    /// Meets the frames that have arrived.
    private func grow() {
        if order.isComplete { return }
        let extent = image.extent
        order.grow(to: extent.frameCount, isComplete: extent.isComplete)
        if times.count < order.frameCount { times.append(image.durations(times.count..<order.frameCount)) }
        image.pool.update(poolID, order)
    }

    private func show() throws(CoderError) {
        image.pool.update(poolID, order)
        currentFrame = try image.frame(at: order.index)
        onFrame?(order.index)
    }

    // MARK: Ahead of time

    /// Decodes the frame that is needed soonest and fits into the budget; false when there is none.
    ///
    /// For the time between two frames. It may be called from another thread if the player is not used there otherwise.
    @discardableResult
    public func prepareNext() throws(CoderError) -> Bool { try image.prepareNext() }
}
