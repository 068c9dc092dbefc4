import ImageModel
import NIOCore
import NIOHTTP1

/// Ends a connection whose server says what the client behind it cannot take.
///
/// Rationale: a status below 100 is no interim answer to the parser and no final one to the client, which ends the
/// process over that; and interim answers without an end keep a transfer alive that has no picture.
/// - Source: RFC 9110, section 15: a status is a number from 100 to 599.
final class AnswerGuard: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart

    private static let mostInterim = 32
    private var interim = 0
    private var isOver = false

    /// Puts one in behind the parser of a connection that has just been made.
    static func watch(_ channel: any Channel) -> EventLoopFuture<Void> {
        channel.eventLoop.submit {
            let pipeline = channel.pipeline.syncOperations
            let parser = try pipeline.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
            try pipeline.addHandler(AnswerGuard(), position: .after(parser))
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if isOver { return }
        if case .head(let head) = unwrapInboundIn(data) {
            let status = Int(head.status.code)
            interim = (100...199).contains(status) ? interim + 1 : 0
            var wrong: String?
            if status < 100 { wrong = "with the status \(status), which no answer has" }
            if interim > Self.mostInterim { wrong = "with interim answers only" }
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
