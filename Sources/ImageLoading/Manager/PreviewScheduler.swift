import CoderHost
import ImageModel
import ImageProcessing

/// Schedules previews while an image is downloaded.
final class PreviewScheduler: Sendable {
    private struct State {
        var progressive: ProgressiveDecoding?
        var seen = 0
        /// Whether a preview waits for its time.
        var isWaiting = false
        var isOver = false
    }

    private let recipe: Recipe
    private let decoding: Decoding
    private let coders: CodersManager
    private let clock: PreviewClock
    private let state = Mutex(State())

    /// Returns nil if the request wants no previews.
    init?(_ recipe: Recipe, _ decoding: Decoding, _ coders: CodersManager, _ clock: PreviewClock) {
        if recipe.options.previewPolicy == .none { return nil }
        self.recipe = recipe
        self.decoding = decoding
        self.coders = coders
        self.clock = clock
    }

    /// Starts a preview in the background, at once or when its time has come, if enough bytes have arrived.
    func look(
        _ progress: LoadProgress, _ urgency: LoadUrgency, _ send: @escaping @Sendable (LoadEvent) -> Void
    ) {
        // Encrypted and complete sources need no preview.
        guard recipe.options.request.decryptor == nil, progress.isReadable, !progress.source.isComplete else { return }
        var delay: UInt64?
        let progressive = state.withLock { state -> ProgressiveDecoding? in
            if state.isOver { return nil }
            // A restarted download has another source.
            if state.progressive?.source !== progress.source {
                state.progressive = ProgressiveDecoding(progress.source, coders, recipe.options, clock)
                state.seen = 0
            }
            let step = recipe.options.request.minimumProgressInterval * Double(progress.expected ?? 0)
            guard state.seen == 0 || Double(progress.received - state.seen) >= step else { return nil }
            switch state.progressive!.turn(progress.expected) {
            case .now: break
            case .never: return nil
            case .later(let time):
                if !state.isWaiting { delay = time }
                state.isWaiting = true
                return nil
            }
            state.seen = progress.received
            return state.progressive
        }
        if let delay {
            // The server may pause, and the bytes that arrived are still to be displayed.
            Task { [self] in
                let isDue = (try? await clock.sleep(delay)) != nil
                state.withLock { $0.isWaiting = false }
                if isDue { look(progress, urgency, send) }
            }
        }
        guard let progressive else { return }
        let count = progress.source.count
        Task { [self] in
            let image = try? await decoding.run(urgency) { _ throws(CoderError) in progressive.look() }
            // Do not send a preview after the final image.
            if let image, !state.withLock({ $0.isOver }) { send(.preview(image)) }
            // Bytes that arrived during the decode.
            if progress.source.count > count { look(progress, urgency, send) }
        }
    }

    /// Ends the previews.
    func stop() { state.withLock { $0.isOver = true } }

    /// Ends the previews; returns the image if they have decoded it completely.
    func end(_ source: ImageSource?) async -> LoadedImage? {
        let progressive = state.withLock { state in
            state.isOver = true
            return state.progressive
        }
        // A loader may return a copy of the source that it filled.
        guard let progressive, let source, progressive.source.isComplete, progressive.source.count == source.count
        else { return nil }
        return try? await decoding.run(LoadUrgency(.high)) { _ throws(CoderError) in progressive.finish() }
    }
}
