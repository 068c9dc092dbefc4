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
            #expect(error?.message.hasSuffix(", through the proxy 127.0.0.1:1") == true, "\(String(describing: error))")
            #expect(error.map { !"\($0)".contains("secret") } == true)
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
