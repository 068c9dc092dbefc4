import AsyncHTTPClient
import ImageModel
import NIOCore
import NIOHTTP1

extension Download {
    /// How long to wait for the addresses of a host that a proxy resolves; networks with proxies often have no
    /// resolver for other hosts.
    private static let resolutionTime = Duration.seconds(2)

    /// Returns the addresses of a host that a proxy resolves, as far as they are known here.
    func knownAddresses(of host: String) async throws(CoderError) -> [IPAddress] {
        let resolver = parts.configuration.servers.resolver
        do throws(CoderError) {
            return try await TimeLimit.run(Self.resolutionTime, "resolving the host name took too long") {
                () async throws(CoderError) -> [IPAddress] in try await resolver.addresses(of: host)
            }
        } catch {
            if error.code == .cancelled { throw error }
            return []
        }
    }

    /// Sends a request through a proxy, which resolves the host.
    ///
    /// The proxy receives the whole `http` URL; for `https`, it opens a tunnel.
    func request(_ hop: inout Hop, through proxy: Proxy) async -> Result<Step, DownloadFailure> {
        let isTunnel = hop.address.scheme == .https
        let place = ClientPool.Key(
            host: isTunnel ? hop.address.host : proxy.host, address: nil,
            isName: isTunnel && hop.address.address == nil, usesTLS: isTunnel,
            allowsInvalidCertificates: isTunnel && key.allowsInvalidCertificates, proxy: proxy)
        return await request(&hop, at: place).mapError { failure in
            // A status that arrives through a tunnel is of the server.
            guard !isTunnel || failure.error.httpStatus == nil, failure.error.code != .cancelled else { return failure }
            var failure = failure
            if !isTunnel, failure.error.httpStatus == 407 { failure = .proxyCredential }
            failure.name(proxy)
            return failure
        }
    }
}

extension DownloadFailure {
    /// Names the proxy: as the subject if it failed itself, else as the way to the server.
    fileprivate mutating func name(_ proxy: Proxy) {
        let words = error.message.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        let isOwn = words.count == 3 && words[0] == "the" && words[1] == (isBeforeConnection ? "server" : "proxy")
        error.message = isOwn ? "the proxy \(proxy) \(words[2])" : error.message + ", through the proxy \(proxy)"
        if error.hint == nil, error.httpStatus == nil {
            error.hint = "check the proxy in http_proxy or https_proxy, or name the host in no_proxy"
        }
    }
}

/// Sends a proxy whole URLs: `GET http://host/path` instead of `GET /path`.
///
/// - Source: RFC 9112, section 3.2.2.
final class AbsoluteTarget: ChannelOutboundHandler {
    typealias OutboundIn = HTTPClientRequestPart
    typealias OutboundOut = HTTPClientRequestPart

    /// Inserts a handler before the encoder of a new connection.
    static func insert(into channel: any Channel) -> EventLoopFuture<Void> {
        channel.eventLoop.submit {
            let pipeline = channel.pipeline.syncOperations
            let parser = try pipeline.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
            try pipeline.addHandler(AbsoluteTarget(), position: .after(parser))
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard case .head(var head) = unwrapOutboundIn(data), let host = head.headers.first(name: "host") else {
            return context.write(data, promise: promise)
        }
        head.uri = "http://\(host)\(head.uri)"
        context.write(wrapOutboundOut(.head(head)), promise: promise)
    }
}
