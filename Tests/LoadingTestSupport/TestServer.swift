import ImageProcessing
import NIOCore
import NIOHTTP1
import NIOPosix
package import NIOSSL
import Synchronization
import TestSupport

/// A real HTTP/1.1 server on loopback that answers what a test has written down.
///
///     let server = try await TestServer.start()
///     server.on("/cat.jpg") { _ in .bytes(jpeg, type: "image/jpeg") }
///     server.on("/flaky") { $0.number == 1 ? .status(500) : .bytes(jpeg, type: "image/jpeg") }
///     … server.url("/cat.jpg") …
///     #expect(server.requests(to: "/cat.jpg").count == 1)
///     await server.stop()
///
/// What it sends is put together byte by byte (``Reply``), so it can lie in every way. A path without a route gets 404.
/// With `tls` it shows a certificate that nobody has signed (`Fixtures/server`), made for `localhost` and `tls.test`.
/// - Concurrency: any thread; routes are called on the server's own.
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

    /// What connections see of the server.
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

    /// Listens on a free port of a loopback address.
    ///
    /// - Parameter newestTLS: the newest version of TLS that the server speaks; older ones are allowed.
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

    /// Closes the listener and every connection.
    package func stop() async {
        try? await listener.close()
        for channel in state.value.withLock({ Array($0.channels.values) }) { try? await channel.close() }
    }

    // MARK: What it answers

    /// Answers requests for `path` (without its query) from now on.
    package func on(_ path: String, _ route: @escaping Route) { state.value.withLock { $0.routes[path] = route } }
    /// Answers whatever has no route.
    package func onEverythingElse(_ route: @escaping Route) { state.value.withLock { $0.fallback = route } }

    /// `http://127.0.0.1:PORT` and the path; another name for the same server where a resolver of the test knows it.
    package func url(_ path: String = "/", host: String? = nil) -> String {
        let host = host ?? (self.host.contains(":") ? "[\(self.host)]" : self.host)
        return "\(usesTLS ? "https" : "http")://\(host):\(port)\(path)"
    }

    // MARK: What it has seen

    /// In the order in which they were complete.
    package var requests: [ServerRequest] { state.value.withLock { $0.requests } }
    package func requests(to path: String) -> [ServerRequest] { requests.filter { $0.path == path } }
    /// Connections that were ever accepted.
    package var connections: Int { state.value.withLock { $0.accepted } }
    /// Connections that are open now.
    package var openConnections: Int { state.value.withLock { $0.channels.count } }
}

/// A request as the server got it.
package struct ServerRequest: Sendable {
    package var method: String
    /// Without the query.
    package var path: String
    package var query: String?
    package var headers: [(name: String, value: String)]
    package var body: [UInt8]
    /// Which connection it came over, from 1.
    package var connection: Int
    /// How many times this path was asked for, this one included.
    package var number = 0

    /// The first field of a name, whatever its case.
    package func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}
