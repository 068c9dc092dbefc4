import Glibc
import ImageProcessing
import NIOCore
import NIOHTTP1
import NIOPosix
import HostSystem

/// One connection: reads requests and sends their scripted responses in order.
final class ServerConnection: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = ByteBuffer

    private let number: Int
    private let answer: @Sendable (ServerRequest) -> Reply
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []

    init(number: Int, _ answer: @escaping @Sendable (ServerRequest) -> Reply) {
        self.number = number
        self.answer = answer
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            body = []
        case .body(let part): body += Array(part.readableBytesView)
        case .end:
            guard let head else { return }
            self.head = nil
            let parts = head.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
            let request = ServerRequest(
                method: head.method.rawValue, path: String(parts[0]), query: parts.count > 1 ? String(parts[1]) : nil,
                headers: head.headers.map { ($0.name, $0.value) }, body: body, connection: number)
            let reply = answer(request)
            var steps = reply.steps
            if reply.status > 0 {
                var lines = "HTTP/1.1 \(reply.status) \(HTTPResponseStatus(statusCode: reply.status).reasonPhrase)\r\n"
                for (name, value) in reply.headers { lines += "\(name): \(value)\r\n" }
                steps.insert(.send(Array((lines + "\r\n").utf8)), at: 0)
            }
            if head.method == .HEAD { steps = Array(steps.prefix(1)) }
            Self.perform(steps[...], context.channel)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private static func perform(_ steps: ArraySlice<Reply.Step>, _ channel: any Channel) {
        guard let step = steps.first else { return }
        let rest = steps.dropFirst()
        switch step {
        case .send(let bytes):
            channel.writeAndFlush(ByteBuffer(bytes: bytes)).whenSuccess { perform(rest, channel) }
        case .pause(let milliseconds):
            channel.eventLoop.scheduleTask(in: .milliseconds(milliseconds)) { perform(rest, channel) }
        case .close: channel.close(promise: nil)
        case .reset:
            guard let options = channel as? any SocketOptionProvider else { return channel.close(promise: nil) }
            options.setSoLinger(linger(l_onoff: 1, l_linger: 0)).whenComplete { _ in channel.close(promise: nil) }
        case .wait(let gate): gate.whenOpen { channel.eventLoop.execute { perform(rest, channel) } }
        }
    }
}

/// A gate that a test opens once.
package final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    package init() {}

    /// Releases all waiting and future callers.
    package func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for body in waiting { body() }
    }

    /// Calls `body` at once, or when the gate opens.
    package func whenOpen(_ body: @escaping @Sendable () -> Void) {
        let isOpen = state.withLock { state in
            if !state.isOpen { state.waiting.append(body) }
            return state.isOpen
        }
        if isOpen { body() }
    }

    /// Waits until the gate is open.
    package func passed() async {
        await withCheckedContinuation { continuation in whenOpen { continuation.resume() } }
    }
}
