import CoderHost
import ImageModel
import ImageProcessing

/// Decodes previews of an image while its bytes arrive, with one session from the first byte to the last.
///
/// One preview is decoded at a time; the next one uses all bytes that have arrived by then. A preview of a still draws
/// and copies the whole image, which takes a quarter of the time of a decode. So the first preview waits for enough
/// bytes for a coarse image, and each later one for five times as many bytes. This makes two or three previews,
/// for any length. An animation shows every available frame, because its previews cost almost nothing.
final class ProgressiveDecoding: Sendable {
    private struct State {
        var session: DecodeSession?
        var animation: AnimatedImage?
        var shownFrames = 0
        /// The complete still, as the coder drew it.
        var complete: PixelBuffer?
        var hasFailed = false
    }

    private struct Pace {
        var isLooking = false
        var isOver = false
        var next = ContinuousClock.now
        /// Bytes required for the next preview.
        var nextCount = 0
        /// Total number of bytes; nil if unknown.
        var expected: Int?
    }

    /// The factor by which a still must grow until the next preview.
    private static let growth = 5
    /// The coarsest image of a coder needs about an eighth of a bit per pixel.
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

    /// Whether a preview can be decoded now; if true, the caller must call ``look()``.
    ///
    /// - Parameter expected: total number of bytes; nil if unknown.
    func mayLook(_ expected: Int?) -> Bool {
        pace.withLock { pace in
            pace.expected = expected
            guard !pace.isLooking, !pace.isOver, ContinuousClock.now >= pace.next, source.count >= pace.nextCount
            else { return false }
            pace.isLooking = true
            return true
        }
    }

    /// Returns a preview if there is new content.
    func look() -> LoadedImage? {
        let begin = ContinuousClock.now
        let count = source.count
        let image = state.withLock { state -> LoadedImage? in
            if state.hasFailed || state.complete != nil { return nil }
            do throws(CoderError) {
                return try see(&state)
            } catch {
                // The decode of the complete file reports the error.
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
            state.session = try coders.openSession(source, options: options.decode.coder, forcing: options.parts.coder)
        }
        guard let session = state.session else { return nil }
        if session.info.isAnimated, options.kind != .still, !options.decode.firstFrameOnly {
            state.animation = try AnimatedImage(source, manager: coders, options.decode, forcing: options.parts.coder)
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
        // The coder continues to draw into its pixels, so copy them.
        var image = try session.reduced(part.pixels, options.decode)
        if image.pixels === part.pixels { image.pixels = try PixelConverter.copy(image.pixels) }
        return LoadedImage(
            .still(image), format: session.format, isPartial: !part.isComplete, options: options.decode)
    }

    /// Returns the complete image; nil if it must be decoded again.
    ///
    /// The cached image must not depend on how its bytes arrived. A smaller image is decoded again, because a reduced
    /// decode produces other pixels than reducing the whole image. An image whose kind (still or animation) became
    /// known only at the end is decoded again, too.
    func finish() -> LoadedImage? {
        pace.withLock { $0.isOver = true }
        return state.withLock { state in
            if state.hasFailed { return nil }
            if let animation = state.animation {
                animation.update()
                // An animation with one frame is a still, and the byte limit per frame depends on the number of frames.
                guard animation.isComplete, animation.problem == nil, animation.frameCount > 1,
                    !options.decode.size.dependsOnFrameCount
                else { return nil }
                return LoadedImage(.animated(animation), format: animation.format, options: options.decode)
            }
            guard let session = state.session, options.kind != .animated else { return nil }
            let wantsStill = options.kind == .still || options.decode.firstFrameOnly
            do throws(CoderError) {
                guard try session.shape(options.decode).reduced == session.info.size else { return nil }
                if state.complete == nil, let part = try session.decodeAvailable(), part.isComplete {
                    state.complete = part.pixels
                }
                guard let pixels = state.complete, wantsStill || !StoredImage.isAnimated(session) else { return nil }
                return LoadedImage(
                    .still(try session.reduced(pixels, options.decode)), format: session.format,
                    options: options.decode)
            } catch {
                return nil
            }
        }
    }
}
