import ImageModel
import Synchronization

/// A running load of an image.
///
///     let task = manager.load(ImageRequest("https://example.org/photo.jpg"))
///     for await event in task.events { … }
///     let image = try await task.value.image
///
/// - Concurrency: any thread.
public final class ImageTask: Sendable {
    /// The request, after the options processor.
    package let request: ImageRequest
    /// Progress, previews and the result, for one reader.
    ///
    /// A slow reader misses older events, but never the last one. If the load fails, the stream ends without a result,
    /// and ``value`` throws the error.
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

    /// The result; waits until it is available.
    public var value: LoadResult {
        get async throws(CoderError) {
            try await withTaskCancellationHandler {
                await work.value
            } onCancel: {
                cancel()
            }.get()
        }
    }

    /// The priority; a change moves the load within its queue.
    public var priority: LoadPriority {
        get { urgency.priority }
        set { urgency.priority = newValue }
    }

    /// Cancels the load; ``value`` throws `.cancelled` at once. Shared work continues while other callers need it.
    public func cancel() { work.cancel() }

    /// Whether the load was cancelled.
    package var isCancelled: Bool { work.isCancelled }
}
