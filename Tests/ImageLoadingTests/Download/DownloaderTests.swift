import CoderHost
import ImageModel
import TestSupport
import Testing

@testable import ImageLoading

@Suite(.timeLimit(.minutes(40))) struct `Downloads` {
    static let image = pattern(100_000)

    // MARK: Requests

    @Test func `request images, uncompressed, with the project's user agent (D-02)`() async throws {
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

    @Test func `send header fields of the downloader and of the request (D-03)`() async throws {
        try await withServer { server, downloader async throws in
            server.on("/a") { _ in .bytes([1]) }
            downloader.setHeader("X-All", "1")
            downloader.setHeader("accept", "image/webp")

            _ = try await downloader.bytes(server.url("/a")) {
                $0.request.headers = ["X-One": "2", "x-all": "3", "Host": "evil"]
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
                $0.request.modifier = { request in
                    var request = RequestModifiers.headers(["X-Signed": "yes"])(request)
                    request?.url = server.url("/b")
                    return RequestModifiers.method("POST", body: [1, 2])(request!)
                }
            }
            let refusal = await downloader.failure(server.url("/a")) { $0.request.modifier = { _ in nil } }

            #expect(bytes == [7])
            #expect(server.requests.map(\.method) == ["POST"])
            #expect(server.requests.first?.body == [1, 2])
            #expect(server.requests.first?.header("X-Signed") == "yes")
            #expect(refusal?.code == .invalidURL)
        }
    }

    // MARK: Responses

    @Test(arguments: [1, 1000, 100_000])
    func `return all bytes and the response (D-26)`(count: Int) async throws {
        try await withServer { server, downloader async throws in
            let image = pattern(count)
            server.on("/cat.png") { _ in .bytes(image).with("ETag", "\"1\"").with("X-Two", "a").with("x-two", "b") }

            let data = try await downloader.outcome(server.url("/cat.png?secret=1")).get()

            #expect(data.bytes == image)
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
            guard case .source(let source) = data.content else {
                Issue.record("the content is \(data.content)")
                return
            }
            #expect(source.isComplete)
            #expect(source.origin == .network)
            #expect(source.name == server.url("/cat.png"))
            #expect(source.fileExtension == "png")
        }
    }

    @Test(arguments: [404, 403, 500, 204, 304])
    func `fail with the status (D-10)`(status: Int) async throws {
        try await withServer({ $0.response.acceptableStatus = [200] }) { server, downloader async throws in
            server.on("/a") { _ in .status(status) }

            let error = await downloader.failure(server.url("/a"))

            #expect(error?.code == .badStatus)
            #expect(error?.httpStatus == status)
            #expect(downloader.shouldBlock("", after: try #require(error)) == false)
        }
    }

    @Test func `fail with a status or type that is not acceptable (D-29)`() async throws {
        try await withServer({ $0.response.acceptableStatus = [1] }) { server, downloader async throws in
            server.on("/a") { _ in .bytes([1]) }
            #expect(await downloader.failure(server.url("/a"))?.code == .badStatus)
        }
        try await withServer({ $0.response.acceptableTypes = ["application/json", "image/*"] }) {
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
                $0.request.responseModifier = ResponseModifiers.status(404)
            }
            let refused = await downloader.failure(server.url("/a")) { $0.request.responseModifier = { _ in nil } }
            let saved = try await downloader.bytes(server.url("/b")) {
                $0.request.responseModifier = ResponseModifiers.status(200)
            }

            #expect(rewritten?.code == .badStatus)
            #expect(rewritten?.httpStatus == 404)
            #expect(refused?.code == .badResponse)
            #expect(saved == Array("x".utf8))
        }
    }

    @Test func `go through a decryptor, without previews (D-25)`() async throws {
        try await withServer { server, downloader async throws in
            server.on("/good") { _ in .chunked(Array("aGVs\r\nbG8=".utf8), piece: 4) }
            server.on("/bad") { _ in .bytes(Array("!!!!".utf8)) }
            let readable = Collected<Bool>()

            let good = try await downloader.outcome(
                server.url("/good"), onProgress: { readable.add($0.isReadable) },
                options: {
                    $0.request.decryptor = Decryptors.base64
                }
            ).get()
            let bad = await downloader.failure(server.url("/bad")) { $0.request.decryptor = Decryptors.base64 }

            #expect(good.bytes == Array("hello".utf8))
            #expect(!readable.values.contains(true))
            #expect(bad?.code == .corrupt)
        }
    }

    @Test(arguments: ["", "http://", "ftp://example.com/a", "http://exa mple/"])
    func `fail with an invalid URL (D-07)`(url: String) async throws {
        let downloader = try makeDownloader()
        #expect(await downloader.failure(url)?.code == .invalidURL)
        await downloader.shutdown()
    }

    // MARK: Credentials and cookies

    @Test func `answer 401 with the credential once, and later send it with the first request (D-08)`() async throws {
        try await withServer { server, downloader async throws in
            server.onEverythingElse {
                $0.header("Authorization") == "Basic dXNlcjpwYXNz"
                    ? .bytes([1]) : .status(401, [("WWW-Authenticate", "Basic realm=\"a\"")])
            }

            let bytes = try await downloader.bytes(server.url("/a")) {
                $0.request.credential = Credential(user: "user", password: "pass")
            }
            _ = try await downloader.bytes(server.url("/b")) {
                $0.request.credential = Credential(user: "user", password: "pass")
            }
            let wrong = await downloader.failure(server.url("/c")) {
                $0.request.credential = Credential(user: "user", password: "other")
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

    @Test func `keep cookies only on request`() async throws {
        try await withServer { server, downloader async throws in
            server.onEverythingElse { _ in
                .bytes([1]).with("Set-Cookie", "a=1; Path=/").with("Set-Cookie", "b=2; Path=/x")
            }

            _ = try await downloader.bytes(server.url("/1"))
            _ = try await downloader.bytes(server.url("/2")) { $0.request.handlesCookies = true }
            _ = try await downloader.bytes(server.url("/3")) { $0.request.handlesCookies = true }
            _ = try await downloader.bytes(server.url("/4"))
            _ = try await downloader.bytes(server.url("/x/5")) { $0.request.handlesCookies = true }

            #expect(server.requests.map { $0.header("Cookie") } == [nil, nil, "a=1", nil, "b=2; a=1"])
        }
    }

    // MARK: Conditional requests

    @Test func `revalidate cached bytes`() async throws {
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
}
