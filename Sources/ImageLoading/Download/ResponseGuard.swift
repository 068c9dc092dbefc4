import ImageModel
import NIOCore
import NIOHTTP1

/// Closes a connection whose server sends responses that AsyncHTTPClient cannot handle.
///
/// Rationale: the parser accepts a status below 100, but the client ends the process when it receives one. And a server
/// that sends interim responses without an end would keep a download open forever.
/// - Source: RFC 9110, section 15: a status is a number from 100 to 599.
final class ResponseGuard: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart

    private static let mostInterim = 32
    private var interim = 0
    private var isOver = false

    /// Inserts a guard behind the parser of a new connection.
    static func watch(_ channel: any Channel) -> EventLoopFuture<Void> {
        channel.eventLoop.submit {
            let pipeline = channel.pipeline.syncOperations
            let parser = try pipeline.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
            try pipeline.addHandler(ResponseGuard(), position: .after(parser))
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if isOver { return }
        if case .head(let head) = unwrapInboundIn(data) {
            let status = Int(head.status.code)
            interim = (100...199).contains(status) ? interim + 1 : 0
            var wrong: String?
            if status < 100 { wrong = "with the invalid status \(status)" }
            if interim > Self.mostInterim { wrong = "with interim responses only" }
            if let wrong {
                isOver = true
                context.fireErrorCaught(CoderError(.badResponse, "the server answers \(wrong)"))
                context.close(promise: nil)
                return
            }
        }
        context.fireChannelRead(data)
    }
}
