import CoderHost
import ImageModel
import Synchronization
import TestSupport
import Testing

@testable import ImageLoading

@Suite(.timeLimit(.minutes(40))) struct `Downloads` {
    static let picture = pattern(100_000)

    // MARK: What is sent

    @Test func `ask for pictures, uncompressed, under the project's name (D-02)`() async throws {
        try await withServer { server, downloader async throws in
            server.on("/a") { _ in .bytes([1]) }

            _ = try await downloader.bytes(server.url("/a?b=1"))

            let request = try #require(server.requests.first)
            #expect(request.method == "GET")
            #expect(request.query == "b=1")
            #expect(request.header("Accept") == "image/*,*/*;q=0.8")
            #expect(request.header("Accept-Encoding") == "identity")
            #expect(request.header("User-Agent") == "coderhost/\(coderHostVersion)")
            #expect(request.header("Host") == "127.0.0.1:\(server.port)")
        }
    }

    @Test func `send fields that were set, and those of the one request (D-03)`() async throws {
        try await withServer { server, downloader async throws in
            server.on("/a") { _ in .bytes([1]) }
            downloader.setHeader("X-All", "1")
            downloader.setHeader("accept", "image/webp")

            _ = try await downloader.bytes(server.url("/a")) {
                $0.headers = ["X-One": "2", "x-all": "3", "Host": "evil"]
            }

            let request = try #require(server.requests.first)
            #expect(downloader.header("x-ALL") == "1")
            #expect(downloader.header("Accept") == "image/webp")
            #expect(request.header("X-All") == "3")
            #expect(request.header("X-One") == "2")
            #expect(request.header("Accept") == "image/webp")
            #expect(request.header("Host") == "127.0.0.1:\(server.port)")
            downloader.setHeader("X-All", nil)
            #expect(downloader.header("X-All") == nil)
        }
    }

    @Test func `go through a request modifier (D-23)`() async throws {
        try await withServer { server, downloader async throws in
            server.on("/b") { _ in .bytes([7]) }

            let bytes = try await downloader.bytes(server.url("/a")) {
                $0.requestModifier = { request in
                    var request = RequestModifiers.headers(["X-Signed": "yes"])(request)
                    request?.url = server.url("/b")
                    return RequestModifiers.method("POST", body: [1, 2])(request!)
                }
            }
            let refusal = await downloader.failure(server.url("/a")) { $0.requestModifier = { _ in nil } }

            #expect(bytes == [7])
            #expect(server.requests.map(\.method) == ["POST"])
            #expect(server.requests.first?.body == [1, 2])
            #expect(server.requests.first?.header("X-Signed") == "yes")
            #expect(refusal?.code == .invalidURL)
        }
    }

    // MARK: What is taken

    @Test(arguments: [1, 1000, 100_000])
    func `bring all bytes, with what the server said (D-26)`(count: Int) async throws {
        try await withServer { server, downloader async throws in
            let picture = pattern(count)
            server.on("/cat.png") { _ in .bytes(picture).with("ETag", "\"1\"").with("X-Two", "a").with("x-two", "b") }

            let data = try await downloader.outcome(server.url("/cat.png?secret=1")).get()

            #expect(data.bytes == picture)
            #expect(data.isWorthStoring)
            let response = try #require(data.response)
            #expect(response.status == 200)
            #expect(response.contentType == "image/png")
            #expect(response.entityTag == "\"1\"")
            #expect(response.headers["x-two"] == "b")
            let timings = try #require(response.timings)
            #expect(timings.requests == 1)
            #expect(timings.redirects == 0)
            #expect(timings.received == count)
            #expect(timings.total >= timings.firstByte)
            guard case .source(let source) = data.content else { return }
            #expect(source.isComplete)
            #expect(source.origin == .network)
            #expect(source.name == server.url("/cat.png"))
            #expect(source.fileExtension == "png")
        }
    }

    @Test(arguments: [404, 403, 500, 204, 304])
    func `fail with the status (D-10)`(status: Int) async throws {
        try await withServer({ $0.acceptableStatus = [200] }) { server, downloader async throws in
            server.on("/a") { _ in .status(status) }

            let error = await downloader.failure(server.url("/a"))

            #expect(error?.code == .badStatus)
            #expect(error?.httpStatus == status)
            #expect(downloader.shouldBlock("", after: try #require(error)) == false)
        }
    }

    @Test func `fail with other statuses and types than those that are acceptable (D-29)`() async throws {
        try await withServer({ $0.acceptableStatus = [1] }) { server, downloader async throws in
            server.on("/a") { _ in .bytes([1]) }
            #expect(await downloader.failure(server.url("/a"))?.code == .badStatus)
        }
        try await withServer({ $0.acceptableTypes = ["application/json", "image/*"] }) {
            server, downloader async throws in
            server.on("/png") { _ in .bytes([1], type: "Image/PNG; charset=x") }
            server.on("/json") { _ in .bytes([1], type: "application/json") }
            server.on("/html") { _ in .bytes([1], type: "text/html") }
            server.on("/none") { _ in .bytes([1], type: nil) }
            #expect(await downloader.failure(server.url("/png")) == nil)
            #expect(await downloader.failure(server.url("/json")) == nil)
            #expect(await downloader.failure(server.url("/html"))?.code == .badContentType)
            #expect(await downloader.failure(server.url("/none"))?.code == .badContentType)
        }
    }

    @Test func `go through a response modifier (D-24)`() async throws {
        try await withServer { server, downloader async throws in
            server.on("/a") { _ in .bytes([1]) }
            server.on("/b") { _ in .status(404, body: "x") }

            let rewritten = await downloader.failure(server.url("/a")) {
                $0.responseModifier = ResponseModifiers.status(404)
            }
            let refused = await downloader.failure(server.url("/a")) { $0.responseModifier = { _ in nil } }
            let saved = try await downloader.bytes(server.url("/b")) {
                $0.responseModifier = ResponseModifiers.status(200)
            }

            #expect(rewritten?.code == .badStatus)
            #expect(rewritten?.httpStatus == 404)
            #expect(refused?.code == .badResponse)
            #expect(saved == Array("x".utf8))
        }
    }

    @Test func `go through a decryptor, and nothing is shown before (D-25)`() async throws {
        try await withServer { server, downloader async throws in
            server.on("/good") { _ in .chunked(Array("aGVs\r\nbG8=".utf8), piece: 4) }
            server.on("/bad") { _ in .bytes(Array("!!!!".utf8)) }
            let readable = Collected<Bool>()

            let good = try await downloader.outcome(
                server.url("/good"), onProgress: { readable.add($0.isReadable) },
                options: {
                    $0.decryptor = Decryptors.base64
                }
            ).get()
            let bad = await downloader.failure(server.url("/bad")) { $0.decryptor = Decryptors.base64 }

            #expect(good.bytes == Array("hello".utf8))
            #expect(!readable.values.contains(true))
            #expect(bad?.code == .corrupt)
        }
    }

    @Test(arguments: ["", "http://", "ftp://example.com/a", "http://exa mple/"])
    func `fail with what is no URL (D-07)`(url: String) async throws {
        let downloader = try makeDownloader()
        #expect(await downloader.failure(url)?.code == .invalidURL)
        await downloader.shutdown()
    }

    // MARK: Credentials and cookies

    @Test func `answer 401 with the credential, once, and send it at once from then on (D-08)`() async throws {
        try await withServer { server, downloader async throws in
            server.onEverythingElse {
                $0.header("Authorization") == "Basic dXNlcjpwYXNz"
                    ? .bytes([1]) : .status(401, [("WWW-Authenticate", "Basic realm=\"a\"")])
            }

            let bytes = try await downloader.bytes(server.url("/a")) {
                $0.credential = Credential(user: "user", password: "pass")
            }
            _ = try await downloader.bytes(server.url("/b")) {
                $0.credential = Credential(user: "user", password: "pass")
            }
            let wrong = await downloader.failure(server.url("/c")) {
                $0.credential = Credential(user: "user", password: "other")
            }
            let none = await downloader.failure(server.url("/d"))
            let url = server.url("/e").replacing("http://", with: "http://user:pass@")
            let inURL = try await downloader.bytes(url)

            #expect(bytes == [1])
            #expect(server.requests(to: "/a").map { $0.header("Authorization") != nil } == [false, true])
            #expect(server.requests(to: "/b").map { $0.header("Authorization") != nil } == [true])
            #expect(wrong?.httpStatus == 401)
            #expect(none?.httpStatus == 401)
            #expect(server.requests(to: "/d").count == 1)
            #expect(inURL == [1])
        }
    }

    @Test func `keep cookies only when they are asked to`() async throws {
        try await withServer { server, downloader async throws in
            server.onEverythingElse { _ in
                .bytes([1]).with("Set-Cookie", "a=1; Path=/").with("Set-Cookie", "b=2; Path=/x")
            }

            _ = try await downloader.bytes(server.url("/1"))
            _ = try await downloader.bytes(server.url("/2")) { $0.handlesCookies = true }
            _ = try await downloader.bytes(server.url("/3")) { $0.handlesCookies = true }
            _ = try await downloader.bytes(server.url("/4"))
            _ = try await downloader.bytes(server.url("/x/5")) { $0.handlesCookies = true }

            #expect(server.requests.map { $0.header("Cookie") } == [nil, nil, "a=1", nil, "b=2; a=1"])
        }
    }

    // MARK: What is cached

    @Test func `ask whether what is cached is still good`() async throws {
        try await withServer { server, downloader async throws in
            server.on("/a") {
                $0.header("If-None-Match") == "\"v1\"" ? .status(304, [("ETag", "\"v1\"")]) : .bytes([9])
            }
            let same = CachedData(
                [1], attributes: ["etag": "\"v1\"", "last-modified": "Sun, 06 Nov 1994 08:49:37 GMT"])
            let old = CachedData([1], attributes: ["etag": "\"v0\""])

            let unchanged = try await downloader.outcome(server.url("/a"), cached: same).get()
            let changed = try await downloader.outcome(server.url("/a"), cached: old).get()

            #expect(unchanged.isNotModified)
            #expect(unchanged.response?.entityTag == "\"v1\"")
            #expect(changed.bytes == [9])
            #expect(server.requests.first?.header("If-Modified-Since") == "Sun, 06 Nov 1994 08:49:37 GMT")
        }
    }

    // MARK: Bodies that are not what they should be

    @Test func `fail with an empty file, each of many (D-31b)`() async throws {
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

    @Test func `decompress what a server compresses without being asked`() async throws {
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

    @Test func `refuse what is too long, by what is said and by what arrives`() async throws {
        try await withServer({ $0.maxBytes = 50_000 }) { server, downloader async throws in
            server.on("/said") { _ in Reply(headers: [("Content-Length", "50001")], steps: []) }
            server.on("/arrives") { _ in .chunked(Self.picture, piece: 1000) }
            server.on("/fits") { _ in .bytes(Array(Self.picture.prefix(50_000))) }

            let said = await downloader.failure(server.url("/said"))
            let arrives = await downloader.failure(server.url("/arrives"))

            #expect(said?.code == .limitExceeded)
            #expect(said?.limit?.requested == 50_001)
            #expect(arrives?.code == .limitExceeded)
            #expect(try await downloader.bytes(server.url("/fits")).count == 50_000)
        }
    }

    @Test func `see lengths that are not true`() async throws {
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
    func `fail when the connection is reset after so many bytes`(count: Int) async throws {
        try await withServer { server, downloader async throws in
            server.on("/a") { _ in Reply.bytes(pattern(1001)).reset(after: count) }

            let error = await downloader.failure(server.url("/a"))

            #expect(error?.code == .transferFailed)
            #expect(downloader.shouldBlock("", after: try #require(error)) == false)
        }
    }

    @Test func `take a body that ends with its connection`() async throws {
        try await withServer { server, downloader async throws in
            server.on("/a") { _ in .untilClose(Self.picture) }
            #expect(try await downloader.bytes(server.url("/a")) == Self.picture)
        }
    }

    @Test func `fail with what is no HTTP`() async throws {
        try await withServer { server, downloader async throws in
            server.on("/a") { _ in .raw("hello\r\n\r\n") }
            #expect(await downloader.failure(server.url("/a")) != nil)
        }
    }

    // MARK: Time

    @Test func `give up a server that says nothing, before and within an answer`() async throws {
        try await withServer({ $0.timeout = .milliseconds(300) }) { server, downloader async throws in
            server.on("/silent") { _ in .silence }
            server.on("/stops") { _ in .gated(pattern(10), after: 5, Gate()) }

            #expect(await downloader.failure(server.url("/silent"))?.code == .deadlineExceeded)
            #expect(await downloader.failure(server.url("/stops"))?.code == .deadlineExceeded)
        }
    }

    @Test func `give up a server that drips for ever`() async throws {
        try await withServer({ $0.totalTimeout = .milliseconds(500) }) { server, downloader async throws in
            server.on("/a") { _ in .slow(pattern(1_000), piece: 1, every: 20) }

            #expect(await downloader.failure(server.url("/a"))?.code == .deadlineExceeded)
            #expect(downloader.runningCount == 0)
        }
    }

    @Test func `give up a resolver that does not answer`() async throws {
        struct Silent: NameResolver {
            func addresses(of host: String) async throws(CoderError) -> [IPAddress] {
                try? await Task.sleep(for: .seconds(600))
                return []
            }
        }
        let downloader = try makeDownloader {
            $0.resolver = Silent()
            $0.totalTimeout = .milliseconds(200)
        }
        #expect(await downloader.failure("http://a.test/")?.code == .deadlineExceeded)
        await downloader.shutdown()
    }

    @Test func `take zero for fifteen seconds`() {
        var configuration = DownloaderConfiguration()
        configuration.timeout = .zero
        configuration.connectTimeout = .zero
        #expect(configuration.idle == .seconds(15))
        #expect(configuration.connect == .seconds(15))
    }

    // MARK: Addresses

    @Test func `try the next address when one takes no connections`() async throws {
        let server = try await TestServer.start()
        server.onEverythingElse { _ in .bytes([1]) }
        let downloader = try makeDownloader {
            $0.resolver = FixedResolver { _, _ in ["127.0.0.3", "127.0.0.1"].compactMap { IPAddress($0) } }
        }

        #expect(try await downloader.bytes(server.url("/", host: "two.test")) == [1])
        await downloader.shutdown()
        await server.stop()
    }

    @Test(arguments: ["000", "001", "099"], [true, false])
    func `end with an error where a server answers with a status that no answer has`(
        status: String, hasBody: Bool
    ) async throws {
        try await withServer { server, downloader async throws in
            server.onEverythingElse { _ in
                .raw("HTTP/1.1 \(status) x\r\nContent-Length: \(hasBody ? "1\r\n\r\na" : "0\r\n\r\n")")
            }
            #expect(await downloader.failure(server.url("/"))?.code == .badResponse)
        }
    }

    @Test func `end with an error where a server says for ever that it will answer`() async throws {
        try await withServer { server, downloader async throws in
            server.onEverythingElse { _ in
                .raw(String(repeating: "HTTP/1.1 103 Early Hints\r\n\r\n", count: 1000))
            }
            #expect(await downloader.failure(server.url("/"))?.code == .badResponse)
        }
    }

    @Test func `use a connection again, and know whose it is`() async throws {
        try await withServer { server, downloader async throws in
            server.onEverythingElse { _ in .bytes([1]) }
            let begin = ContinuousClock.now

            for path in ["/1", "/2", "/3"] { _ = try await downloader.bytes(server.url(path)) }

            // One that nobody used for half a minute is closed, and a machine may be that busy.
            #expect(server.connections == 1 || ContinuousClock.now - begin > .seconds(25))
        }
    }

    @Test func `ask again when a kept connection was closed meanwhile`() async throws {
        try await withServer { server, downloader async throws in
            server.on("/a") { _ in Reply.bytes([1]) }
            server.on("/b") { $0.number == 1 ? Reply(status: 0, steps: [.close]) : .bytes([2]) }

            _ = try await downloader.bytes(server.url("/a"))

            #expect(try await downloader.bytes(server.url("/b")) == [2])
        }
    }

    @Test func `say with every error what status the server had answered with`() async throws {
        try await withServer({ $0.maxBytes = 100 }) { server, downloader async throws in
            server.on("/long") { _ in .bytes(pattern(200)) }
            server.on("/short") { _ in .declared(90, pattern(10)) }
            server.on("/loop") { _ in .redirect(to: "/loop", status: 307) }

            for (path, status) in [("/long", 200), ("/short", 200), ("/loop", 307)] {
                #expect(await downloader.failure(server.url(path))?.httpStatus == status, "\(path)")
            }
        }
        try await withServer({ $0.timeout = .milliseconds(300) }) { server, downloader async throws in
            server.on("/silent") { _ in .silence }
            let silent = await downloader.failure(server.url("/silent"))
            #expect(silent?.httpStatus == nil && silent?.message == "the server sent nothing for 0.3 s")
        }
    }

    @Test func `say nothing secret in errors`() async throws {
        try await withServer { server, downloader async throws in
            let url = server.url("/a?token=hidden").replacing("http://", with: "http://user:hidden@")

            let error = try #require(await downloader.failure(url))

            #expect(!"\(error)".contains("hidden"))
        }
    }
}
