import ImageModel
import Testing

@testable import ImageLoading

/// SSRF: the downloader does not connect to this machine, in any spelling of its address.
@Suite(.timeLimit(.minutes(40))) struct `Spellings of this machine` {
    /// Hosts and complete URLs; PORT stands for the listener's port.
    static let direct: [String] = [
        // decimal, octal, hexadecimal, short, mixed
        "http://127.0.0.1:PORT/", "http://2130706433:PORT/", "http://017700000001:PORT/", "http://0x7f000001:PORT/",
        "http://0x7F000001:PORT/", "http://127.1:PORT/", "http://127.0.1:PORT/", "http://0x7f.1:PORT/",
        "http://0x7f.0x0.0x0.0x1:PORT/", "http://0177.0.0.1:PORT/", "http://0177.0.0.01:PORT/",
        "http://0177.0x0.0.1:PORT/", "http://127.0.0x1:PORT/", "http://127.0x1:PORT/", "http://127.01:PORT/",
        "http://0000127.0.0.1:PORT/", "http://00000177.0.0.1:PORT/", "http://0x00000000007f.1:PORT/",
        "http://127.0.0.0001:PORT/", "http://127.255.255.254:PORT/", "http://127.0.1.1:PORT/",
        "http://0:PORT/", "http://0.0.0.0:PORT/", "http://0x0:PORT/", "http://0x:PORT/", "http://00:PORT/",
        "http://0.0:PORT/", "http://256.0.0.1:PORT/", "http://127.0.0.257:PORT/", "http://4294967297:PORT/",
        "http://6425673729:PORT/", "http://127.0.0.1.:PORT/", "http://127.0.0.1..:PORT/", "http://.127.0.0.1:PORT/",
        "http://127..0.1:PORT/", "http://+127.0.0.1:PORT/", "http://-127.0.0.1:PORT/",
        // IPv6, also with embedded IPv4 addresses
        "http://[::1]:PORT/", "http://[0:0:0:0:0:0:0:1]:PORT/", "http://[0000::0001]:PORT/", "http://[::]:PORT/",
        "http://[::ffff:127.0.0.1]:PORT/", "http://[::ffff:7f00:1]:PORT/", "http://[::FFFF:7F00:0001]:PORT/",
        "http://[0:0:0:0:0:ffff:127.0.0.1]:PORT/", "http://[::127.0.0.1]:PORT/", "http://[::7f00:1]:PORT/",
        "http://[64:ff9b::127.0.0.1]:PORT/", "http://[64:ff9b::7f00:1]:PORT/", "http://[64:ff9b:1::127.0.0.1]:PORT/",
        "http://[2002:7f00:1::]:PORT/", "http://[2001:0:7f00:1::]:PORT/",
        "http://[2001:0:808:808::80ff:fffe]:PORT/", "http://[fe80::5efe:127.0.0.1]:PORT/",
        "http://[2a00:1450::200:5efe:7f00:1]:PORT/", "http://[::ffff:0:127.0.0.1]:PORT/", "http://[fe80::1]:PORT/",
        "http://[fe80::1%25lo]:PORT/", "http://[::1%25lo]:PORT/", "http://[::1%lo]:PORT/", "http://[fc00::1]:PORT/",
        "http://[ff02::1]:PORT/", "http://[127.0.0.1]:PORT/", "http://[::1:PORT/", "http://::1:PORT/",
        // text around the host
        "http://user@127.0.0.1:PORT/", "http://user:pass@127.0.0.1:PORT/", "http://example.com@127.0.0.1:PORT/",
        "http://example.com:80@127.0.0.1:PORT/", "http://example.com@evil.com@127.0.0.1:PORT/",
        "http://127.0.0.1:PORT@127.0.0.1:PORT/", "http://example.com\\@127.0.0.1:PORT/",
        "http://127.0.0.1:PORT\\@example.com:1/", "http://127.0.0.1\\.example.com:PORT/",
        "http:\\\\127.0.0.1:PORT/", "http:/127.0.0.1:PORT/", "http:127.0.0.1:PORT/", "http:///127.0.0.1:PORT/",
        "http:////127.0.0.1:PORT/", "http://127.0.0.1:PORT#@example.com/", "http://127.0.0.1:PORT?@example.com/",
        "HTTP://127.0.0.1:PORT/", "http://127.0.0.1:0PORT/", " http://127.0.0.1:PORT/", "http:// 127.0.0.1:PORT/",
        "http://127.0.0.1 :PORT/", "http://\t127.0.0.1:PORT/", "http://127.\t0.0.1:PORT/", "http://127.0.0.1\t:PORT/",
        "ht\ttp://127.0.0.1:PORT/", "http://127.0.0.1\n:PORT/", "http://127.0.0.1\r\n:PORT/",
        "http://127.0.0.1\u{0}:PORT/", "http://127.0.0.1%00:PORT/", "http://127.0.0.1%00.example.com:PORT/",
        "http://%31%32%37.0.0.1:PORT/", "http://127%2e0%2e0%2e1:PORT/", "http://%6cocalhost:PORT/",
        "http://127.0.0.1%2f@example.com:PORT/", "http://[::1]%2f:PORT/",
        // characters that look like digits and dots
        "http://１２７.０.０.１:PORT/", "http://①②⑦.⓪.⓪.①:PORT/", "http://127。0。0。1:PORT/",
        "http://127．0．0．1:PORT/", "http://127｡0｡0｡1:PORT/", "http://１２７。１:PORT/", "http://𝟏𝟐𝟕.0.0.1:PORT/",
        "http://ⅼocalhost:PORT/", "http://ｌocalhost:PORT/", "http://loc\u{00AD}alhost:PORT/",
        "http://\u{200B}127.0.0.1:PORT/", "http://٢١٣٠٧٠٦٤٣٣:PORT/",
        // names that the test's resolver resolves
        "http://localhost:PORT/", "http://LOCALHOST:PORT/", "http://localhost.:PORT/", "http://localhost..:PORT/",
        "http://127.0.0.1.nip.io:PORT/", "http://7f000001.nip.io:PORT/", "http://a.127-0-0-1.sslip.io:PORT/",
        "http://localtest.me:PORT/", "http://ip6-localhost:PORT/", "http://mapped.test:PORT/",
        "http://nat64.test:PORT/",
        "http://mixed.test:PORT/", "http://mixed6.test:PORT/", "http://metadata.test:PORT/", "http://zero.test:PORT/",
        "http://bücher.test:PORT/",
    ]

    /// Dangerous answers of a resolver.
    static let names: [String: [String]] = [
        "localhost": ["127.0.0.1", "::1"], "127.0.0.1.nip.io": ["127.0.0.1"], "7f000001.nip.io": ["127.0.0.1"],
        "a.127-0-0-1.sslip.io": ["127.0.0.1"], "localtest.me": ["127.0.0.1"], "ip6-localhost": ["::1"],
        "mapped.test": ["::ffff:127.0.0.1"], "nat64.test": ["64:ff9b::127.0.0.1"],
        "mixed.test": ["127.0.0.2", "127.0.0.1"],
        "mixed6.test": ["127.0.0.2", "::1"], "metadata.test": ["169.254.169.254"], "zero.test": ["0.0.0.0"],
        "xn--bcher-kva.test": ["127.0.0.1"],
    ]

    /// Creates a downloader that may connect only to the second loopback address, which stands for the internet.
    static func downloader(_ resolver: any NameResolver) throws -> Downloader {
        try makeDownloader {
            $0.servers.addresses = AddressPolicy()
            $0.servers.addresses.allowedNetworks = [IPNetwork("127.0.0.2")!]
            $0.servers.resolver = resolver
            $0.timeouts.connect = .seconds(5)
        }
    }

    static let resolver = FixedResolver { host, _ in (names[host] ?? []).compactMap { IPAddress($0) } }

    @Test func `are at least eighty`() {
        #expect(Set(Self.direct).count == Self.direct.count)
        #expect(Self.direct.count >= 80)
    }

    @Test func `are not connected to when they are requested`() async throws {
        let listener = try await TestServer.start()
        let downloader = try Self.downloader(Self.resolver)

        var reached: [String] = []
        for text in Self.direct {
            let url = text.replacing("PORT", with: "\(listener.port)")
            let error = await downloader.failure(url)
            if ![.addressDenied, .invalidURL, .transferFailed].contains(error?.code) || listener.connections > 0 {
                reached.append("\(text): \(error?.description ?? "an answer")")
            }
        }

        #expect(reached.isEmpty)
        #expect(listener.connections == 0)
        await downloader.shutdown()
        await listener.stop()
    }

    @Test func `are not connected to when a server redirects to them`() async throws {
        let listener = try await TestServer.start()
        let server = try await TestServer.start(host: "127.0.0.2")
        let downloader = try Self.downloader(Self.resolver)

        var reached: [String] = []
        for (index, text) in Self.direct.enumerated() {
            // Characters that a header field cannot contain are removed.
            let target = text.replacing("PORT", with: "\(listener.port)").filter { !"\n\r\r\n\u{0}".contains($0) }
            server.on("/\(index)") { _ in .redirect(to: target) }
            let error = await downloader.failure(server.url("/\(index)"))
            if error == nil || listener.connections > 0 {
                reached.append("\(text): \(error?.description ?? "an answer")")
            }
        }

        #expect(reached.isEmpty)
        #expect(server.requests.count >= Self.direct.count)
        #expect(listener.connections == 0)
        await downloader.shutdown()
        await server.stop()
        await listener.stop()
    }

    @Test(arguments: [
        "127.0.0.1", "::1", "::ffff:127.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::7f00:1", "2002:7f00:1::",
        "2001:0:7f00:1::", "fe80::5efe:7f00:1", "0.0.0.0", "::", "127.0.1.1", "127.255.255.254", "169.254.169.254",
        "10.0.0.1", "100.64.0.1", "fe80::1", "fc00::1", "224.0.0.1", "255.255.255.255",
    ])
    func `are not connected to when a host name changes its address`(address: String) async throws {
        let server = try await TestServer.start(host: "127.0.0.2")
        server.on("/a") { _ in .bytes([1, 2, 3]) }
        // The same port, so that only the address differs.
        guard let listener = try? await TestServer.start(host: "127.0.0.1", port: server.port) else {
            await server.stop()
            return
        }
        let resolver = FixedResolver { _, call in [IPAddress(call == 1 ? "127.0.0.2" : address)!] }
        let downloader = try Self.downloader(resolver)
        let url = server.url("/a", host: "rebind.test")

        let first = try await downloader.bytes(url)
        // The first connection is still open, but must not be reused for the second address.
        let second = await downloader.failure(url)

        #expect(first == [1, 2, 3])
        #expect(second?.code == .addressDenied)
        // The checked address is the connected one: the name was not resolved again in between.
        #expect(resolver.asked.count == 2)
        #expect(server.requests.map { $0.header("Host") } == ["rebind.test:\(server.port)"])
        #expect(listener.connections == 0)
        await downloader.shutdown()
        await server.stop()
        await listener.stop()
    }

    @Test(arguments: [
        "http://127.0.0.1:PORT/", "http://2130706433:PORT/", "http://0x7f.1:PORT/", "http://localhost:PORT/",
    ])
    func `lead to the listener when private addresses are allowed`(text: String) async throws {
        let listener = try await TestServer.start()
        listener.onEverythingElse { _ in .bytes([1]) }
        let downloader = try makeDownloader { $0.servers.resolver = FixedResolver(["localhost": "127.0.0.1"]) }

        #expect(try await downloader.bytes(text.replacing("PORT", with: "\(listener.port)")) == [1])
        #expect(listener.connections == 1)
        await downloader.shutdown()
        await listener.stop()
    }

    @Test func `lead to the listener when the host is allowed`() async throws {
        let listener = try await TestServer.start()
        listener.onEverythingElse { _ in .bytes([1]) }
        let downloader = try makeDownloader {
            $0.servers.addresses = AddressPolicy()
            $0.servers.addresses.allowedHosts = [try! HostRule("allowed.test")]
            $0.servers.resolver = FixedResolver(["a.allowed.test": "127.0.0.1", "allowed.test.evil.test": "127.0.0.1"])
        }

        #expect(try await downloader.bytes(listener.url("/", host: "a.allowed.test")) == [1])
        let other = await downloader.failure(listener.url("/", host: "allowed.test.evil.test"))

        #expect(other?.code == .addressDenied)
        #expect(other?.hint != nil)
        #expect(listener.connections == 1)
        await downloader.shutdown()
        await listener.stop()
    }

    @Test func `are not resolved when only other hosts are allowed`() async throws {
        let resolver = FixedResolver(["other.test": "127.0.0.1"])
        let downloader = try makeDownloader {
            $0.servers.addresses.onlyHosts = [try! HostRule("allowed.test")]
            $0.servers.resolver = resolver
        }

        let error = await downloader.failure("http://other.test/")

        #expect(error?.code == .addressDenied)
        #expect(resolver.asked.isEmpty)
        await downloader.shutdown()
    }

    @Test func `are not reached through a request modifier`() async throws {
        let listener = try await TestServer.start()
        let downloader = try Self.downloader(Self.resolver)

        let error = await downloader.failure("http://example.com/") {
            $0.request.modifier = { _ in OutgoingRequest(url: listener.url("/")) }
        }

        #expect(error?.code == .addressDenied)
        #expect(listener.connections == 0)
        await downloader.shutdown()
        await listener.stop()
    }
}
