import ImageProcessing
import NIOCore
import NIOHTTP1
import NIOPosix
package import NIOSSL
import HostSystem
import TestSupport

/// An HTTP/1.1 server on loopback with scripted responses.
///
///     let server = try await TestServer.start()
///     server.on("/cat.jpg") { _ in .bytes(jpeg, type: "image/jpeg") }
///     server.on("/flaky") { $0.number == 1 ? .status(500) : .bytes(jpeg, type: "image/jpeg") }
///     … server.url("/cat.jpg") …
///     #expect(server.requests(to: "/cat.jpg").count == 1)
///     await server.stop()
///
/// Responses are sent byte by byte as written (``Reply``), so they can be wrong in every way. A path without a route
/// gets 404. With `tls` the server uses a self-signed certificate (`Fixtures/server`) for `localhost` and `tls.test`.
/// - Concurrency: any thread; routes are called on the server's threads.
package final class TestServer: Sendable {
    package typealias Route = @Sendable (ServerRequest) -> Reply

    private struct State {
        var routes: [String: Route] = [:]
        var fallback: Route = { _ in .status(404) }
        var requests: [ServerRequest] = []
        var counts: [String: Int] = [:]
        var accepted = 0
        var channels: [ObjectIdentifier: any Channel] = [:]
    }

    package let host: String
    package let port: Int
    package let usesTLS: Bool
    private let listener: any Channel
    private let state: StateBox

    /// The state that connections share with the server.
    private final class StateBox: Sendable {
        let value = Mutex(State())
    }

    private init(host: String, usesTLS: Bool, listener: any Channel, state: StateBox) {
        self.host = host
        self.usesTLS = usesTLS
        self.listener = listener
        self.state = state
        port = listener.localAddress?.port ?? 0
    }

    /// Starts a server on a free port of a loopback address.
    ///
    /// - Parameter newestTLS: the newest supported version of TLS; older ones are allowed.
    package static func start(
        host: String = "127.0.0.1", port: Int = 0, tls: Bool = false, newestTLS: TLSVersion? = nil
    ) async throws -> TestServer {
        let state = StateBox()
        let context = tls ? try Self.context(newestTLS) : nil
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 4096)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                let number = state.value.withLock { state in
                    state.accepted += 1
                    state.channels[ObjectIdentifier(channel)] = channel
                    return state.accepted
                }
                channel.closeFuture.whenComplete { _ in
                    state.value.withLock { _ = $0.channels.removeValue(forKey: ObjectIdentifier(channel)) }
                }
                return channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let context { try pipeline.addHandler(NIOSSLServerHandler(context: context)) }
                    try pipeline.addHandler(ByteToMessageHandler(HTTPRequestDecoder()))
                    try pipeline.addHandler(ServerConnection(number: number) { Self.answer($0, state) })
                }
            }
        let listener = try await bootstrap.bind(host: host, port: port).get()
        return TestServer(host: host, usesTLS: tls, listener: listener, state: state)
    }

    private static func context(_ newest: TLSVersion?) throws -> NIOSSLContext {
        let chain = try NIOSSLCertificate.fromPEMFile(Repository.fixture("server/certificate.pem"))
        let key = try NIOSSLPrivateKey(file: Repository.fixture("server/key.pem"), format: .pem)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.minimumTLSVersion = .tlsv1
        configuration.maximumTLSVersion = newest
        return try NIOSSLContext(configuration: configuration)
    }

    private static func answer(_ request: ServerRequest, _ state: StateBox) -> Reply {
        let (route, request) = state.value.withLock { state in
            var request = request
            state.counts[request.path, default: 0] += 1
            request.number = state.counts[request.path]!
            state.requests.append(request)
            return (state.routes[request.path] ?? state.fallback, request)
        }
        return route(request)
    }

    /// Closes the listener and all connections.
    package func stop() async {
        try? await listener.close()
        for channel in state.value.withLock({ Array($0.channels.values) }) { try? await channel.close() }
    }

    // MARK: Routes

    /// Sets the route for `path`, without its query.
    package func on(_ path: String, _ route: @escaping Route) { state.value.withLock { $0.routes[path] = route } }
    /// Sets the route for all paths without their own.
    package func onEverythingElse(_ route: @escaping Route) { state.value.withLock { $0.fallback = route } }

    /// Returns the URL of a path; `host` is another name that the test's resolver resolves to this server.
    package func url(_ path: String = "/", host: String? = nil) -> String {
        let host = host ?? (self.host.contains(":") ? "[\(self.host)]" : self.host)
        return "\(usesTLS ? "https" : "http")://\(host):\(port)\(path)"
    }

    // MARK: Received requests

    /// Complete requests, in order.
    package var requests: [ServerRequest] { state.value.withLock { $0.requests } }
    package func requests(to path: String) -> [ServerRequest] { requests.filter { $0.path == path } }
    /// The number of accepted connections.
    package var connections: Int { state.value.withLock { $0.accepted } }
    /// The number of open connections.
    package var openConnections: Int { state.value.withLock { $0.channels.count } }
}

/// A request that the server has received.
package struct ServerRequest: Sendable {
    package var method: String
    /// The path without the query.
    package var path: String
    package var query: String?
    package var headers: [(name: String, value: String)]
    package var body: [UInt8]
    /// The number of its connection, from 1.
    package var connection: Int
    /// How often this path was requested, including this request.
    package var number = 0

    /// Returns the first header field of a name, ignoring case.
    package func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}
