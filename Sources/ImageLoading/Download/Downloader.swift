import CoderHost
public import ImageModel
import ImageProcessing
import Logging
import NIOSSL
import Synchronization

/// Loads pictures from `http` and `https`, a few at a time, each once however many want it.
///
/// Equal requests share one transfer, and everybody gets an answer of his own; requests with a response modifier or a
/// decryptor of their own share with nobody. Call ``shutdown()`` at the end, to wait until every connection is closed.
/// - Concurrency: any thread.
public final class Downloader: ImageLoading {
    /// What it was made with; what can be changed later is not looked at here.
    public let configuration: DownloaderConfiguration

    private let line: AdmissionQueue
    private let bucket: TokenBucket?
    private let work = SharedWork<TransferKey, LoadProgress, LoadedData>()
    private let parts: TransferParts
    private let state: Mutex<State>

    private struct State {
        var headers: [String: String]
        var loners = 0
        var isShutDown = false
    }

    /// - Throws: `.inputOutput` when a file of certificates cannot be read.
    public init(_ configuration: DownloaderConfiguration = DownloaderConfiguration()) throws(CoderError) {
        self.configuration = configuration
        line = AdmissionQueue(limit: configuration.maxConcurrent, order: configuration.order.queue)
        bucket = configuration.rateLimit.map { TokenBucket($0) }
        state = Mutex(State(headers: configuration.headers))
        var trusted: [NIOSSLCertificate] = []
        for path in configuration.trustedCertificates {
            do {
                trusted += try NIOSSLCertificate.fromPEMFile(path)
            } catch {
                throw CoderError(.inputOutput, "there are no certificates to be read in \(path)")
            }
        }
        let pool = ClientPool(
            ClientPool.Settings(
                connect: configuration.connect, idle: configuration.idle, maxDecompressed: configuration.maxBytes,
                trusted: trusted, maxIdle: configuration.maxIdleClients))
        parts = TransferParts(
            configuration: configuration, pool: pool, partials: PartialStore(maxBytes: configuration.maxPartialBytes),
            cookies: CookieJar(), challenged: OriginSet())
    }

    // MARK: What may be changed while it works

    /// Transfers at one time.
    public var maxConcurrent: Int {
        get { line.limit }
        set { line.limit = newValue }
    }
    public var order: LoadOrder {
        get { line.order == .firstInFirstOut ? .firstInFirstOut : .lastInFirstOut }
        set { line.order = newValue.queue }
    }
    /// While it is, no transfer begins; those under way go on.
    public var isSuspended: Bool {
        get { line.isSuspended }
        set { line.isSuspended = newValue }
    }

    /// The field that is sent with every request.
    public func header(_ name: String) -> String? {
        state.withLock { $0.headers.first { $0.key.lowercased() == name.lowercased() }?.value }
    }

    /// Sends a field with every later request; nil sends it no more.
    public func setHeader(_ name: String, _ value: String?) {
        state.withLock { state in
            state.headers = state.headers.filter { $0.key.lowercased() != name.lowercased() }
            state.headers[name] = value
        }
    }

    // MARK: What it does

    /// Transfers that are under way.
    public var runningCount: Int { line.running }
    /// Transfers that wait for their turn.
    public var waitingCount: Int { line.waiting }
    /// Different pictures that somebody waits for.
    public var count: Int { work.count }

    /// Everybody who waits for a picture.
    public var callers: Int { work.callers }

    /// Ends everything; everybody who waits gets `.cancelled`.
    public func cancelAll() { work.cancelAll() }

    /// Ends everything for good, and waits until all connections are closed.
    public func shutdown() async {
        state.withLock { $0.isShutDown = true }
        cancelAll()
        await parts.pool.shutdown()
        parts.partials.removeAll()
    }

    /// Whether a field follows from the URL and the body, and is sent as nobody has set it.
    public static func setsItself(_ name: String) -> Bool { Transfer.ownFields.contains(name.lowercased()) }

    /// Forgets all cookies.
    public func removeCookies() { parts.cookies.removeAll() }

    public func canLoad(_ request: ImageRequest) -> Bool {
        let head = request.url.prefix(8).lowercased()
        return head.hasPrefix("http://") || head == "https://"
    }

    public func shouldBlock(_ url: String, after error: CoderError) -> Bool {
        switch error.code {
        // Whoever is not reached now may be reached later.
        case .transferFailed: !error.isPassing
        case .invalidURL, .addressDenied, .badResponse, .corrupt, .truncated, .unrecognizedFormat: true
        default: false
        }
    }

    public func load(
        _ request: ImageRequest, cached: CachedData?, _ urgency: LoadUrgency,
        onProgress: @escaping @Sendable (LoadProgress) -> Void
    ) async throws(CoderError) -> LoadedData {
        let options = request.options
        let key = try key(for: request, cached)
        let gate = ProgressGate(minimum: options.minimumProgressInterval, onProgress)
        return try await work.value(for: key, urgency, onEvent: gate.pass) { [weak self] node in
            guard let self else { return .failure(CoderError(.cancelled, "the load was cancelled")) }
            let transfer = Transfer(
                parts: self.parts, key: key, responseModifier: options.responseModifier,
                decryptor: options.decryptor, report: node.send)
            return await self.perform(transfer, node.urgency)
        }
    }

    /// Everything that decides what arrives, after all that changes requests.
    private func key(for request: ImageRequest, _ cached: CachedData?) throws(CoderError) -> TransferKey {
        let options = request.options
        let isLoner = options.responseModifier != nil || options.decryptor != nil
        let (headers, loner) = try state.withLock { state throws(CoderError) -> ([String: String], Int) in
            if state.isShutDown { throw CoderError(.cancelled, "the downloader was shut down") }
            if isLoner { state.loners += 1 }
            return (state.headers, state.loners)
        }
        let address = try WebAddress(request.url)
        var outgoing = OutgoingRequest(url: address.text, headers: headers)
        for (name, value) in options.headers {
            outgoing.headers = outgoing.headers.filter { $0.key.lowercased() != name.lowercased() }
            outgoing.headers[name] = value
        }
        for modifier in [configuration.requestModifier, options.requestModifier] {
            guard let modifier else { continue }
            guard let changed = modifier(outgoing) else {
                throw CoderError(.invalidURL, "the application does not send this request")
            }
            outgoing = changed
        }
        var userInfo = address.userInfo
        if outgoing.url != address.text {
            let changed = try WebAddress(outgoing.url)
            outgoing.url = changed.text
            userInfo = changed.userInfo ?? (changed.origin == address.origin ? userInfo : nil)
        }
        return TransferKey(
            request: outgoing, entityTag: cached?.attributes["etag"],
            lastModified: cached?.attributes["last-modified"],
            validatedURL: cached?.attributes["answered-by"] ?? outgoing.url,
            credential: options.credential ?? userInfo ?? configuration.credential,
            allowsInvalidCertificates: options.allowsInvalidCertificates, handlesCookies: options.handlesCookies,
            loner: isLoner ? loner : nil)
    }

    /// Attempts, each in its turn, until one succeeds or no other is worth it.
    private func perform(_ transfer: Transfer, _ urgency: LoadUrgency) async -> Result<LoadedData, CoderError> {
        var attempt = 1
        var left = configuration.totalTimeout
        while true {
            let (outcome, time) = await attemptOnce(transfer, urgency, within: left)
            guard case .failure(let failure) = outcome else { return outcome.mapError(\.error) }
            left = left.map { $0 - time }
            guard failure.error.code != .cancelled, !Task.isCancelled,
                let delay = configuration.retry.delay(
                    after: failure.error, attempt: attempt, retryAfter: failure.retryAfter),
                left.map({ $0 > delay }) ?? true
            else {
                DownloadMetrics.failed(failure.error.code.description)
                if Task.isCancelled { return .failure(TransferFailure.cancelled.error) }
                var error = failure.error
                if attempt > 1 { error.message += ", in the last of \(attempt) attempts" }
                return .failure(error)
            }
            DownloadMetrics.retried()
            attempt += 1
            left = left.map { $0 - delay }
            guard (try? await Task.sleep(for: delay)) != nil else { return .failure(TransferFailure.cancelled.error) }
        }
    }

    /// One attempt in its turn, and how long it took without its wait in the queue.
    private func attemptOnce(
        _ transfer: Transfer, _ urgency: LoadUrgency, within limit: Duration?
    ) async -> (Result<LoadedData, TransferFailure>, Duration) {
        let start = ContinuousClock.now
        var begin = start
        do throws(CoderError) {
            let outcome = try await line.run(urgency) { turn async throws(CoderError) in
                try await bucket?.wait()
                begin = ContinuousClock.now
                DownloadMetrics.began()
                defer { DownloadMetrics.ended(after: ContinuousClock.now - begin) }
                return try await watched(transfer, within: limit) { turn.leave() }
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
            return (.failure(TransferFailure(error)), ContinuousClock.now - begin)
        }
    }

    /// One attempt that ends when it takes too long or its bytes arrive too slowly.
    private func watched(
        _ transfer: Transfer, within limit: Duration?, onSlow: @escaping @Sendable () -> Void
    ) async throws(CoderError) -> Result<LoadedData, TransferFailure> {
        let (rate, idle) = (configuration.minimumRate, configuration.idle)
        let total = configuration.totalTimeout.map(TransferFailure.text) ?? ""
        return try await TimeLimit.run(limit, "the transfer took more than \(total)") {
            () async throws(CoderError) -> Result<LoadedData, TransferFailure> in
            try await transfer.pace.run(atLeast: rate, idle: idle, onSlow: onSlow) {
                () async throws(CoderError) -> Result<LoadedData, TransferFailure> in
                do throws(TransferFailure) {
                    return .success(try await transfer.run())
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

/// Lets through what one subscriber wants to know.
final class ProgressGate: Sendable {
    /// What counts as news while the length is not known.
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
            // A transfer that begins anew has less than before.
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
