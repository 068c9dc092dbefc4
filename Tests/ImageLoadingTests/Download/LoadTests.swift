import Glibc
import ImageModel
import TestSupport
import Testing

@testable import ImageLoading

/// `make prove` runs larger counts: CODERHOST_TEST_CONNECTIONS, CODERHOST_TEST_CANCELS.
private func count(_ variable: String, or standard: Int) -> Int {
    guard let text = unsafe getenv(variable) else { return standard }
    return Int(unsafe String(cString: text)) ?? standard
}

@Suite(.timeLimit(.minutes(40))) struct `Very many downloads` {
    @Test func `each over a connection of its own, all bring their bytes`() async throws {
        let total = count("CODERHOST_TEST_CONNECTIONS", or: 500)
        try await withServer({ $0.queue.maxConcurrent = 100 }) { server, downloader async throws in
            server.onEverythingElse { request in
                let number = Int(request.path.dropFirst()) ?? 0
                return Reply.bytes(pattern(1 + number % 997)).with("Connection", "close")
            }

            let right = await withTaskGroup(of: Bool.self) { group in
                for number in 0..<total {
                    let url = server.url("/\(number)")
                    group.addTask { (try? await downloader.bytes(url)) == pattern(1 + number % 997) }
                }
                return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }

            #expect(right == total)
            #expect(server.connections >= total)
            #expect(await eventually { server.openConnections == 0 })
        }
    }

    @Test func `that are cancelled at any moment leave nothing behind`() async throws {
        let total = count("CODERHOST_TEST_CANCELS", or: 100)
        let server = try await TestServer.start()
        server.onEverythingElse { request in
            switch (Int(request.path.dropFirst()) ?? 0) % 6 {
            case 0: .silence
            case 1: .chunked(pattern(20_000), piece: 1000, every: 2)
            case 2: .slow(pattern(20_000), piece: 1000, every: 2)
            case 3: .redirect(to: "/1")
            case 4: Reply.bytes(pattern(20_000)).reset(after: 5000)
            default: .bytes(pattern(20_000))
            }
        }
        weak var forgotten: Downloader?
        do {
            let downloader = try makeDownloader {
                $0.queue.maxConcurrent = 20
                $0.retry = RetryPolicy(maxCount: 3, .fixed(.milliseconds(5)))
            }
            forgotten = downloader
            var random = SeededRandom(7)
            var answers = 0
            var loads: [Task<Result<LoadedData, CoderError>, Never>] = []
            for number in 0..<total {
                let url = server.url("/\(number)")
                let load = Task { await downloader.outcome(url) }
                loads.append(load)
                let delay = Int.random(in: 0..<60, using: &random)
                Task {
                    try? await Task.sleep(for: .milliseconds(delay))
                    load.cancel()
                }
                if number % 7 == 0 { try await Task.sleep(for: .milliseconds(5)) }
            }
            for load in loads {
                _ = await load.value
                answers += 1
            }

            #expect(answers == total)
            #expect(await eventually { downloader.count == 0 && downloader.runningCount == 0 })
            #expect(downloader.waitingCount == 0)
            await downloader.shutdown()
        }

        // An open socket of the client would be an open connection of the server.
        #expect(await eventually { server.openConnections == 0 })
        #expect(forgotten == nil)
        await server.stop()
    }

    @Test func `of very many hosts keep few clients`() async throws {
        let server = try await TestServer.start()
        server.onEverythingElse { _ in .bytes([1]) }
        let pool = ClientPool(
            .init(connect: .seconds(15), idle: .seconds(15), maxDecompressed: 0, trusted: [], maxIdle: 3))
        let address = try #require(IPAddress("127.0.0.1"))

        for number in 0..<20 {
            let key = ClientPool.Key(
                host: "h\(number).test", address: address, isName: true, allowsInvalidCertificates: false)
            #expect(await pool.withClient(key) { _ in number } == number)
        }

        #expect(pool.count == 3)
        await pool.shutdown()
        #expect(pool.count == 0)
        await server.stop()
    }
}
