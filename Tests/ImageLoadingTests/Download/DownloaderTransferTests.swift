import ImageModel
import TestSupport
import Testing

@testable import ImageLoading

/// Bodies, timeouts and connections.
extension `Downloads` {
    // MARK: Invalid bodies

    @Test func `fail with an empty file, for each of many callers (D-31b)`() async throws {
        try await withServer { server, downloader async throws in
            server.on("/a") { _ in .bytes([]) }
            server.on("/b") { _ in .chunked([]) }
            let url = server.url("/a")

            let codes = await withTaskGroup(of: CoderError.Code?.self) { group in
                for _ in 0..<11 { group.addTask { await downloader.failure(url)?.code } }
                return await group.reduce(into: []) { $0.append($1) }
            }

            #expect(codes == Array(repeating: .corrupt, count: 11))
            #expect(await downloader.failure(server.url("/b"))?.code == .corrupt)
        }
    }

    @Test func `decompress a response that a server compressed unasked`() async throws {
        let zeros = try #require(readFile(Repository.fixture("server/zeros.gz")))
        try await withServer { server, downloader async throws in
            server.on("/a") { _ in .bytes(zeros).with("Content-Encoding", "gzip") }
            server.on("/br") { _ in .bytes([1, 2]).with("Content-Encoding", "br") }
            let expected = Collected<Int?>()

            let data = try await downloader.outcome(server.url("/a"), onProgress: { expected.add($0.expected) }).get()

            #expect(data.bytes == [UInt8](repeating: 0, count: 1 << 20))
            #expect(expected.values.dropLast().allSatisfy { $0 == nil })
            #expect(await downloader.failure(server.url("/br"))?.code == .badResponse)
        }
    }

    @Test func `stop decompressing at the limit`() async throws {
        let zeros = try #require(readFile(Repository.fixture("server/zeros.gz")))
        try await withServer({ $0.maxBytes = 100_000 }) { server, downloader async throws in
            server.on("/a") { _ in .bytes(zeros).with("Content-Encoding", "gzip") }

            #expect(await downloader.failure(server.url("/a"))?.code == .limitExceeded)
        }
    }

    @Test func `refuse a body that is declared too long, or that is too long`() async throws {
        try await withServer({ $0.maxBytes = 50_000 }) { server, downloader async throws in
            server.on("/said") { _ in Reply(headers: [("Content-Length", "50001")], steps: []) }
            server.on("/arrives") { _ in .chunked(Self.image, piece: 1000) }
            server.on("/fits") { _ in .bytes(Array(Self.image.prefix(50_000))) }

            let said = await downloader.failure(server.url("/said"))
            let arrives = await downloader.failure(server.url("/arrives"))

            #expect(said?.code == .limitExceeded)
            #expect(said?.limit?.requested == 50_001)
            #expect(arrives?.code == .limitExceeded)
            #expect(try await downloader.bytes(server.url("/fits")).count == 50_000)
        }
    }

    @Test func `detect wrong lengths`() async throws {
        try await withServer { server, downloader async throws in
            server.on("/short") { _ in .declared(2000, pattern(1000)) }
            server.on("/long") { _ in .declared(1000, pattern(2000)) }
            server.on("/chunk") { _ in Reply.chunked(pattern(1000), piece: 500).cut(after: 700) }
            server.on("/negative") { _ in Reply(headers: [("Content-Length", "-1")], steps: [.close]) }
            server.on("/two") { _ in Reply.bytes([1]).with("Content-Length", "2") }

            let short = await downloader.failure(server.url("/short"))
            let chunk = await downloader.failure(server.url("/chunk"))

            #expect(short?.code == .transferFailed)
            #expect(chunk?.code == .transferFailed)
            #expect(try await downloader.bytes(server.url("/long")) == pattern(1000))
            #expect(await downloader.failure(server.url("/negative")) != nil)
            #expect(await downloader.failure(server.url("/two")) != nil)
        }
    }

    @Test(arguments: [0, 1, 10, 999, 1000])
    func `fail when the connection is reset after some bytes`(count: Int) async throws {
        try await withServer { server, downloader async throws in
            server.on("/a") { _ in Reply.bytes(pattern(1001)).reset(after: count) }

            let error = await downloader.failure(server.url("/a"))

            #expect(error?.code == .transferFailed)
            #expect(downloader.shouldBlock("", after: try #require(error)) == false)
        }
    }

    @Test func `accept a body that ends with its connection`() async throws {
        try await withServer { server, downloader async throws in
            server.on("/a") { _ in .untilClose(Self.image) }
            #expect(try await downloader.bytes(server.url("/a")) == Self.image)
        }
    }

    @Test func `fail with invalid HTTP`() async throws {
        try await withServer { server, downloader async throws in
            server.on("/a") { _ in .raw("hello\r\n\r\n") }
            #expect(await downloader.failure(server.url("/a")) != nil)
        }
    }

    // MARK: Timeouts

    @Test func `time out when a server sends nothing, before and within a response`() async throws {
        try await withServer({ $0.timeouts.idle = .milliseconds(300) }) { server, downloader async throws in
            server.on("/silent") { _ in .silence }
            server.on("/stops") { _ in .gated(pattern(10), after: 5, Gate()) }

            #expect(await downloader.failure(server.url("/silent"))?.code == .deadlineExceeded)
            #expect(await downloader.failure(server.url("/stops"))?.code == .deadlineExceeded)
        }
    }

    @Test func `time out when a server sends single bytes forever`() async throws {
        try await withServer({ $0.timeouts.total = .milliseconds(500) }) { server, downloader async throws in
            server.on("/a") { _ in .slow(pattern(1_000), piece: 1, every: 20) }

            #expect(await downloader.failure(server.url("/a"))?.code == .deadlineExceeded)
            #expect(downloader.runningCount == 0)
        }
    }

    @Test func `time out when a resolver does not answer`() async throws {
        struct Silent: NameResolver {
            func addresses(of host: String) async throws(CoderError) -> [IPAddress] {
                try? await Task.sleep(for: .seconds(600))
                return []
            }
        }
        let downloader = try makeDownloader {
            $0.servers.resolver = Silent()
            $0.timeouts.total = .milliseconds(200)
        }
        #expect(await downloader.failure("http://a.test/")?.code == .deadlineExceeded)
        await downloader.shutdown()
    }

    @Test func `treat a timeout of zero as fifteen seconds`() {
        var configuration = DownloaderConfiguration()
        configuration.timeouts.idle = .zero
        configuration.timeouts.connect = .zero
        #expect(configuration.timeouts.effectiveIdle == .seconds(15))
        #expect(configuration.timeouts.effectiveConnect == .seconds(15))
    }

    // MARK: Addresses

    @Test func `try the next address when one refuses the connection`() async throws {
        let server = try await TestServer.start()
        server.onEverythingElse { _ in .bytes([1]) }
        let downloader = try makeDownloader {
            $0.servers.resolver = FixedResolver { _, _ in ["127.0.0.3", "127.0.0.1"].compactMap { IPAddress($0) } }
        }

        #expect(try await downloader.bytes(server.url("/", host: "two.test")) == [1])
        await downloader.shutdown()
        await server.stop()
    }

    @Test(arguments: ["000", "001", "099"], [true, false])
    func `fail with an invalid status below 100`(
        status: String, hasBody: Bool
    ) async throws {
        try await withServer { server, downloader async throws in
            server.onEverythingElse { _ in
                .raw("HTTP/1.1 \(status) x\r\nContent-Length: \(hasBody ? "1\r\n\r\na" : "0\r\n\r\n")")
            }
            #expect(await downloader.failure(server.url("/"))?.code == .badResponse)
        }
    }

    @Test func `fail with endless interim responses`() async throws {
        try await withServer { server, downloader async throws in
            server.onEverythingElse { _ in
                .raw(String(repeating: "HTTP/1.1 103 Early Hints\r\n\r\n", count: 1000))
            }
            #expect(await downloader.failure(server.url("/"))?.code == .badResponse)
        }
    }

    @Test func `reuse a connection to the same server`() async throws {
        try await withServer { server, downloader async throws in
            server.onEverythingElse { _ in .bytes([1]) }
            let begin = ContinuousClock.now

            for path in ["/1", "/2", "/3"] { _ = try await downloader.bytes(server.url(path)) }

            // A connection that was idle for half a minute is closed, and a busy machine may take that long.
            #expect(server.connections == 1 || ContinuousClock.now - begin > .seconds(25))
        }
    }

    @Test func `repeat the request when an idle connection was closed meanwhile`() async throws {
        try await withServer { server, downloader async throws in
            server.on("/a") { _ in Reply.bytes([1]) }
            server.on("/b") { $0.number == 1 ? Reply(status: 0, steps: [.close]) : .bytes([2]) }

            _ = try await downloader.bytes(server.url("/a"))

            #expect(try await downloader.bytes(server.url("/b")) == [2])
        }
    }

    @Test func `report the server's status with every error`() async throws {
        try await withServer({ $0.maxBytes = 100 }) { server, downloader async throws in
            server.on("/long") { _ in .bytes(pattern(200)) }
            server.on("/short") { _ in .declared(90, pattern(10)) }
            server.on("/loop") { _ in .redirect(to: "/loop", status: 307) }

            for (path, status) in [("/long", 200), ("/short", 200), ("/loop", 307)] {
                #expect(await downloader.failure(server.url(path))?.httpStatus == status, "\(path)")
            }
        }
        try await withServer({ $0.timeouts.idle = .milliseconds(300) }) { server, downloader async throws in
            server.on("/silent") { _ in .silence }
            let silent = await downloader.failure(server.url("/silent"))
            #expect(silent?.httpStatus == nil && silent?.message == "the server sent nothing for 0.3 s")
        }
    }

    @Test func `report no secrets in errors`() async throws {
        try await withServer { server, downloader async throws in
            let url = server.url("/a?token=hidden").replacing("http://", with: "http://user:hidden@")

            let error = try #require(await downloader.failure(url))

            #expect(!"\(error)".contains("hidden"))
        }
    }
}
