import CoderHost
import ImageModel
import LoadingTestSupport
import TestSupport
import Testing

@testable import ImageLoading

/// Tests with an independent server.
@Suite(.enabled(if: Nginx.program != nil, "nginx is not installed"), .timeLimit(.minutes(40)))
struct `Downloads from nginx` {
    private static let photo = testImage(640, 480)

    private func withNginx(
        _ change: (inout DownloaderConfiguration) -> Void = { _ in },
        _ body: (Nginx, Downloader) async throws -> Void
    ) async throws {
        let downloader = try makeDownloader(change)
        var server = try await Nginx(["photo.ppm": Self.photo])
        defer { server.stop() }
        // Wait until it listens; another process may have taken its port.
        while await downloader.failure(server.url("/photo.ppm"))?.code == .transferFailed {
            try await Task.sleep(for: .milliseconds(10))
            if let complaint = server.complaint {
                try #require(complaint.contains("bind()"), "\(complaint)")
                server.stop()
                server = try await Nginx(["photo.ppm": Self.photo])
            }
        }
        do {
            try await body(server, downloader)
        } catch {
            await downloader.shutdown()
            throw error
        }
        await downloader.shutdown()
    }

    @Test func `return the file, and download it again only when it has changed`() async throws {
        try await withNginx { server, downloader async throws in
            let manager = manager(downloader)
            var options = LoadOptions()
            options.cache.freshness = .revalidate
            let url = server.url("/photo.ppm")
            #expect(try await manager.image(url, options).data == Self.photo)

            let again = try await manager.file(ImageRequest(url, options))
            #expect(again.response?.status == 304 && again.tier == .disk)

            server.write(testImage(7, 5), to: "photo.ppm")
            #expect(try await manager.image(url, options).image.size == PixelSize(7, 5))
        }
    }

    @Test func `resume after an interruption, unless the file has changed`() async throws {
        try await withNginx { server, downloader async throws in
            for hasChanged in [false, true] {
                let url = server.url("/slow/photo.ppm?\(hasChanged)")
                let received = Collected<Int>()
                let task = Task { await downloader.outcome(url) { received.add($0.received) } }
                #expect(await eventually { received.values.contains { $0 > 10_000 } })
                task.cancel()
                _ = await task.value
                let other = Array(Self.photo.reversed()) + [1]
                if hasChanged { server.write(other, to: "photo.ppm") }

                let data = try await downloader.outcome(url).get()

                #expect(data.bytes == (hasChanged ? other : Self.photo))
                #expect(data.response?.status == (hasChanged ? 200 : 206))
            }
        }
    }

    @Test func `report progress of chunked and compressed responses`() async throws {
        try await withNginx { server, downloader async throws in
            let received = Collected<Int?>()
            let bytes = try await downloader.outcome(server.url("/gzip/photo.ppm")) {
                if !$0.source.isComplete { received.add($0.expected) }
            } options: {
                $0.request.headers = ["Accept-Encoding": "gzip"]
            }.get().bytes
            #expect(bytes == Self.photo)
            #expect(!received.values.isEmpty && received.values.allSatisfy { $0 == nil })
        }
    }

    @Test func `require the right password`() async throws {
        try await withNginx { server, downloader async throws in
            let url = server.url("/secret/photo.ppm")
            #expect(await downloader.failure(url)?.httpStatus == 401)
            #expect(
                await downloader.failure(url) { $0.request.credential = Credential(user: "joe", password: "?") }?.code
                    == .badStatus)
            let right = Credential(user: "joe", password: "open sesame")
            #expect(try await downloader.bytes(url) { $0.request.credential = right } == Self.photo)
        }
    }

    @Test func `follow redirects, fail in a loop, and report the meaning of a status`() async throws {
        try await withNginx { server, downloader async throws in
            #expect(try await downloader.bytes(server.url("/away")) == Self.photo)
            #expect(await downloader.failure(server.url("/loop"))?.code == .badResponse)
            #expect(await downloader.failure(server.url("/busy"))?.httpStatus == 503)
            #expect(await downloader.failure(server.url("/none"))?.message == "the server answered 404 Not Found")
        }
    }

    @Test func `trust a configured certificate for its own name only`() async throws {
        let names = FixedResolver(["tls.test": "127.0.0.1", "other.test": "127.0.0.1"])
        let trusted = [Repository.fixture("server/certificate.pem")]
        try await withNginx({ ($0.servers.trustedCertificates, $0.servers.resolver) = (trusted, names) }) {
            server, downloader async throws in
            #expect(try await downloader.bytes(server.secureURL("/photo.ppm", host: "tls.test")) == Self.photo)
            let error = await downloader.failure(server.secureURL("/photo.ppm", host: "other.test"))
            #expect(error?.code == .transferFailed && error?.isTransient == false)
        }
    }

    @Test func `return the right bytes two thousand times over few connections`() async throws {
        try await withNginx { server, downloader async throws in
            downloader.maxConcurrent = 16
            let wrong = await withTaskGroup(of: Bool.self) { group in
                for number in 0..<2000 {
                    group.addTask { await (try? downloader.bytes(server.url("/photo.ppm?\(number)"))) != Self.photo }
                }
                return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(wrong == 0)
        }
    }
}
