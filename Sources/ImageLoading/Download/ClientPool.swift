import AsyncHTTPClient
import HostSystem
import ImageProcessing
import NIOCore
import NIOHTTPCompression
import NIOPosix
import NIOSSL

/// HTTP clients; each connects to only one address, which was checked before, or to a proxy.
///
/// The pool keeps the most recently used idle clients for later requests, and shuts down all clients in the end.
final class ClientPool: Sendable {
    struct Key: Hashable, Sendable {
        var host: String
        /// The address to connect to; nil with a proxy.
        var address: IPAddress?
        /// Whether the host is a name; then the client is configured with the address.
        var isName: Bool
        var usesTLS = false
        var allowsInvalidCertificates: Bool
        var proxy: Proxy?

        /// The proxy that receives whole URLs; nil if it opens a tunnel.
        var forwarder: Proxy? { usesTLS ? nil : proxy }
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
        /// Uses in progress, and clients that are being shut down.
        var pending = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let settings: Settings
    private let state = Mutex(State())

    init(_ settings: Settings) { self.settings = settings }

    /// The number of clients.
    var count: Int { state.withLock { $0.entries.count } }

    /// Calls `body` with the client for an address; returns nil when the pool is closed.
    func withClient<R: Sendable>(_ key: Key, _ body: (HTTPClient) async -> R) async -> R? {
        guard let client = take(key) else { return nil }
        let result = await body(client)
        let idle = giveBack(key)
        if idle.isEmpty {
            leave()
        } else {
            // Only ``shutdown()`` waits for servers that are slow to close a connection.
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

    /// Ends a use; returns the clients to shut down.
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

    /// Shuts down all clients, and waits until the last use has ended.
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
        // No use is in progress, because every use holds a reference to this pool.
        let clients = state.withLock { $0.entries.values.map(\.client) }
        if clients.isEmpty { return }
        Task { for client in clients { try? await client.shutdown() } }
    }

    private func make(_ key: Key) -> HTTPClient {
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow,
            timeout: .init(connect: TimeAmount(settings.connect), read: TimeAmount(settings.idle)),
            decompression: .enabled(limit: settings.maxDecompressed > 0 ? .size(settings.maxDecompressed) : .none))
        if key.isName, let address = key.address { configuration.dnsOverride = [key.host: address.description] }
        if let proxy = key.proxy, key.forwarder == nil {
            configuration.proxy = .server(
                host: proxy.host, port: proxy.port,
                authorization: proxy.credential.map { .basic(username: $0.user, password: $0.password) })
        }
        configuration.httpVersion = .http1Only
        // Through a proxy, the client accepts a certificate for the address of the proxy, also if the host is an address.
        let checksName = (key.isName || key.proxy != nil) && key.usesTLS && !key.allowsInvalidCertificates
        configuration.http1_1ConnectionDebugInitializer = { channel in
            let guarded = ResponseGuard.watch(channel)
            if key.forwarder != nil { return guarded.flatMap { AbsoluteTarget.insert(into: channel) } }
            return checksName ? guarded.flatMap { PeerName.check(key.host, channel) } : guarded
        }
        // The queue of the downloader limits the number of connections.
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 4096
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.connectionPool.idleTimeout = .seconds(30)
        var tls = TLSConfiguration.makeClientConfiguration()
        // RFC 8996 deprecates older versions.
        tls.minimumTLSVersion = .tlsv12
        if key.allowsInvalidCertificates { tls.certificateVerification = .none }
        if !settings.trusted.isEmpty { tls.additionalTrustRoots = [.certificates(settings.trusted)] }
        configuration.tlsConfiguration = tls
        return HTTPClient(
            eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton), configuration: configuration)
    }
}
