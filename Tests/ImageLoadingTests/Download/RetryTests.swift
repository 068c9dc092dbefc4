import ImageModel
import Testing

@testable import ImageLoading

@Suite(.timeLimit(.minutes(40))) struct `Retried downloads` {
    static func quick(_ count: Int) -> RetryPolicy { RetryPolicy(maxCount: count, .fixed(.milliseconds(1))) }

    @Test func `succeed when the server works again`() async throws {
        try await withServer({ $0.retry = Self.quick(2) }) { server, downloader async throws in
            server.on("/a") { $0.number < 3 ? .status(500) : .bytes([1]) }

            #expect(try await downloader.bytes(server.url("/a")) == [1])
            #expect(server.requests.count == 3)
        }
    }

    @Test func `fail in the end with the last error`() async throws {
        try await withServer({ $0.retry = Self.quick(2) }) { server, downloader async throws in
            server.on("/a") { .status($0.number == 3 ? 503 : 500) }

            let error = await downloader.failure(server.url("/a"))
            #expect(error?.httpStatus == 503)
            #expect(error?.message.hasSuffix("in the last of 3 attempts") == true)
            #expect(server.requests.count == 3)
        }
    }

    @Test(arguments: [400, 401, 403, 404, 410])
    func `are not retried after a permanent failure`(status: Int) async throws {
        try await withServer({ $0.retry = Self.quick(5) }) { server, downloader async throws in
            server.on("/a") { _ in .status(status) }

            #expect(await downloader.failure(server.url("/a"))?.httpStatus == status)
            #expect(server.requests.count == 1)
        }
    }

    @Test func `are not retried by default`() async throws {
        try await withServer { server, downloader async throws in
            server.on("/a") { _ in .status(500) }

            #expect(await downloader.failure(server.url("/a"))?.httpStatus == 500)
            #expect(server.requests.count == 1)
        }
    }

    @Test func `resume with the received bytes`() async throws {
        let image = pattern(9000)
        try await withServer({ $0.retry = Self.quick(9) }) { server, downloader async throws in
            server.on("/a") { .ranges(image, for: $0).cut(after: 4000) }

            #expect(try await downloader.bytes(server.url("/a")) == image)
            #expect(server.requests.map(\.rangeStart) == [nil, 4000, 8000])
        }
    }

    @Test func `wait as long as the server requests, up to a limit`() async throws {
        try await withServer({ $0.retry = Self.quick(3) }) { server, downloader async throws in
            server.on("/soon") { $0.number == 1 ? .status(503, [("Retry-After", "0")]) : .bytes([1]) }
            server.on("/late") { $0.number == 1 ? .status(503, [("Retry-After", "3600")]) : .bytes([1]) }

            #expect(try await downloader.bytes(server.url("/soon")) == [1])
            #expect(await downloader.failure(server.url("/late"))?.httpStatus == 503)
        }
    }

    @Test func `can be cancelled while they wait`() async throws {
        try await withServer({ $0.retry = RetryPolicy(maxCount: 3, .fixed(.seconds(600))) }) {
            server, downloader async throws in
            server.on("/a") { _ in .status(500) }
            let url = server.url("/a")

            let load = Task { await downloader.outcome(url) }
            #expect(await eventually { server.requests.count == 1 && downloader.runningCount == 0 })
            load.cancel()

            #expect(await load.value.failure?.code == .cancelled)
            #expect(await eventually { downloader.count == 0 })
        }
    }

    @Test(arguments: [
        (RetryPolicy.Interval.fixed(.seconds(2)), [2.0, 2, 2, 2]), (.linear(.seconds(2)), [2, 4, 6, 8]),
        (.exponential(.seconds(2)), [2, 4, 8, 10]),
    ])
    func `wait longer each time, up to a limit`(interval: RetryPolicy.Interval, seconds: [Double]) {
        var policy = RetryPolicy(maxCount: 4, interval)
        policy.maxDelay = .seconds(10)
        let error = CoderError(.badStatus, "", httpStatus: 503)
        for (index, most) in seconds.enumerated() {
            let delay = policy.delay(after: error, attempt: index + 1, retryAfter: nil).map { $0 / .seconds(1) } ?? 0
            #expect(delay <= most)
            #expect(delay >= most * 0.8)
        }
        #expect(policy.delay(after: error, attempt: 5, retryAfter: nil) == nil)
        #expect(policy.delay(after: error, attempt: 1, retryAfter: .seconds(20)) == .seconds(20))
    }

    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Thu, 29 Feb 2024 12:00:00 GMT", 1_709_208_000), ("nonsense", nil), ("Sun, 06 Nov 1994", nil),
            ("Sun, 06 Nov 1994 25:49:37 GMT", nil), ("", nil),
        ] as [(String, Int?)])
    func `parse dates in header fields`(text: String, seconds: Int?) {
        #expect(HTTPDate.seconds(text) == seconds)
    }
}

@Suite(.timeLimit(.minutes(40))) struct `The queue of a downloader` {
    @Test func `can start the last request first, after the running one (D-15)`() async throws {
        try await withServer({
            $0.queue.maxConcurrent = 1
            $0.queue.order = .lastInFirstOut
        }) { server, downloader async throws in
            let (first, seventh) = (Gate(), Gate())
            server.onEverythingElse { request in
                switch request.path {
                case "/1": .gated([1, 2], after: 1, first)
                case "/7": .gated([1, 2], after: 1, seventh)
                default: .bytes([1])
                }
            }
            var loads: [Task<[UInt8], any Error>] = []
            func begin(_ number: Int) async {
                let url = server.url("/\(number)")
                let before = downloader.waitingCount + downloader.runningCount
                loads.append(Task { try await downloader.bytes(url) })
                // Enqueue them one after the other.
                #expect(await eventually { downloader.waitingCount + downloader.runningCount == before + 1 })
            }
            for number in 1...7 { await begin(number) }
            #expect(await eventually { server.requests.count == 1 })
            first.open()
            #expect(await eventually { server.requests.count == 2 })
            for number in 8...14 { await begin(number) }
            seventh.open()
            for load in loads { _ = try await load.value }

            #expect(server.requests.map(\.path) == [1, 7, 14, 13, 12, 11, 10, 9, 8, 6, 5, 4, 3, 2].map { "/\($0)" })
        }
    }

    @Test func `respects the limit of concurrent downloads, and its change (D-05)`() async throws {
        try await withServer({ $0.queue.maxConcurrent = 3 }) { server, downloader async throws in
            let gate = Gate()
            server.onEverythingElse { _ in .gated([1, 2], after: 1, gate) }
            let urls = (0..<10).map { server.url("/\($0)") }

            let loads = urls.map { url in Task { await downloader.outcome(url) } }
            #expect(await eventually { server.requests.count == 3 && downloader.waitingCount == 7 })
            try await Task.sleep(for: .milliseconds(50))
            #expect(server.requests.count == 3)
            #expect(downloader.runningCount == 3)
            downloader.maxConcurrent = 5
            #expect(await eventually { server.requests.count == 5 })
            gate.open()
            for load in loads { _ = try await load.value.get() }

            #expect(server.requests.count == 10)
        }
    }

    @Test func `starts urgent downloads first, also when they become urgent while they wait`() async throws {
        try await withServer({ $0.queue.maxConcurrent = 1 }) { server, downloader async throws in
            downloader.isSuspended = true
            server.onEverythingElse { _ in .bytes([1]) }
            var urgencies: [LoadUrgency] = []
            var loads: [Task<Result<LoadedData, CoderError>, Never>] = []
            for number in 0..<5 {
                let url = server.url("/\(number)")
                let urgency = LoadUrgency(number == 3 ? .high : .normal)
                urgencies.append(urgency)
                loads.append(Task { await downloader.outcome(url, urgency) })
                #expect(await eventually { downloader.waitingCount == number + 1 })
            }
            #expect(server.requests.isEmpty)
            urgencies[4].priority = .veryHigh
            urgencies[0].priority = .low
            downloader.isSuspended = false
            for load in loads { _ = try await load.value.get() }

            #expect(server.requests.map(\.path) == ["/4", "/3", "/1", "/2", "/0"])
        }
    }

    @Test func `starts downloads at a constant rate after a burst`() {
        let bucket = TokenBucket(RateLimit(perSecond: 10, burst: 3))
        let start = ContinuousClock.now

        let delays = (0..<5).map { _ in bucket.take(now: start) / .seconds(1) }
        let later = bucket.take(now: start + .seconds(60))

        #expect(delays[0] == 0 && delays[1] == 0 && delays[2] == 0)
        #expect(abs(delays[3] - 0.1) < 0.01)
        #expect(abs(delays[4] - 0.2) < 0.01)
        #expect(later == .zero)
    }
}

@Suite struct `Cookies` {
    @Test(
        arguments: [
            ("a=1", "http://h.test/x/y", "http://h.test/x/z", "a=1"),
            ("a=1", "http://h.test/x/y", "http://h.test/z", nil),
            ("a=1; Path=/x", "http://h.test/", "http://h.test/xy", nil),
            ("a=1; Path=/x", "http://h.test/", "http://h.test/x", "a=1"),
            ("a=1; Path=/", "http://h.test/", "http://other.test/", nil),
            ("a=1; Path=/", "http://h.test/", "http://a.h.test/", nil),
            ("a=1; Path=/; Domain=h.test", "http://h.test/", "http://h.test/", "a=1"),
            ("a=1; Path=/; Domain=evil.test", "http://h.test/", "http://h.test/", nil),
            ("a=1; Path=/; Secure", "https://h.test/", "http://h.test/", nil),
            ("a=1; Path=/; Secure", "https://h.test/", "https://h.test/", "a=1"),
            ("a=1; Path=/; Secure", "http://h.test/", "https://h.test/", nil),
            ("a=1; Path=/; Max-Age=10", "http://h.test/", "http://h.test/", "a=1"),
            ("a=1; Path=/; Max-Age=0", "http://h.test/", "http://h.test/", nil),
            ("a=1; Path=/; Expires=Thu, 01 Jan 1970 00:16:39 GMT", "http://h.test/", "http://h.test/", nil),
            ("a=1; Path=/; Expires=Thu, 01 Jan 1970 00:16:41 GMT", "http://h.test/", "http://h.test/", "a=1"),
            ("=1", "http://h.test/", "http://h.test/", nil), ("nonsense", "http://h.test/", "http://h.test/", nil),
        ] as [(String, String, String, String?)])
    func `return only to their origin`(field: String, from: String, to: String, sent: String?) throws {
        let jar = CookieJar()
        jar.store(field, from: try WebAddress(from), now: 1000)
        #expect(jar.field(for: try WebAddress(to), now: 1000) == sent)
    }

    @Test func `are replaced, expire, and are limited in number`() throws {
        let jar = CookieJar()
        let address = try WebAddress("http://h.test/")
        jar.store("a=1; Max-Age=10", from: address, now: 0)
        jar.store("a=2; Max-Age=10", from: address, now: 0)
        #expect(jar.field(for: address, now: 9) == "a=2")
        #expect(jar.field(for: address, now: 10) == nil)

        for number in 0..<200 { jar.store("c\(number)=1", from: address, now: 20) }
        #expect(jar.field(for: address, now: 20)?.split(separator: ";").count == 50)
    }
}
