import CoderHost
import ImageModel
import LoadingTestSupport
import TestSupport
import Testing

@testable import ImageLoading

/// Settings of an application for all downloads of a downloader.
@Suite(.timeLimit(.minutes(40))) struct `Settings of a downloader` {
    @Test func `apply to every request, before the options of the request (D-08, D-23, D-24, D-25)`() async throws {
        try await withServer({ configuration in
            configuration.request.credential = Credential(user: "joe", password: "open")
            configuration.request.modifier = RequestModifiers.headers(["X-Order": "downloader"])
            configuration.response.modifier = ResponseModifiers.headers(["X-Seen": "downloader"])
            configuration.response.decryptor = Decryptors.base64
        }) { server, downloader async throws in
            server.on("/a") { request in
                request.header("Authorization") == nil
                    ? .status(401, [("WWW-Authenticate", "Basic realm=x")])
                    : .bytes(Array("YUdWc2JHOD0=".utf8))
            }
            let data = try await downloader.outcome(
                server.url("/a"),
                options: {
                    $0.request.modifier = { request in
                        var request = request
                        request.headers["X-Order", default: ""] += ", request"
                        return request
                    }
                    $0.request.decryptor = Decryptors.base64
                }
            ).get()
            #expect(data.bytes == Array("hello".utf8), "twice Base64")
            #expect(data.response?.headers["x-seen"] == "downloader")
            #expect(server.requests.last?.header("X-Order") == "downloader, request")
            #expect(server.requests.last?.header("Authorization") == Credential(user: "joe", password: "open").basic)
        }
        try await withServer({ $0.request.modifier = { _ in nil } }) { server, downloader async throws in
            #expect(await downloader.failure(server.url("/a"))?.code == .invalidURL && server.requests.isEmpty)
        }
    }

    @Test func `decrypt files, data URLs and application bytes, too (D-25)`() async throws {
        let place = TemporaryDirectory()
        let text = Array("aGVsbG8=".utf8)
        let path = place.write(text, to: "image")
        let loaders: [(any ImageLoading, String)] = [
            (FileLoader(), "file://\(path)"), (DataLoader(), "data:,aGVsbG8="), (BytesLoader(["a": text]), "a"),
        ]
        for (loader, url) in loaders {
            #expect(try await loader.bytes(url) { $0.request.decryptor = Decryptors.base64 } == Array("hello".utf8))
            #expect(await loader.failure(url) { $0.request.decryptor = { _, _ in nil } }?.code == .corrupt)
        }
    }

    @Test func `can disable resuming, redirects and stored cookies`() async throws {
        try await withServer({ ($0.maxPartialBytes, $0.servers.maxRedirects) = (0, 0) }) {
            server, downloader async throws in
            server.on("/cut") { request in
                let reply = Reply.ranges(pattern(1000), for: request)
                return request.number == 1 ? reply.reset(after: 500) : reply
            }
            server.on("/away") { _ in .redirect(to: "/cut") }
            server.on("/cookie") {
                $0.header("Cookie") == nil ? Reply.bytes([0]).with("Set-Cookie", "a=1") : .bytes([1])
            }
            #expect(await downloader.failure(server.url("/away"))?.code == .badResponse)
            #expect(await downloader.failure(server.url("/cut"))?.code == .transferFailed)
            #expect(try await downloader.bytes(server.url("/cut")) == pattern(1000))
            #expect(server.requests(to: "/cut").allSatisfy { $0.header("Range") == nil })

            for expected: UInt8 in [0, 1] {
                #expect(
                    try await downloader.bytes(server.url("/cookie")) { $0.request.handlesCookies = true } == [expected]
                )
            }
            downloader.removeCookies()
            #expect(try await downloader.bytes(server.url("/cookie")) { $0.request.handlesCookies = true } == [0])
        }
    }

    @Test func `cancel prefetched images, which count as skipped (P-07)`() async throws {
        try await withServer { server, downloader async throws in
            server.onEverythingElse { _ in .silence }
            let prefetcher = ImagePrefetcher(manager(downloader))
            let token = prefetcher.prefetch(["/1", "/2", "/3"].map { server.url($0) })
            #expect(await eventually { server.requests.count == 3 && prefetcher.runningCount == 3 })
            downloader.cancelAll()
            #expect(await token.value() == .init(finished: 3, skipped: 3, total: 3))
            #expect(prefetcher.runningCount == 0)
        }
    }

    @Test func `start downloads in the order of priority, also through a manager`() async throws {
        try await withServer({ $0.queue.maxConcurrent = 1 }) { server, downloader async throws in
            let gate = Gate()
            server.on("/first") { _ in .gated(testImage(4, 4), after: 3, gate) }
            server.onEverythingElse { _ in .bytes(testImage(4, 4)) }
            let manager = manager(downloader)
            func load(_ path: String, _ priority: LoadPriority) -> ImageTask {
                var options = LoadOptions()
                options.priority = priority
                return manager.load(ImageRequest(server.url(path), options))
            }
            let first = load("/first", .normal)
            #expect(await eventually { server.requests.count == 1 })
            let low = load("/low", .low)
            #expect(await eventually { downloader.waitingCount == 1 })
            let late = load("/late", .veryLow)
            #expect(await eventually { downloader.waitingCount == 2 })
            late.priority = .veryHigh
            gate.open()
            for task in [first, low, late] { _ = try await task.value }
            #expect(server.requests.map(\.path) == ["/first", "/late", "/low"])
        }
    }
}
