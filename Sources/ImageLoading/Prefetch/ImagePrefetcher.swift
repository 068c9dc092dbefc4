import ImageModel
import ImageProcessing
import Synchronization

/// Gets pictures before they are wanted, a few at a time.
///
/// Every call is independent of the others, and gets a token of its own.
/// - Concurrency: any thread.
public final class ImagePrefetcher: Sendable {
    /// What has become of a list of URLs.
    public struct Progress: Sendable, Hashable {
        public var finished = 0
        /// Those of the finished that failed or were cancelled.
        public var skipped = 0
        public var total: Int
        public var isComplete: Bool { finished == total }
    }

    /// One list of URLs.
    public final class Token: Sendable {
        public let urls: [String]
        /// After every picture; ends with the last one.
        public let updates: AsyncStream<Progress>
        fileprivate let sink: AsyncStream<Progress>.Continuation
        fileprivate let state: Mutex<(progress: Progress, task: Task<Void, Never>?, isCancelled: Bool)>

        fileprivate init(_ urls: [String]) {
            self.urls = urls
            (updates, sink) = AsyncStream.makeStream(of: Progress.self, bufferingPolicy: .bufferingNewest(64))
            state = Mutex((Progress(total: urls.count), nil, false))
        }

        public var progress: Progress { state.withLock { $0.progress } }

        /// Ends what is still to be done; it counts as skipped.
        public func cancel() {
            let task = state.withLock { state in
                state.isCancelled = true
                return state.task
            }
            task?.cancel()
        }

        fileprivate func hold(_ task: Task<Void, Never>) {
            let isCancelled = state.withLock { state in
                state.task = task
                return state.isCancelled
            }
            if isCancelled { task.cancel() }
        }

        /// Waits for the end.
        @discardableResult
        public func value() async -> Progress {
            await state.withLock { $0.task }?.value
            return progress
        }

        fileprivate func count(skipped: Bool) {
            state.withLock { state in
                state.progress.finished += 1
                state.progress.skipped += skipped ? 1 : 0
                // In here, or a later one might be told first.
                sink.yield(state.progress)
            }
        }
    }

    private let manager: ImageManager
    private let line: AdmissionQueue
    private let tokens = Mutex<[ObjectIdentifier: Token]>([:])

    /// - Parameter maxConcurrent: pictures that are got at the same time, over all lists.
    public init(_ manager: ImageManager, maxConcurrent: Int = 3) {
        self.manager = manager
        line = AdmissionQueue(limit: maxConcurrent)
    }

    public var maxConcurrent: Int {
        get { line.limit }
        set { line.limit = newValue }
    }
    /// While it is, nothing new is begun.
    public var isPaused: Bool {
        get { line.isSuspended }
        set { line.isSuspended = newValue }
    }

    /// Begins to get a list of pictures, with low priority unless the options say otherwise.
    ///
    /// - Parameter tiers: where they are kept; `.disk` alone gets files and decodes nothing but thumbnails and the like.
    @discardableResult
    public func prefetch(_ urls: [String], _ options: LoadOptions? = nil, into tiers: CacheTiers = .all) -> Token {
        var wanted = options ?? LoadOptions()
        if options == nil { wanted.priority = .low }
        wanted.stores.formIntersection(tiers)
        wanted.storesOriginal.formIntersection(tiers)
        let token = Token(urls)
        let id = ObjectIdentifier(token)
        tokens.withLock { $0[id] = token }
        let task = Task { [manager, line, wanted] in
            await withTaskGroup(of: Void.self) { group in
                for url in urls {
                    group.addTask {
                        let urgency = LoadUrgency(wanted.priority)
                        do throws(CoderError) {
                            try await line.run(urgency) { () async throws(CoderError) in
                                try await Self.prefetch(url, wanted, tiers, manager)
                            }
                            token.count(skipped: false)
                        } catch {
                            token.count(skipped: true)
                        }
                    }
                }
            }
            token.sink.finish()
            self.tokens.withLock { _ = $0.removeValue(forKey: id) }
        }
        token.hold(task)
        return token
    }

    private static func prefetch(
        _ url: String, _ options: LoadOptions, _ tiers: CacheTiers, _ manager: ImageManager
    ) async throws(CoderError) {
        // The file itself needs no decode, and is not on disk because its picture is in memory.
        if tiers == .disk, manager.cacheKey(url, options).isOriginal {
            _ = try await manager.file(ImageRequest(url, options))
        } else {
            _ = try await manager.image(url, options)
        }
    }

    /// Pictures that are being got.
    public var runningCount: Int { line.running }

    /// Ends every list.
    public func cancelAll() {
        for token in tokens.withLock({ $0.values.map { $0 } }) { token.cancel() }
    }
}
