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
    private let poolID: Int
    /// When the time of the current frame was last looked at.
    private var lastTime: UInt64?
    /// Nanoseconds the current frame has been shown, at normal speed.
    private var shownFor: Double = 0

    public private(set) var isPlaying = false
    /// The frame to be seen; nil before the first ``update()``.
    public private(set) var currentFrame: ImageFrame?
    /// 1 is the normal speed; 0 and less stands still.
    public var playbackRate = 1.0
    public var durationPolicy = DurationPolicy.browser
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
        order = FrameOrder(
            mode, frameCount: image.frameCount, isComplete: image.isComplete, plays: image.loopCount.plays)
        poolID = image.pool.register(order)
    }

    deinit { image.pool.remove(poolID) }

    public var currentIndex: Int { order.index }
    /// Plays that were finished.
    public var currentLoop: Int { order.loop }

    /// How often it is played, 0 for ever; at first what the file says.
    public var plays: Int {
        get { order.plays }
        set { order.plays = max(0, newValue) }
    }

    public var mode: PlaybackMode {
        get { order.mode }
        set {
            // Before it was ever shown it begins at the other end.
            if currentFrame == nil {
                order = FrameOrder(
                    newValue, frameCount: order.frameCount, isComplete: order.isComplete, plays: order.plays)
            } else {
                order.change(to: newValue)
            }
            image.pool.update(poolID, order)
        }
    }

    /// Bytes of decoded frames that all players of this image keep; at least the current frame is always held.
    public var byteBudget: Int {
        get { image.pool.byteBudget }
        set { image.pool.byteBudget = newValue }
    }

    // MARK: Control

    /// Plays on from where it is.
    public func start() {
        if isPlaying { return }
        isPlaying = true
        lastTime = nil
    }

    /// Stands still.
    public func pause() {
        isPlaying = false
        lastTime = nil
    }

    /// Stands still at the beginning.
    public func stop() {
        pause()
        order = FrameOrder(order.mode, frameCount: order.frameCount, isComplete: order.isComplete, plays: order.plays)
        shownFor = 0
        currentFrame = nil
        image.pool.update(poolID, order)
    }

    /// Shows frame `index` at once; one that does not exist is ignored.
    public func seek(to index: Int, loop: Int? = nil) throws(CoderError) {
        grow()
        guard (0..<order.frameCount).contains(index) else { return }
        order.seek(to: index, loop: loop)
        shownFor = 0
        try show()
    }

    // MARK: Time

    /// Brings the animation to the present.
    ///
    /// - Returns: whether there is another frame to be seen.
    /// - Throws: what is wrong with the frame that is due.
    @discardableResult
    public func update() throws(CoderError) -> Bool {
        grow()
        if order.frameCount == 0 { return false }
        let now = clock.now
        defer { lastTime = now }
        if currentFrame == nil {
            try show()
            return true
        }
        guard isPlaying, playbackRate > 0, let lastTime else { return false }
        shownFor += Double(now - lastTime) * playbackRate
        var hasMoved = false
        while shownFor >= currentDuration {
            let loop = order.loop
            let duration = currentDuration
            switch order.step() {
            case .frame: break
            case .waits:
                // The time that passes while a frame is missing is not made up for.
                shownFor = duration
                return try hasMoved ? showAgain() : false
            case .ended:
                isPlaying = false
                if order.loop != loop { onLoop?(order.loop) }
                return try hasMoved ? showAgain() : false
            }
            shownFor -= duration
            hasMoved = true
            if order.loop != loop { onLoop?(order.loop) }
            if !skipsLateFrames {
                // What is late stays late by less than a frame.
                shownFor = min(shownFor, currentDuration)
                break
            }
            // An animation whose frames last no time at all has no present.
            if duration == 0, order.index == 0 || order.loop != loop { break }
        }
        return try hasMoved ? showAgain() : false
    }

    private func showAgain() throws(CoderError) -> Bool {
        try show()
        return true
    }

    /// Nanoseconds until another frame is due; nil while it stands still.
    public var nanosecondsToNext: UInt64? {
        guard isPlaying, playbackRate > 0 else { return nil }
        return UInt64(max(0, (currentDuration - shownFor) / playbackRate))
    }

    private var currentDuration: Double {
        Double(durationPolicy.nanoseconds((try? image.duration(at: order.index)) ?? .unknown))
    }

    private func grow() {
        if order.isComplete { return }
        order.grow(to: image.frameCount, isComplete: image.isComplete)
        if order.frameCount > 0 { image.pool.update(poolID, order) }
    }

    private func show() throws(CoderError) {
        image.pool.update(poolID, order)
        let frame = try image.frame(at: order.index)
        image.pool.store(frame, at: order.index)
        currentFrame = frame
        onFrame?(order.index)
    }

    // MARK: Ahead of time

    /// Decodes the frame that is needed soonest and fits into the budget; false when there is none.
    ///
    /// For the time between two frames. It may be called from another thread if the player is not used there otherwise.
    @discardableResult
    public func prepareNext() throws(CoderError) -> Bool {
        try image.prepareNext()
    }
}

extension AnimatedImage {
    /// Decodes the frame that some player needs soonest and that fits into the pool; false when there is none.
    ///
    /// - Concurrency: any thread; meant for one that has nothing else to do.
    @discardableResult
    public func prepareNext() throws(CoderError) -> Bool {
        guard let index = pool.nextMissing(bytesPerFrame: bytesPerFrame, within: frameCount) else { return false }
        pool.store(try frame(at: index), at: index)
        return true
    }
}
