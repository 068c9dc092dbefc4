import CoderHost
import ImageModel
import ImageProcessing
import TestSupport

@testable import ImageLoading

/// Creates a downloader that may connect to this machine, without a rate limit.
func makeDownloader(_ change: (inout DownloaderConfiguration) -> Void = { _ in }) throws(CoderError) -> Downloader {
    var configuration = DownloaderConfiguration()
    configuration.servers.addresses = .withPrivate
    // Not those of the environment of the tests.
    configuration.servers.proxies = .none
    configuration.queue.rateLimit = nil
    // On a busy machine a server may seem silent; tests of timeouts set shorter values.
    (configuration.timeouts.idle, configuration.timeouts.connect) = (.seconds(1800), .seconds(1800))
    configuration.timeouts.total = nil
    configuration.timeouts.minimumRate = nil
    change(&configuration)
    return try Downloader(configuration)
}

/// Runs `body` with a server and a downloader, and shuts both down.
func withServer(
    tls: Bool = false, _ change: (inout DownloaderConfiguration) -> Void = { _ in },
    _ body: (TestServer, Downloader) async throws -> Void
) async throws {
    let server = try await TestServer.start(tls: tls)
    try await serve(server, change, body)
}

/// Runs `body` with a server that runs and a downloader, and shuts both down.
func serve(
    _ server: TestServer, _ change: (inout DownloaderConfiguration) -> Void,
    _ body: (TestServer, Downloader) async throws -> Void
) async throws {
    let downloader = try makeDownloader(change)
    do {
        try await body(server, downloader)
    } catch {
        await downloader.shutdown()
        await server.stop()
        throw error
    }
    await downloader.shutdown()
    await server.stop()
}

extension ImageLoading {
    /// The result of a load.
    func outcome(
        _ url: String, cached: CachedData? = nil, _ urgency: LoadUrgency = LoadUrgency(),
        onProgress: @escaping @Sendable (LoadProgress) -> Void = { _ in },
        options change: (inout LoadOptions) -> Void = { _ in }
    ) async -> Result<LoadedData, CoderError> {
        var options = LoadOptions()
        change(&options)
        do throws(CoderError) {
            return .success(try await load(ImageRequest(url, options), cached: cached, urgency, onProgress: onProgress))
        } catch {
            return .failure(error)
        }
    }

    /// Returns the bytes; throws the error of the load.
    func bytes(_ url: String, _ change: (inout LoadOptions) -> Void = { _ in }) async throws(CoderError) -> [UInt8] {
        try await outcome(url, options: change).get().bytes
    }

    /// Returns the error of the load; nil if it succeeds.
    func failure(_ url: String, _ change: (inout LoadOptions) -> Void = { _ in }) async -> CoderError? {
        if case .failure(let error) = await outcome(url, options: change) { error } else { nil }
    }
}

extension LoadedData {
    var bytes: [UInt8] { if case .source(let source) = content { source.bytes(0..<source.count) } else { [] } }
    var isNotModified: Bool { if case .notModified = content { true } else { false } }
}

/// A resolver with scripted answers.
final class FixedResolver: NameResolver {
    private let answers: @Sendable (_ host: String, _ call: Int) -> [IPAddress]
    private let calls = Mutex<[String]>([])

    init(_ answers: @escaping @Sendable (_ host: String, _ call: Int) -> [IPAddress]) { self.answers = answers }

    convenience init(_ addresses: [String: String]) {
        self.init { host, _ in addresses[host].flatMap { IPAddress($0) }.map { [$0] } ?? [] }
    }

    /// Resolved names, in order.
    var asked: [String] { calls.withLock { $0 } }

    func addresses(of host: String) async throws(CoderError) -> [IPAddress] {
        let call = calls.withLock { calls in
            calls.append(host)
            return calls.count { $0 == host }
        }
        return answers(host, call)
    }
}

/// Collects values from any thread.
final class Collected<Value: Sendable>: Sendable {
    private let list = Mutex<[Value]>([])
    var values: [Value] { list.withLock { $0 } }
    func add(_ value: Value) { list.withLock { $0.append(value) } }
}

/// Waits until a condition holds; returns false after a timeout.
func eventually(_ condition: @Sendable () -> Bool) async -> Bool {
    // Minutes, because other tests may keep all threads busy.
    let end = ContinuousClock.now + .seconds(600)
    while ContinuousClock.now < end {
        if condition() { return true }
        try? await Task.sleep(for: .milliseconds(5))
    }
    return condition()
}

/// Bytes that are not an image; each depends on its position.
func pattern(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) } }
