import ImageModel
import LoadingTestSupport
import NIOSSL
import Synchronization
import TestSupport
import Testing

@testable import ImageLoading

/// Servers that send slowly, and servers that offer only old versions of TLS.
@Suite(.timeLimit(.minutes(40))) struct `Downloads from slow and outdated servers` {
    @Test func `end below the minimum rate`() async throws {
        let rate = MinimumRate(bytesPerSecond: 1000, window: .milliseconds(600))
        try await withServer({ ($0.timeouts.minimumRate, $0.timeouts.idle) = (rate, .seconds(2)) }) {
            server, downloader async throws in
            server.on("/body") { _ in .slow(pattern(10_000), piece: 1, every: 50) }
            server.on("/fast") { _ in .bytes(pattern(20_000)) }

            #expect(await downloader.failure(server.url("/body"))?.code == .deadlineExceeded)
            #expect(try await downloader.bytes(server.url("/fast")) == pattern(20_000))
            #expect(downloader.runningCount == 0)
        }
    }

    @Test func `report the minimum rate in the error`() async {
        let rate = MinimumRate(bytesPerSecond: 1000, window: .milliseconds(300))
        let pace = DownloadPace()
        do throws(CoderError) {
            try await pace.run(atLeast: rate, idle: .milliseconds(300), onSlow: {}) { () async throws(CoderError) in
                while !Task.isCancelled {
                    pace.add(1)
                    try? await Task.sleep(for: .milliseconds(20))
                }
            }
            Issue.record("it went on")
        } catch {
            #expect(error.code == .deadlineExceeded)
            #expect(error.limit?.name == "rate")
            #expect(error.limit?.allowed == 1000)
        }
    }

    @Test func `end when a response head does not end`() async throws {
        try await withServer({ $0.timeouts.idle = .seconds(2) }) { server, downloader async throws in
            let head = Array("HTTP/1.1 200 OK\r\nX: ".utf8)
            let drip = (0..<400).flatMap { _ in [Reply.Step.send([0x61]), .pause(milliseconds: 50)] }
            server.on("/head") { _ in Reply(status: 0, steps: [.send(head)] + drip) }
            #expect(await downloader.failure(server.url("/head"))?.code == .deadlineExceeded)
        }
    }

    @Test func `do not wait for slow downloads of the same host`() async throws {
        // A slow download gives up its place after a sixth of the window, and ends with the window.
        let rate = MinimumRate(bytesPerSecond: 1000, window: .seconds(6))
        try await withServer({ ($0.timeouts.minimumRate, $0.timeouts.idle) = (rate, .seconds(300)) }) {
            server, downloader async throws in
            downloader.maxConcurrent = 2
            server.onEverythingElse { _ in .slow(pattern(10_000), piece: 1, every: 100) }
            server.on("/good") { _ in .bytes([7]) }
            let ended = Counter()
            let slow = (0..<6).map { number in
                Task {
                    _ = await downloader.failure(server.url("/slow\(number)"))
                    ended.count.add(1, ordering: .relaxed)
                }
            }
            while downloader.count < 6 { try await Task.sleep(for: .milliseconds(10)) }

            #expect(try await downloader.bytes(server.url("/good")) == [7])
            // In order, it would start only after five of them have ended.
            #expect(ended.count.load(ordering: .relaxed) < 5)
            downloader.cancelAll()
            for task in slow { _ = await task.value }
            while downloader.runningCount > 0 { try await Task.sleep(for: .milliseconds(10)) }
        }
    }

    @Test func `share one total timeout over all attempts`() async throws {
        let retry = RetryPolicy(maxCount: 100, .fixed(.milliseconds(50)))
        try await withServer({ ($0.timeouts.total, $0.retry) = (.milliseconds(600), retry) }) {
            server, downloader async throws in
            server.on("/a") { _ in .slow(pattern(1_000), piece: 1, every: 20).cut(after: 1) }
            let error = await downloader.failure(server.url("/a"))

            #expect(error != nil)
            #expect(server.requests.count < 20)
        }
    }

    @Test func `refuse TLS 1.0 and 1.1, and accept 1.2`() async throws {
        let names = FixedResolver(["tls.test": "127.0.0.1"])
        let trusted = [Repository.fixture("server/certificate.pem")]
        for (version, isTaken) in [(TLSVersion.tlsv1, false), (.tlsv11, false), (.tlsv12, true), (.tlsv13, true)] {
            let server = try await TestServer.start(tls: true, newestTLS: version)
            server.on("/a") { _ in .bytes([1]) }
            for anyone in [false, true] {
                let downloader = try makeDownloader {
                    ($0.servers.trustedCertificates, $0.servers.resolver) = (trusted, names)
                }
                let error = await downloader.failure(server.url("/a", host: "tls.test")) {
                    $0.request.allowsInvalidCertificates = anyone
                }
                #expect(error?.code == (isTaken ? nil : .transferFailed), "\(version)")
                #expect(server.requests.isEmpty == !isTaken)
                await downloader.shutdown()
            }
            await server.stop()
        }
    }
}

private final class Counter: Sendable {
    let count = Atomic(0)
}
