import CoderHost
public import ImageModel
import ImageProcessing
import Logging
import NIOSSL

/// Downloads images from `http` and `https` URLs, with a limit for concurrent downloads.
///
/// Equal requests share one download, and every caller gets a result. Requests with a response modifier or a decryptor
/// of their own are not shared. Call ``shutdown()`` at the end to wait until every connection is closed.
/// - Concurrency: any thread.
public final class Downloader: ImageLoading {
    /// The initial configuration; later changes of properties are not visible here.
    package let configuration: DownloaderConfiguration

    private let line: AdmissionQueue
    private let bucket: TokenBucket?
    private let work = SharedWork<DownloadKey, LoadProgress, LoadedData>()
    private let parts: DownloadContext
    private let state: Mutex<State>

    private struct State {
        var headers: [String: String]
        var loners = 0
        var isShutDown = false
    }

    /// Creates a downloader.
    ///
    /// - Throws: `.inputOutput` when a certificate file cannot be read; `.invalidArgument` for an invalid proxy.
    public init(_ configuration: DownloaderConfiguration = DownloaderConfiguration()) throws(CoderError) {
        self.configuration = configuration
        line = AdmissionQueue(limit: configuration.queue.maxConcurrent, order: configuration.queue.order.queue)
        bucket = configuration.queue.rateLimit.map { TokenBucket($0) }
        state = Mutex(State(headers: configuration.request.headers))
        var trusted: [NIOSSLCertificate] = []
        for path in configuration.servers.trustedCertificates {
            do {
                trusted += try NIOSSLCertificate.fromPEMFile(path)
            } catch {
                throw CoderError(
                    .inputOutput, "cannot read certificates from \(path)", hint: "name a file of certificates in PEM")
            }
        }
        let pool = ClientPool(
            ClientPool.Settings(
                connect: configuration.timeouts.effectiveConnect, idle: configuration.timeouts.effectiveIdle,
                maxDecompressed: configuration.maxBytes,
                trusted: trusted, maxIdle: configuration.servers.maxIdleClients))
        parts = DownloadContext(
            configuration: configuration, proxies: try ProxySelection(configuration.servers.proxies), pool: pool,
            partials: PartialStore(maxBytes: configuration.maxPartialBytes),
            cookies: CookieJar(), challenged: OriginSet())
    }

    // MARK: Settings that can change

    /// The maximum number of concurrent downloads.
    public var maxConcurrent: Int {
        get { line.limit }
        set { line.limit = newValue }
    }
    /// The order of waiting downloads with the same priority.
    public var order: LoadOrder {
        get { line.order == .firstInFirstOut ? .firstInFirstOut : .lastInFirstOut }
        set { line.order = newValue.queue }
    }
    /// Whether starting downloads is suspended; running ones continue.
    public var isSuspended: Bool {
        get { line.isSuspended }
        set { line.isSuspended = newValue }
    }

    /// Returns a header field that is sent with every request.
    package func header(_ name: String) -> String? {
        state.withLock { $0.headers.first { $0.key.lowercased() == name.lowercased() }?.value }
    }

    /// Sets a header field for all later requests; nil removes it.
    public func setHeader(_ name: String, _ value: String?) {
        state.withLock { state in
            state.headers = state.headers.filter { $0.key.lowercased() != name.lowercased() }
            state.headers[name] = value
        }
    }

    // MARK: Activity

    /// The number of running downloads.
    package var runningCount: Int { line.running }
    /// The number of waiting downloads.
    package var waitingCount: Int { line.waiting }
    /// The number of different images that callers wait for.
    package var count: Int { work.count }

    /// The number of waiting callers.
    package var callers: Int { work.callers }

    /// Cancels all downloads; every waiting caller gets `.cancelled`.
    public func cancelAll() { work.cancelAll() }

    /// Cancels all downloads permanently, and waits until all connections are closed.
    public func shutdown() async {
        state.withLock { $0.isShutDown = true }
        cancelAll()
        await parts.pool.shutdown()
        parts.partials.removeAll()
    }

    /// Whether the downloader derives a header field itself and ignores values from callers.
    package static func setsItself(_ name: String) -> Bool { Download.ownFields.contains(name.lowercased()) }

    /// Removes all cookies.
    public func removeCookies() { parts.cookies.removeAll() }

    /// Whether the URL is `http` or `https`.
    public func canLoad(_ request: ImageRequest) -> Bool {
        let head = request.url.prefix(8).lowercased()
        return head.hasPrefix("http://") || head == "https://"
    }

    /// Whether to block a URL for a while; temporary failures do not block it.
    public func shouldBlock(_ url: String, after error: CoderError) -> Bool {
        switch error.code {
        // A temporary failure may succeed later.
        case .transferFailed: !error.isTransient
        case .invalidURL, .addressDenied, .badResponse, .corrupt, .truncated, .unrecognizedFormat: true
        default: false
        }
    }

    /// Downloads an image, or joins a running download of the same request.
    public func load(
        _ request: ImageRequest, cached: CachedData?, _ urgency: LoadUrgency,
        onProgress: @escaping @Sendable (LoadProgress) -> Void
    ) async throws(CoderError) -> LoadedData {
        let options = request.options
        let key = try key(for: request, cached)
        let gate = ProgressGate(minimum: options.request.minimumProgressInterval, onProgress)
        return try await work.value(for: key, urgency, onEvent: gate.pass) { [weak self] node in
            guard let self else { return .failure(CoderError(.cancelled, "the load was cancelled")) }
            let download = Download(
                parts: self.parts, key: key, responseModifier: options.request.responseModifier,
                decryptor: options.request.decryptor, report: node.send)
            return await self.perform(download, node.urgency)
        }
    }

    /// Builds the key from everything that determines the response, after all request modifiers.
    private func key(for request: ImageRequest, _ cached: CachedData?) throws(CoderError) -> DownloadKey {
        let options = request.options
        let isLoner = options.request.responseModifier != nil || options.request.decryptor != nil
        let (headers, loner) = try state.withLock { state throws(CoderError) -> ([String: String], Int) in
            if state.isShutDown { throw CoderError(.cancelled, "the downloader was shut down") }
            if isLoner { state.loners += 1 }
            return (state.headers, state.loners)
        }
        let address = try WebAddress(request.url)
        var outgoing = OutgoingRequest(url: address.text, headers: headers)
        for (name, value) in options.request.headers {
            outgoing.headers = outgoing.headers.filter { $0.key.lowercased() != name.lowercased() }
            outgoing.headers[name] = value
        }
        for modifier in [configuration.request.modifier, options.request.modifier] {
            guard let modifier else { continue }
            guard let changed = modifier(outgoing) else {
                throw CoderError(.invalidURL, "the application refused this request")
            }
            outgoing = changed
        }
        var userInfo = address.userInfo
        if outgoing.url != address.text {
            let changed = try WebAddress(outgoing.url)
            outgoing.url = changed.text
            userInfo = changed.userInfo ?? (changed.origin == address.origin ? userInfo : nil)
        }
        return DownloadKey(
            request: outgoing, entityTag: cached?.attributes["etag"],
            lastModified: cached?.attributes["last-modified"],
            validatedURL: cached?.attributes["answered-by"] ?? outgoing.url,
            credential: options.request.credential ?? userInfo ?? configuration.request.credential,
            allowsInvalidCertificates: options.request.allowsInvalidCertificates,
            handlesCookies: options.request.handlesCookies,
            loner: isLoner ? loner : nil)
    }

    /// Attempts a download until it succeeds or the retry strategy gives up.
    private func perform(_ download: Download, _ urgency: LoadUrgency) async -> Result<LoadedData, CoderError> {
        var attempt = 1
        var left = configuration.timeouts.total
        while true {
            let (outcome, time) = await attemptOnce(download, urgency, within: left)
            guard case .failure(let failure) = outcome else { return outcome.mapError(\.error) }
            left = left.map { $0 - time }
            guard failure.error.code != .cancelled, !Task.isCancelled,
                let delay = configuration.retry.delay(
                    after: failure.error, attempt: attempt, retryAfter: failure.retryAfter),
                left.map({ $0 > delay }) ?? true
            else {
                DownloadMetrics.failed(failure.error.code.description)
                if Task.isCancelled { return .failure(DownloadFailure.cancelled.error) }
                var error = failure.error
                if attempt > 1 { error.message += ", in the last of \(attempt) attempts" }
                return .failure(error)
            }
            DownloadMetrics.retried()
            attempt += 1
            left = left.map { $0 - delay }
            guard (try? await Task.sleep(for: delay)) != nil else { return .failure(DownloadFailure.cancelled.error) }
        }
    }

    /// Runs one attempt; returns the result and its duration without the wait in the queue.
    private func attemptOnce(
        _ download: Download, _ urgency: LoadUrgency, within limit: Duration?
    ) async -> (Result<LoadedData, DownloadFailure>, Duration) {
        let start = ContinuousClock.now
        var begin = start
        do throws(CoderError) {
            let outcome = try await line.run(urgency) { turn async throws(CoderError) in
                try await bucket?.wait()
                begin = ContinuousClock.now
                DownloadMetrics.began()
                defer { DownloadMetrics.ended(after: ContinuousClock.now - begin) }
                return try await watched(download, within: limit) { turn.leave() }
            }
            let waiting = begin - start
            return (
                outcome.map { data in
                    var data = data
                    data.response?.timings?.waiting = waiting
                    return data
                }, ContinuousClock.now - begin
            )
        } catch {
            return (.failure(DownloadFailure(error)), ContinuousClock.now - begin)
        }
    }

    /// Runs one attempt, with limits for its duration and its rate.
    private func watched(
        _ download: Download, within limit: Duration?, onSlow: @escaping @Sendable () -> Void
    ) async throws(CoderError) -> Result<LoadedData, DownloadFailure> {
        let (rate, idle) = (configuration.timeouts.minimumRate, configuration.timeouts.effectiveIdle)
        let total = configuration.timeouts.total.map(DownloadFailure.text) ?? ""
        return try await TimeLimit.run(limit, "the download took more than \(total)", named: "time") {
            () async throws(CoderError) -> Result<LoadedData, DownloadFailure> in
            try await download.pace.run(atLeast: rate, idle: idle, onSlow: onSlow) {
                () async throws(CoderError) -> Result<LoadedData, DownloadFailure> in
                do throws(DownloadFailure) {
                    return .success(try await download.run())
                } catch {
                    return .failure(error)
                }
            }
        }
    }
}

extension LoadOrder {
    var queue: AdmissionQueue.Order { self == .firstInFirstOut ? .firstInFirstOut : .lastInFirstOut }
}

/// Filters progress events to the interval that a subscriber requested.
final class ProgressGate: Sendable {
    /// The step in bytes while the total length is unknown.
    private static let unknownStep = 64 << 10

    private let minimum: Double
    private let last = Mutex(0)
    private let body: @Sendable (LoadProgress) -> Void

    init(minimum: Double, _ body: @escaping @Sendable (LoadProgress) -> Void) {
        self.minimum = min(1, max(0, minimum))
        self.body = body
    }

    func pass(_ progress: LoadProgress) {
        let received = progress.received
        let isNews = last.withLock { last in
            // A restarted download has fewer bytes than before.
            if received < last { last = 0 }
            let step =
                minimum == 0
                ? 1
                : progress.expected.map { Int(exactly: (Double($0) * minimum).rounded(.up)) ?? .max }
                    ?? Self.unknownStep
            guard received - last >= max(1, step) || progress.source.isComplete else { return false }
            last = received
            return true
        }
        if isNews { body(progress) }
    }
}
