import CoderHost
import ImageModel
import ImageProcessing
import Synchronization

/// Looks at a picture whenever enough of it has arrived, beside the transfer.
final class ProgressiveLooks: Sendable {
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

    /// Sends a preview some time later, if there is something to see.
    func look(
        _ progress: LoadProgress, _ urgency: LoadUrgency, _ send: @escaping @Sendable (LoadEvent) -> Void
    ) {
        // What is decrypted or complete is not looked at in parts.
        guard recipe.options.decryptor == nil, progress.isReadable, !progress.source.isComplete else { return }
        let progressive = state.withLock { state -> ProgressiveDecoding? in
            if state.isOver { return nil }
            // A transfer that began anew has another source.
            if state.progressive?.source !== progress.source {
                state.progressive = ProgressiveDecoding(progress.source, coders, recipe.options)
                state.seen = 0
            }
            let step = recipe.options.minimumProgressInterval * Double(progress.expected ?? 0)
            guard state.seen == 0 || Double(progress.received - state.seen) >= step else { return nil }
            guard state.progressive!.mayLook(progress.expected) else { return nil }
            state.seen = progress.received
            return state.progressive
        }
        guard let progressive else { return }
        Task { [self] in
            let image = try? await decoding.run(urgency) { _ throws(CoderError) in progressive.look() }
            guard let image else { return }
            // A preview behind the picture itself would be a step back.
            if !state.withLock({ $0.isOver }) { send(.preview(image)) }
        }
    }

    /// No more looks; the picture, where they have drawn all of it.
    func end(_ source: ImageSource?) async -> LoadedImage? {
        let progressive = state.withLock { state in
            state.isOver = true
            return state.progressive
        }
        // A loader may hand over a copy of what it let grow.
        guard let progressive, let source, progressive.source.isComplete, progressive.source.count == source.count
        else { return nil }
        return try? await decoding.run(LoadUrgency(.high)) { _ throws(CoderError) in progressive.finish() }
    }
}
