import CoderHost
import ImageModel
import ImageProcessing

/// Decodes images, with a limit for concurrent decodes.
final class Decoding: Sendable {
    private let coders: CodersManager
    private let line: AdmissionQueue

    init(_ coders: CodersManager, maxDecodes: Int) {
        self.coders = coders
        line = AdmissionQueue(limit: maxDecodes)
    }

    /// Decodes complete bytes.
    func decode(
        _ source: ImageSource, _ options: LoadOptions, _ urgency: LoadUrgency
    ) async throws(CoderError) -> LoadedImage {
        try await run(urgency) { [coders] session throws(CoderError) in
            try StoredImage.decode(
                source, options, scaleFactor: options.scaleFactor ?? 1, extended: nil, coders, session)
        }
    }

    /// Runs CPU-bound work within the limit.
    func run<R: Sendable>(
        _ urgency: LoadUrgency, _ body: @escaping @Sendable (SessionBox) throws(CoderError) -> R
    ) async throws(CoderError) -> R {
        try await line.run(urgency) { () async throws(CoderError) -> R in
            let session = SessionBox()
            do {
                return try await withTaskCancellationHandler {
                    try await BlockingWork.run { () throws(CoderError) -> R in try body(session) }
                } onCancel: {
                    session.cancel()
                }
            } catch let error as CoderError {
                throw error
            } catch {
                throw CoderError(.misuse, "\(error)")
            }
        }
    }
}

/// Holds the running session, so that another thread can cancel it.
final class SessionBox: Sendable {
    private struct State {
        var context: SessionContext?
        var isCancelled = false
    }

    private let state = Mutex(State())

    func hold(_ context: SessionContext) {
        let isCancelled = state.withLock { state in
            state.context = context
            return state.isCancelled
        }
        if isCancelled { context.cancel() }
    }

    func cancel() {
        let context = state.withLock { state in
            state.isCancelled = true
            return state.context
        }
        context?.cancel()
    }
}
