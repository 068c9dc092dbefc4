/// The server's response to one request: a head, then steps.
///
/// No header field is added, so a missing or wrong length is sent as written.
package struct Reply: Sendable {
    package enum Step: Sendable {
        case send([UInt8])
        case pause(milliseconds: Int64)
        /// Resets the connection (RST).
        case reset
        case close
        /// Waits until the gate opens.
        case wait(Gate)
    }

    package var status = 200
    package var headers: [(String, String)] = []
    package var steps: [Step] = []

    package init(status: Int = 200, headers: [(String, String)] = [], steps: [Step] = []) {
        self.status = status
        self.headers = headers
        self.steps = steps
    }

    /// Adds a header field.
    package func with(_ name: String, _ value: String) -> Reply {
        var reply = self
        reply.headers.append((name, value))
        return reply
    }

    // MARK: Valid responses

    package static func bytes(_ bytes: [UInt8], type: String? = "image/png", status: Int = 200) -> Reply {
        Reply(status: status, headers: typed(type) + [length(bytes.count)], steps: [.send(bytes)])
    }

    package static func status(_ status: Int, _ headers: [(String, String)] = [], body: String = "") -> Reply {
        // 204 and 304 have no body and no length.
        let isBare = status == 204 || status == 304
        return Reply(
            status: status, headers: headers + (isBare ? [] : [length(body.utf8.count)]),
            steps: isBare ? [] : [.send(Array(body.utf8))])
    }

    package static func redirect(to target: String, status: Int = 302) -> Reply {
        .status(status, [("Location", target)])
    }

    /// Sends chunks, so the length is unknown before the end.
    package static func chunked(
        _ bytes: [UInt8], piece: Int = 4096, every milliseconds: Int64 = 0, type: String? = "image/png"
    ) -> Reply {
        var steps: [Step] = []
        for part in pieces(bytes, piece) {
            steps.append(.send(Array("\(String(part.count, radix: 16))\r\n".utf8) + part + [13, 10]))
            if milliseconds > 0 { steps.append(.pause(milliseconds: milliseconds)) }
        }
        steps.append(.send(Array("0\r\n\r\n".utf8)))
        return Reply(headers: typed(type) + [("Transfer-Encoding", "chunked")], steps: steps)
    }

    /// Sends neither a length nor chunks: the connection's end is the body's end.
    package static func untilClose(_ bytes: [UInt8], type: String? = "image/png") -> Reply {
        Reply(headers: typed(type) + [("Connection", "close")], steps: [.send(bytes), .close])
    }

    /// Sends pieces with delays.
    package static func slow(
        _ bytes: [UInt8], piece: Int, every milliseconds: Int64, type: String? = "image/png"
    ) -> Reply {
        let steps = pieces(bytes, piece).flatMap { [Step.send($0), .pause(milliseconds: milliseconds)] }
        return Reply(headers: typed(type) + [length(bytes.count)], steps: steps)
    }

    /// Sends the first bytes at once, and the rest when the gate opens.
    package static func gated(_ bytes: [UInt8], after count: Int, _ gate: Gate, type: String? = "image/png") -> Reply {
        Reply(
            headers: typed(type) + [length(bytes.count)],
            steps: [.send(Array(bytes.prefix(count))), .wait(gate), .send(Array(bytes.dropFirst(count)))])
    }

    /// Honors `Range: bytes=N-` if `If-Range` is missing or equals `etag`.
    package static func ranges(
        _ bytes: [UInt8], for request: ServerRequest, etag: String = "\"v1\"", type: String? = "image/png"
    ) -> Reply {
        let common = typed(type) + [("Accept-Ranges", "bytes"), ("ETag", etag)]
        guard let start = request.rangeStart, request.header("If-Range") ?? etag == etag else {
            return Reply(headers: common + [length(bytes.count)], steps: [.send(bytes)])
        }
        guard start < bytes.count else {
            return .status(416, common + [("Content-Range", "bytes */\(bytes.count)")])
        }
        return Reply(
            status: 206,
            headers: common + [
                length(bytes.count - start), ("Content-Range", "bytes \(start)-\(bytes.count - 1)/\(bytes.count)"),
            ],
            steps: [.send(Array(bytes[start...]))])
    }

    // MARK: Invalid responses

    /// Never responds.
    package static let silence = Reply(status: 0)
    /// Sends bytes that are not HTTP.
    package static func raw(_ text: String) -> Reply { Reply(status: 0, steps: [.send(Array(text.utf8)), .close]) }

    /// Declares another length than it sends, then closes.
    package static func declared(_ count: Int, _ bytes: [UInt8], type: String? = "image/png") -> Reply {
        Reply(headers: typed(type) + [length(count)], steps: [.send(bytes), .close])
    }

    /// Sends the head and the first bytes, then RST after a delay that lets the bytes arrive.
    package func reset(after count: Int) -> Reply {
        var reply = self
        let body = steps.flatMap { step -> [UInt8] in if case .send(let bytes) = step { bytes } else { [] } }
        reply.steps = [.send(Array(body.prefix(count))), .pause(milliseconds: 30), .reset]
        return reply
    }

    /// Sends the head and the first bytes, then closes the connection.
    package func cut(after count: Int) -> Reply {
        var reply = reset(after: count)
        reply.steps[2] = .close
        return reply
    }

    private static func typed(_ type: String?) -> [(String, String)] { type.map { [("Content-Type", $0)] } ?? [] }
    private static func length(_ count: Int) -> (String, String) { ("Content-Length", "\(count)") }
    private static func pieces(_ bytes: [UInt8], _ size: Int) -> [[UInt8]] {
        stride(from: 0, to: bytes.count, by: max(1, size)).map { Array(bytes[$0..<min($0 + size, bytes.count)]) }
    }
}

extension ServerRequest {
    /// N of `Range: bytes=N-`.
    package var rangeStart: Int? {
        guard let range = header("Range"), range.hasPrefix("bytes="), range.hasSuffix("-") else { return nil }
        return Int(range.dropFirst(6).dropLast())
    }
}
