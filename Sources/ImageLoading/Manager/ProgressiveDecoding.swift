import CoderHost
import ImageModel
import ImageProcessing
import Synchronization

/// Looks at a picture while its bytes arrive, with one session from the first byte to the last.
///
/// One look at a time; what arrives meanwhile is seen by the next. A look at a still draws and copies all of it, a quarter
/// of what a decode costs. So the first one waits for as many bytes as make a coarse picture of its size, and the next one
/// until there are five times as many: that makes two or three, whatever the length turns out to be. An animation shows
/// every frame that is there, for a look at it costs next to nothing.
final class ProgressiveDecoding: Sendable {
    private struct State {
        var session: DecodeSession?
        var animation: AnimatedImage?
        var shownFrames = 0
        /// The whole of a still, as the coder drew it.
        var complete: PixelBuffer?
        var hasFailed = false
    }

    private struct Pace {
        var isLooking = false
        var isOver = false
        var next = ContinuousClock.now
        /// The bytes that have to be there.
        var nextCount = 0
        /// Bytes of the whole; nil while that is not known.
        var expected: Int?
    }

    /// By what a still has to grow until it is looked at again.
    private static let growth = 5
    /// The coarsest picture that a coder draws has about an eighth of a bit for a pixel.
    private static let pixelsPerByte = 64
    private static let firstShare = 12

    let source: ImageSource
    private let coders: CodersManager
    private let options: LoadOptions
    private let state: Mutex<State>
    private let pace = Mutex(Pace())

    init(_ source: ImageSource, _ coders: CodersManager, _ options: LoadOptions) {
        self.source = source
        self.coders = coders
        self.options = options
        state = Mutex(State())
    }

    /// Whether a look would be welcome now; whoever gets true has to call ``look()``.
    ///
    /// - Parameter expected: bytes of the whole; nil while that is not known.
    func mayLook(_ expected: Int?) -> Bool {
        pace.withLock { pace in
            pace.expected = expected
            guard !pace.isLooking, !pace.isOver, ContinuousClock.now >= pace.next, source.count >= pace.nextCount
            else { return false }
            pace.isLooking = true
            return true
        }
    }

    /// What can be seen now that could not be seen before.
    func look() -> LoadedImage? {
        let begin = ContinuousClock.now
        let count = source.count
        let image = state.withLock { state -> LoadedImage? in
            if state.hasFailed || state.complete != nil { return nil }
            do throws(CoderError) {
                return try see(&state)
            } catch {
                // What is wrong is said by the decode of the whole.
                state.hasFailed = error.code != .needsInput
                return nil
            }
        }
        let cost = ContinuousClock.now - begin
        pace.withLock { pace in
            pace.isLooking = false
            pace.next = .now + max(.milliseconds(20), cost * 2)
            if image?.still != nil { pace.nextCount = count * Self.growth }
        }
        return image
    }

    private func see(_ state: inout State) throws(CoderError) -> LoadedImage? {
        if let animation = state.animation {
            let count = animation.update()
            guard count > state.shownFrames else { return nil }
            state.shownFrames = count
            return LoadedImage(
                .animated(animation), format: animation.format, isPartial: !animation.isComplete,
                options: options.decode)
        }
        if state.session == nil {
            state.session = try coders.openSession(source, options: options.decode.coder, forcing: options.coder)
        }
        guard let session = state.session else { return nil }
        if session.info.isAnimated, options.kind != .still, !options.decode.firstFrameOnly {
            state.animation = try AnimatedImage(source, manager: coders, options.decode, forcing: options.coder)
            if state.animation?.frameCount ?? 0 > 0 {
                state.session = nil
                return try see(&state)
            }
            state.animation = nil
        }
        let expected = pace.withLock { $0.expected } ?? Int.max
        let coarse = min((session.info.size.area ?? .max) / Self.pixelsPerByte, expected / Self.firstShare)
        guard source.count >= coarse, let part = try session.decodeAvailable() else { return nil }
        if part.isComplete { state.complete = part.pixels }
        // The coder goes on drawing on its pixels.
        var image = try session.reduced(part.pixels, options.decode)
        if image.pixels === part.pixels { image.pixels = try PixelConverter.copy(image.pixels) }
        return LoadedImage(
            .still(image), format: session.format, isPartial: !part.isComplete, options: options.decode)
    }

    /// The picture, once all bytes are there; nil where it has to be decoded anew.
    ///
    /// What is cached must not depend on how it came. So a smaller picture is decoded anew, for from a reduced decode come
    /// other pixels than from the whole; and so is what turned out to be a still, or an animation, only at its end.
    func finish() -> LoadedImage? {
        pace.withLock { $0.isOver = true }
        return state.withLock { state in
            if state.hasFailed { return nil }
            if let animation = state.animation {
                animation.update()
                // One frame is a still, and how large frames may be follows from how many there are.
                guard animation.isComplete, animation.problem == nil, animation.frameCount > 1,
                    options.decode.limitBytes == nil
                else { return nil }
                return LoadedImage(.animated(animation), format: animation.format, options: options.decode)
            }
            guard let session = state.session, options.kind != .animated else { return nil }
            let wantsStill = options.kind == .still || options.decode.firstFrameOnly
            do throws(CoderError) {
                let pending = session.pendingOrientation
                let upright = pending.applied(to: session.info.size)
                guard options.decode.targetSize(for: upright, session.info.nativeFormat) == upright else { return nil }
                if state.complete == nil, let part = try session.decodeAvailable(), part.isComplete {
                    state.complete = part.pixels
                }
                guard let pixels = state.complete, wantsStill || !StoredPicture.isAnimated(session) else { return nil }
                return LoadedImage(
                    .still(try session.reduced(pixels, options.decode)), format: session.format,
                    options: options.decode)
            } catch {
                return nil
            }
        }
    }
}
