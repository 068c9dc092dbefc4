import ImageModel
import TestSupport
import Testing

@testable import ImageLoading

@Suite(.timeLimit(.minutes(40))) struct `Redirects` {
    @Test(arguments: [301, 302, 303, 307, 308])
    func `are followed`(status: Int) async throws {
        try await withServer { server, downloader async throws in
            server.on("/a") { _ in .redirect(to: "b?c", status: status) }
            server.on("/b") { _ in .bytes([1]) }

            let data = try await downloader.outcome(server.url("/a")).get()

            #expect(data.bytes == [1])
            #expect(data.response?.url == server.url("/b?c"))
            #expect(data.response?.timings?.redirects == 1)
            #expect(data.response?.timings?.requests == 2)
        }
    }

    @Test func `end after the third`() async throws {
        try await withServer { server, downloader async throws in
            for step in 0..<5 { server.on("/\(step)") { _ in step == 4 ? .bytes([1]) : .redirect(to: "/\(step + 1)") } }

            #expect(try await downloader.bytes(server.url("/1")) == [1])
            #expect(await downloader.failure(server.url("/0"))?.code == .badResponse)
        }
    }

    @Test func `end when they go in circles`() async throws {
        try await withServer { server, downloader async throws in
            server.on("/a") { _ in .redirect(to: "/a") }

            #expect(await downloader.failure(server.url("/a"))?.code == .badResponse)
            #expect(server.requests.count == 4)
        }
    }

    @Test(arguments: ["ftp://example.com/", "file:///etc/passwd", "data:image/png,a", "http://", "javascript:1"])
    func `lead only to http and https URLs`(target: String) async throws {
        try await withServer { server, downloader async throws in
            server.on("/a") { _ in .redirect(to: target) }
            #expect(await downloader.failure(server.url("/a"))?.code == .badResponse)
        }
    }

    @Test func `without a target are ordinary responses`() async throws {
        try await withServer { server, downloader async throws in
            server.on("/a") { _ in .status(302) }
            #expect(await downloader.failure(server.url("/a"))?.httpStatus == 302)
        }
    }

    @Test func `send no secrets to another origin`() async throws {
        let other = try await TestServer.start()
        other.onEverythingElse { _ in .bytes([1]) }
        try await withServer { server, downloader async throws in
            server.on("/far") { _ in .redirect(to: other.url("/a")) }
            server.on("/near") { _ in .redirect(to: "/b") }
            server.on("/b") { _ in .bytes([1]) }
            let secrets = [
                "Authorization": "a", "Cookie": "b", "X-Auth-Token": "c", "X-Session": "d", "Accept-Language": "e",
            ]

            _ = try await downloader.bytes(server.url("/far")) { $0.request.headers = secrets }
            _ = try await downloader.bytes(server.url("/near")) { $0.request.headers = secrets }

            let far = try #require(other.requests.first)
            #expect(secrets.keys.sorted().map { far.header($0) } == ["e", nil, nil, nil, nil])
            let near = try #require(server.requests(to: "/b").first)
            #expect(secrets.keys.sorted().map { near.header($0) } == ["e", "a", "b", "c", "d"])
        }
        await other.stop()
    }

    @Test func `send no credential to another origin that requests one`() async throws {
        let other = try await TestServer.start()
        other.onEverythingElse { _ in .status(401, [("WWW-Authenticate", "Basic")]) }
        try await withServer { server, downloader async throws in
            server.on("/a") { _ in .redirect(to: other.url("/a")) }

            let error = await downloader.failure(server.url("/a")) {
                $0.request.credential = Credential(user: "user", password: "pass")
            }

            #expect(error?.httpStatus == 401)
            #expect(other.requests.count == 1)
            #expect(other.requests.allSatisfy { $0.header("Authorization") == nil })
        }
        await other.stop()
    }

    @Test func `lead from https to http only when that is allowed`() async throws {
        let plain = try await TestServer.start()
        plain.onEverythingElse { _ in .bytes([1]) }
        for isAllowed in [false, true] {
            try await withServer(tls: true, { $0.servers.allowsDowngrade = isAllowed }) {
                server, downloader async throws in
                server.on("/a") { _ in .redirect(to: plain.url("/b")) }

                let outcome = await downloader.outcome(
                    server.url("/a"), options: { $0.request.allowsInvalidCertificates = true })

                switch outcome {
                case .success(let data): #expect(isAllowed && data.bytes == [1])
                case .failure(let error): #expect(!isAllowed && error.code == .badResponse)
                }
            }
        }
        #expect(plain.requests.count == 1)
        await plain.stop()
    }
}

@Suite(.timeLimit(.minutes(40))) struct `Downloads over TLS` {
    @Test(arguments: [
        ("a.test", "a.test", true), ("a.b.test", "*.b.test", true), ("b.test", "*.b.test", false),
        ("a.a.b.test", "*.b.test", false), ("a.test", "*.test", false), ("a.b.test", "a*.b.test", false),
        ("a.b.test", "*", false), (".b.test", "*.b.test", false), ("a.test", "b.test", false),
    ])
    func `accept a certificate for its names only`(host: String, name: String, matches: Bool) {
        #expect(PeerName.matches(host, name) == matches)
    }

    @Test func `need a trusted certificate`() async throws {
        try await withServer(tls: true) { server, downloader async throws in
            server.onEverythingElse { _ in .bytes([1]) }

            let error = await downloader.failure(server.url("/a"))

            #expect(error?.code == .transferFailed)
            #expect(
                error?.message == "cannot establish a trusted connection to the server: "
                    + "its certificate is from an unknown issuer", "\(String(describing: error))")
            #expect(error?.hint?.contains("SSL_CERT_FILE") == true)
            #expect(server.requests.isEmpty)
            // Another attempt would fail, too.
            #expect(downloader.shouldBlock("", after: try #require(error)))
        }
    }

    @Test func `accept an invalid certificate only if that is allowed`() async throws {
        try await withServer(tls: true) { server, downloader async throws in
            server.onEverythingElse { _ in .bytes([1]) }

            #expect(try await downloader.bytes(server.url("/a")) { $0.request.allowsInvalidCertificates = true } == [1])
            #expect(await downloader.failure(server.url("/a")) != nil)
        }
    }

    @Test func `connect to the checked address, and verify the requested name`() async throws {
        let server = try await TestServer.start(tls: true)
        server.onEverythingElse { _ in .bytes([1]) }
        let downloader = try makeDownloader {
            $0.servers.trustedCertificates = [Repository.fixture("server/certificate.pem")]
            $0.servers.resolver = FixedResolver(["tls.test": "127.0.0.1", "other.test": "127.0.0.1"])
        }

        #expect(try await downloader.bytes(server.url("/a", host: "tls.test")) == [1])
        #expect(try await downloader.bytes(server.url("/a")) == [1])
        let error = await downloader.failure(server.url("/a", host: "other.test"))
        #expect(error?.code == .transferFailed)
        #expect(
            error?.message == "cannot establish a trusted connection to the server: "
                + "its certificate is for localhost, tls.test, not for other.test", "\(String(describing: error))")
        #expect(server.requests.map { $0.header("Host") } == ["tls.test:\(server.port)", "127.0.0.1:\(server.port)"])
        await downloader.shutdown()
        await server.stop()
    }
}
