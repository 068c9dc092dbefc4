import CoderHost
import ImageModel
import Testing

@testable import ImageLoading

@Suite(.timeLimit(.minutes(40))) struct `Interrupted downloads` {
    static let image = pattern(20_000)

    /// Sends two requests: the first response is cut after 7000 bytes, the second is `again`.
    private func twice(
        first: @escaping @Sendable (Reply) -> Reply = { $0 }, again: @escaping TestServer.Route,
        _ check: (TestServer, Result<[UInt8], CoderError>) async throws -> Void
    ) async throws {
        try await withServer { server, downloader async throws in
            server.on("/a") { request in
                request.number == 1
                    ? first(Reply.ranges(Self.image, for: request)).cut(after: 7000) : again(request)
            }
            let error = await downloader.failure(server.url("/a"))
            #expect(error?.code == .transferFailed)
            let outcome = await downloader.outcome(server.url("/a")).map(\.bytes)
            try await check(server, outcome)
        }
    }

    @Test func `resume where they ended`() async throws {
        try await twice(again: { .ranges(Self.image, for: $0) }) { server, outcome async throws in
            #expect(try outcome.get() == Self.image)
            #expect(server.requests.map { $0.header("Range") } == [nil, "bytes=7000-"])
            #expect(server.requests.last?.header("If-Range") == "\"v1\"")
        }
    }

    @Test func `start over when the server sends the whole file`() async throws {
        try await twice(again: { _ in .bytes(Self.image) }) { _, outcome async throws in
            #expect(try outcome.get() == Self.image)
        }
    }

    @Test func `start over when the image has changed`() async throws {
        let other = [UInt8](repeating: 5, count: 9000)
        try await twice(again: { .ranges(other, for: $0, etag: "\"v2\"") }) { server, outcome async throws in
            #expect(try outcome.get() == other)
            #expect(server.requests.count == 2)
        }
    }

    @Test(arguments: [
        "bytes 6999-19999/20000", "bytes 7001-19999/20000", "bytes 7000-19999/20001", "bytes 7000-19998/20000",
        "bytes */20000", "items 7000-19999/20000", "nonsense", "bytes 7000-99999999999999999999/20000", "",
    ])
    func `reject a part with another range`(range: String) async throws {
        try await twice(again: { request in
            guard request.rangeStart != nil else { return .bytes(Self.image) }
            var reply = Reply.bytes(Array(Self.image[7000...]), status: 206)
            reply.headers += [("Content-Range", range), ("ETag", "\"v1\"")]
            return reply
        }) { server, outcome async throws in
            #expect(try outcome.get() == Self.image)
            #expect(server.requests.map { $0.header("Range") } == [nil, "bytes=7000-", nil])
        }
    }

    @Test(arguments: ["\"v2\"", "W/\"v1\"", nil])
    func `reject a part of another version`(tag: String?) async throws {
        let other = [UInt8](repeating: 5, count: 20_000)
        try await twice(again: { request in
            // A server that ignores If-Range.
            guard request.rangeStart != nil else { return .bytes(other) }
            var reply = Reply.bytes(Array(other[7000...]), status: 206)
            reply.headers.append(("Content-Range", "bytes 7000-19999/20000"))
            if let tag { reply.headers.append(("ETag", tag)) }
            return reply
        }) { server, outcome async throws in
            #expect(try outcome.get() == other)
            #expect(server.requests.count == 3)
        }
    }

    @Test func `start over when the server rejects the range`() async throws {
        try await twice(again: { $0.rangeStart == nil ? .bytes(Self.image) : .status(416) }) {
            server, outcome async throws in
            #expect(try outcome.get() == Self.image)
            #expect(server.requests.count == 3)
        }
    }

    @Test func `keep their bytes over other failures`() async throws {
        try await withServer { server, downloader async throws in
            server.on("/a") { request in
                switch request.number {
                case 1: Reply.ranges(Self.image, for: request).cut(after: 7000)
                case 2: .status(503)
                case 3: Reply.ranges(Self.image, for: request).cut(after: 5000)
                default: .ranges(Self.image, for: request)
                }
            }
            for _ in 0..<3 { #expect(await downloader.failure(server.url("/a")) != nil) }

            #expect(try await downloader.bytes(server.url("/a")) == Self.image)
            #expect(server.requests.map(\.rangeStart) == [nil, 7000, 7000, 12_000])
        }
    }

    @Test(arguments: [
        [("ETag", "W/\"weak\""), ("Accept-Ranges", "bytes")], [("Accept-Ranges", "bytes")], [("ETag", "\"v1\"")],
        [("ETag", "\"v1\""), ("Accept-Ranges", "none")],
    ])
    func `start over without a strong validator`(headers: [(String, String)]) async throws {
        try await withServer { server, downloader async throws in
            server.on("/a") { request in
                var reply = Reply.bytes(Self.image)
                reply.headers += headers
                return request.number == 1 ? reply.cut(after: 7000) : reply
            }
            _ = await downloader.failure(server.url("/a"))

            #expect(try await downloader.bytes(server.url("/a")) == Self.image)
            #expect(server.requests.allSatisfy { $0.header("Range") == nil })
        }
    }

    @Test func `resume by date without an entity tag`() async throws {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        try await twice(
            first: { reply in
                var reply = reply
                reply.headers = reply.headers.filter { $0.0 != "ETag" } + [("Last-Modified", date)]
                reply.headers.append(("Date", "Mon, 07 Nov 1994 08:49:37 GMT"))
                return reply
            }, again: { .ranges(Self.image, for: $0, etag: date) }
        ) { server, outcome async throws in
            #expect(try outcome.get() == Self.image)
            #expect(server.requests.last?.header("If-Range") == date)
        }
    }

    @Test func `resume only from the URL that sent the first part`() async throws {
        let other = [UInt8](repeating: 5, count: 20_000)
        try await withServer { server, downloader async throws in
            server.on("/latest") { .redirect(to: $0.number == 1 ? "/one" : "/two") }
            server.on("/one") { Reply.ranges(Self.image, for: $0).cut(after: 7000) }
            server.on("/two") { .ranges(other, for: $0) }
            #expect(await downloader.failure(server.url("/latest"))?.code == .transferFailed)
            #expect(try await downloader.bytes(server.url("/latest")) == other)
            #expect(server.requests(to: "/two").allSatisfy { $0.header("Range") == nil })
        }
    }

    @Test(arguments: [(0, false), (1, true), (nil, false)])
    func `trust a date only if it is older than the response`(age: Int?, isTrusted: Bool) async throws {
        let changed = "Sun, 06 Nov 1994 08:49:37 GMT"
        try await twice(
            first: { reply in
                var reply = reply
                reply.headers = reply.headers.filter { $0.0 != "ETag" } + [("Last-Modified", changed)]
                if let age { reply.headers.append(("Date", "Sun, 06 Nov 1994 08:49:3\(7 + age) GMT")) }
                return reply
            }, again: { .ranges(Self.image, for: $0, etag: changed) }
        ) { server, outcome async throws in
            #expect(try outcome.get() == Self.image)
            #expect((server.requests[1].header("Range") != nil) == isTrusted)
        }
    }

    @Test func `are kept within a limit, the latest first`() throws {
        let store = PartialStore(maxBytes: 100)
        func key(_ name: String) -> PartialStore.Key {
            PartialStore.Key(
                request: OutgoingRequest(url: name), credential: nil, allowsInvalidCertificates: false,
                handlesCookies: false)
        }
        func partial(_ count: Int) throws -> PartialDownload {
            let source = try ImageSource(growingTo: 200)
            try source.append([UInt8](repeating: 0, count: count))
            return PartialDownload(source: source, url: "u", validator: "v", total: count)
        }

        store.put(try partial(40), key("a"))
        store.put(try partial(40), key("b"))
        store.put(try partial(40), key("c"))
        store.put(try partial(101), key("d"))

        #expect(store.bytes == 80)
        #expect(store.take(key("a"))?.validator == nil)
        #expect(store.take(key("b"))?.source.count == 40)
        #expect(store.take(key("b"))?.validator == nil)
        #expect(store.take(key("d"))?.validator == nil)
        #expect(store.bytes == 40)
    }

    @Test func `are counted by their memory, not by their received bytes`() throws {
        let store = PartialStore(maxBytes: 5 << 20)
        for number in 0..<10 {
            let source = try ImageSource(growingTo: 100 << 20)
            try source.append([1])
            store.put(
                PartialDownload(source: source, url: "u", validator: "v", total: 100 << 20),
                PartialStore.Key(
                    request: OutgoingRequest(url: "\(number)"), credential: nil, allowsInvalidCertificates: false,
                    handlesCookies: false))
        }
        #expect(store.bytes == 4 << 20)
    }
}
