import CoderHost
import ImageModel
import ImageProcessing

/// Schedules previews while an image is downloaded.
final class PreviewScheduler: Sendable {
    private struct State {
        var progressive: ProgressiveDecoding?
        var seen = 0
        var isOver = false
    }

    private let recipe: Recipe
    private let decoding: Decoding
    private let coders: CodersManager
    private let state = Mutex(State())

    init(_ recipe: Recipe, _ decoding: Decoding, _ coders: CodersManager) {
        self.recipe = recipe
        self.decoding = decoding
        self.coders = coders
    }

    /// Starts a preview in the background, if enough bytes have arrived.
    func look(
        _ progress: LoadProgress, _ urgency: LoadUrgency, _ send: @escaping @Sendable (LoadEvent) -> Void
    ) {
        // Encrypted and complete sources need no preview.
        guard recipe.options.request.decryptor == nil, progress.isReadable, !progress.source.isComplete else { return }
        let progressive = state.withLock { state -> ProgressiveDecoding? in
            if state.isOver { return nil }
            // A restarted download has another source.
            if state.progressive?.source !== progress.source {
                state.progressive = ProgressiveDecoding(progress.source, coders, recipe.options)
                state.seen = 0
            }
            let step = recipe.options.request.minimumProgressInterval * Double(progress.expected ?? 0)
            guard state.seen == 0 || Double(progress.received - state.seen) >= step else { return nil }
            guard state.progressive!.mayLook(progress.expected) else { return nil }
            state.seen = progress.received
            return state.progressive
        }
        guard let progressive else { return }
        Task { [self] in
            let image = try? await decoding.run(urgency) { _ throws(CoderError) in progressive.look() }
            guard let image else { return }
            // Do not send a preview after the final image.
            if !state.withLock({ $0.isOver }) { send(.preview(image)) }
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
