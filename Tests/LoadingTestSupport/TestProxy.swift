import ImageProcessing
import NIOCore
import NIOPosix
import HostSystem

/// An HTTP proxy on loopback, which reaches the hosts of a test.
///
///     let proxy = try await TestProxy.start(["images.example:80": server.port])
///
/// It forwards requests with whole URLs (`GET http://host/path`), without bodies, and opens tunnels (`CONNECT host:port`).
/// - Source: RFC 9112, sections 3.2.2 and 3.2.3.
/// - Concurrency: any thread.
package final class TestProxy: Sendable {
    /// A request that the proxy has received.
    package struct Request: Sendable {
        /// The first line.
        package var line: String
        package var fields: [(name: String, value: String)]

        /// Returns the first header field of a name, ignoring case.
        package func field(_ name: String) -> String? {
            fields.first { $0.name.lowercased() == name.lowercased() }?.value
        }
    }

    package let port: Int
    private let listener: any Channel
    private let log: Log

    /// The requests, which connections share with the proxy.
    private final class Log: Sendable {
        let requests = Mutex<[Request]>([])
    }

    private init(_ listener: any Channel, _ log: Log) {
        (self.listener, self.log) = (listener, log)
        port = listener.localAddress?.port ?? 0
    }

    /// Starts a proxy on a free port.
    ///
    /// - Parameters:
    ///   - routes: the port on this machine of each `host:port`; other hosts get 502.
    ///   - authorization: the required `Proxy-Authorization`; nil for none.
    package static func start(_ routes: [String: Int], authorization: String? = nil) async throws -> TestProxy {
        let log = Log()
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        ProxyConnection(routes, authorization) { request in log.requests.withLock { $0.append(request) }
                        })
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return TestProxy(listener, log)
    }

    /// Received requests, in order; a tunnel is one request.
    package var requests: [Request] { log.requests.withLock { $0 } }

    /// Closes the listener.
    package func stop() async { try? await listener.close() }
}

/// One connection of a client.
private final class ProxyConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let routes: [String: Int]
    private let authorization: String?
    private let report: (TestProxy.Request) -> Void
    /// Bytes of an incomplete request.
    private var received: [UInt8] = []
    private var server: (place: String, channel: EventLoopFuture<any Channel>)?
    private var isTunnel = false

    init(_ routes: [String: Int], _ authorization: String?, _ report: @escaping (TestProxy.Request) -> Void) {
        (self.routes, self.authorization, self.report) = (routes, authorization, report)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received += Array(unwrapInboundIn(data).readableBytesView)
        while !isTunnel, let end = received.firstRange(of: Array("\r\n\r\n".utf8)) {
            let lines = String(decoding: received[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
            received.removeSubrange(..<end.upperBound)
            let fields = lines.dropFirst().map { line -> (name: String, value: String) in
                let parts = line.split(separator: ":", maxSplits: 1)
                return (String(parts[0]), String(parts[1].drop { $0 == " " }))
            }
            answer(TestProxy.Request(line: String(lines[0]), fields: fields), context.channel)
        }
        if isTunnel, !received.isEmpty {
            send(received)
            received = []
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        server?.channel.whenSuccess { $0.close(promise: nil) }
        context.fireChannelInactive()
    }

    private func answer(_ request: TestProxy.Request, _ client: any Channel) {
        report(request)
        if let authorization, request.field("Proxy-Authorization") != authorization {
            return refuse(client, "407 Proxy Authentication Required")
        }
        let words = request.line.split(separator: " ")
        guard words.count == 3 else { return refuse(client, "400 Bad Request") }
        if words[0] == "CONNECT" {
            guard let channel = connect(String(words[1]), client) else { return refuse(client, "502 Bad Gateway") }
            isTunnel = true
            channel.whenSuccess { _ in
                client.writeAndFlush(ByteBuffer(string: "HTTP/1.1 200 Connection established\r\n\r\n"), promise: nil)
            }
            return
        }
        // Only whole URLs are requests to a proxy.
        guard words[1].hasPrefix("http://") else { return refuse(client, "400 Bad Request") }
        let rest = words[1].dropFirst(7)
        let host = rest.prefix { $0 != "/" }
        let place = host.contains(":") ? String(host) : "\(host):80"
        guard connect(place, client) != nil else { return refuse(client, "502 Bad Gateway") }
        var head = "\(words[0]) \(rest.dropFirst(host.count)) HTTP/1.1\r\nVia: 1.1 test\r\n"
        for (name, value) in request.fields where name.lowercased() != "proxy-authorization" {
            head += "\(name): \(value)\r\n"
        }
        send(Array((head + "\r\n").utf8))
    }

    private func refuse(_ client: any Channel, _ status: String) {
        client.writeAndFlush(ByteBuffer(string: "HTTP/1.1 \(status)\r\nContent-Length: 0\r\n\r\n"), promise: nil)
    }

    /// Connects to a server, or returns the connection if the last request used the same one.
    private func connect(_ place: String, _ client: any Channel) -> EventLoopFuture<any Channel>? {
        if let server, server.place == place { return server.channel }
        guard let port = routes[place] else { return nil }
        let channel = ClientBootstrap(group: client.eventLoop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(ProxyReturn(to: client))
                }
            }
            .connect(host: "127.0.0.1", port: port)
        channel.whenFailure { _ in client.close(promise: nil) }
        server = (place, channel)
        return channel
    }

    private func send(_ bytes: [UInt8]) {
        server?.channel.whenSuccess { $0.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil) }
    }
}

/// Sends the bytes of a server to the client.
private final class ProxyReturn: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let client: any Channel

    init(to client: any Channel) { self.client = client }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        client.writeAndFlush(unwrapInboundIn(data), promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        client.close(promise: nil)
        context.fireChannelInactive()
    }
}
