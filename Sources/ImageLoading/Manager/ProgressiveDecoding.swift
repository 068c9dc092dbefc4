import CoderHost
import ImageModel
import ImageProcessing

/// Decodes previews of an image while its bytes arrive, with one session from the first byte to the last.
///
/// One preview is decoded at a time; the next one uses all bytes that have arrived by then. A preview of a still draws
/// and copies the whole image, so a paced one waits for enough bytes for a coarse image. An animation shows every
/// available frame; until its first frame is complete, the available part of that frame is a still.
final class ProgressiveDecoding: Sendable {
    private struct State {
        var session: DecodeSession?
        var animation: AnimatedImage?
        var shownFrames = 0
        var firstFrameIsComplete = false
        /// Whether the embedded thumbnail was displayed, or cannot be.
        var thumbnailIsOver = false
        /// The complete still, as the coder drew it.
        var complete: PixelBuffer?
        var hasFailed = false
    }

    /// The coarsest image of a coder needs about an eighth of a bit per pixel.
    private static let pixelsPerByte = 64
    private static let firstShare = 12

    let source: ImageSource
    private let coders: CodersManager
    private let options: LoadOptions
    private let clock: PreviewClock
    private let state: Mutex<State>
    private let pace: Mutex<PreviewPace>
    /// The total number of bytes; nil if unknown.
    private let expected = Mutex<Int?>(nil)

    init(_ source: ImageSource, _ coders: CodersManager, _ options: LoadOptions, _ clock: PreviewClock) {
        self.source = source
        self.coders = coders
        self.options = options
        self.clock = clock
        state = Mutex(State())
        pace = Mutex(PreviewPace(options.previewPolicy))
    }

    /// Asks whether a preview can be decoded now; after `.now`, the caller must call ``look()``.
    ///
    /// - Parameter expected: total number of bytes; nil if unknown.
    func turn(_ expected: Int?) -> PreviewPace.Turn {
        self.expected.withLock { $0 = expected }
        return pace.withLock { $0.begin(clock.now()) }
    }

    /// Returns a preview if there is new content.
    func look() -> LoadedImage? {
        let image = state.withLock { state -> LoadedImage? in
            if state.hasFailed { return nil }
            do throws(CoderError) {
                return try see(&state)
            } catch {
                // The decode of the complete file reports the error.
                state.hasFailed = error.code != .needsInput
                return nil
            }
        }
        pace.withLock { $0.end(clock.now(), hasImage: image != nil) }
        return image
    }

    private func see(_ state: inout State) throws(CoderError) -> LoadedImage? {
        if let animation = state.animation { return try see(animation, &state) }
        if state.session == nil {
            var coder = options.decode.coder
            if options.previewPolicy == .everyScan { coder[OptionKey.everyScan] = .bool(true) }
            state.session = try coders.openSession(source, options: coder, forcing: options.parts.coder)
        }
        guard let session = state.session else { return nil }
        // A format without a frame count shows only by its second frame that it is an animation.
        let isAnimated = state.complete == nil ? session.info.isAnimated : StoredImage.isAnimated(session)
        if isAnimated, options.kind != .still, !options.decode.firstFrameOnly {
            let animation = try AnimatedImage(
                source, manager: coders, options.decode, forcing: options.parts.coder)
            (state.session, state.complete, state.animation) = (nil, nil, animation)
            return try see(animation, &state)
        }
        if state.complete != nil || options.kind == .animated { return nil }
        if !state.thumbnailIsOver, let image = try thumbnail(session, &state) { return image }
        guard source.count >= coarseCount(session.info), let part = try session.decodeAvailable() else { return nil }
        if part.isComplete { state.complete = part.pixels }
        // The coder continues to draw into its pixels, so copy them.
        var image = try session.reduced(part.pixels, options.decode)
        if image.pixels === part.pixels { image.pixels = try PixelConverter.copy(image.pixels) }
        return LoadedImage(
            .still(image), format: session.format, isPartial: !part.isComplete, options: options.decode)
    }

    /// Returns the animation if it has new frames, or the new part of its first frame.
    private func see(_ animation: AnimatedImage, _ state: inout State) throws(CoderError) -> LoadedImage? {
        let count = animation.update()
        if !state.firstFrameIsComplete {
            guard let part = try animation.availableFirstFrame() else { return nil }
            state.firstFrameIsComplete = part.isComplete
            if !part.isComplete {
                guard options.kind != .animated else { return nil }
                return LoadedImage(
                    .still(part.image), format: animation.format, isPartial: true, options: options.decode)
            }
        }
        guard count > state.shownFrames else { return nil }
        state.shownFrames = count
        return LoadedImage(
            .animated(animation), format: animation.format, isPartial: !animation.isComplete, options: options.decode)
    }

    /// Returns the embedded thumbnail, once.
    private func thumbnail(_ session: DecodeSession, _ state: inout State) throws(CoderError) -> LoadedImage? {
        var image: DecodedImage?
        do throws(CoderError) {
            image = try session.thumbnailPreview(options.decode)
        } catch {
            // The image itself may be intact.
            if [.cancelled, .deadlineExceeded].contains(error.code) { throw error }
            if error.code == .needsInput { return nil }
        }
        state.thumbnailIsOver = true
        return image.map {
            LoadedImage(.still($0), format: session.format, isPartial: true, options: options.decode)
        }
    }

    /// The bytes required for a coarse image.
    private func coarseCount(_ info: ImageInfo) -> Int {
        if options.previewPolicy == .everyScan { return 0 }
        let expected = self.expected.withLock { $0 } ?? Int.max
        return min((info.size.area ?? .max) / Self.pixelsPerByte, expected / Self.firstShare)
    }

    /// Returns the complete image; nil if it must be decoded again.
    ///
    /// The cached image must not depend on how its bytes arrived. A smaller image is decoded again, because a reduced
    /// decode produces other pixels than reducing the whole image. An image whose kind (still or animation) became
    /// known only at the end is decoded again, too. So is an animation with converted colors, because its profile may
    /// have arrived after its first frame.
    func finish() -> LoadedImage? {
        pace.withLock { $0.stop() }
        return state.withLock { state in
            if state.hasFailed { return nil }
            if let animation = state.animation {
                animation.update()
                // An animation with one frame is a still, and the byte limit per frame depends on the number of frames.
                guard animation.isComplete, animation.problem == nil, animation.frameCount > 1,
                    !options.decode.size.dependsOnFrameCount, options.decode.colors == .stored
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
