import CoderHost
import ImageModel
import ImageProcessing
import Synchronization

/// Makes pictures of bytes, a few at a time.
final class Decoding: Sendable {
    private let coders: CodersManager
    private let line: AdmissionQueue

    init(_ coders: CodersManager, maxDecodes: Int) {
        self.coders = coders
        line = AdmissionQueue(limit: maxDecodes)
    }

    /// Decodes bytes that are all there.
    func decode(
        _ source: ImageSource, _ options: LoadOptions, _ urgency: LoadUrgency
    ) async throws(CoderError) -> LoadedImage {
        try await run(urgency) { [coders] session throws(CoderError) in
            try Self.decode(source, options, coders, session)
        }
    }

    /// Runs something that takes a processor's time, when its turn comes.
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

    private static func decode(
        _ source: ImageSource, _ options: LoadOptions, _ coders: CodersManager, _ running: SessionBox
    ) throws(CoderError) -> LoadedImage {
        let isStill = options.kind == .still || options.decode.firstFrameOnly
        var still: LoadedImage?
        if options.kind != .animated || isStill {
            still = try coders.withSession(source, options.decode, forcing: options.coder) {
                session throws(CoderError) -> LoadedImage? in
                running.hold(session.context)
                if session.info.isAnimated, !isStill { return nil }
                return LoadedImage(
                    .still(try session.decodeImage(options.decode)), format: session.format, options: options.decode)
            }
        }
        if let still { return still }
        let animation = try AnimatedImage(source, manager: coders, options.decode, forcing: options.coder)
        if let problem = animation.problem, animation.frameCount == 0 { throw problem }
        if options.preloadsAllFrames { try animation.preloadAllFrames() }
        return LoadedImage(.animated(animation), format: animation.format, options: options.decode)
    }
}

/// The session that is at work, so that it can be ended from outside.
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
