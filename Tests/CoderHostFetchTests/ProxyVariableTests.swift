import LoadingTestSupport
import TestSupport
import Testing

/// The command with the proxies of its environment.
@Suite(.timeLimit(.minutes(40))) struct `Proxy variables` {
    private func fetch(_ url: String, _ bench: Bench, _ variables: [String: String?]) async throws -> CommandResult {
        let none: [String: String?] = [
            "http_proxy": nil, "https_proxy": nil, "no_proxy": nil, "HTTP_PROXY": nil, "HTTPS_PROXY": nil,
            "NO_PROXY": nil,
            "REQUEST_METHOD": nil,
        ]
        return try await bench.coderhost(["fetch", url], environment: none.merging(variables) { $1 })
    }

    @Test(arguments: ["http_proxy", "HTTP_PROXY"])
    func `lead an http download through the proxy`(variable: String) async throws {
        try await Bench.run { bench in
            let bytes = try bench.serve("photo.png")
            let proxy = try await TestProxy.start(["images.example:80": bench.server.port])

            let result = try await fetch(
                "http://images.example/photo.png", bench, [variable: "http://127.0.0.1:\(proxy.port)"])

            #expect(result.status == 0, "\(result.stderr)")
            #expect(bench.output("photo.png") == bytes)
            #expect(proxy.requests.map(\.line) == ["GET http://images.example/photo.png HTTP/1.1"])
            await proxy.stop()
        }
    }

    @Test(arguments: ["https_proxy", "HTTPS_PROXY"])
    func `lead an https download through a tunnel, whose certificate is checked`(variable: String) async throws {
        try await Bench.run { bench in
            let server = try await TestServer.start(tls: true)
            let proxy = try await TestProxy.start(["images.example:443": server.port])

            let result = try await fetch(
                "https://images.example/photo.png", bench, [variable: "http://127.0.0.1:\(proxy.port)"])

            // The certificate of the test server is not trusted.
            #expect(result.status != 0 && result.stderr.contains("certificate"), "\(result.stderr)")
            #expect(result.stderr.contains("through the proxy 127.0.0.1:\(proxy.port)"))
            #expect(!proxy.requests.isEmpty)
            #expect(proxy.requests.allSatisfy { $0.line == "CONNECT images.example:443 HTTP/1.1" })
            #expect(server.requests.isEmpty && bench.outputs.isEmpty)
            await proxy.stop()
            await server.stop()
        }
    }

    @Test(arguments: [false, true]) func `and a file of certificates lead to a trusted server`(byVariable: Bool)
        async throws
    {
        try await Bench.run { bench in
            let server = try await TestServer.start(tls: true)
            let bytes = try #require(readFile(Repository.fixture("images/photo.png")))
            server.on("/photo.png") { _ in .bytes(bytes, type: nil) }
            let url = server.url("/photo.png")

            let refused = try await bench.coderhost(["fetch", "--allow-private", url])
            #expect(
                refused.stderr.contains(
                    "its certificate is from an unknown issuer\n  try: name the certificate of its issuer "
                        + "with --ca-file FILE or SSL_CERT_FILE"), "\(refused.stderr)")
            #expect(refused.status != 0 && bench.outputs.isEmpty)

            let file = Repository.fixture("server/certificate.pem")
            let trusted = try await bench.coderhost(
                ["fetch", "--allow-private", url] + (byVariable ? [] : ["--ca-file", file]),
                environment: ["SSL_CERT_FILE": byVariable ? file : nil])
            #expect(trusted.status == 0 && bench.output("photo.png") == bytes, "\(trusted.stderr)")
            let wrong = try await bench.coderhost(["fetch", url, "--ca-file", "nowhere.pem"])
            #expect(wrong.status == 64 && wrong.stderr.contains("cannot read certificates from nowhere.pem\n  try: "))
            await server.stop()
        }
    }

    @Test func `leave exceptions out`() async throws {
        try await Bench.run { bench in
            let proxy = try await TestProxy.start([:])

            let result = try await fetch(
                "http://images.invalid/photo.png", bench,
                ["http_proxy": "http://127.0.0.1:\(proxy.port)", "no_proxy": "images.invalid"])

            #expect(result.status != 0 && proxy.requests.isEmpty)
            await proxy.stop()
        }
    }
}
