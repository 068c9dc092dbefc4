import HostSystem
import ImageModel
import ImageProcessing

/// Loads images into the cache before they are needed, with a limit for concurrent loads.
///
/// Every call is independent and returns its own token.
/// - Concurrency: any thread.
public final class ImagePrefetcher: Sendable {
    /// The progress of a list of URLs.
    public struct Progress: Sendable, Hashable {
        /// Images that are finished, including skipped ones.
        public var finished = 0
        /// Finished images that failed or were cancelled.
        public var skipped = 0
        /// The number of URLs in the list.
        public var total: Int
        /// Whether all images are finished.
        package var isComplete: Bool { finished == total }
    }

    /// A list of URLs that is being prefetched.
    public final class Token: Sendable {
        /// The URLs of the list.
        package let urls: [String]
        /// The progress after every image; ends after the last one.
        public let updates: AsyncStream<Progress>
        fileprivate let sink: AsyncStream<Progress>.Continuation
        fileprivate let state: Mutex<(progress: Progress, task: Task<Void, Never>?, isCancelled: Bool)>

        fileprivate init(_ urls: [String]) {
            self.urls = urls
            (updates, sink) = AsyncStream.makeStream(of: Progress.self, bufferingPolicy: .bufferingNewest(64))
            state = Mutex((Progress(total: urls.count), nil, false))
        }

        /// The current progress.
        public var progress: Progress { state.withLock { $0.progress } }

        /// Cancels the remaining images; they count as skipped.
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

        /// Waits until the list is finished.
        @discardableResult
        public func value() async -> Progress {
            await state.withLock { $0.task }?.value
            return progress
        }

        fileprivate func count(skipped: Bool) {
            state.withLock { state in
                state.progress.finished += 1
                state.progress.skipped += skipped ? 1 : 0
                // Yield inside the lock, so that updates arrive in order.
                sink.yield(state.progress)
            }
        }
    }

    private let manager: ImageManager
    private let line: AdmissionQueue
    private let tokens = Mutex<[ObjectIdentifier: Token]>([:])

    /// Creates a prefetcher.
    ///
    /// - Parameter maxConcurrent: the maximum number of concurrent loads, over all lists.
    public init(_ manager: ImageManager, maxConcurrent: Int = 3) {
        self.manager = manager
        line = AdmissionQueue(limit: maxConcurrent)
    }

    /// The maximum number of concurrent loads.
    public var maxConcurrent: Int {
        get { line.limit }
        set { line.limit = newValue }
    }
    /// Whether starting loads is suspended; running ones continue.
    public var isPaused: Bool {
        get { line.isSuspended }
        set { line.isSuspended = newValue }
    }

    /// Starts to prefetch a list of images, with low priority unless the options contain another one.
    ///
    /// - Parameter tiers: tiers that store the images; with `.disk` alone, originals are downloaded without decoding.
    @discardableResult
    public func prefetch(_ urls: [String], _ options: LoadOptions? = nil, into tiers: CacheTiers = .all) -> Token {
        var wanted = options ?? LoadOptions()
        if options == nil { wanted.priority = .low }
        wanted.cache.results.writes.formIntersection(tiers)
        wanted.cache.originals.writes.formIntersection(tiers)
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
        // An original needs no decode; and an image in memory does not mean that its file is on disk.
        if tiers == .disk, manager.cacheKey(url, options).isOriginal {
            _ = try await manager.file(ImageRequest(url, options))
        } else {
            _ = try await manager.image(url, options)
        }
    }

    /// The number of running loads.
    package var runningCount: Int { line.running }

    /// Cancels all lists.
    public func cancelAll() {
        for token in tokens.withLock({ $0.values.map { $0 } }) { token.cancel() }
    }
}
