import HostSystem
public import ImageModel

/// A time source for a player.
package protocol PlaybackClock: Sendable {
    /// The time in nanoseconds since a fixed point; never decreases.
    var now: UInt64 { get }
}

/// The monotonic clock of the machine, which also runs while the process waits.
package struct SystemClock: PlaybackClock {
    /// Creates a clock.
    package init() {}
    /// The time in nanoseconds of the monotonic clock.
    package var now: UInt64 { monotonicNow() }
}

/// Plays an animation by computing which frame to display now.
///
/// The player has no timer: the caller calls ``update()`` at every display refresh, or after ``nanosecondsToNext``. The
/// clock determines the speed, regardless of how often the caller updates.
///
///     let player = AnimatedImagePlayer(image)
///     player.start()
///     while player.isPlaying { if try player.update() { show(player.currentFrame) } … }
///
/// - Concurrency: one thread at a time. Several players may play one image; they share its decoded frames.
public final class AnimatedImagePlayer {
    /// The animation to play.
    package let image: AnimatedImage
    private let clock: any PlaybackClock
    private var order: FrameOrder
    private var times = FrameTimes(.browser)
    private let poolID: Int
    /// When the current frame's time was last updated.
    private var lastTime: UInt64?
    /// How long the current frame has been displayed, in nanoseconds at normal speed.
    private var shownFor = 0
    /// Whether playback has finished and nothing has changed the position since.
    private var isAtEnd = false

    /// Whether the player is running.
    public private(set) var isPlaying = false
    /// Whether the next frame is due but has not arrived.
    package private(set) var isWaiting = false
    /// The frame to display; nil before the first ``update()``.
    public private(set) var currentFrame: ImageFrame?
    /// The number of frames that were skipped because they were late.
    package private(set) var skippedFrames = 0
    /// Whether late frames are skipped, so the animation keeps its speed on a slow machine. If false, every frame is
    /// displayed.
    public var skipsLateFrames = false
    /// Called with the index of every new frame.
    package var onFrame: ((Int) -> Void)?
    /// Called with the number of completed plays.
    package var onLoop: ((Int) -> Void)?

    /// Creates a paused player at the start of an animation.
    public convenience init(_ image: AnimatedImage, mode: PlaybackMode = .normal) {
        self.init(image, mode: mode, clock: SystemClock())
    }

    /// Creates a paused player with its own clock.
    package init(_ image: AnimatedImage, mode: PlaybackMode = .normal, clock: any PlaybackClock) {
        self.image = image
        self.clock = clock
        let extent = image.extent
        order = FrameOrder(
            mode, frameCount: extent.frameCount, isComplete: extent.isComplete, plays: image.loopCount.plays)
        poolID = image.pool.register(order)
        times.append(image.durations(0..<extent.frameCount))
    }

    deinit { image.pool.remove(poolID) }

    // MARK: Playback settings

    /// The speed; 1 is normal, 0 or less pauses.
    public var playbackRate = 1.0 {
        willSet { passTime() }
    }

    /// How durations in the file become display times.
    package var durationPolicy: DurationPolicy {
        get { times.policy }
        set {
            times = FrameTimes(newValue)
            times.append(image.durations(0..<order.frameCount))
        }
    }

    /// The number of plays, 0 for infinite; initially the value in the file.
    public var plays: Int {
        get { order.plays }
        set {
            order.plays = max(0, newValue)
            image.pool.update(poolID, order)
        }
    }

    /// The playback order; a change takes effect at the current position.
    package var mode: PlaybackMode {
        get { order.mode }
        set { turn { $0.change(to: newValue) } }
    }

    /// Whether playback advances in file order.
    package var isForward: Bool { order.isRising }

    /// Reverses the direction from the current position; the current frame stays and plays its elapsed time backwards.
    package func turnRound() { turn { $0.turnRound() } }

    private func turn(_ change: (inout FrameOrder) -> Void) {
        passTime()
        let wasRising = order.isRising
        change(&order)
        if currentFrame == nil {
            // An animation that was never displayed starts at the other end.
            rewind()
        } else if order.isRising != wasRising {
            shownFor = max(0, currentDuration - shownFor)
        }
        isAtEnd = false
        image.pool.update(poolID, order)
    }

    /// The memory limit in bytes for decoded frames, shared by all players of this image; the current frame is always
    /// kept.
    public var byteBudget: Int {
        get { image.pool.byteBudget }
        set { image.pool.byteBudget = newValue }
    }

    // MARK: Position

    /// The index of the current frame.
    public var currentIndex: Int { order.index }
    /// The number of completed plays.
    package var currentLoop: Int { order.loop }
    /// The position of the current frame in the file, in nanoseconds at normal speed, regardless of the direction.
    package var position: Int {
        passTime()
        let inside = min(shownFor, currentDuration)
        return times.start(of: order.index) + (order.isRising ? inside : currentDuration - inside)
    }
    /// The total duration of the available frames, in nanoseconds at normal speed.
    package var duration: Int { times.total }

    private var currentDuration: Int { times.duration(of: order.index) }

    // MARK: Control

    /// Starts or resumes playback; restarts from the beginning after the last play.
    public func start() {
        if isPlaying { return }
        if isAtEnd { stop() }
        isPlaying = true
        lastTime = clock.now
    }

    /// Resumes from now: the time since the last ``update()`` is ignored, because nothing was displayed.
    package func forgetElapsedTime() {
        if isPlaying { lastTime = clock.now }
    }

    /// Pauses playback.
    public func pause() {
        passTime()
        isPlaying = false
        lastTime = nil
    }

    /// Stops playback and returns to the beginning.
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

    /// Displays frame `index` at once; ignores an index that does not exist.
    public func seek(to index: Int, loop: Int? = nil) throws(CoderError) {
        grow()
        guard (0..<order.frameCount).contains(index) else { return }
        try go(to: index, loop: loop, shownFor: 0)
    }

    /// Seeks to a ``position``, clamped to the available range.
    package func seek(toPosition nanoseconds: Int) throws(CoderError) {
        grow()
        if order.frameCount == 0 { return }
        let (index, inside) = times.frame(at: nanoseconds)
        try go(
            to: index, loop: nil, shownFor: order.isRising ? inside : max(0, times.duration(of: index) - inside))
    }

    /// Steps by `count` frames in file order, with wraparound.
    package func step(by count: Int) throws(CoderError) {
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

    /// Updates the animation to the current time.
    ///
    /// The first frame's time starts when it is decoded.
    /// - Returns: whether the displayed frame changed.
    /// - Throws: the error of the frame that is due.
    @discardableResult
    public func update() throws(CoderError) -> Bool {
        grow()
        if currentFrame == nil {
            if order.frameCount == 0 { return false }
            do throws(CoderError) {
                try show()
            } catch {
                // Only a part of the first frame may be available.
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

    /// Adds the elapsed time to the current frame's display time.
    private func passTime() {
        guard isPlaying, currentFrame != nil, let lastTime else { return }
        let now = clock.now
        self.lastTime = max(now, lastTime)
        guard now > lastTime, playbackRate > 0 else { return }
        let passed = min(Double(now - lastTime) * playbackRate, 1e18)
        shownFor = min(shownFor, 1_000_000_000_000_000_000) + Int(passed.rounded())
    }

    /// The number of missed frames beyond which, if it also exceeds one play, the player does not catch up.
    private static let maxSteps = 1000

    /// Advances to the frame that is due; returns false if it is the current one.
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
                // The time spent waiting for a missing frame is not made up for.
                shownFor = duration
                isWaiting = step == .waits
                isAtEnd = step == .ended
                if isAtEnd { isPlaying = false }
                break
            }
            shownFor -= duration
            steps += 1
            // Lateness carries over up to one frame. If all frames have zero duration, no frame is ever due.
            let isEmptyPlay = duration == 0 && (order.index == 0 || order.loop != loop)
            if !skipsLateFrames || isEmptyPlay || steps >= max(Self.maxSteps, 2 * order.frameCount) {
                shownFor = min(shownFor, currentDuration)
                break
            }
        }
        skippedFrames += max(0, steps - 1)
        // The callback may stop the player or seek.
        for loop in finished { onLoop?(loop) }
        return steps > 0
    }

    /// The nanoseconds until the next frame is due; nil while paused or waiting for data.
    public var nanosecondsToNext: UInt64? {
        passTime()
        guard isPlaying, playbackRate > 0, !isWaiting else { return nil }
        if currentFrame == nil { return 0 }
        let rest = Double(max(0, currentDuration - shownFor))
        return UInt64(min((rest / playbackRate).rounded(.up), 1e18))
    }

    /// Finds frames that have arrived.
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

    // MARK: Decoding ahead

    /// Decodes the most urgent frame that fits into the budget; returns false if there is none.
    ///
    /// Call it between two frames. Another thread may call it if it does not use the player at the same time.
    @discardableResult
    package func prepareNext() throws(CoderError) -> Bool { try image.prepareNext() }
}
