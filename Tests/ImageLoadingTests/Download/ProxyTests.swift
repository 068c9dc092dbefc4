import CoderHost
import ImageModel
import LoadingTestSupport
import TestSupport
import Testing

@testable import ImageLoading

@Suite(.timeLimit(.minutes(40))) struct `Proxies` {
    /// The resolver of a network whose hosts only the proxy knows.
    private struct NoResolver: NameResolver {
        func addresses(of host: String) async throws(CoderError) -> [IPAddress] {
            throw CoderError(.transferFailed, "no such host")
        }
    }

    /// Runs `body` with a server that acts as the proxy of a downloader.
    private func withProxy(
        _ user: String = "", exceptions: [String] = [], _ change: (inout DownloaderConfiguration) -> Void = { _ in },
        _ body: (TestServer, Downloader) async throws -> Void
    ) async throws {
        let server = try await TestServer.start()
        try await serve(
            server,
            { configuration in
                configuration.servers.addresses = AddressPolicy()
                configuration.servers.resolver = NoResolver()
                configuration.servers.proxies.http = "http://\(user)127.0.0.1:\(server.port)"
                configuration.servers.proxies.https = configuration.servers.proxies.http
                configuration.servers.proxies.exceptions = exceptions
                change(&configuration)
            }, body)
    }

    private func load(_ url: String, _ downloader: Downloader) async throws(CoderError) -> [UInt8]? {
        let data = try await downloader.load(ImageRequest(url), cached: nil, LoadUrgency()) { _ in }
        guard case .source(let source) = data.content else { return nil }
        return source.bytes(0..<source.count)
    }

    @Test func `are named if they cannot be reached`() async throws {
        try await withProxy {
            $0.servers.proxies.http = "http://me:secret@127.0.0.1:1"
        } _: { _, downloader async throws in
            let error = await #expect(throws: CoderError.self) {
                try await load("http://images.example/a.png", downloader)
            }
            #expect(error?.code == .transferFailed)
            #expect(error?.message == "the proxy 127.0.0.1:1 refused the connection", "\(String(describing: error))")
            #expect(error.map { !"\($0)".contains("secret") } == true)
        }
    }

    // MARK: Downloads

    /// Runs `body` with a server, a proxy that reaches it as `host:port` (closed: only for me:secret), and a downloader that uses the proxy.
    private func withRoute(
        _ host: String, port: Int? = nil, tls: Bool = false, user: String = "", isClosed: Bool = false,
        _ body: (TestServer, TestProxy, Downloader) async throws -> Void
    ) async throws {
        let server = try await TestServer.start(tls: tls)
        server.on("/a.png") { _ in .bytes([1, 2, 3]) }
        // The authorization is Base64 of me:secret.
        let proxy = try await TestProxy.start(
            ["\(host):\(port ?? server.port)": server.port], authorization: isClosed ? "Basic bWU6c2VjcmV0" : nil)
        let change: (inout DownloaderConfiguration) -> Void = { configuration in
            configuration.servers.addresses = AddressPolicy()
            configuration.servers.resolver = NoResolver()
            configuration.servers.proxies.http = "http://\(user)127.0.0.1:\(proxy.port)"
            configuration.servers.proxies.https = configuration.servers.proxies.http
            configuration.servers.trustedCertificates = [Repository.fixture("server/certificate.pem")]
        }
        do {
            try await serve(server, change) { server, downloader async throws in
                try await body(server, proxy, downloader)
            }
        } catch {
            await proxy.stop()
            throw error
        }
        await proxy.stop()
    }

    @Test func `receive the whole URL if it is http`() async throws {
        try await withRoute("images.example", port: 80, user: "me:secret@", isClosed: true) {
            server, proxy, downloader async throws in
            #expect(try await load("http://images.example/a.png?b=1", downloader) == [1, 2, 3])
            #expect(try await load("http://images.example/a.png", downloader) == [1, 2, 3])
            #expect(
                proxy.requests.map(\.line) == [
                    "GET http://images.example/a.png?b=1 HTTP/1.1", "GET http://images.example/a.png HTTP/1.1",
                ])
            #expect(server.requests.map { $0.header("Host") } == ["images.example", "images.example"])
            #expect(server.requests.allSatisfy { $0.header("Proxy-Authorization") == nil })
        }
    }

    @Test func `receive the port of an http URL`() async throws {
        try await withRoute("images.example", port: 8080) { server, proxy, downloader async throws in
            #expect(try await load("http://images.example:8080/a.png", downloader) == [1, 2, 3])
            #expect(proxy.requests.map(\.line) == ["GET http://images.example:8080/a.png HTTP/1.1"])
            #expect(proxy.requests.first?.field("Proxy-Authorization") == nil)
            #expect(server.requests.map { $0.header("Host") } == ["images.example:8080"])
        }
    }

    @Test func `open a tunnel for an https URL, and see only its host`() async throws {
        try await withRoute("tls.test", tls: true, user: "me:secret@", isClosed: true) {
            server, proxy, downloader async throws in
            #expect(try await load(server.url("/a.png?b=1", host: "tls.test"), downloader) == [1, 2, 3])
            #expect(proxy.requests.map(\.line) == ["CONNECT tls.test:\(server.port) HTTP/1.1"])
            #expect(server.requests.map(\.path) == ["/a.png"])
            #expect(server.requests.first?.header("Proxy-Authorization") == nil)
        }
    }

    @Test func `do not change the name in a certificate`() async throws {
        try await withRoute("other.test", tls: true) { server, proxy, downloader async throws in
            let error = await downloader.failure(server.url("/a.png", host: "other.test"))
            #expect(error?.code == .transferFailed && error?.hint?.contains("certificate") == true)
            #expect(proxy.requests.map(\.line) == ["CONNECT other.test:\(server.port) HTTP/1.1"])
            #expect(server.requests.isEmpty)
        }
    }

    @Test func `cannot read a tunnel to an address with a certificate of their own address`() async throws {
        // The certificate is valid for 127.0.0.1, the address of the proxy.
        try await withRoute("8.8.8.8", port: 443, tls: true) { server, proxy, downloader async throws in
            let error = await downloader.failure("https://8.8.8.8/a.png")
            #expect(error?.code == .transferFailed && error?.hint?.contains("certificate") == true)
            #expect(proxy.requests.map(\.line) == ["CONNECT 8.8.8.8:443 HTTP/1.1"])
            #expect(server.requests.isEmpty)
        }
    }

    @Test(arguments: [false, true], ["", "me:wrong@"])
    func `that require a credential are reported with a hint`(tls: Bool, user: String) async throws {
        try await withRoute("tls.test", tls: tls, user: user, isClosed: true) {
            server, proxy, downloader async throws in
            let error = await downloader.failure(server.url("/a.png", host: "tls.test"))
            #expect(error?.code == .transferFailed && error?.isTransient == false)
            #expect(
                error?.message
                    == "the proxy 127.0.0.1:\(proxy.port) requires a user and a password (status 407)")
            #expect(error?.hint?.contains("http://user:password@") == true)
            #expect(error.map { !"\($0)".contains("wrong") } == true)
            #expect(server.requests.isEmpty && !proxy.requests.isEmpty)
        }
    }

    @Test func `that do not reach the host are named`() async throws {
        try await withRoute("tls.test") { _, proxy, downloader async throws in
            let plain = await downloader.failure("http://gone.example/a.png")
            #expect(plain?.httpStatus == 502)
            #expect(
                plain?.message == "the server answered 502 Bad Gateway, through the proxy 127.0.0.1:\(proxy.port)")
            let secure = await downloader.failure("https://gone.example/a.png")
            #expect(secure?.code == .transferFailed)
            #expect(
                secure?.message
                    == "the proxy 127.0.0.1:\(proxy.port) does not open a connection to the server")
        }
    }

    @Test func `receive the whole URL of a redirect`() async throws {
        try await withRoute("images.example", port: 80) { server, proxy, downloader async throws in
            server.on("/old") { _ in .redirect(to: "/a.png") }
            #expect(try await load("http://images.example/old", downloader) == [1, 2, 3])
            #expect(
                proxy.requests.map(\.line) == [
                    "GET http://images.example/old HTTP/1.1", "GET http://images.example/a.png HTTP/1.1",
                ])
        }
    }

    // MARK: Allowed addresses

    @Test(arguments: ["http://10.0.0.1/a", "http://[fd00::1]/a", "http://169.254.169.254/latest", "http://0x0a000001/"])
    func `never see a URL with a refused address`(url: String) async throws {
        try await withProxy { server, downloader async throws in
            let error = await #expect(throws: CoderError.self) { try await load(url, downloader) }
            #expect(error?.code == .addressDenied)
            #expect(server.requests.isEmpty)
        }
    }

    @Test func `never see a name that resolves to a refused address here`() async throws {
        try await withProxy {
            $0.servers.resolver = FixedResolver(["intranet.example": "192.168.0.1"])
        } _: { server, downloader async throws in
            let error = await #expect(throws: CoderError.self) {
                try await load("http://intranet.example/a", downloader)
            }
            #expect(error?.code == .addressDenied)
            #expect(server.requests.isEmpty)
        }
    }

    @Test func `never see a host that is not allowed`() async throws {
        let only = try HostRule("images.example")
        try await withProxy {
            $0.servers.addresses.onlyHosts = [only]
        } _: { server, downloader async throws in
            let error = await #expect(throws: CoderError.self) {
                try await load("http://other.example/a.ppm", downloader)
            }
            #expect(error?.code == .addressDenied && server.requests.isEmpty)
        }
    }

    // MARK: Selection

    @Test func `are not used for this machine and for exceptions`() async throws {
        var policy = ProxyPolicy()
        policy.http = "proxy.example:3128"
        policy.exceptions = [
            "direct.example", ".Dotted.example", "*.star.example", "port.example:8080", "198.51.100.0/24",
        ]
        let selection = try ProxySelection(policy)
        func isDirect(_ url: String) throws -> Bool { selection.proxy(for: try WebAddress(url)) == nil }

        for url in [
            "http://localhost/", "http://a.localhost:81/", "http://127.0.0.1:9/", "http://[::1]/", "http://127.9.9.9/",
            "http://direct.example/", "http://a.direct.example/", "http://x.dotted.example/", "http://b.star.example/",
            "http://port.example:8080/", "http://198.51.100.7/", "https://images.example/",
        ] { #expect(try isDirect(url), "\(url)") }
        for url in [
            "http://images.example/", "http://indirect.example/", "http://port.example/", "http://198.51.101.7/",
            "http://direct.example.org/",
        ] { #expect(try !isDirect(url), "\(url)") }
        #expect(selection.proxy(for: try WebAddress("http://images.example/"))?.port == 3128)
        policy.exceptions = ["*"]
        #expect(try ProxySelection(policy).proxy(for: WebAddress("http://images.example/")) == nil)
    }

    @Test func `come from the environment, in lower case first`() {
        func policy(_ variables: [String: String]) -> ProxyPolicy { ProxyPolicy { variables[$0] } }

        let both = policy([
            "http_proxy": "a:1", "HTTP_PROXY": "b:2", "HTTPS_PROXY": "c:3", "NO_PROXY": "x.example, y.example",
        ])
        #expect(both.http == "a:1" && both.https == "c:3" && both.exceptions == ["x.example", "y.example"])
        // An empty variable switches the proxy off.
        #expect(policy(["http_proxy": "", "HTTP_PROXY": "b:2"]).http == nil)
        // The header field "Proxy" of a request becomes this variable in a CGI program.
        #expect(policy(["HTTP_PROXY": "b:2", "REQUEST_METHOD": "GET"]).http == nil)
        #expect(policy(["http_proxy": "a:1", "REQUEST_METHOD": "GET"]).http == "a:1")
        #expect(policy([:]) == .none)
    }

    @Test(arguments: [
        "https://proxy.example:3128", "socks5://proxy.example", "http://a:b@", "http://proxy.example:99999",
    ])
    func `of a kind that is not supported are an error without a password`(text: String) {
        var policy = ProxyPolicy()
        policy.https = text
        let error = #expect(throws: CoderError.self) { try ProxySelection(policy) }
        #expect(error?.code == .invalidArgument && error?.message.contains("a:b") == false)
    }
}
