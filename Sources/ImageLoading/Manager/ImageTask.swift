import ImageModel
import Synchronization

/// A picture that is being loaded.
///
///     let task = manager.load(ImageRequest("https://example.org/photo.jpg"))
///     for await event in task.events { … }
///     let image = try await task.value.image
///
/// - Concurrency: any thread.
public final class ImageTask: Sendable {
    public let request: ImageRequest
    /// Progress, previews and the result, for one reader.
    ///
    /// Who reads slowly misses some of them, but never the last one. It ends without a result when the load fails:
    /// ``value`` says why.
    public let events: AsyncStream<LoadEvent>
    private let urgency: LoadUrgency
    private let work: Task<Result<LoadResult, CoderError>, Never>

    init(
        _ request: ImageRequest,
        _ body:
            @escaping @Sendable (LoadUrgency, @escaping @Sendable (LoadEvent) -> Void) async
            -> Result<LoadResult, CoderError>
    ) {
        self.request = request
        let urgency = LoadUrgency(request.options.priority)
        self.urgency = urgency
        let (events, sink) = AsyncStream.makeStream(of: LoadEvent.self, bufferingPolicy: .bufferingNewest(16))
        self.events = events
        work = Task {
            let outcome = await body(urgency) { sink.yield($0) }
            if case .success(let result) = outcome { sink.yield(.finished(result)) }
            sink.finish()
            return outcome
        }
    }

    /// The result, when it is there.
    public var value: LoadResult {
        get async throws(CoderError) {
            try await withTaskCancellationHandler {
                await work.value
            } onCancel: {
                cancel()
            }.get()
        }
    }

    /// How urgent it is; what waits in a line is moved.
    public var priority: LoadPriority {
        get { urgency.priority }
        set { urgency.priority = newValue }
    }

    /// Ends it; ``value`` throws `.cancelled` at once, and what nobody else waits for ends, too.
    public func cancel() { work.cancel() }

    public var isCancelled: Bool { work.isCancelled }
}
