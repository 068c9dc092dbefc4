import AsyncHTTPClient
import ImageProcessing
import NIOCore
import NIOHTTPCompression
import NIOPosix
import NIOSSL
import Synchronization

/// HTTP clients, each of which can connect to one address only: the one that was looked at.
///
/// Those in use stay; of the others the ones used last are kept for the next request. Every client is shut down.
final class ClientPool: Sendable {
    struct Key: Hashable, Sendable {
        var host: String
        var address: IPAddress
        /// Whether the host is a name, so that the client has to be told the address.
        var isName: Bool
        var usesTLS = false
        var allowsInvalidCertificates: Bool
    }

    struct Settings: Sendable {
        var connect: Duration
        var idle: Duration
        var maxDecompressed: Int
        var trusted: [NIOSSLCertificate]
        var maxIdle: Int
    }

    private struct Entry {
        var client: HTTPClient
        var users: Int
        var age: Int
    }

    private struct State {
        var entries: [Key: Entry] = [:]
        var clock = 0
        var isClosed = false
        /// Uses that have not ended, and clients that are being shut down.
        var pending = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let settings: Settings
    private let state = Mutex(State())

    init(_ settings: Settings) { self.settings = settings }

    /// Clients that exist.
    var count: Int { state.withLock { $0.entries.count } }

    /// Lends the client for an address; nil when the pool is closed.
    func withClient<R: Sendable>(_ key: Key, _ body: (HTTPClient) async -> R) async -> R? {
        guard let client = take(key) else { return nil }
        let result = await body(client)
        let idle = giveBack(key)
        if idle.isEmpty {
            leave()
        } else {
            // A server that is slow to part with a connection keeps nobody waiting but ``shutdown()``.
            Task {
                for client in idle { await end(client) }
                leave()
            }
        }
        return result
    }

    private func take(_ key: Key) -> HTTPClient? {
        state.withLock { state in
            if state.isClosed { return nil }
            state.clock += 1
            state.pending += 1
            var entry = state.entries[key] ?? Entry(client: make(key), users: 0, age: 0)
            entry.users += 1
            entry.age = state.clock
            state.entries[key] = entry
            return entry.client
        }
    }

    /// Clients that are of no use any more.
    private func giveBack(_ key: Key) -> [HTTPClient] {
        state.withLock { state in
            state.entries[key]?.users -= 1
            return surplus(&state)
        }
    }

    private func surplus(_ state: inout State) -> [HTTPClient] {
        let idle = state.entries.filter { $0.value.users == 0 }.sorted { $0.value.age < $1.value.age }
        let keep = state.isClosed ? 0 : max(0, settings.maxIdle)
        return idle.prefix(max(0, idle.count - keep)).map { key, entry in
            state.entries[key] = nil
            return entry.client
        }
    }

    private func end(_ client: HTTPClient) async { try? await client.shutdown() }

    private func leave() {
        let waiting = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            state.pending -= 1
            guard state.pending == 0 else { return [] }
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Ends all clients, and waits until the last one that is in use has ended, too.
    func shutdown() async {
        let idle = state.withLock { state in
            state.isClosed = true
            return surplus(&state)
        }
        for client in idle { await end(client) }
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if state.pending > 0 { state.waiting.append(continuation) }
                return state.pending == 0
            }
            if isOver { continuation.resume() }
        }
    }

    deinit {
        // Nobody uses one, or there would be somebody who holds this.
        let clients = state.withLock { $0.entries.values.map(\.client) }
        if clients.isEmpty { return }
        Task { for client in clients { try? await client.shutdown() } }
    }

    private func make(_ key: Key) -> HTTPClient {
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow,
            timeout: .init(connect: TimeAmount(settings.connect), read: TimeAmount(settings.idle)),
            decompression: .enabled(limit: settings.maxDecompressed > 0 ? .size(settings.maxDecompressed) : .none))
        if key.isName { configuration.dnsOverride = [key.host: key.address.description] }
        configuration.httpVersion = .http1Only
        let checksName = key.isName && key.usesTLS && !key.allowsInvalidCertificates
        configuration.http1_1ConnectionDebugInitializer = { channel in
            let guarded = AnswerGuard.watch(channel)
            return checksName ? guarded.flatMap { PeerName.check(key.host, channel) } : guarded
        }
        // The line in front of the downloader is what limits connections.
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 4096
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.connectionPool.idleTimeout = .seconds(30)
        var tls = TLSConfiguration.makeClientConfiguration()
        // Older versions are withdrawn (RFC 8996).
        tls.minimumTLSVersion = .tlsv12
        if key.allowsInvalidCertificates { tls.certificateVerification = .none }
        if !settings.trusted.isEmpty { tls.additionalTrustRoots = [.certificates(settings.trusted)] }
        configuration.tlsConfiguration = tls
        return HTTPClient(
            eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton), configuration: configuration)
    }
}
